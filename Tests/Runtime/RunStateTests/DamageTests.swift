import Basics
import RunTestKit
import Testing

@testable import RunState

/// No damage to the files is ever taken for the state.
@Suite struct DamageTests {
  private static let folder = "/state"
  private static let first = [
    Example.created("a"), Example.began("a", "book"), Example.attempted("a", "book"), Example.set("x", .int(1)),
  ]
  private static let second = [
    Example.ended("a", "book"), Example.began("a", "put[0]/write"), Example.set("y", .int(2)),
  ]

  /// A disk with a snapshot of the first events, and the second in the journal of generation 2.
  private static func disk() async throws -> FaultyFileSystem {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open(folder, program: "errand 0.1", fileSystem: disk)
    for event in first { try await store.append(event) }
    try await store.compact()
    for event in second { try await store.append(event) }
    return disk.restarted(losing: .everything)
  }

  private static func open(_ disk: FaultyFileSystem) throws(StateError) -> StateFolder.Opened {
    try StateFolder(path: folder, fileSystem: disk, program: "errand 0.1").open()
  }

  /// A copy of a disk with one changed file.
  private static func changing(
    _ disk: FaultyFileSystem, _ path: String, _ change: (inout [UInt8]) -> Void
  ) throws -> FaultyFileSystem {
    let copy = disk.restarted(losing: .everything)
    var bytes = try #require(copy[path])
    change(&bytes)
    copy[path] = bytes
    return copy
  }

