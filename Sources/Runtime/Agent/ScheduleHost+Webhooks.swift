import Basics
import Recipes
import RunState
import Scheduler

// The webhooks of the recipes that are served.

extension ScheduleHost {
  /// Opens the addresses of the entries in force.
  func openWebhooks() async {
    webhooks.set(
      registry.items.flatMap { plans[$0.file] ?? [] }.compactMap { plan in
        plan.trigger.webhook.map { WebhookInbox.Entry(schedule: ScheduleEntry(plan).id, webhook: $0) }
      })
    await webhooks.loadSecrets()
  }

  /// Takes in a delivery to an address, durably.
  nonisolated func receive(_ delivery: Delivery, at path: String) async -> WebhookInbox.Answer {
    await webhooks.receive(delivery, at: path) { await self.waiting(of: $0) }
  }

  /// How many starts of a schedule wait; nil if it isn't served now.
  private func waiting(of id: String) async -> Int? {
    if isLeading { return scheduler.files(of: id)?.waiting }
    guard isServing, isElsewhere else { return nil }
    return await store.schedule(id)?.buffered.count
  }

  /// The fields of the head of a delivery that its entry names.
  func headers(of event: EventRecord) async -> Result<Value?, StateError> {
    guard let stored = event.delivery?.headers else { return .success(nil) }
    do throws(StateError) { return .success(try await store.restored(stored, as: "the headers")) } catch {
      return .failure(error)
    }
  }
}

extension Result {
  /// The error, if it is one.
  var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
