package import Basics

/// What a scheduler knows: the version of the schedules that it was made from, or that its last decision made.
///
/// Every change of the schedules begins the next version, but for the ends of runs, and so does each new leader. A decision
/// is kept only if it begins the version after its scheduler's: a leader that was fenced, and one that doesn't know of a
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
  /// Whether this program leads, each time that changes; true again after a time in which another led. For one reader.
  var leading: AsyncStream<Bool> { get }
  /// Told when another program may have changed what a leader has to look at; a hint, which may be lost. For one reader.
  var scheduleHints: AsyncStream<Void> { get }
  /// Has this program lead whenever no other does, if it is willing, as long as it is a worker.
  ///
  /// - Returns: Whether it leads now, which `leading` tells as well.
  @discardableResult func seekLead(isWilling: Bool) async -> Bool
  /// What counts for a scheduler that is made from what is read after this; nil once the store is closed.
  func term() async -> ScheduleTerm?
  /// The name of the worker that leads, here or elsewhere; nil if none does.
  func leaderName() async throws(StateError) -> String?
  /// Records what a scheduler decided, all or none; refused as a conflict if there is another version than it knows.
  ///
  /// - Returns: What the scheduler knows now.
  func append(_ events: [StateEvent], in term: ScheduleTerm) async throws(StateError) -> ScheduleTerm
  /// Those of some runs that are open, wherever they are carried on.
  func openRuns(among runs: Set<String>) async throws(StateError) -> Set<String>
  /// The schedules that follow the runs of one of some recipes.
  func schedules(following recipes: Set<String>) async throws(StateError) -> [ScheduleRecord]
  /// The events that no run has taken and none is about to look at, in the order in which they came.
  func freeEvents() async throws(StateError) -> [FreeEvent]
  /// How many events of a name there are that no run and no schedule has taken, at least so new; 0 if that can't be read.
  func countFreeEvents(named name: String, since: Timestamp?) async -> Int

  // MARK: Requests that the leader has to do

  /// Has the leader do what is asked for, and waits for its answer.
  func carry(_ request: CarriedRequest) async throws(StateError) -> CarriedOutcome
  /// The requests for the leader that no program has taken, if this one leads; nobody else gets them after that.
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

/// What came of a request that another program has to do.
package enum CarriedOutcome: Sendable, Equatable {
  case answered(Value)
  /// None has taken it, and none will.
  case untaken
  /// One has taken it, and may have done it.
  case unanswered
}
