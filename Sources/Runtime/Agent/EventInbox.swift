// Handles the events that come from outside.
//
// An event is on disk before its sender gets the answer. It is offered to the runs that wait for its name, the oldest
// first: each is walked, checks whether the event matches, and consumes it or leaves it to the next. An event that no
// run takes is offered to the schedules, or waits for a later step that asks for it. It is deleted after a week.
import Basics
import RunState
import Synchronization

/// Receives events, offers them to the runs of a host, and forgets them.
final class EventInbox: Sendable {
  /// How long an event is kept.
  private static let life = TimeSpan.seconds(7 * 86_400)
  /// How many events are remembered that were consumed, so that one that comes again is known.
  private static let mostConsumed = 10_000

  /// With how many events the oldest are looked for that may be forgotten.
  private let sweepsAbove = Mutex(EventInbox.mostConsumed * 5 / 4)
  /// Whether unconsumed events must be kept, because the schedules haven't been asked about all of them yet.
  private let awaitsSchedules = Mutex(false)

  /// Keeps unconsumed events, however old, until the schedules have been asked about all of them.
  ///
  /// Their senders rely on them, and no agent may have served for longer than events are kept.
  func awaitSchedules(_ awaits: Bool) { awaitsSchedules.withLock { $0 = awaits } }

  /// Takes an event in, durably; false if it was received before.
  ///
  /// Throws if another event has its id: its sender must not take that for its own.
  func receive(_ event: EventRecord, for host: RunHost) async throws(StateError) -> Bool {
    let store = host.store
    if event.delivery == nil, let known = await store.event(event.id) {
      guard known.isSame(as: event, given: store.secrets) else { throw EventInbox.isTaken(event.id) }
      return false
    }
    do throws(StateError) { try await host.keeper.append([.eventReceived(event)]) } catch {
      if event.delivery != nil, error.isConflict { return false }
      // It was brought twice at the same time.
      if error.kind == .invalid, let known = await store.event(event.id) {
        guard known.isSame(as: event, given: store.secrets) else { throw EventInbox.isTaken(event.id) }
        return false
      }
      throw error
    }
    // Until it is decided, it counts as one that waits.
    host.intake.take(event)
    await planForgetting(for: host)
    if await store.eventCount() > sweepsAbove.withLock({ $0 }) { await forgetOld(for: host) }
    host.activity?.begin()
    // Ends when every run that waits for it has looked; nothing that it waits for outlives the host's `stop`.
    Task {
      await offer(event, to: host)
      host.intake.leave(event.id)
      host.activity?.end()
    }
    return true
  }

  private static func isTaken(_ id: String) -> StateError {
    let message = "another event has the id '\(id)', with another name, other data or for another run"
    var error = StateError(.invalid, message)
    error.forCaller = "\(message); give each event an id of its own"
    return error
  }

  func offer(_ event: EventRecord, to host: isolated RunHost) async {
    let store = host.store
    // The state notifies the holders of runs that wait for it.
    if store.sharing != nil { return }
    // Only the schedule of its webhook may consume it.
    if event.delivery != nil { return host.keeper.tell(.event(event.id)) }
    func isFree() async -> Bool { await store.event(event.id).map { $0.consumedBy == nil } ?? false }
    let waiting = await store.openRuns(OpenRunQuery(statuses: [.waiting], event: event.name))
      .filter { host.isOwn($0.id) && $0.waits(for: event) }
    let runs = Set(waiting.map(\.id)).union(host.lives.keys.filter { host.isWalked($0) && store.run($0) != nil })
    for id in runs.sorted(by: { $0.precedesByScalars($1) }) {
      guard await isFree() else { return }
      let isWalked = host.isWalked(id)
      await host.wake(id)
      // Which steps of a run that is being walked look at it, and when, only that walk knows.
      if isWalked { continue }
      for await update in host.follow(id) {
        if case .waits = update { break }
        if await !isFree() { break }
      }
    }
    if await isFree() { host.keeper.tell(.event(event.id)) }
  }

  /// Sets an alarm for the instant when the oldest event is to be deleted.
  func planForgetting(for host: RunHost) async {
    // The alarm is for an older event, which is deleted first.
    if await host.clock.isSet(.events) { return }
    let oldest = await forgettable(in: host.store).first
    await host.clock.set(.events, at: oldest?.receivedAt.advanced(by: EventInbox.life))
  }

  /// Forgets the events that are old, and the oldest of the many that were consumed.
  func forgetOld(for host: RunHost) async {
    let now = host.time.now()
    let events = await forgettable(in: host.store)
    var old = Set(
      events.filter { $0.receivedAt.advanced(by: EventInbox.life).map { $0 <= now } ?? false }.map(\.id))
    let consumed = events.filter { $0.consumedBy != nil }
    if consumed.count > EventInbox.mostConsumed {
      old.formUnion(consumed.dropLast(EventInbox.mostConsumed).map(\.id))
    }
    if !old.isEmpty {
      let ids = old.sorted { $0.precedesByScalars($1) }
      try? await host.keeper.append([.eventsForgotten(EventsForgotten(at: now, ids: ids))])
    }
    // Many that wait to be consumed are not gone through with each that comes.
    let count = max(EventInbox.mostConsumed, await host.store.eventCount()) * 5 / 4
    sweepsAbove.withLock { $0 = count }
    if host.keeper.failure == nil { await planForgetting(for: host) }
  }

  /// The events that may be deleted, oldest first.
  ///
  /// This leaves out events that waiting starts use, events of a batch, and events that schedules haven't decided on: a
  /// delivery belongs to its entry until the entry has consumed it.
  private func forgettable(in store: any StateStore) async -> [EventRecord] {
    let events = await store.events(EventQuery())
    // Asked after the events, so that no start is missed that began to wait for one of them.
    let schedules = await store.schedules()
    let wanted = Set(schedules.flatMap { $0.buffered.compactMap(\.cause.event) + ($0.batch?.events ?? []) })
    let entries = Set(schedules.map(\.id))
    let areAsked = !awaitsSchedules.withLock { $0 }
    return events.filter { event in
      if wanted.contains(event.id) { return false }
      if event.consumedBy != nil { return true }
      return event.delivery.map { !entries.contains($0.schedule) } ?? areAsked
    }
  }
}

extension RunRecord {
  /// Whether a step of the run, which is not being walked, waits for an event of that name.
  func waits(for event: EventRecord) -> Bool {
    guard status == .waiting, event.run == nil || event.run == id, event.delivery == nil else { return false }
    return awaits(event.name)
  }

  /// Whether something came for a waiting run that it has not been walked for.
  func hasNews(_ events: [EventRecord]) -> Bool {
    hasUnseenDecision || events.contains { waits(for: $0) }
  }
}
