import Basics
import RunTestKit
import Testing

@testable import RunState

@Suite struct DoctorTests {
  private typealias Finding = StateExamination.Finding

  /// Two generations, a history of two months, a ledger, a blob of an open run, and a blob of a finished one.
  private static func healthy() async throws -> FaultyFileSystem {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    try await store.append(
      .scheduleSet(ScheduleSet(at: instant(0), schedule: "weekly", recipe: "r", file: "r.yaml", spec: "s")))
    // So that the generation before has a snapshot, too.
    try await store.compact()
    for (number, ended) in [-40 * 86_400, 0, nil].enumerated() {
      let run = "run-\(number)"
      let blob = try await store.putBlob(Array("output \(number)".utf8))
      try await store.append([
        Example.created(run), Example.began(run, "a"),
        .stepEnded(StepEnded(run: run, at: instant(1), step: "a", status: .succeeded, output: .blob(blob))),
        .slotDecided(
          SlotRecord(
            schedule: "weekly", slot: instant(number), outcome: .started, at: instant(number), cause: RunCause(.slot))),
      ])
      if let ended { try await store.append(Example.over(run, at: ended)) }
    }
    try await store.compact()
    try await store.append(Example.set("x", .int(1)))
    // The index of new records is built when it is first used.
    _ = try await store.finishedRuns(HistoryQuery())
    return disk.restarted(losing: .nothing)
  }

  private static func doctor(_ disk: FaultyFileSystem, isHeld: Bool = false, at now: Int = 100_000) -> StateDoctor {
    StateDoctor("/state", program: "errand 0.1", now: instant(now), isHeld: isHeld, fileSystem: disk)
  }

  @Test func `missing records that an index had are reported, also after the index was rebuilt`() async throws {
    let disk = try await DoctorTests.healthy()
    let path = "/state/slots/2026-11.jsonl"
    disk[path]?.removeLast(40)
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    #expect(try await store.slots(SlotQuery()).count == 2)
    try await store.close()
    let lost = "\(path) lacks records that its index knows of; put it back from a backup, or continue without them"
    func isMissed() throws -> Bool {
      try DoctorTests.doctor(disk).examine().findings.contains(Finding(.fault, lost, isRepairable: true))
    }
    #expect(try isMissed())
    _ = try DoctorTests.doctor(disk).repair()
    #expect(try !isMissed())
  }

