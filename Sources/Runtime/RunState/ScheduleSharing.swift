package import Basics

/// A version of the schedules: the one that a scheduler was made from, or that its last decision made.
///
/// Every change of the schedules begins the next version, except the end of a run; so does each new leader. A decision
/// is kept only if it begins the version after its scheduler's: a leader that was fenced, or that doesn't know of a
/// change, is refused and reads the schedules again.
package struct ScheduleTerm: Sendable, Equatable {
  package var version: Int
  /// Whether this program led when it was read, and so decides when slots are due.
  package var isLeading: Bool

  package init(version: Int, isLeading: Bool) {
    self.version = version
    self.isLeading = isLeading
  }
}

/// How the schedules of a state are decided on that several programs share: one of them leads, and decides.
package protocol ScheduleSharing: Sendable {
  /// Whether this program leads, after each change; true again after a time when another program led. For one reader.
  var leading: AsyncStream<Bool> { get }
  /// Told when another program may have changed something that a leader has to check; a hint, which may be lost. For
  /// one reader.
  var scheduleHints: AsyncStream<Void> { get }
  /// Makes this program lead whenever no other does, if it is willing, as long as it is a worker.
  ///
  /// - Returns: Whether it leads now; `leading` reports it as well.
  @discardableResult func seekLead(isWilling: Bool) async -> Bool
  /// The current term, for a scheduler that is made from a state that is read afterwards; nil once the store is closed.
  func term() async -> ScheduleTerm?
  /// The name of the worker that leads, here or elsewhere; nil if none does.
  func leaderName() async throws(StateError) -> String?
  /// Records what a scheduler decided, all or none; refused as a conflict if there is another version than it knows.
  ///
  /// - Returns: The term after the decision.
  func append(_ events: [StateEvent], in term: ScheduleTerm) async throws(StateError) -> ScheduleTerm
  /// The open runs among some, whichever program runs them.
  func openRuns(among runs: Set<String>) async throws(StateError) -> Set<String>
  /// The schedules that follow the runs of one of some recipes.
  func schedules(following recipes: Set<String>) async throws(StateError) -> [ScheduleRecord]
  /// The events that no run has consumed and no run is about to check, in the order they came.
  func freeEvents() async throws(StateError) -> [FreeEvent]
  /// How many events of a name there are that no run and no schedule has taken, at least so new; 0 if that can't be
  /// read.
  func countFreeEvents(named name: String, since: Timestamp?) async -> Int

  // MARK: Requests that the leader has to do

  /// Sends a request to the leader, and waits for its answer.
  func carry(_ request: CarriedRequest) async throws(StateError) -> CarriedOutcome
  /// The requests for the leader that no program has taken, if this one leads; no other program gets them afterwards.
  func takeRequests() async throws(StateError) -> [CarriedRequest]
  func answer(_ request: String, with answer: Value) async throws(StateError)
}

/// An event that no run has taken.
package struct FreeEvent: Sendable, Equatable {
  package var id: String
  package var name: String

  package init(_ id: String, named name: String) { (self.id, self.name) = (id, name) }
}

/// A request that came to one program, and that another has to do.
package struct CarriedRequest: Record, Equatable {
  package var id: String
  /// The request as it is on the socket, without secrets.
  package var line: Value
  /// Who asks: the name, the account, and the recipes that it sees.
  package var name: String
  package var account: String
  package var recipes: [String] = []

  package init(id: String, line: Value, name: String, account: String, recipes: [String]) {
    (self.id, self.line) = (id, line)
    (self.name, self.account, self.recipes) = (name, account, recipes)
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    id = try member("id", record?.id)
    line = try member("line", record?.line)
    name = try member("name", record?.name)
    account = try member("account", record?.account)
    recipes = try member("recipes", record?.recipes, default: [])
  }
}

/// The outcome of a request to another program.
package enum CarriedOutcome: Sendable, Equatable {
  case answered(Value)
  /// None has taken it, and none will.
  case untaken
  /// One has taken it, and may have done it.
  case unanswered
}
