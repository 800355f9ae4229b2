package import ActionKit
package import Agent
import Basics
package import RunState

package struct ListSteps: Operation {
  package static let name = "steps"
  package static let summary = "Lists the steps of a run, all in the order of their start, or those of one level."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs/{run}/steps")
  package static let command: String? = "runs show"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String
  @Field("How many steps to list at most.", .range(0...ListLimit.most)) package var limit = 100
  @Field("Where to continue: 'next' of the answer before.") package var from = 0
  @Field(
    "Only the steps of one level: the items of the loop with this path, failed ones first, or the steps of the item with this path; if it is empty, the steps outside loops."
  )
  package var parent: String?
  @Field("Only steps with one of these statuses.") package var status: [Word<StepStatus>] = []

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: Record, UnlimitedAnswer {
    package var steps: [StepRecord]
    /// How many steps come before the next page, if there is one.
    package var next: Int?
    /// How many steps match.
    package var count: Int
    /// How many items with each status the loops of a level have, by the loops' paths.
    package var tallies: [StepPath: [String: Int]] = [:]
    /// The items among the steps that have steps.
    package var filled: [StepPath] = []
    /// The names that the recipe gives the steps; steps without one are left out.
    package var names: [StepPath: String] = [:]

    init(_ level: StepLevel, from first: Int) {
      steps = level.steps
      count = level.count
      let end = first + level.steps.count
      next = end < level.count ? end : nil
      tallies = level.tallies.mapValues { tally in
        Dictionary(uniqueKeysWithValues: tally.map { ($0.key.rawValue, $0.value) })
      }
      filled = level.filled.sorted { $0.precedesByScalars($1) }
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      next = try member("next", record?.next)
      count = try member("count", record?.count, default: 0)
      tallies = try member("tallies", record?.tallies, default: [:])
      filled = try member("filled", record?.filled, default: [])
      names = try member("names", record?.names, default: [:])
      steps = try member("steps", record?.steps)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let record = try await agent.stored(run.id).record()
    var answer = listed(record.stepsInOrder)
    answer.names = await agent.names(ofSteps: answer.steps, in: record)
    return answer
  }

  private func listed(_ steps: StepRecords) -> Answer {
    let (first, limit) = (min(max(0, from), steps.count), ListLimit.clamped(limit))
    let statuses = Set(status.map(\.word))
    if let parent {
      return Answer(steps.level(in: parent, statuses: statuses, from: first, limit: limit), from: first)
    }
    var all = StepLevel()
    if statuses.isEmpty {
      all.count = steps.count
      all.steps = (first..<first + min(limit, steps.count - first)).map { steps[$0] }
    } else {
      let found = steps.select { statuses.contains($0.pointee.status) }
      all.count = found.count
      all.steps = Array(found.dropFirst(first).prefix(limit))
    }
    return Answer(all, from: first)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> StepListAnswer {
    filled(StepListAnswer()) {
      $0.items = answer.steps.map { step in
        var item = StepAnswer(step, withData: caller.seesData)
        item.name = answer.names[step.path]
        return item
      }
      $0.next = answer.next
    }
  }
}

extension AgentParts {
  /// The names that a run's recipe gives some of its steps; none if its texts can't be read any more.
  fileprivate func names(ofSteps steps: [StepRecord], in run: RunRecord) async -> [StepPath: String] {
    guard let findNames = served?.findNames, !steps.isEmpty, let texts = try? await store.value(run.origin.texts) else {
      return [:]
    }
    return await findNames(run, texts, steps.map(\.path)).mapValues { store.secrets.finder.redact($0) }
  }
}
