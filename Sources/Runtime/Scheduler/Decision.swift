package import RunState

/// What the scheduler decided about one schedule.
package struct Decision: Sendable, Equatable {
  /// An action for the owner to take once the events are durable.
  package enum Effect: Sendable, Equatable {
    /// Run a run that the events create.
    case start(run: String)
    /// Offer an event that the events brought to the runs that wait for it.
    case send(EventRecord)
    /// Cancel an open run, with time to clean up; ignored if it has ended.
    case cancel(run: String, reason: String)
    /// End an open run without waiting for its current steps; ignored if it has ended.
    case terminate(run: String, reason: String)
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