  @Test func `a healthy state has no findings`() async throws {
    let disk = try await DoctorTests.healthy()
    let before = disk.operations
    let found = try DoctorTests.doctor(disk).examine()
    #expect(found.findings == [])
    #expect(
      found.counts.map { "\($0.name): \($0.count)" } == [
        "generation: 3", "events: 16", "open runs: 1", "schedules: 1", "finished runs: 2", "slots in the ledger: 3",
        "blobs: 3",
      ])
    #expect(disk.operations == before)
    #expect(
      try DoctorTests.doctor(FaultyFileSystem()).examine().findings
        == [Finding(.note, "there is no state in '/state' yet")])
  }

  /// Damage, the findings, and the findings after the repair.
  private struct Case: CustomStringConvertible, Sendable {
    let description: String
    let damage: @Sendable (FaultyFileSystem) -> Void
    let found: [String]
    var left: [String] = []

    init(
      _ description: String, found: [String], left: [String] = [],
      _ damage: @escaping @Sendable (FaultyFileSystem) -> Void
    ) {
      self.description = description
      self.found = found
      self.left = left
      self.damage = damage
    }
  }

  private static let cases: [Case] = [
    Case(
      "a damaged snapshot",
      found: [
        "fault* /state/state.json is damaged: its content does not match its checksum",
        "fault* /state/state.json was missing or damaged; the state was recovered from what was before it",
      ],
      left: [
        "note /state/state.damaged.json is a damaged snapshot that was kept to be looked at; remove it when you have"
      ]
    ) { disk in
      let text = String(decoding: disk["/state/state.json"] ?? [], as: UTF8.self)
      disk["/state/state.json"] = Array(text.replacing("weekly", with: "weakly").utf8)
    },
    Case(
      "a snapshot that was cut short between its two renames",
      found: ["note* a snapshot of '/state' was interrupted before it had its name; the next start writes it again"]
    ) { disk in
      disk["/state/state.json.new"] = disk["/state/state.json"]
      disk["/state/state.json"] = nil
    },
    Case(
      "a damaged generation before",
      found: [
        "warning* the previous generation cannot be read, which matters only if state.json is lost: /state/state.previous.json is damaged: its content does not match its checksum. Nothing was changed. Put a backup of the folder in its place, or move it away to begin with an empty state."
      ]
    ) { disk in
      let text = String(decoding: disk["/state/state.previous.json"] ?? [], as: UTF8.self)
      disk["/state/state.previous.json"] = Array(text.replacing("errand 0.1", with: "errand 0.7").utf8)
    },
    Case(
      "half a batch",
      found: [
        "warning* /state/journal-3.jsonl: 7 bytes after the last commit are to be dropped; they were being written when the machine or the program stopped, and were never acknowledged"
      ]
    ) { $0["/state/journal-3.jsonl"]?.append(contentsOf: Array(#"{"n":17"#.utf8)) },
    Case(
      "a damaged journal",
      found: [
        "fault /state/journal-3.jsonl is damaged at byte 0: its header is damaged. Nothing was changed. Put a backup of the folder in its place, keep what was written before the damage (errand doctor --repair --keep-until-damage), or move it away to begin with an empty state."
      ],
      left: [
        "fault /state/journal-3.jsonl is damaged at byte 0: its header is damaged. Nothing was changed. Put a backup of the folder in its place, keep what was written before the damage (errand doctor --repair --keep-until-damage), or move it away to begin with an empty state."
      ]
    ) { $0["/state/journal-3.jsonl"]?[3] ^= 1 },
    Case(
      "a damaged run",
      found: ["fault* /state/history/2026-11.jsonl is damaged at byte 0, where a run should be; a backup may have it"]
    ) { $0["/state/history/2026-11.jsonl"]?[100] ^= 1 },
    Case(
      "a damaged slot",
      found: ["fault* /state/slots/2026-11.jsonl is damaged at byte 0, where a slot should be; a backup may have it"]
    ) { $0["/state/slots/2026-11.jsonl"]?[60] ^= 1 },
    Case(
      "a history that is gone",
      found: [
        "fault* '/state/history' lacks the run 'run-1', which was its newest: files of it are gone or cut short; put them back from a backup, or continue without them"
      ]
    ) { disk in for path in disk.paths where path.hasPrefix("/state/history/") { disk[path] = nil } },
    Case(
      "a ledger that is cut short",
      found: [
        "fault* /state/slots/2026-11.jsonl lacks records that its index knows of; put it back from a backup, or continue without them",
        "warning* /state/slots/2026-11.jsonl ends in half a line, from an interrupted write or from lost records",
        "fault* '/state/slots' lacks the slot '2026-11-20T09:00:02Z weekly 2026-11-20T09:00:02Z slot started', which was its newest: files of it are gone or cut short; put them back from a backup, or continue without them",
      ]
    ) { $0["/state/slots/2026-11.jsonl"]?.removeLast(40) },
    Case(
      "a slot that is cut out",
      found: [
        "fault* /state/slots/2026-11.jsonl lacks records that its index knows of; put it back from a backup, or continue without them"
      ]
    ) { disk in
      let lines = disk["/state/slots/2026-11.jsonl"]?.split(separator: 0x0A).dropFirst() ?? []
      disk["/state/slots/2026-11.jsonl"] = lines.flatMap { $0 + [0x0A] }
    },
    Case(
      "half a run",
      found: [
        "warning* /state/history/2026-11.jsonl ends in half a line, from an interrupted write or from lost records"
      ]
    ) { $0["/state/history/2026-11.jsonl"]?.append(contentsOf: Array(#"{"sum":""#.utf8)) },
    Case(
      "a damaged index",
      found: ["warning* /state/history/2026-11.index is not that of /state/history/2026-11.jsonl"]
    ) { $0["/state/history/2026-11.index"]?[20] ^= 1 },
    Case(
      "what writes left",
      found: [
        "warning* /state/history/2026-11.jsonl.new is left over from an interrupted write; nothing needs it",
        "warning* /state/state.json.new is left over from an interrupted write; nothing needs it",
      ]
    ) { disk in
      disk["/state/state.json.new"] = [1]
      disk["/state/history/2026-11.jsonl.new"] = [1]
    },
    Case(
      "files that others may read",
      found: ["fault* /state/state.json has the mode 644, so that users other than its owner may use it"]
    ) { try? $0.setMode(0o644, of: "/state/state.json") },
    Case(
      "a full disk",
      found: [
        "warning the disk of '/state' has 5 MiB free of 1024, and this state may need 32 until its next snapshot; make room, or runs will stop"
      ],
      left: [
        "warning the disk of '/state' has 5 MiB free of 1024, and this state may need 32 until its next snapshot; make room, or runs will stop"
      ]
    ) { $0.setSpace(DiskSpace(free: 5 << 20, total: 1 << 30)) },
    Case("a blob that nothing names", found: ["note* 1 blobs are no longer referenced"]) { disk in
      disk["/state/blobs/03/039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81"] = [1, 2, 3]
    },
  ]

  private static func texts(_ findings: [Finding]) -> [String] {
    findings.map { "\($0.severity.rawValue)\($0.isRepairable ? "*" : "") \($0.message)" }
  }

  @Test(arguments: cases.indices)
  func `faults are found and reported, and repaired where that loses nothing`(_ index: Int) async throws {
    let one = DoctorTests.cases[index]
    let disk = try await DoctorTests.healthy()
    one.damage(disk)
    #expect(DoctorTests.texts(try DoctorTests.doctor(disk).examine().findings) == one.found, "\(one)")
    let done = try DoctorTests.doctor(disk).repair()
    #expect(done.isEmpty == (one.found == one.left), "\(one)")
    #expect(DoctorTests.texts(try DoctorTests.doctor(disk).examine().findings) == one.left, "\(one)")
  }

  /// The visible content of a state.
  private static func content(_ disk: FaultyFileSystem) async throws -> [String] {
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    let finished = try await store.finishedRuns(HistoryQuery()).map { "\($0.id) \($0.status)" }
    let slots = try await store.slots(SlotQuery()).map { "\($0.slot) \($0.outcome)" }
    return finished + slots + [try JSON.text(store.state.encoded())]
  }

  @Test(arguments: cases.indices)
  func `an interrupted repair is finished by the next, and loses nothing`(_ index: Int) async throws {
    let one = DoctorTests.cases[index]
    // A crash doesn't change the disk's space or a file's mode.
    if one.found.contains(where: { $0.contains("MiB free") || $0.contains("the mode") }) { return }
    let healthy = try await DoctorTests.healthy()
    let mended = healthy.restarted(losing: .nothing)
    one.damage(mended)
    _ = try DoctorTests.doctor(mended).repair()
    let isMended = !one.left.contains { $0.hasPrefix("fault ") }
    let content = isMended ? try await DoctorTests.content(mended.restarted(losing: .nothing)) : []
    var moments = 0
    for phase in FaultyFileSystem.Phase.allCases {
      for loss in [FaultyFileSystem.Loss.everything, .nothing, .some(seed: UInt64(index))] {
        for operation in 1... {
          let disk = healthy.restarted(losing: .nothing)
          one.damage(disk)
          disk.fail(at: operation, .crash(phase))
          _ = try? DoctorTests.doctor(disk).repair()
          guard disk.isStopped else { break }
          moments += 1
          let after = disk.restarted(losing: loss)
          let place: Comment = "\(one): operation \(operation), \(phase), losing \(loss)"
          _ = try DoctorTests.doctor(after).repair()
          #expect(DoctorTests.texts(try DoctorTests.doctor(after).examine().findings) == one.left, place)
          if isMended { #expect(try await DoctorTests.content(after) == content, place) }
        }
      }
    }
    #expect(moments > 0 || one.found == one.left)
  }

  @Test func `a snapshot that was interrupted between its two renames is written again silently`() async throws {
    for isWhole in [true, false] {
      let disk = try await DoctorTests.healthy()
      disk["/state/state.json.new"] = isWhole ? disk["/state/state.json"] : [1]
      disk["/state/state.json"] = nil
      let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
      #expect(store.notices.isEmpty == isWhole)
      #expect(store.state.values["x"] == .inline(.int(1)))
      try await store.close()
      #expect(disk["/state/state.json"] != nil)
      #expect(try DoctorTests.doctor(disk).examine().findings == [])
    }
  }

  @Test func `a missing and a damaged blob are named`() async throws {
    let disk = try await DoctorTests.healthy()
    let blobs = disk.paths.filter { $0.hasPrefix("/state/blobs/") }
    disk[blobs[0]] = nil
    disk[blobs[1]]?[0] ^= 1
    let texts = DoctorTests.texts(try DoctorTests.doctor(disk).examine().findings)
    #expect(
      texts == [
        "fault \(blobs[1]) is damaged: its content does not match its name; put it back from a backup",
        "fault \(blobs[0]) is missing; put it back from a backup, or the runs that need it cannot resume",
      ])
  }

  @Test func `a clock that went back is reported`() async throws {
    let disk = try await DoctorTests.healthy()
    #expect(
      DoctorTests.texts(try DoctorTests.doctor(disk, at: -3600).examine().findings) == [
        "warning the state knows of things at 2026-11-20T09:00:01Z, but the clock says 2026-11-20T08:00:00Z; it was ahead then, or is behind now: set it, and schedules wait until it is there",
        "warning the schedule 'weekly' starts no slot before 2026-11-20T09:00:02Z, because the clock was once ahead and its slots until then are decided; to go back to now: errand schedule reset weekly",
      ])
  }

  @Test func `an agent's unfinished writes aren't faults`() async throws {
    let disk = try await DoctorTests.healthy()
    disk["/state/journal-3.jsonl"]?.append(contentsOf: Array(#"{"n":17"#.utf8))
    disk["/state/history/2026-11.index"] = nil
    disk["/state/state.json.new"] = [1]
    let before = disk.operations
    #expect(
      DoctorTests.texts(try DoctorTests.doctor(disk, isHeld: true).examine().findings)
        == ["note /state/state.json.new is being written"])
    // Above all, the doctor writes nothing.
    #expect(disk.operations == before)
  }
}
