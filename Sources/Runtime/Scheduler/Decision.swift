package import RunState

/// What the scheduler decided about one schedule.
package struct Decision: Sendable, Equatable {
  /// What is to be done once the events are durable.
  package enum Effect: Sendable, Equatable {
    /// Carry on a run that the events create.
    case start(run: String)
    /// Ask an open run to end, with time to clean up; to be ignored if it has ended.
    case cancel(run: String, reason: String)
    /// End an open run without waiting for what it is doing; to be ignored if it has ended.
    case terminate(run: String, reason: String)
    /// Look up what came with the event that the next start of the cause's schedule waits for, and tell it by `recall`.
    case recall(RunCause)
  }

  package var schedule: String
  /// One batch: all are kept, or none.
  package var events: [StateEvent]
  package var effects: [Effect]

  package init(schedule: String, events: [StateEvent], effects: [Effect] = []) {
    self.schedule = schedule
    self.events = events
    self.effects = effects
  }
}
