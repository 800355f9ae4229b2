import Basics
import Recipes
package import RunState
import Scheduler

// Receives deliveries to webhooks, and events, for the served recipes.

extension ScheduleHost {
  /// Opens the addresses of the entries in force.
  func openWebhooks() async {
    let plans = registry.items.flatMap { self.plans[$0.file] ?? [] }
    webhooks.set(
      plans.compactMap { plan in
        plan.trigger.webhook.map { WebhookInbox.Entry(schedule: ScheduleEntry(plan).id, webhook: $0) }
      })
    forms.set(
      plans.compactMap { plan in
        plan.trigger.form.map { FormInbox.Entry(schedule: ScheduleEntry(plan).id, recipe: plan.recipe, form: $0) }
      })
    await webhooks.loadSecrets()
  }

  /// Takes in a delivery to an address, durably.
  package nonisolated func receive(_ delivery: Delivery, at path: String) async -> WebhookInbox.Answer {
    await webhooks.receive(delivery, at: path) { event throws(StateError) in
      try await self.takeIn(event)
    } tell: { schedule, reason in
      await self.reportUnanswered(schedule, reason)
    }
  }

  /// Takes in a form that a person sent, durably.
  package nonisolated func receive(_ sent: FormInbox.Sent, to entry: FormInbox.Entry) async -> FormInbox.Answer {
    await forms.receive(sent, to: entry) { event throws(StateError) in try await self.takeIn(event) }
  }

  /// Reports why a schedule's delivery doesn't get the answer of its entry.
  package func reportUnanswered(_ schedule: String, _ reason: String) {
    tell(.unanswered(schedule: schedule, reason: store.secrets.finder.redact(reason)))
  }

  /// Takes an event in, durably, if fewer than `Intake.most` of its kind wait.
  package nonisolated func takeIn(_ event: EventRecord) async throws(StateError) -> Intake.Outcome {
    // Taken before the first wait, so that concurrent requests count each other.
    var count = host.intake.take(event)
    defer { host.intake.leave(event.id) }
    // One that came before needs no place.
    let isKnown = if event.delivery == nil { await store.event(event.id) != nil } else { false }
    if !isKnown {
      guard let waiting = await waiting(for: event) else { return .unserved }
      count += waiting
      if count > Intake.most { return .full }
    }
    return try await host.receive(event) ? .new : .known
  }

  /// How many starts wait that an event may add to, beside the places that were taken here; nil if the webhook of a
  /// delivery isn't served now.
  private func waiting(for event: EventRecord) async -> Int? {
    // The events that other programs stored and that are undecided; read before the starts, so that an event that
    // changes from one to the other meanwhile counts twice.
    var count = 0
    if let sharing { count = await undecided(event, sharing) }
    if isLeading {
      if event.delivery.map({ !scheduler.knows($0.schedule) }) == true { return nil }
    } else if event.delivery != nil {
      guard isServing, isElsewhere else { return nil }
    }
    let (ids, signal) = scheduler.takers(of: event)
    if let signal { count += host.intake.count(of: EventRecord.queue(ofName: signal)) }
    if isLeading { return count + scheduler.mostWaiting(of: ids) }
    guard isElsewhere else { return count }
    var most = 0
    for id in ids { most = max(most, await store.schedule(id)?.buffered.count ?? 0) }
    return count + most
  }

  /// How many events of the same kind the programs that share the state have taken in and none has decided.
  private func undecided(_ event: EventRecord, _ sharing: any ScheduleSharing) async -> Int {
    // An event that no schedule took waits for a run that asks for it, and is no start; what is to be taken is, in time.
    let since = event.delivery == nil ? event.receivedAt.advanced(by: .zero - ScheduleHost.untilOffered) : nil
    return await sharing.countFreeEvents(named: event.name, since: since)
  }

  /// The beginning of a delivery, as far as its expressions may read it.
  func head(of event: EventRecord) async -> Result<EventForm.Head, StateError> {
    do throws(StateError) { return .success(try await store.head(of: event)) } catch { return .failure(error) }
  }
}

extension Result {
  /// The error, if it is one.
  var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
