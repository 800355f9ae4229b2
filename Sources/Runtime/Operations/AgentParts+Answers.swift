package import Agent
import Basics
package import Recipes
import RunState
import Synchronization

// The answers of webhooks that come from the runs of their deliveries. Nothing of an answer is kept: it is computed from
// the run's outputs for each delivery anew, so that a delivery that is repeated gets the answer of its first run, also
// after a restart.

extension AgentParts {
  /// The answer to a delivery that is on disk, from the run that it started.
  ///
  /// - Returns: The entry's answer, or nil if it has none for a run that isn't over, or didn't succeed; and the run.
  package func reply(to awaited: WebhookInbox.Awaited) async -> (reply: Webhook.Reply?, run: String?) {
    let run = await endedRun(of: awaited)
    do throws(LocatedEvaluationError) {
      if let run, run.status == .succeeded, let outputs = await outputs(of: run) {
        let reply = try awaited.answer.reply(
          to: awaited.event, outputs: outputs, run: run.id, status: run.status.rawValue)
        return (reply, run.id)
      }
      return (try awaited.answer.lateReply(to: awaited.event, run: run?.id, status: run?.status.rawValue), run?.id)
    } catch {
      await schedules?.reportUnanswered(
        awaited.schedule, "the answer to the delivery \(awaited.id) can't be computed: \(error.message)")
      return (nil, run?.id)
    }
  }

  private func outputs(of run: RunRecord) async -> Value? {
    guard let stored = run.outputs else { return run.erasedAt == nil ? .map(ValueMap()) : nil }
    return try? await store.restored(stored, as: "the outputs")
  }

  /// The run that a delivery started, at its end or when the time is over; nil if none is known.
  private func endedRun(of awaited: WebhookInbox.Awaited) async -> RunRecord? {
    let found = Mutex<String?>(nil)
    let note: @Sendable (String?) -> Void = { run in found.withLock { $0 = run } }
    if let patience = awaited.answer.patience, let decisions = webhooks?.waits.decisions(on: awaited.id) {
      // It holds a place among the waiting ones.
      defer { withExtendedLifetime(decisions) {} }
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          guard let run = await startedRun(of: awaited, decisions) else { return }
          note(run)
          // Its outcome is read from the state afterwards.
          try? await follow(run, withSnapshot: false, LocalEvents { _ in })
        }
        group.addTask { try? await time.sleep(for: patience) }
        // No decision of another program is told here.
        if store.sharing != nil {
          group.addTask {
            while !Task.isCancelled {
              try? await time.sleep(for: AgentParts.lookEvery)
              webhooks?.waits.wake(awaited.id)
            }
          }
        }
        await group.next()
        group.cancelAll()
      }
    } else if case .started(let run) = await decision(on: awaited) {
      note(run)
    }
    guard let id = found.withLock(\.self) else { return nil }
    return try? await store.keptRun(id)
  }

  /// How often the decision of another program is looked for.
  private static let lookEvery = TimeSpan.milliseconds(250)

  /// The run that a delivery starts, once it does; nil if it starts none.
  private func startedRun(of awaited: WebhookInbox.Awaited, _ decisions: AsyncStream<Void>) async -> String? {
    for await _ in decisions {
      switch await decision(on: awaited) {
      case .none: continue
      case .started(let run): return run
      case .startsNothing: return nil
      }
    }
    return nil
  }

  /// The decision on a delivery.
  private enum DeliveryDecision {
    /// Nothing was yet, or its start waits.
    case none
    case started(String?)
    case startsNothing
  }

  private func decision(on awaited: WebhookInbox.Awaited) async -> DeliveryDecision {
    // A database keeps instants less exactly.
    let (from, before) = (awaited.at.advanced(by: .milliseconds(-1)), awaited.at.advanced(by: .milliseconds(1)))
    let query = SlotQuery(limit: .max, schedule: awaited.schedule, from: from, before: before)
    let rows = (try? await store.slots(query))?.filter { $0.cause.event == awaited.id } ?? []
    if let started = rows.first(where: { $0.outcome == .started }) { return .started(started.run) }
    return rows.contains { $0.outcome != .buffered } ? .startsNothing : .none
  }
}
