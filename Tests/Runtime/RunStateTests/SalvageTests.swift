import Basics
import RunTestKit
import Testing

@testable import RunState

/// The events that salvage keeps of a damaged journal, its report, and the schedules and runs that it pauses.
@Suite struct SalvageTests {
  /// Three runs and two schedules, with five batches after the snapshot.
  private static func disk() async throws -> FaultyFileSystem {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    for schedule in ["daily", "weekly"] {
      try await store.append(
        .scheduleSet(ScheduleSet(at: instant(0), schedule: schedule, recipe: "r", file: "r.yaml", spec: "s")))
    }
    for run in ["a", "b"] { try await store.append([Example.created(run), Example.began(run, "book")]) }
    try await store.compact()
    try await store.append([Example.ended("a", "book"), Example.set("x", .int(1))])
    try await store.append([Example.began("b", "put"), Example.attempted("b", "put")])
    try await store.append([Example.ended("b", "put"), Example.set("y", .int(2))])
    try await store.append([
      Example.created("c"), Example.began("c", "mail"),
      .slotDecided(
        SlotRecord(
          schedule: "daily", slot: instant(60), outcome: .started, at: instant(60), cause: RunCause(.slot), run: "c")),
    ])
    try await store.append([Example.over("c")])
    return disk.restarted(losing: .nothing)
  }

  private static func doctor(_ disk: FaultyFileSystem) -> StateDoctor {
    StateDoctor("/state", program: "errand 0.1", now: instant(100_000), isHeld: false, fileSystem: disk)
  }

