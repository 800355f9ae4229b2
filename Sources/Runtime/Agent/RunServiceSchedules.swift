import Basics
import Recipes
import RunState

// What a request does to a schedule.
extension RunService {
  func steerSchedule(_ request: Value) async throws(RequestError) -> Value {
    guard let schedules else { throw RequestError("request", "there are no schedules here") }
    let id = request["id"]?.string ?? ""
    do throws(ScheduleHost.RequestError) {
      switch request["ask"]?.string {
      case "pauseSchedule": return answer(try await schedules.pause(id, note: request["note"]?.string))
      case "resumeSchedule": return answer(try await schedules.resume(id))
      case "resetSchedule": return answer(try await schedules.reset(id))
      case "trigger": return answer(try await schedules.trigger(id, overlap: try overlap(request)))
      default: return try await backfill(id, request, schedules)
      }
    } catch {
      throw RequestError(error.kind, error.message)
    }
  }

  private func backfill(
    _ id: String, _ request: Value, _ schedules: ScheduleHost
  ) async throws(ScheduleHost.RequestError) -> Value {
    let instants = ["from", "to"].map { request[$0].flatMap { $0.timestamp ?? $0.string.flatMap { Timestamp($0) } } }
    guard let from = instants[0], let to = instants[1], from < to else {
      throw ScheduleHost.RequestError(
        kind: "request", message: "a backfill needs an instant 'from' and a later one 'to'")
    }
    let overlap = try overlap(request)
    let (slots, hasMore) = try await schedules.slotsToBackfill(id, from: from, to: to)
    if request["dryRun"]?.bool == true {
      return .object(["slots": .list(slots.map { .string("\($0)") }), "hasMore": .bool(hasMore)])
    }
    return answer(try await schedules.backfill(id, slots, overlap: overlap))
  }

  private func overlap(_ request: Value) throws(ScheduleHost.RequestError) -> Trigger.Overlap? {
    guard let text = request["overlap"]?.string else { return nil }
    if let overlap = Trigger.Overlap(rawValue: text) { return overlap }
    let words = Trigger.Overlap.allCases.map(\.rawValue)
    throw ScheduleHost.RequestError(
      kind: "request",
      message:
        "there is no overlap policy '\(text)'; \(text.nearest(among: words).map { "did you mean '\($0)'?" } ?? "there are \(words.joined(separator: ", "))")"
    )
  }

  private func answer(_ slots: [SlotRecord]) -> Value { .object(["slots": .list(slots.map { $0.encoded() })]) }
}
