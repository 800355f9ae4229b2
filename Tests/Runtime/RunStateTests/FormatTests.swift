import Basics
import Foundation
import Testing

@testable import RunState

/// A folder of an older version is opened, read correctly, and converted.
@Suite struct FormatTests {
  /// A copy of a fixture, which is removed after the test.
  private final class Copy: Sendable {
    let path = NSTemporaryDirectory() + "errand-format-" + UUID().uuidString

    init(of name: String) throws {
      let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
      try FileManager.default.copyItem(atPath: fixtures.appending(path: name).path, toPath: path)
    }

    init(ofReleased version: String) throws {
      let state = FormatTests.released.appending(path: "\(version)/state")
      try FileManager.default.copyItem(atPath: state.path, toPath: path)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static let third = "019a9fd5-0000-7000-8000-000000000003"
  private static let second = "019a9000-0000-7000-8000-000000000002"

  /// The content of the folder of format 1: a loop under way, a run in the journal that is about to move to the
  /// history, two runs in the history, values, and a blob that all of them refer to.
  private func expectFormatOne(_ store: FileStateStore) async throws {
    let run = try #require(store.run(FormatTests.third))
    #expect(store.state.openRuns.map(\.id) == [FormatTests.third])
    #expect(run.pendingCancel == CancelRequested(run: FormatTests.third, at: instant(7), reason: "enough"))
    #expect(run.origin.inputs["marks"] == .list([.int(7), .double(1.5)]))
    #expect(run.stepsInOrder.map(\.path) == ["put", "put[0]", "put[1]"])
    #expect(run.steps["put[0]"]?.output == .inline(.bytes([1, 2, 3])))
    let item = try #require(run.steps["put[1]"])
    #expect((item.status, item.key, item.attempts) == (.retrying, "k1", 1))
    #expect(item.lastAttempt?.retryAt == instant(60))
    #expect(item.lastAttempt?.baseline == .inline(.int(4)))
    #expect(item.lastAttempt?.error?.cause?.message == "no answer in 30s")
    #expect(store.state.values["last"] == .inline(.duration(.seconds(90))))
    let large = try #require(store.state.values["large"])
    #expect(try await store.value(large) == .object(["rows": .list([.int(1), .int(2), .uint(3)])]))
    #expect(
      try await store.finishedRuns(HistoryQuery()).map { "\($0.id.suffix(1)) \($0.recipe) \($0.status)" }
        == ["4 report failed", "2 report succeeded", "1 averages succeeded"])
    #expect(try await store.finishedRun(FormatTests.second)?.outputs == large)
  }

  @Test func `a folder of format 1 is read, and is of this format afterwards`() async throws {
    let copy = try Copy(of: "format-1")
    let store = try await FileStateStore.open(copy.path, program: "errand 0.2")
    #expect(store.notices == [])
    try await expectFormatOne(store)
    try await store.append(Example.set("after", .bool(true)))
    try await store.close()
    let snapshot = try JSON.parse(Files.read("\(copy.path)/state.json"))
    #expect(snapshot["format"]?.int == StateFormat.version)
    #expect(
      try Files.list("\(copy.path)/history") == ["2026-10.index", "2026-10.jsonl", "2026-11.index", "2026-11.jsonl"])

    let again = try await FileStateStore.open(copy.path, program: "errand 0.2")
    #expect(again.notices == [])
    try await expectFormatOne(again)
    #expect(again.state.values["after"] == .inline(.bool(true)))
    try await again.close()
  }

  @Test func `a folder of format 4 is read with its token, and takes one with the scope of format 5`() async throws {
    let copy = try Copy(ofReleased: "0.5.0")
    #expect(try lines("0.5.0", "journal-3.jsonl").first?.hasPrefix(#"{"journal":4,"#) == true)
    let store = try await FileStateStore.open(copy.path, program: "errand 0.6")
    let tokens = await store.tokens()
    #expect(tokens.map(\.name) == ["reader"] && tokens.first?.scopes == [.read])
    let token = TokenIssued(at: instant(1), name: "admin", sha256: "00", scopes: [.read, .tokens])
    try await store.append(.tokenIssued(token))
    try await store.close()
    let snapshot = try JSON.parse(Files.read("\(copy.path)/state.json"))
    #expect(snapshot["format"]?.int == StateFormat.version)
    let again = try await FileStateStore.open(copy.path, program: "errand 0.6")
    #expect(await again.tokens().map(\.name) == ["admin", "reader"])
    #expect(await again.tokens().first == token)
    try await again.close()
  }

  // MARK: - Bytes

  /// The states that released versions left.
  private static let released = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Programs/errandTests/Fixtures/states")

