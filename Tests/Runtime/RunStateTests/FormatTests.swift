import Basics
import Foundation
import Testing

@testable import RunState

/// A folder that an older version left is opened, read right, and brought forward.
@Suite struct FormatTests {
  /// A copy of a fixture, which goes with the test.
  private final class Copy: Sendable {
    let path = NSTemporaryDirectory() + "errand-format-" + UUID().uuidString

    init(of name: String) throws {
      let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
      try FileManager.default.copyItem(atPath: fixtures.appending(path: name).path, toPath: path)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static let third = "019a9fd5-0000-7000-8000-000000000003"
  private static let second = "019a9000-0000-7000-8000-000000000002"

  /// What the folder of format 1 held: a loop under way, a run that waits in the journal to go to the history, two that
  /// are there, values, and a blob that all of them name.
  private func expectFormatOne(_ store: FileStateStore) async throws {
    let run = try #require(store.run(FormatTests.third))
    #expect(store.openRuns.map(\.id) == [FormatTests.third])
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
}