  /// Overwrites the first occurrence of a text.
  private static func overwrite(_ disk: FaultyFileSystem, _ text: String, with byte: UInt8 = 0, count: Int = 8) throws {
    var bytes = try #require(disk["/state/journal-2.jsonl"])
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: text.utf8) })
    bytes.replaceSubrange(place..<place + count, with: repeatElement(byte, count: count))
    disk["/state/journal-2.jsonl"] = bytes
  }

  private static func state(_ disk: FaultyFileSystem) async throws -> State {
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    #expect(store.notices == [])
    return store.state
  }

  private static let aside = "what can't be kept is copied to /state/journal-2.damaged.jsonl"
  private static let note =
    "/state/journal-2.damaged.jsonl is a damaged journal that was kept to be looked at; remove it when you have"

  @Test func `events before the damage are kept, and affected runs and schedules are reported and paused`() async throws
  {
    let disk = try await SalvageTests.disk()
    // In the attempt of the second run's step; the run can still be read.
    try SalvageTests.overwrite(disk, "attemptBegan")
    #expect(try SalvageTests.doctor(disk).repair() == [])
    let done = try SalvageTests.doctor(disk).repair(keepingUntilDamage: true)
    #expect(
      Array(done.dropFirst()) == [
        "8 events after the damage are lost; 7 of them can still be read, and 1 line can't",
        "what the run b of 'averages' did last is lost (put was succeeded)",
        "the run c of 'averages' is lost (mail had begun), and it had succeeded",
        "a change of the value 'y' is lost",
        "the slot 2026-11-20T09:01:00Z of the schedule 'daily', which was started as run c, is lost",
        SalvageTests.aside,
        "the run b of 'averages' is paused; check what it has done already, then: errand runs resume b",
        "the schedule 'daily' is paused, so that no slot starts twice; then: errand schedule resume daily",
        "the schedule 'weekly' is paused, so that no slot starts twice; then: errand schedule resume weekly",
      ])
    #expect(
      done.first?.hasSuffix("zeros are where there were none; everything up to event 8 is kept") == true, "\(done)")
    #expect(try SalvageTests.doctor(disk).examine().findings.map(\.message) == [SalvageTests.note])
    let state = try await SalvageTests.state(disk)
    #expect(state.values.keys.sorted() == ["x"])
    #expect(state.openRuns.map { "\($0.id) \($0.status)" } == ["a queued", "b paused"])
    #expect(state.run("b")?.reason?.hasPrefix("the journal was damaged") == true)
    #expect(state.run("a")?.steps["book"]?.status == .succeeded)
    #expect(state.schedules.values.allSatisfy { $0.pause?.origin == .person })
  }

  @Test func `if the lost events are unreadable, everything is paused`() async throws {
    let disk = try await SalvageTests.disk()
    var bytes = try #require(disk["/state/journal-2.jsonl"])
    bytes.replaceSubrange(300..<bytes.count, with: repeatElement(0xFF, count: bytes.count - 300))
    disk["/state/journal-2.jsonl"] = bytes
    let done = try SalvageTests.doctor(disk).repair(keepingUntilDamage: true)
    #expect(done.contains { $0.hasSuffix("1 of them can still be read, and 1 line can't") }, "\(done)")
    let state = try await SalvageTests.state(disk)
    #expect(state.openRuns.map { "\($0.id) \($0.status)" } == ["a paused", "b paused"])
    #expect(state.schedules.values.allSatisfy { $0.pause != nil })
  }

  @Test(arguments: [0x01, 0x10] as [UInt8])
  func `wherever a bit of a batch is flipped, its run is paused`(_ bit: UInt8) async throws {
    let sound = try await SalvageTests.disk()
    let bytes = try #require(sound["/state/journal-2.jsonl"])
    let lines = bytes.split(separator: 0x0A)
    // The batch with the attempt of the second run's step.
    let end = try #require(lines.first { $0.holds("attemptBegan") }).endIndex
    let begin = try #require(lines.first { $0.holds("stepBegan") && $0.holds("put") }).startIndex
    for place in begin..<end where bytes[place] ^ bit != 0x0A {
      let disk = sound.restarted(losing: .nothing)
      disk["/state/journal-2.jsonl"]?[place] ^= bit
      _ = try SalvageTests.doctor(disk).repair(keepingUntilDamage: true)
      #expect(try await SalvageTests.state(disk).run("b")?.status == .paused, "byte \(place - begin)")
    }
  }

  @Test func `only a missing journal is lost`() async throws {
    let disk = try await SalvageTests.disk()
    disk["/state/journal-2.jsonl"] = nil
    let done = try SalvageTests.doctor(disk).repair(keepingUntilDamage: true)
    #expect(done.first == "/state/journal-2.jsonl is missing; everything up to event 6 is kept")
    let state = try await SalvageTests.state(disk)
    #expect(state.openRuns.map { "\($0.id) \($0.status)" } == ["a paused", "b paused"])
    #expect(try SalvageTests.doctor(disk).examine().findings == [])
  }

  @Test func `nothing is changed where there is no damage, or nothing to keep`() async throws {
    let sound = try await SalvageTests.disk()
    let expected = try await SalvageTests.state(sound.restarted(losing: .nothing))
    #expect(try SalvageTests.doctor(sound).repair(keepingUntilDamage: true) == [])
    #expect(try await SalvageTests.state(sound) == expected)
    let lost = try await SalvageTests.disk()
    for name in ["state.json", "state.previous.json", "journal-1.jsonl"] { lost["/state/\(name)"] = nil }
    let before = lost.operations
    #expect(try SalvageTests.doctor(lost).repair(keepingUntilDamage: true) == [])
    #expect(lost.operations == before)
  }

  @Test(arguments: ["attemptBegan", "\"generation\"", "slotDecided"])
  func `an interrupted salvage is finished by the next one`(
    _ place: String
  ) async throws {
    let damaged = try await SalvageTests.disk()
    try SalvageTests.overwrite(damaged, place)
    let mended = damaged.restarted(losing: .nothing)
    _ = try SalvageTests.doctor(mended).repair(keepingUntilDamage: true)
    let expected = try await SalvageTests.state(mended)
    var moments = 0
    for phase in FaultyFileSystem.Phase.allCases {
      for loss in [FaultyFileSystem.Loss.everything, .nothing, .some(seed: 7)] {
        for operation in 1... {
          let disk = damaged.restarted(losing: .nothing)
          disk.fail(at: operation, .crash(phase))
          _ = try? SalvageTests.doctor(disk).repair(keepingUntilDamage: true)
          guard disk.isStopped else { break }
          moments += 1
          let after = disk.restarted(losing: loss)
          let place: Comment = "operation \(operation), \(phase), losing \(loss)"
          // An agent that is started meanwhile reads only the kept part.
          let looked = after.restarted(losing: .nothing)
          if let store = try? await FileStateStore.open("/state", program: "errand 0.1", fileSystem: looked) {
            #expect(store.state == expected, place)
          }
          _ = try SalvageTests.doctor(after).repair(keepingUntilDamage: true)
          #expect(try SalvageTests.doctor(after).examine().findings.map(\.message) == [SalvageTests.note], place)
          #expect(try await SalvageTests.state(after) == expected, place)
          #expect(after["/state/journal-2.damaged.jsonl"] == damaged["/state/journal-2.jsonl"], place)
        }
      }
    }
    #expect(moments > 50)
  }
}

extension State {
  fileprivate func run(_ id: String) -> RunRecord? { runs[id] }
}

extension ArraySlice<UInt8> {
  fileprivate func holds(_ text: String) -> Bool { indices.contains { self[$0...].starts(with: text.utf8) } }
}
