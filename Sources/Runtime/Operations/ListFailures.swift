package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ListFailures: Operation {
  package static let name = "failures"
  package static let summary = "Lists the failures of the last 30 days in groups of failures that look alike."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/failures")
  package static let command: String? = "runs failures"
  package static let page: String? = "/"

  @Field("Only failures of this recipe.") package var recipe: String?
  @Field("Whether to list the groups, too, that a person dismissed.") package var all = false
  @Field("How many groups to list at most.", .range(0...FailureGroup.most)) package var limit = 100

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, OperationAnswer {
    /// The groups that need a person first, the latest first.
    package var groups: [ListedFailures]
    /// How many groups need a person, listed or not.
    package var openCount: Int

    package init(_ groups: [ListedFailures], limit: Int = .max) {
      let (open, settled) = (groups.filter { !$0.isSettled }, groups.filter(\.isSettled))
      self.groups = Array((open + settled).prefix(limit))
      openCount = open.count
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      groups = try member("groups", record?.groups)
      openCount = try member("openCount", record?.openCount)
    }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      Answer(groups.filter { recipes.contain($0.group.recipe) })
    }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let found = try await agent.failures(of: recipes).filter { failures in
      (all || !failures.isDismissed) && recipe.map { $0.hasSameScalars(as: failures.group.recipe) } ?? true
    }
    return Answer(found, limit: ListLimit.clamped(limit, to: FailureGroup.most))
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> FailureListAnswer {
    filled(FailureListAnswer()) {
      $0.items = answer.groups.map { FailureAnswer($0, withData: caller.seesData) }
    }
  }
}

/// A group of failures, and whether it needs a person.
package struct ListedFailures: Record, Equatable {
  package var group: FailureGroup
  /// Whether an open run retries the latest of them.
  package var isRetried: Bool
  /// The last dismissal, which may be older than the latest failure.
  package var dismissal: FailureDismissed?

  package init(_ group: FailureGroup, isRetried: Bool, dismissal: FailureDismissed?) {
    self.group = group
    self.isRetried = isRetried
    self.dismissal = dismissal
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    group = try member("group", record?.group)
    isRetried = try member("isRetried", record?.isRetried, default: false)
    dismissal = try member("dismissal", record?.dismissal)
  }

  /// Whether a person dismissed it, and it hasn't failed since.
  package var isDismissed: Bool { dismissal.map { $0.until >= group.latest.endedAt } ?? false }

  /// Whether no person has to do anything about it.
  package var isSettled: Bool { group.hasSucceeded || isRetried || isDismissed }
}

extension AgentParts {
  /// The groups of failures of the last 30 days that a caller sees, the latest first.
  func failures(of recipes: VisibleRecipes) async throws(RequestRefusedError) -> [ListedFailures] {
    let since = time.now().advanced(by: TimeSpan(nanoseconds: -FailureGroup.reach.nanoseconds)) ?? .earliest
    let groups = try await kept { () async throws(StateError) in try await store.failures(from: since) }
      .filter { recipes.contain($0.recipe) }
    if groups.isEmpty { return [] }
    var retries = OpenRunQuery()
    retries.retriesOf = Set(groups.map(\.latest.id))
    let retried = Set(await store.openRuns(retries).compactMap(\.retryOf))
    let dismissals = Dictionary(await store.dismissals().map { ($0.group, $0) }) { $1 }
    return groups.map { group in
      ListedFailures(group, isRetried: retried.contains(group.latest.id), dismissal: dismissals[group.id])
    }
  }
}

/// A group of failures that a caller sees, by its id.
package struct KnownFailures: OperationTarget {
  package var failures: ListedFailures

  package static func find(
    _ name: String, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> KnownFailures {
    let found = try await agent.failures(of: VisibleRecipes(caller.recipes))
    guard let failures = found.first(where: { $0.group.id.hasSameScalars(as: name) }) else {
      let message = "there are no failures '\(name.safe.shortened(to: 80))' in the last 30 days"
      var refusal = RequestRefusedError(.notFound, "\(message); see: errand runs failures")
      refusal.overHTTP = "\(message); see GET /api/v1/failures"
      throw refusal
    }
    return KnownFailures(failures: failures)
  }
}

/// Failures that look alike.
package struct FailureAnswer: FieldSet {
  @Field("The group's id: of failures of a recipe, at a step, of a kind, with the same message but for its numbers.")
  package var id: String
  @Field("The recipe's name.") package var recipe: String
  @Field("The path of the step that failed, without the numbers of items.") package var step: String?
  @Field("The kind of the error, such as network or timeout.") package var kind: String?
  @Field("The message, with # for each word that has a digit; with the scope data.") package var message: String?
  @Field("How many runs failed so in the last 30 days.") package var count: Int
  @Field("The run that failed so last.") package var latest: String
  @Field("When it ended.") package var latestAt: Timestamp
  @Field("Whether a run of the recipe that the same schedule started, or a retry, has succeeded since.")
  package var hasSucceeded: Bool
  @Field("Whether an open run retries the latest one.") package var isRetried: Bool
  @Field("Whether a person dismissed the group, and it hasn't failed since.") package var isDismissed: Bool
  @Field("Who dismissed it last; absent for the agent's own account.") package var dismissedBy: String?
  @Field("When it was dismissed last.") package var dismissedAt: Timestamp?
  @Field("The note of the dismissal; with the scope data.") package var note: String?

  package init() {}

  package init(_ failures: ListedFailures, withData: Bool) {
    let group = failures.group
    (id, recipe, count) = (group.id, group.recipe, group.count)
    (step, kind) = (group.latest.failure?.step, group.latest.failure?.kind.rawValue)
    message = withData ? group.message : nil
    (latest, latestAt) = (group.latest.id, group.latest.endedAt)
    (hasSucceeded, isRetried, isDismissed) = (group.hasSucceeded, failures.isRetried, failures.isDismissed)
    dismissedBy = failures.dismissal?.by
    dismissedAt = failures.dismissal?.at
    note = withData ? failures.dismissal?.note : nil
  }
}

/// Groups of failures.
package struct FailureListAnswer: FieldSet {
  @Field("The groups: those that need a person first, the latest first.") package var items: [FailureAnswer]

  package init() {}
}
