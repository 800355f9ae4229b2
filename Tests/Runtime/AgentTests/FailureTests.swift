import Basics
import ProcessTestKit
import RunState
import Testing

@testable import Agent
@testable import Operations

/// Failures in groups, their dismissal, and the statistics of recipes.
@Suite(.timeLimit(.minutes(20))) struct FailureTests {
  /// Records a run that ended, a number of seconds after the clock of the bench.
  private static func end(
    _ bench: HostBench, _ id: String, of recipe: String, at seconds: Int, failing message: String? = nil,
    cause: RunCause = RunCause(.manual), isOpen: Bool = false
  ) async throws {
    let at = bench.time.now().advanced(by: .seconds(seconds)) ?? .latest
    var events: [StateEvent] = [
      .runCreated(
        RunCreated(
          run: id, at: at.advanced(by: .seconds(-4)) ?? at, recipe: recipe, file: "\(recipe).yaml",
          texts: .inline(.object([:])), inputs: .object([:]), program: "test", cause: cause))
    ]
    if !isOpen {
      let error = message.map { RunError(.network, $0, step: "read") }
      events.append(
        .runEnded(RunEnded(run: id, at: at, status: error == nil ? .succeeded : .failed, error: error)))
    }
    try await bench.store.append(events)
  }

  private static func token(_ name: String, recipes: [String] = [], _ scopes: [TokenScope]) -> AgentCaller {
    AgentCaller(token: TokenIssued(at: .earliest, name: name, sha256: "00", scopes: scopes, recipes: recipes))
  }

  private static let ann = AgentCaller(name: "ann")

  private static func listed(
    _ bench: HostBench, all: Bool = false, by caller: AgentCaller = ann
  ) async throws -> ListFailures.Answer {
    try await bench.service.perform(ListFailures.with { $0.all = all }, for: caller)
  }

  @Test func `failures that look alike are one group, and those that need a person come first`() async throws {
    let bench = await HostBench()
    for number in 0..<5 {
      try await Self.end(bench, "q\(number)", of: "quick", at: number, failing: "no answer after \(number) s")
    }
    try await Self.end(bench, "m", of: "mails", at: 10, failing: "refused")
    try await Self.end(bench, "s", of: "slow", at: 20, failing: "refused")
    // It has succeeded since, by hand as it had failed.
    try await Self.end(bench, "m2", of: "mails", at: 30)
    // The latest failure is being retried.
    try await Self.end(bench, "s2", of: "slow", at: 31, cause: RunCause(.retry, run: "s"), isOpen: true)
    bench.time.advance(by: .seconds(60))
    let answer = try await Self.listed(bench)
    #expect(answer.groups.map(\.group.recipe) == ["quick", "slow", "mails"])
    #expect(answer.groups.map(\.group.count) == [5, 1, 1] && answer.openCount == 1)
    #expect(answer.groups.map(\.isSettled) == [false, true, true])
    #expect(answer.groups[1].isRetried && answer.groups[2].group.hasSucceeded)
    let first = FailureAnswer(answer.groups[0], withData: true)
    #expect(first.message == "no answer after # s" && first.kind == "network" && first.step == "read")
    #expect(first.latest == "q4" && FailureAnswer(answer.groups[0], withData: false).message == nil)
    // A month later nothing is left of them.
    bench.time.advance(by: .seconds(31 * 86_400))
    #expect(try await Self.listed(bench).groups.isEmpty)
  }

  @Test func `a group that is dismissed is listed again when it fails again`() async throws {
    let bench = await HostBench()
    try await Self.end(bench, "q1", of: "quick", at: 0, failing: "no answer")
    let group = try #require(try await Self.listed(bench).groups.first?.group)
    let steer = Self.token("phone", [.read, .steer])
    let request = DismissFailure.with {
      $0.group = group.id
      $0.note = "the service is down"
    }
    for caller in [Self.token("reader", [.read]), Self.token("other", recipes: ["mails"], [.read, .steer])] {
      await #expect(throws: RequestRefusedError.self) { try await bench.service.perform(request, for: caller) }
    }
    let unknown = DismissFailure.with { $0.group = "0000000000000000" }
    let refusal = await #expect(throws: RequestRefusedError.self) {
      try await bench.service.perform(unknown, for: steer)
    }
    #expect(refusal?.kind == .notFound)
    #expect(refusal?.message.hasSuffix("in the last 30 days; see: errand runs failures") == true)
    _ = try await bench.service.perform(request, for: steer)
    #expect(try await Self.listed(bench).groups.isEmpty)
    let dismissed = try #require(try await Self.listed(bench, all: true).groups.first)
    #expect(dismissed.isDismissed && dismissed.dismissal?.by == "phone")
    #expect(dismissed.dismissal?.note == "the service is down" && dismissed.dismissal?.at == bench.time.now())
    // The seen failures are dismissed, and later ones aren't.
    try await Self.end(bench, "q2", of: "quick", at: 10, failing: "no answer")
    try await Self.end(bench, "q3", of: "quick", at: 20, failing: "no answer")
    #expect(try await Self.listed(bench).groups.first?.group.count == 3)
    var again = request
    again.seen = bench.time.now().advanced(by: .seconds(10))
    _ = try await bench.service.perform(again, for: steer)
    #expect(try await Self.listed(bench).openCount == 1)
    again.seen = .latest
    _ = try await bench.service.perform(again, for: Self.ann)
    #expect(try await Self.listed(bench).openCount == 0)
    // An instant that is ahead dismisses nothing that is still to come.
    try await Self.end(bench, "q4", of: "quick", at: 30, failing: "no answer")
    #expect(try await Self.listed(bench).openCount == 1)
  }

  @Test func `a token sees the failures and the statistics of its recipes alone`() async throws {
    let bench = await HostBench()
    try await Self.end(bench, "q1", of: "quick", at: -5, failing: "no answer")
    try await Self.end(bench, "q2", of: "quick", at: -4)
    try await Self.end(bench, "m1", of: "mails", at: -3, failing: "refused")
    let caller = Self.token("phone", recipes: ["mails"], [.read])
    #expect(try await Self.listed(bench, by: caller).groups.map(\.group.recipe) == ["mails"])
    let all = try await bench.service.perform(ShowStatistics(), for: Self.ann).recipes
    #expect(all.map(\.recipe) == ["mails", "quick"] && all[1].totals.successInWords == "50 % of 2")
    #expect(all[1].totals.average == .seconds(4) && all[0].totals.average == nil)
    #expect(RecipeStatistics.worst(all, most: 1).map(\.recipe) == ["mails"])
    #expect(try await bench.service.perform(ShowStatistics(), for: caller).recipes.map(\.recipe) == ["mails"])
    let other = ShowStatistics.with { $0.recipe = "quick" }
    let refusal = await #expect(throws: RequestRefusedError.self) {
      try await bench.service.perform(other, for: caller)
    }
    #expect(refusal?.kind == .notFound)
  }

  @Test func `days are counted from those that were asked for`() async throws {
    let bench = await HostBench()
    for day in 0..<4 { try await Self.end(bench, "q\(day)", of: "quick", at: -day * 86_400) }
    let answer = try await bench.service.perform(
      ShowStatistics.with {
        $0.days = 3
        $0.daily = true
      }, for: Self.ann)
    let today = RunSum.day(of: bench.time.now())
    #expect(answer.recipes.first?.days.map(\.day) == [today - 2, today - 1, today])
    #expect(answer.recipes.first?.totals.count == 3 && answer.endDay == today + 1)
    let view = ShowStatistics.view(answer, for: Self.ann)
    #expect(view.items.first?.days.count == 3 && view.items.first?.success == 1)
  }

  @Test func `a list of recipes says what they have done and are about to do`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ id: first, cron: '0 0 1 1 *' }, { id: other, cron: '0 5 1 1 *', paused: true }]\n"
        + ScheduleHostTests.done, "idle": ScheduleHostTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    for number in 0..<12 {
      try await Self.end(bench, "t\(number)", of: "tick", at: number - 20, failing: number == 11 ? "no" : nil)
    }
    let answer = try await bench.service.perform(ListRecipes(), for: Self.ann)
    let tick = try #require(answer.activities["tick"])
    #expect(tick.latest.map(\.run).first == "t11" && tick.latest.count == 10 && tick.pausedCount == 1)
    #expect(tick.next.map { $0 > bench.time.now() } == true && answer.activities["idle"] == nil)
    let view = ListRecipes.view(answer, for: Self.ann)
    #expect(view.items.last?.latest.first?.status == "failed" && view.items.last?.pausedSchedules == 1)
    let brief = try await bench.service.perform(ListRecipes.with { $0.brief = true }, for: Self.ann)
    #expect(brief.activities.isEmpty && brief.recipes.count == 2)
    let caller = Self.token("phone", recipes: ["idle"], [.read])
    #expect(try await bench.service.perform(ListRecipes(), for: caller).activities.isEmpty)
  }
}
