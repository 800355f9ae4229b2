package import ActionKit
package import Agent
import Basics
import Recipes
package import RunState

package struct ListSteps: Operation {
  package static let name = "steps"
  package static let summary = "Lists the steps of a run, all in the order of their start, or of one level."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs/{run}/steps")
  package static let command: String? = "runs show"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns
  package static let companions = ["outlined": "parent"]

  @Field(RunName.summary) package var run: String
  @Field("How many steps to list at most.", .range(0...ListLimit.most)) package var limit = 100
  @Field("Where to continue: 'next' of the answer before.") package var from = 0
  @Field(
    "Only the steps of one level: the items of the loop with this path, failed ones first, or the steps of the item with this path; if it is empty, the steps outside loops."
  )
  package var parent: String?
  @Field("Only steps with one of these statuses.") package var status: [Word<StepStatus>] = []
  @Field(
    "Whether the steps of a level come in the order of the recipe, in 'outline', with headings and the steps that haven't begun. The items of a loop have no such order."
  )
  package var outlined = false

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
    /// The steps in the order of the recipe, if that was asked for and the recipe can be read.
    package var outline: [OutlinedStep] = []

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
      outline = try member("outline", record?.outline, default: [])
      steps = try member("steps", record?.steps)
    }

    /// Takes a page of the steps in the order of the recipe.
    fileprivate mutating func take(_ rows: [OutlinedStep], from first: Int, limit: Int) {
      let first = min(first, rows.count)
      outline = Array(rows[first...].prefix(limit))
      let paths = Set(outline.map(\.path))
      steps = steps.filter { paths.contains($0.path) }
      count = rows.count
      next = first + outline.count < count ? first + outline.count : nil
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    guard !outlined || parent != nil else {
      throw RequestRefusedError(.request, "an outline is of one level; give 'parent', which is empty for the whole run")
    }
    let record = try await agent.stored(run.id).record()
    var answer = try await listed(record, in: agent)
    answer.names = await agent.names(ofSteps: answer.steps, in: record)
    return answer
  }

  private func listed(_ record: RunRecord, in agent: AgentParts) async throws(RequestRefusedError) -> Answer {
    let steps = record.stepsInOrder
    let (first, limit) = (min(max(0, from), steps.count), ListLimit.clamped(limit))
    let statuses = Set(status.map(\.word))
    if let parent, outlined, parent.isEmpty || parent.utf8.last == ASCII.closeBracket,
      let outline = try await agent.outline(of: record)
    {
      let level = steps.level(in: parent, limit: .max)
      let rows = level.outlined(by: outline, in: parent).filter { row in
        statuses.isEmpty || row.status.map(statuses.contains) == true
      }
      var answer = Answer(level, from: 0)
      answer.take(rows, from: max(0, from), limit: limit)
      return answer
    }
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
      $0.outline = answer.outline.map { OutlinedStepAnswer($0) }
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

  /// The order of a run's recipe, as it was when the run began; nil where the recipe can't be read.
  fileprivate func outline(of run: RunRecord) async throws(RequestRefusedError) -> [OutlinePlace]? {
    guard let findOutline = served?.findOutline else { return nil }
    let texts = try await kept { () async throws(StateError) in try await store.value(run.origin.texts) }
    return await findOutline(run, texts)
  }
}