  @Test(arguments: ["state.json", "journal-2.jsonl"])
  func `no flipped bit is accepted`(_ name: String) async throws {
    let disk = try await DamageTests.disk()
    let expected = try Example.fold(DamageTests.first + DamageTests.second)
    let path = "/state/\(name)"
    for byte in try #require(disk[path]).indices {
      // All bits of the journal; of the snapshot, which has but one checksum, one of each byte.
      for bit in name == "state.json" ? [byte % 8] : Array(0..<8) {
        let flipped = try DamageTests.changing(disk, path) { $0[byte] ^= 1 << UInt8(bit) }
        do {
          let opened = try DamageTests.open(flipped)
          #expect(opened.state == expected, "bit \(bit) of byte \(byte)")
          #expect(!opened.notices.isEmpty, "bit \(bit) of byte \(byte)")
        } catch {
          #expect([.damaged, .newer].contains(error.kind), "bit \(bit) of byte \(byte): \(error)")
          #expect(flipped.operations == 0)
        }
      }
    }
  }

  @Test func `a journal cut off anywhere in its last batch loses that batch alone, and says so`() async throws {
    let disk = try await DamageTests.disk()
    let path = "/state/journal-2.jsonl"
    let bytes = try #require(disk[path])
    let start =
      try #require(bytes.dropLast().lastIndex(of: 0x7D).flatMap { bytes[..<($0 - 50)].lastIndex(of: 0x0A) }) + 1
    let lastBatch = String(decoding: bytes[start...], as: UTF8.self)
    #expect(lastBatch.hasPrefix("{\"n\":7,\"event\":\"valueSet\","))
    for size in start..<bytes.count {
      let opened = try DamageTests.open(try DamageTests.changing(disk, path) { $0.removeSubrange(size...) })
      #expect(opened.state == (try Example.fold(DamageTests.first + DamageTests.second.dropLast())))
      #expect(
        opened.notices
          == (size == start
            ? []
            : [
              "/state/journal-2.jsonl: \(size - start) bytes after the last commit were dropped; they were being written when the machine or the program stopped, and were never acknowledged"
            ]))
    }
    // The file has grown, but its pages were never written.
    let hole = try DamageTests.changing(disk, path) { bytes in
      for index in start..<bytes.count { bytes[index] = 0 }
    }
    #expect(try DamageTests.open(hole).notices.count == 1)
  }

  @Test(arguments: [7, 8, 9, 40, 300])
  func `zeros before a commit are never taken for half a batch`(_ length: Int) async throws {
    let disk = try await DamageTests.disk()
    let path = "/state/journal-2.jsonl"
    let bytes = try #require(disk[path])
    for start in 0..<bytes.count - length {
      let holed = try DamageTests.changing(disk, path) {
        $0.replaceSubrange(start..<start + length, with: repeatElement(0, count: length))
      }
      #expect(throws: StateError.self, "\(length) zeros from \(start)") { try DamageTests.open(holed) }
    }
  }

  @Test func `noise at the end is never taken for half a batch`() async throws {
    let disk = try await DamageTests.disk()
    let path = "/state/journal-2.jsonl"
    let bytes = try #require(disk[path])
    let batch = try #require(bytes.dropLast(60).lastIndex(of: 0x0A)) + 1
    for fill in [0x01, 0x0A, 0xFF] as [UInt8] {
      for start in batch..<bytes.count {
        let noisy = try DamageTests.changing(disk, path) {
          $0.replaceSubrange(start..<bytes.count, with: repeatElement(fill, count: bytes.count - start))
        }
        if noisy[path] == bytes { continue }
        #expect(throws: StateError.self, "\(fill) from \(start)") { try DamageTests.open(noisy) }
      }
    }
  }

  private static let wayOut =
    ". Nothing was changed. Put a backup of the folder in its place, keep what was written before the damage (errand doctor --repair --keep-until-damage), or move it away to begin with an empty state."
  private static let onlyWayOut =
    ". Nothing was changed. Put a backup of the folder in its place, or move it away to begin with an empty state."

  @Test(
    arguments: [
      (
        ["state.json"], nil,
        ["/state/state.json was missing or damaged; the state was recovered from what was before it"]
      ),
      (["state.previous.json"], nil, []),
      (["journal-1.jsonl"], nil, []),
      (
        ["state.json", "state.previous.json"], nil,
        ["/state/state.json was missing or damaged; the state was recovered from what was before it"]
      ),
      (["journal-2.jsonl"], "/state/journal-2.jsonl is missing", []),
      (["state.json", "journal-1.jsonl"], "/state/state.json is missing", []),
      (["state.json", "state.previous.json", "journal-1.jsonl"], "/state/state.json is missing", []),
    ] as [([String], String?, [String])])
  func `a missing file is recovered from the previous generation, or refused`(
    _ names: [String], _ refusal: String?, _ notices: [String]
  ) async throws {
    let disk = try await DamageTests.disk()
    for name in names { disk["/state/\(name)"] = nil }
    if let refusal {
      let wayOut = refusal.contains("journal") ? DamageTests.wayOut : DamageTests.onlyWayOut
      #expect(throws: StateError(.damaged, refusal + wayOut)) { try DamageTests.open(disk) }
    } else {
      let opened = try DamageTests.open(disk)
      #expect(opened.state == (try Example.fold(DamageTests.first + DamageTests.second)))
      #expect(opened.notices == notices)
    }
  }

  @Test func `a damaged snapshot is kept aside, and a good one written`() async throws {
    let disk = try DamageTests.changing(try await DamageTests.disk(), "/state/state.json") { bytes in
      // A letter of a text, so that the file is still JSON.
      let place = bytes.indices.first { bytes[$0...].starts(with: "averages".utf8) } ?? 0
      bytes[place] ^= 1
    }
    let damaged = disk["/state/state.json"]
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    #expect(store.notices.count == 2)
    #expect(store.notices.first == "/state/state.json is damaged: its content does not match its checksum")
    #expect(disk["/state/state.damaged.json"] == damaged)
    let again = try DamageTests.open(disk)
    #expect(again.notices == [])
    #expect(again.state == store.state)
    try await store.close()
  }

  @Test func `damage in the middle of a journal is refused with its place`() async throws {
    let path = "/state/journal-2.jsonl"
    let disk = try DamageTests.changing(try await DamageTests.disk(), path) { bytes in
      bytes[(bytes.firstIndex(of: 0x0A) ?? 0) + 80] = 0x58
    }
    let message = "/state/journal-2.jsonl is damaged at byte "
    #expect { try DamageTests.open(disk) } throws: { error in
      (error as? StateError)?.message.hasPrefix(message) == true
    }
  }

  @Test func `a journal that belongs to another state is refused`() async throws {
    let other = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: other)
    try await store.append(Example.created("z"))
    try await store.compact()
    let disk = try await DamageTests.disk()
    disk["/state/journal-2.jsonl"] = other["/state/journal-2.jsonl"]
    #expect(
      throws: StateError(
        .damaged,
        "/state/journal-2.jsonl is damaged at byte 0: it does not follow what was read before it" + DamageTests.wayOut)
    ) { try DamageTests.open(disk) }
  }

  @Test func `what a newer version wrote is refused by name`() async throws {
    let snapshot = try DamageTests.changing(try await DamageTests.disk(), "/state/state.json") { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
        .replacing("\"format\": 6", with: "\"format\": 7").replacing("errand 0.1", with: "errand 3.0")
      bytes = Array(text.utf8)
    }
    #expect(
      throws: StateError(
        .newer,
        "/state/state.json has format 7, which errand 3.0 wrote; this version reads format 6 and older. Use that version, or a newer one."
      )
    ) { try DamageTests.open(snapshot) }

    // A journal with an event of a future version, with valid sums.
    let disk = FaultyFileSystem()
    var position = JournalPosition()
    var bytes = Journal.header(generation: 1, after: &position, program: "errand 3.0")
    position.sequence = 1
    var batch = JournalBatch(position)
    batch.add(Array(#"{"n":1,"event":"slotDreamt","at":"2026-11-20T09:00:00Z"}"#.utf8) + [0x0A])
    bytes += batch.finish(&position)
    disk["/state/journal-1.jsonl"] = bytes
    #expect(
      throws: StateError(
        .newer,
        "/state/journal-1.jsonl holds what this version cannot read (event 1: the event 'slotDreamt' is not known to this version); it was written by errand 3.0. Use that version, or a newer one."
      )
    ) { try DamageTests.open(disk) }
  }

  // The sums were computed by another implementation of CRC-64/XZ.
  @Test func `the files look as their formats say`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    try await store.append(Example.set("x", .duration(.seconds(90))))
    #expect(
      try text(disk, "/state/journal-1.jsonl") == """
        {"journal":6,"generation":1,"after":0,"chain":"0000000000000000","program":"errand 0.1"}
        {"commit":0,"sum":"9a37dee26e7d1c6f"}
        {"n":1,"event":"valueSet","at":"2026-11-20T09:00:00Z","name":"x","value":{"$duration":"90s"}}
        {"commit":1,"sum":"364b0d020d2e3e7d"}

        """)
    try await store.close()
    #expect(
      try text(disk, "/state/state.json") == """
        {
          "chain": "364b0d020d2e3e7d",
          "checksum": "b8af34e5a2da69df",
          "format": 6,
          "generation": 2,
          "program": "errand 0.1",
          "sequence": 1,
          "state": {
            "values": {
              "x": {
                "$duration": "90s"
              }
            }
          }
        }

        """)
    #expect(
      disk.paths == [
        "/state/journal-1.jsonl", "/state/journal-2.jsonl", "/state/state.json",
      ])
  }

  private func text(_ disk: FaultyFileSystem, _ path: String) throws -> String {
    String(decoding: try #require(disk[path]), as: UTF8.self)
  }
}
