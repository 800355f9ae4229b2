import Basics
import RunState

// What an explanation is made from.
extension RunService {
  func why(_ request: Value) async throws(Refusal) -> Value {
    let run = try await record(request["run"]?.string ?? "")
    let facts = try await kept { () async throws(StateError) in try await RunFacts(of: run, in: store, now: time.now())
    }
    var answer = ValueMap([("facts", facts.encoded())])
    // A process that carries on its own runs alone, as 'errand run' does.
    if !agent.isServing, await host.isOwn(run.id) { answer["holder"] = .int(agent.pid) }
    return .map(answer)
  }

  /// Every schedule with its texts, so that it can be told in words and followed into the future.
  ///
  /// As many texts as fit a line of the agent's; without them the files count.
  func schedules() async throws(Refusal) -> Value {
    var records: [Value] = []
    var left = 4 << 20
    for var schedule in store.state.schedules.values.sorted(by: { $0.id.precedesByScalars($1.id) }) {
      if let stored = schedule.texts {
        // The plans of whoever asks are made from the recipe as it is.
        let texts = try await kept { () async throws(StateError) in
          do throws(StateError) { return try await store.restored(stored, as: "the recipe") } catch {
            guard error.kind == .secret else { throw error }
            return try await store.value(stored)
          }
        }
        left -= texts.map?.members.reduce(0) { $0 + ($1.value.string?.utf8.count ?? 0) } ?? 0
        schedule.texts = left > 0 ? .inline(texts) : nil
      }
      records.append(schedule.encoded())
    }
    return .object(["schedules": .list(records)])
  }
}
