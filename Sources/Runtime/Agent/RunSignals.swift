package import Basics
package import RunState

// What comes to runs from outside: events and decisions.
//
// Both are on disk before whoever sent them is told. An event goes to the runs that wait for its name, the oldest
// first: each is walked, looks whether the event is what it waits for, and consumes it or leaves it to the next. What
// no run takes is the schedules' to take, or waits for a step that asks for it later, and is forgotten after a week.

/// Why a decision was not taken.
package struct DecisionError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable {
    /// Nobody is asked there.
    case notAsked
    /// Several steps ask, and none was named.
    case ambiguous
    /// The step asks others.
    case notAllowed
    case state
  }

  package var kind: Kind
  package var message: String

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

extension RunHost {
  /// How long an event is kept.
  package static let eventLife = TimeSpan.seconds(7 * 86_400)
  /// How many events are remembered that were consumed, so that one that comes again is known.
  static let mostConsumed = 10_000

  // MARK: Events

  /// Takes an event in, durably; false if it was received before.
  package func receive(_ event: EventRecord) async throws(StateError) -> Bool {
    if store.state.events[event.id] != nil { return false }
    do throws(StateError) { try await append([.eventReceived(event)]) } catch {
      // Somebody else brought it at the same time.
      if error.kind == .invalid, store.state.events[event.id] != nil { return false }
      throw error
    }
    planForgetting()
    if store.state.events.count > eventsToSweep { await forgetOldEvents() }
    // Ends when every run that waits for it has looked; nothing that it waits for outlives `stop`.
    activity?.begin()
    Task {
      await offer(event)
      activity?.end()
    }
    return true
  }

  private func offer(_ event: EventRecord) async {
    for id in store.openRuns.filter({ isOwn($0.id) && ($0.waits(for: event) || active[$0.id] != nil) }).map(\.id) {
      guard isFree(event) else { return }
      let isWalked = active[id] != nil
      await wake(id)
      // Which steps of a run that is being walked look at it, and when, only that walk knows.
      if isWalked { continue }
      for await update in follow(id) {
        if case .waits = update { break }
        if !isFree(event) { break }
      }
    }
    if isFree(event) { tell(.event(event.id)) }
  }

  private func isFree(_ event: EventRecord) -> Bool {
    guard let event = store.state.events[event.id] else { return false }
    return event.consumedBy == nil
  }

  /// Has the clock ring when the oldest event is to be forgotten.
  func planForgetting() {
    // What came before it is older.
    if hasAlarm(.events) { return }
    let oldest = forgettableEvents.map(\.receivedAt).min()
    setAlarm(.events, at: oldest?.advanced(by: RunHost.eventLife))
  }

  /// The events but for those that starts wait for, who look them up again.
  private var forgettableEvents: [EventRecord] {
    let wanted = Set(store.state.schedules.values.flatMap { $0.buffered.compactMap(\.cause.event) })
    return store.state.events.values.filter { !wanted.contains($0.id) }
  }

  func forgetOldEvents() async {
    let now = time.now()
    let events = forgettableEvents
    var old = Set(
      events.filter { $0.receivedAt.advanced(by: RunHost.eventLife).map { $0 <= now } ?? false }.map(\.id))
    let consumed = events.filter { $0.consumedBy != nil }
    if consumed.count > RunHost.mostConsumed {
      old.formUnion(
        consumed.sorted { $0.receivedAt < $1.receivedAt }.dropLast(RunHost.mostConsumed).map(\.id))
    }
    if !old.isEmpty {
      let ids = old.sorted { $0.precedesByScalars($1) }
      try? await append([.eventsForgotten(EventsForgotten(at: now, ids: ids))])
    }
    // Many that wait to be consumed are not gone through with each that comes.
    eventsToSweep = max(RunHost.mostConsumed, store.state.events.count) * 5 / 4
    if failure == nil { planForgetting() }
  }

  // MARK: Decisions

  /// Takes a person's decision, durably; gives the step that it is about.
  ///
  /// - Parameter step: May be left out where exactly one step asks.
  package func decide(
    _ id: String, step: StepPath?, _ decision: DecisionRecord
  ) async throws(DecisionError) -> StepPath {
    let asking = store.run(id)?.askingSteps.filter { !deciding.contains("\(id) \($0.path)") } ?? []
    let paths = asking.map { "'\($0.path)'" }.sorted { $0.precedesByScalars($1) }.joined(separator: ", ")
    let chosen: StepRecord
    if let step {
      guard let found = asking.first(where: { $0.path.hasSameScalars(as: step) }) else {
        throw DecisionError(
          .notAsked, "the step '\(step)' of the run \(id) asks nobody\(paths.isEmpty ? "" : "; these do: \(paths)")")
      }
      chosen = found
    } else {
      guard let first = asking.first else {
        throw DecisionError(.notAsked, "no step of the run \(id) asks for a decision")
      }
      guard asking.count == 1 else {
        throw DecisionError(.ambiguous, "several steps of the run \(id) ask for a decision; name one of \(paths)")
      }
      chosen = first
    }
    let allowed = chosen.wait?.by ?? []
    guard allowed.isEmpty || allowed.contains(where: { $0.hasSameScalars(as: decision.by) }) else {
      throw DecisionError(
        .notAllowed, "'\(chosen.path)' asks \(allowed.joined(separator: ", ")), and not '\(decision.by)'")
    }
    let key = "\(id) \(chosen.path)"
    deciding.insert(key)
    defer { deciding.remove(key) }
    do throws(StateError) {
      try await append([.decisionGiven(DecisionGiven(run: id, step: chosen.path, decision: decision))])
    } catch {
      throw DecisionError(.state, error.message)
    }
    await wake(id)
    return chosen.path
  }
}

extension RunRecord {
  /// The steps that wait for a person's decision, in the order in which they began to.
  package var askingSteps: [StepRecord] {
    stepsInOrder.filter { $0.status == .waiting && $0.wait?.kind == .approval && $0.decision == nil }
  }

  /// Whether a step of the run, which is not being walked, waits for an event of that name.
  fileprivate func waits(for event: EventRecord) -> Bool {
    guard status == .waiting, event.run == nil || event.run == id else { return false }
    return steps.inOrder.contains { step in
      step.status == .waiting && step.wait?.event?.hasSameScalars(as: event.name) == true
    }
  }

  /// Whether something came for a waiting run that it has not been walked for.
  func hasNews(_ events: [EventRecord]) -> Bool {
    steps.inOrder.contains { $0.status == .waiting && $0.decision != nil } || events.contains { waits(for: $0) }
  }
}
