/// What a scheduler knows: the version of the schedules that it was made from, or that its last decision made.
///
/// Every change of the schedules begins the next version, but for the ends of runs, and so does each new leader. A decision
/// is kept only if it begins the version after its scheduler's: a leader that was deposed, and one that doesn't know of a
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
  func seekLead(isWilling: Bool) async
  /// What counts for a scheduler that is made from what is read after this; nil once the store is closed.
  func term() async -> ScheduleTerm?
  /// The name of the worker that leads, here or elsewhere; nil if none does.
  func leaderName() async throws(StateError) -> String?
  /// Records what a scheduler decided, all or none; refused as outrun if there is another version than it knows.
  ///
  /// - Returns: What the scheduler knows now.
  func append(_ events: [StateEvent], in term: ScheduleTerm) async throws(StateError) -> ScheduleTerm
  /// Those of some runs that are open, wherever they are carried on.
  func openRuns(among runs: Set<String>) async throws(StateError) -> Set<String>
  /// The schedules that follow the runs of one of some recipes.
  func schedules(following recipes: Set<String>) async throws(StateError) -> [ScheduleRecord]
  /// The events that no run has taken and none is about to look at, in the order in which they came.
  func freeEvents() async throws(StateError) -> [String]
}
