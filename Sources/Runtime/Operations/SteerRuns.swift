package import ActionKit
package import Agent
import Basics
package import RunState

package struct SteerRuns: Operation {
  package static let name = "steerRuns"
  package static let summary = "Retries or cancels many runs: the named ones, or all that match a filter."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/runs/steer")
  package static let command: String? = "runs steer"
  package static let page: String? = "/runs"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound, .conflict]
  package static let repeats = Repeats.key
  package static let companions = ["filter": "expected", "expected": "filter"]

  /// The most runs that are named, and the most that a filter may match.
  package static let (mostNamed, mostMatched) = (200, 1_000)
  /// How many runs are changed at a time, so that they share syncs.
  private static let mostAtOnce = 8

  package enum Verb: String, CaseIterable, Sendable {
    case retry, cancel

    /// The statuses of the runs that it is for.
    package var statuses: [RunStatus] {
      switch self {
      case .retry: [.failed, .timedOut, .cancelled, .rejected]
      case .cancel: RunStatus.allCases.filter { !$0.isEnded }
      }
    }
  }

  @Field("retry or cancel.") package var verb: Word<Verb>
  @Field("The ids of the runs, if they are named.", .maxLength(SteerRuns.mostNamed)) package var runs: [String] = []
  @Field("Otherwise all runs that match this and have a status that the verb is for; at most 1,000.")
  package var filter: RunFilterInput?
  @Field("With a filter: how many runs are meant. If more match, nothing is changed.", .min(0))
  package var expected: Int?
  @Field("The reason to record with a cancellation.", .maxLength(1_000)) package var reason: String?
  @Field("A key that the caller chooses. The same request with the same key changes each run once.")
  package var key: String?

  package init() {}

  package var target: Void { () }
  package var moreScopes: Set<TokenScope> { filter?.scopesOfFilter ?? [] }

  /// The outcome for one run.
  package struct Outcome: Record, Equatable {
    package var run: String
    /// The run that retries it.
    package var accepted: String?
    /// Why it was left as it is.
    package var refusal: String?

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      run = try member("run", record?.run)
      accepted = try member("accepted", record?.accepted)
      refusal = try member("refusal", record?.refusal)
    }

    init(_ run: String, accepted: String? = nil, refusal: String? = nil) {
      (self.run, self.accepted, self.refusal) = (run, accepted, refusal)
    }
  }

  package struct Answer: Record, UnlimitedAnswer {
    /// One for each run, in the order of the request, or of the list.
    package var outcomes: [Outcome]

    package var changedCount: Int { outcomes.count { $0.refusal == nil } }

    init(_ outcomes: [Outcome]) { self.outcomes = outcomes }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      outcomes = try member("outcomes", record?.outcomes)
    }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    if let key, let fault = RunKey.fault(of: key) { throw RequestRefusedError(.request, fault) }
    let runs = try await chosen(among: recipes, in: agent)
    var outcomes: [Outcome] = []
    for start in stride(from: 0, to: runs.count, by: SteerRuns.mostAtOnce) {
      let group = Array(runs[start..<min(start + SteerRuns.mostAtOnce, runs.count)])
      let some = await withTaskGroup(of: (Int, Outcome).self) { tasks in
        for (index, run) in group.enumerated() {
          tasks.addTask { (index, await self.steer(run, in: agent, for: caller)) }
        }
        return await tasks.reduce(into: [(Int, Outcome)]()) { $0.append($1) }
      }
      outcomes += some.sorted { $0.0 < $1.0 }.map(\.1)
    }
    return Answer(outcomes)
  }

  /// The ids of the runs; refused if more match than are meant.
  private func chosen(
    among recipes: VisibleRecipes, in agent: AgentParts
  ) async throws(RequestRefusedError) -> [String] {
    guard let filter, let expected else {
      guard !runs.isEmpty else {
        throw RequestRefusedError(.request, "name the runs, or give a filter with 'expected'")
      }
      var seen: Set<String> = []
      return runs.filter { seen.insert($0).inserted }
    }
    guard runs.isEmpty else { throw RequestRefusedError(.request, "give the runs or a filter, and not both") }
    var query = try filter.query(limit: SteerRuns.mostMatched + 1).narrowed(to: recipes)
    query.statuses = verb.word.statuses.filter { query.statuses.isEmpty || query.statuses.contains($0) }
    // Statuses of which the verb is for none.
    if query.statuses.isEmpty { return [] }
    let list = try await agent.runs(query)
    let matching = list.open.reversed().map(\.id) + list.finished.map(\.id)
    guard matching.count <= SteerRuns.mostMatched else {
      throw RequestRefusedError(
        .request, "more than \(SteerRuns.mostMatched) runs match; narrow the filter, nothing was changed")
    }
    guard matching.count <= expected else {
      throw RequestRefusedError(
        .conflict,
        "\(matching.count) runs match now, and \(expected) are meant; nothing was changed, look at them again")
    }
    return matching
  }

  /// Changes one run.
  private func steer(_ name: String, in agent: AgentParts, for caller: AgentCaller) async -> Outcome {
    // Each run has a key of its own, because a key belongs to one request about a run.
    let key = key.flatMap { SHA256.digest(of: Array("\($0)\n\(name)".utf8)) }.map { "steer-\($0)" }
    do throws(RequestRefusedError) {
      switch verb.word {
      case .retry:
        let retried = try await agent.perform(
          RetryRun.with {
            $0.run = name
            $0.key = key
          }, for: caller)
        return Outcome(retried.retries, accepted: retried.accepted)
      case .cancel:
        let cancelled = try await agent.perform(
          CancelRun.with {
            $0.run = name
            $0.reason = reason
            $0.key = key
          }, for: caller)
        return Outcome(cancelled.cancelled)
      }
    } catch {
      return Outcome(name, refusal: error.message)
    }
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> SteeredRunsAnswer {
    filled(SteeredRunsAnswer()) {
      $0.changed = answer.changedCount
      $0.items = answer.outcomes.map { outcome in
        filled(SteeredRunAnswer()) {
          $0.run = outcome.run
          $0.accepted = outcome.accepted
          $0.detail = outcome.refusal
        }
      }
    }
  }
}

/// The outcome for many runs.
package struct SteeredRunsAnswer: FieldSet {
  @Field("How many runs were changed.") package var changed: Int
  @Field("The outcome for each run.") package var items: [SteeredRunAnswer]

  package init() {}
}

/// The outcome for one run.
package struct SteeredRunAnswer: FieldSet {
  @Field("The run's id.") package var run: String
  @Field("The id of the run that retries it.") package var accepted: String?
  @Field("Why it was left as it is.") package var detail: String?

  package init() {}
}
