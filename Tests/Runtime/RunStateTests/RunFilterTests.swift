import Basics
import Testing

@testable import RunState

/// Filters of runs, in summaries and in the lines that hold them.
@Suite struct RunFilterTests {
  private static func summary(_ fill: (inout RunCreated) -> Void = { _ in }) throws -> RunSummary {
    guard case .runCreated(var origin) = Example.created("r1", recipe: "weekly-Report") else {
      throw StateError(.invalid, "no run begins")
    }
    origin.inputs = .object([
      "class": .string("7a"), "n": .int(3), "long": .string(String(repeating: "ä", count: 100)), "none": .null,
      "days": .list((0..<12).map { .int($0) }), "pair": .list([.int(1), .string("x")]),
    ])
    fill(&origin)
    var end = RunEnded(run: "r1", at: instant(5), status: .failed)
    end.error = RunError(.network, "Host \"mark.test\" refused: Täglich")
    let state = try Example.fold([.runCreated(origin), .runEnded(end)])
    return RunSummary(try #require(state.ended.first))
  }

  private static let cases: [(String, Bool, @Sendable (inout RunFilter) -> Void)] = [
    ("nothing", true, { _ in }), ("a part of the recipe", true, { $0.recipePart = "LY-rep" }),
    ("another recipe", false, { $0.recipePart = "monthly" }), ("a text", true, { $0.text = "host \"MARK" }),
    // Only letters of ASCII match in either case.
    ("an umlaut", true, { $0.text = "täglich" }), ("another umlaut", false, { $0.text = "TÄGLICH" }),
    ("a text with its end", true, { $0.text = "lich" }), ("another text", false, { $0.text = "timed out" }),
    ("a cause", true, { $0.causes = [.slot] }), ("causes", true, { $0.causes = [.slot, .file] }),
    ("another cause", false, { $0.causes = [.file] }),
    ("an input", true, { $0.inputs = ["class=7a"].compactMap { RunFilter.Input($0) } }),
    ("a number", true, { $0.inputs = ["n=3", "class=7a"].compactMap { RunFilter.Input($0) } }),
    ("a part of an input", false, { $0.inputs = ["class=7"].compactMap { RunFilter.Input($0) } }),
    ("an input of another name", false, { $0.inputs = ["n=7a"].compactMap { RunFilter.Input($0) } }),
    (
      "a long input", true,
      { $0.inputs = ["long=" + String(repeating: "ä", count: 100)].compactMap { RunFilter.Input($0) } }
    ),
    ("the beginning of a long input", false, { $0.inputs = ["long=ää"].compactMap { RunFilter.Input($0) } }),
    ("a short list", true, { $0.inputs = ["pair=[1,\"x\"]"].compactMap { RunFilter.Input($0) } }),
    ("a long list", true, { $0.inputs = ["days=12 entries"].compactMap { RunFilter.Input($0) } }),
    ("an input that is none", false, { $0.inputs = ["none="].compactMap { RunFilter.Input($0) } }),
  ]

  @Test(arguments: cases.indices)
  func `a filter finds what it says, in the record and in the line of an index`(_ index: Int) throws {
    let (name, isFound, fill) = Self.cases[index]
    var run = try Self.summary()
    run.cause = RunCause(.slot, schedule: "weekly")
    var filter = RunFilter()
    fill(&filter)
    #expect(filter.matches(run) == isFound, "\(name)")
    #expect(filter.isEmpty == (name == "nothing"), "\(name)")
    guard isFound else { return }
    let line = Array(try run.storedText.utf8)[...]
    #expect(filter.needles.allSatisfy { line.holds(Array($0.utf8)) }, "\(name): \(filter.needles)")
    #expect(filter.foldedNeedles.allSatisfy { line.holds(folded: Array($0.utf8)) }, "\(name): \(filter.foldedNeedles)")
  }

  @Test func `an input is a name and a value`() {
    #expect(RunFilter.Input("a=b=c").map { [$0.name, $0.value] } == ["a", "b=c"])
    #expect(RunFilter.Input("a=").map { [$0.name, $0.value] } == ["a", ""])
    #expect(RunFilter.Input("=a") == nil && RunFilter.Input("a") == nil && RunFilter.Input("") == nil)
  }

  @Test func `a summary is short, and is read as it was written`() throws {
    let run = try Self.summary { origin in
      var inputs = ValueMap()
      for number in 0..<500 { inputs["input\(number)"] = .string(String(repeating: "x", count: 5000)) }
      origin.inputs = .map(inputs)
      origin.cause = RunCause(.manual, run: "r0")
    }
    #expect(try run.storedText.utf8.count < 2000)
    #expect(try RunSummary(text: try run.storedText) == run)
    #expect(run.again == "r0" && run.retryOf == nil)
    // A line of an earlier version.
    let old = try RunSummary(
      text:
        #"{"id":"r1","recipe":"r","status":"failed","createdAt":"2026-11-20T09:00:00Z","endedAt":"2026-11-20T09:00:01Z","retryOf":"r0"}"#
    )
    #expect(old.cause == nil && old.inputs == nil && old.again == "r0")
  }

  @Test func `an erased run has no inputs in lists`() throws {
    let events = [Example.created("r1", inputs: .object(["name": .string("Ada")])), Example.over("r1")]
    let run = try #require(try Example.fold(events).ended.first)
    #expect(RunSummary(run).inputs?["name"] == .string("Ada"))
    #expect(RunSummary(run.erased(at: instant(9))).inputs == nil)
  }

  @Test func `many finished runs are counted up to a limit`() async throws {
    let store = MemoryStateStore()
    for start in stride(from: 0, through: RunCounts.most, by: 500) {
      try await store.append(
        (start..<start + 500).flatMap { number in
          [Example.created("r\(number)"), Example.over("r\(number)", number % 5 == 0 ? .failed : .succeeded)]
        })
    }
    let counts = try await store.finishedRunCounts(HistoryQuery())
    #expect(!counts.isWhole && counts.count(of: RunStatus.allCases) == RunCounts.most)
    let failed = try await store.finishedRunCounts(HistoryQuery(statuses: [.failed]))
    #expect(failed.isWhole && failed[.failed] == 1100 && failed[.succeeded] == 0)
  }
}