  /// The lines of a file of a released state.
  private func lines(_ version: String, _ name: String) throws -> [String] {
    let file = FormatTests.released.appending(path: "\(version)/state/\(name)")
    return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test(arguments: ["0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0"], ["journal-2.jsonl", "journal-3.jsonl"])
  func `events of released versions are written as they were`(version: String, name: String) throws {
    var count = 0
    for line in try lines(version, name) {
      guard var map = try JSON.parse(Array(line.utf8)).map, let number = map["n"]?.int else { continue }
      map = ValueMap(map.members.dropFirst().map { ($0.name ?? "", $0.value) })
      let text = try recordedBytes(of: StateEvent(reading: .map(map)))
      #expect("{\"n\":\(number)," + String(decoding: text.dropFirst(), as: UTF8.self) == line)
      count += 1
    }
    #expect(count > 10)
  }

  @Test(arguments: ["0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0"])
  func `records of released versions are written as they were`(version: String) throws {
    func written(_ entry: (some LogRecord)?) throws -> String? {
      try entry.map { String(decoding: try $0.line().dropLast(), as: UTF8.self) }
    }
    for line in try lines(version, "history/2026-11.jsonl") {
      #expect(try written(RunRecord(inLine: Array(line.utf8)[...])) == line)
    }
    for line in try lines(version, "slots/2026-11.jsonl") {
      #expect(try written(SlotRecord(inLine: Array(line.utf8)[...])) == line)
    }
    let snapshot = try JSON.parse(Array(try lines(version, "state.json").joined(separator: "\n").utf8))
    let state = try #require(snapshot["state"])
    #expect(try JSON.text(State(reading: state).encoded(), .prettySorted) == JSON.text(state, .prettySorted))
  }

  @Test(arguments: [
    #"{"event":"runCreated","run":"r","at":"2026-11-20T09:00:00Z","recipe":"a","file":"a.yaml","texts":{},"inputs":{},"sandbox":false,"program":"errand 0.1"}"#,
    #"{"event":"runStatusChanged","run":"r","at":"2026-11-20T09:00:00Z","status":"running"}"#,
    #"{"event":"cancelRequested","run":"r","at":"2026-11-20T09:00:00Z"}"#,
    #"{"event":"stepBegan","run":"r","at":"2026-11-20T09:00:00Z","step":"a","now":"2026-11-20T09:00:00Z","status":"running"}"#,
    #"{"event":"attemptBegan","run":"r","at":"2026-11-20T09:00:00Z","step":"a","number":1}"#,
    #"{"event":"attemptEnded","run":"r","at":"2026-11-20T09:00:00Z","step":"a","number":1}"#,
    #"{"event":"stepEnded","run":"r","at":"2026-11-20T09:00:00Z","step":"a","status":"succeeded"}"#,
    #"{"event":"runEnded","run":"r","at":"2026-11-20T09:00:00Z","status":"succeeded"}"#,
    #"{"event":"runNoted","run":"r","at":"2026-11-20T09:00:00Z","name":"n","value":1,"condition":{}}"#,
    #"{"event":"runPlaced","run":"r","at":"2026-11-20T09:00:00Z"}"#,
    #"{"event":"valueSet","at":"2026-11-20T09:00:00Z","name":"x","value":null}"#,
    #"{"event":"valueRemoved","at":"2026-11-20T09:00:00Z","name":"x"}"#,
    #"{"event":"stepWaits","run":"r","at":"2026-11-20T09:00:00Z","step":"a","now":"2026-11-20T09:00:00Z","wait":{"kind":"until"}}"#,
    #"{"event":"decisionGiven","run":"r","step":"a","decision":{"isApproved":false,"by":"ada","at":"2026-11-20T09:00:00Z"}}"#,
    #"{"event":"answerGiven","run":"r","step":"a","decision":{"isApproved":true,"fields":{"room":"B12"},"by":"ada","at":"2026-11-20T09:00:00Z"}}"#,
    #"{"event":"eventReceived","id":"e","name":"n","receivedAt":"2026-11-20T09:00:00Z"}"#,
    #"{"event":"eventConsumed","at":"2026-11-20T09:00:00Z","id":"e","by":"r"}"#,
    #"{"event":"eventsForgotten","at":"2026-11-20T09:00:00Z"}"#,
    #"{"event":"eventGathered","at":"2026-11-20T09:00:00Z","schedule":"s","id":"e","due":"2026-11-20T09:10:00Z"}"#,
    #"{"event":"filesSeen","at":"2026-11-20T09:00:00Z","schedule":"s","pattern":"a"}"#,
    #"{"event":"scheduleSet","at":"2026-11-20T09:00:00Z","schedule":"s","recipe":"a","file":"a.yaml","spec":"x"}"#,
    #"{"event":"scheduleRemoved","at":"2026-11-20T09:00:00Z","schedule":"s"}"#,
    #"{"event":"schedulePaused","schedule":"s"}"#,
    #"{"event":"scheduleReset","at":"2026-11-20T09:00:00Z","schedule":"s","processedUntil":"2026-11-20T09:00:00Z"}"#,
    #"{"event":"slotDecided","schedule":"s","slot":"2026-11-20T09:00:00Z","count":1,"outcome":"started","at":"2026-11-20T09:00:00Z","cause":{"kind":"slot"}}"#,
  ])
  func `an event without what may be left out is written as ever`(line: String) throws {
    let event = try StateEvent(reading: try JSON.parse(Array(line.utf8)))
    #expect(String(decoding: try recordedBytes(of: event), as: UTF8.self) == line)
  }
}
