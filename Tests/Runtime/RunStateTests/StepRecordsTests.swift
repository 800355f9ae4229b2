import Basics
import RunTestKit
import Testing

@testable import RunState

/// The records of a run's steps, with very many steps and several holders.
@Suite struct StepRecordsTests {
  private static func record(_ number: Int, _ status: StepStatus = .running) -> StepRecord {
    StepRecord(
      path: "each[\(number)]", ordinal: number, status: status, now: instant(number), startedAt: instant(number))
  }

  private static func records(_ count: Int, _ status: StepStatus = .running) -> StepRecords {
    var records = StepRecords()
    for number in 0..<count { records.put(record(number, status)) }
    return records
  }

  @Test(arguments: [0, 1, 8, 9, 12, 13, 511, 512, 513, 5000])
  func `each step is found by its path and in its place`(count: Int) {
    let records = StepRecordsTests.records(count)
    #expect(records.count == count)
    #expect(records.map(\.ordinal) == Array(0..<count))
    for number in 0..<count { #expect(records["each[\(number)]"] == StepRecordsTests.record(number)) }
    #expect(records["each[\(count)]"] == nil)
    #expect(records.status(of: "each") == nil)
  }

  @Test func `a step that begins again keeps its place`() {
    var records = StepRecordsTests.records(20)
    records.put(StepRecordsTests.record(3, .failed))
    #expect(records.count == 20)
    #expect(records[3].status == .failed)
  }

  @Test(arguments: [0, 1, 7, 8, 500, 1000], [0, 3])
  func `the steps of a round go with it`(count: Int, others: Int) {
    func record(_ path: String, _ ordinal: Int) -> StepRecord {
      StepRecord(path: path, ordinal: ordinal, status: .running, now: instant(0), startedAt: instant(0))
    }
    var records = StepRecordsTests.records(count)
    let before = records
    records.put(record("a", records.nextOrdinal))
    records.put(record("a/#round", records.nextOrdinal))
    for number in 0..<600 {
      records.put(record("a/#round1/b[\(number)]", records.nextOrdinal))
      if number < others { records.put(record("other[\(number)]", records.nextOrdinal)) }
    }
    records.removeRounds(of: "a/#round")
    #expect(records.count == count + 2 + others)
    #expect(records.prefix(count).elementsEqual(before))
    for place in records.indices { #expect(records[records[place].path]?.ordinal == records[place].ordinal) }
    #expect(records.map(\.ordinal) == records.map(\.ordinal).sorted())
    #expect(records["a/#round1/b[5]"] == nil)
    records.put(record("a/#round2/b", records.nextOrdinal))
    #expect(records.last?.path == "a/#round2/b")
  }

  @Test func `a change of one copy leaves the other as it is`() {
    let before = StepRecordsTests.records(1000)
    var after = before
    for number in stride(from: 0, to: 1000, by: 7) { after.change("each[\(number)]") { $0.status = .succeeded } }
    for number in 1000..<1500 { after.put(StepRecordsTests.record(number)) }
    #expect(before == StepRecordsTests.records(1000))
    #expect(after.count == 1500)
    #expect(after.status(of: "each[14]") == .succeeded)
    #expect(after.status(of: "each[1499]") == .running)
    #expect(before["each[1000]"] == nil)
  }

  @Test func `only equal records of steps that ended are shared`() {
    let theirs = StepRecordsTests.records(24, .succeeded)
    var ours = StepRecordsTests.records(24, .succeeded)
    ours.change("each[9]") { $0.status = .running }
    for number in 0..<24 { ours.share("each[\(number)]", of: theirs) }
    ours.share("each[24]", of: theirs)
    #expect(ours.status(of: "each[9]") == .running)
    ours.change("each[9]") { $0.status = .succeeded }
    #expect(ours == theirs)
  }

  /// A run whose record is much larger than a piece of its text.
  private static func large(_ run: String) -> [StateEvent] {
    [Example.created(run)]
      + (0..<3000).flatMap { number -> [StateEvent] in
        let step = "each[\(number)]"
        return [
          .stepBegan(
            StepBegan(
              run: run, at: instant(1), step: step, now: instant(1), attempt: 1, key: "\(run)/\(step)")),
          .stepEnded(
            StepEnded(
              run: run, at: instant(2), step: step, attempt: 1, status: .succeeded,
              output: .inline(.string(String(repeating: "x", count: 200))))),
        ]
      }
  }

  @Test func `a large run is the same after a snapshot and in the history`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand", fileSystem: disk)
    let state = try Example.fold(StepRecordsTests.large("r"))
    try await store.append(StepRecordsTests.large("r"))
    #expect(store.state == state)
    try await store.compact()
    let snapshot = try JSON.text(
      Snapshot(reading: try #require(disk["/state/state.json"]), name: "state.json").state.encoded())
    #expect(try snapshot == JSON.text(state.encoded()))
    try await store.append(Example.over("r", at: 3))
    let ended = try #require(store.endedRun("r"))
    try await store.close()
    let again = try await FileStateStore.open("/state", program: "errand", fileSystem: disk)
    #expect(again.notices == [])
    #expect(try await again.finishedRun("r") == ended)
    let line = try #require(disk["/state/history/2026-11.jsonl"])
    #expect(try ended.line() == line)
    #expect(line.dropLast().dropFirst(RunRecord.textStart).dropLast().elementsEqual(try recordedBytes(of: ended)))
    try await again.close()
  }

  @Test(arguments: [
    #"{"event":"stepBegan","run":"r","at":"2026-11-20T09:00:00Z","step":"a","now":"2026-11-20T09:00:00Z","attempt":1}"#,
    #"{"event":"stepBegan","run":"r","at":"2026-11-20T09:00:00Z","step":"a","now":"2026-11-20T09:00:00Z","attempt":1,"baseline":4,"key":"mine"}"#,
    #"{"event":"stepEnded","run":"r","at":"2026-11-20T09:00:00Z","step":"a","attempt":1,"output":1}"#,
  ])
  func `an attempt that begins or ends with its step is one event`(line: String) throws {
    let event = try StateEvent(reading: try JSON.parse(Array(line.utf8)))
    #expect(String(decoding: try recordedBytes(of: event), as: UTF8.self) == line)
  }

  @Test func `one event makes the same record as one for the step and one for the attempt`() throws {
    let (at, end) = (instant(1), instant(2))
    let short = try Example.fold([
      Example.created("r"),
      .stepBegan(
        StepBegan(run: "r", at: at, step: "a", now: at, attempt: 1, baseline: .inline(.int(4)), key: "r/a")),
      .stepEnded(StepEnded(run: "r", at: end, step: "a", attempt: 1, status: .succeeded, exchanges: [.int(1)])),
    ])
    let long = try Example.fold([
      Example.created("r"), .stepBegan(StepBegan(run: "r", at: at, step: "a", now: at, key: "r/a")),
      .attemptBegan(AttemptBegan(run: "r", at: at, step: "a", number: 1, baseline: .inline(.int(4)))),
      .attemptEnded(AttemptEnded(run: "r", at: end, step: "a", number: 1, exchanges: [.int(1)])),
      .stepEnded(StepEnded(run: "r", at: end, step: "a", status: .succeeded)),
    ])
    #expect(short == long)
    let run = try #require(short.runs["r"])
    #expect(run.steps["a"].map { run.key(of: $0) } == "r/a")
  }
}
