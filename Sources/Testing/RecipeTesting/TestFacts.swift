import Basics
import Recipes
import RunState

/// The results of a case: for expectations by their paths, and for conditions as an environment.
struct TestFacts {
  /// The values found, by the subjects of expectations.
  private(set) var found = ValueMap()
  /// The values of `RecipeTypes.test`, in its order.
  private(set) var frame: [Value] = []

  init(_ bench: TestBench) async throws(TestError) {
    let runs = await bench.runs
    let entries = bench.ledger.entries
    let slots = bench.store.state.slots
    let store = bench.store

    func value(_ stored: StoredValue?) async throws(TestError) -> Value? {
      guard let stored else { return nil }
      do throws(StateError) { return try await store.restored(stored, as: "a value") } catch {
        throw TestError(message: error.message)
      }
    }

    let last = runs.last
    let outputs = try await value(last?.outputs)
    var steps = ValueMap()
    var statuses = ValueMap()
    for step in last?.stepsInOrder ?? StepRecords() {
      var map = ValueMap()
      map["status"] = .string(step.status.rawValue)
      map["attempts"] = .int(step.attempts)
      map["output"] = try await value(step.output)
      map["error"] = step.error?.encoded()
      steps[step.path] = .map(map)
      statuses[step.path] = .string(step.status.rawValue)
    }
    found["status"] = last.map { .string($0.status.rawValue) }
    found["error"] = last?.error?.encoded()
    found["waitsUntil"] = last?.wakeAt.map { .string("\($0)") }
    found["steps"] = .map(statuses)
    found["outputs"] = outputs
    found["runs"] = .list(runs.map { .string($0.status.rawValue) })
    found["requests"] = .list(entries.map { .string($0.text) })
    found["slots"] = .list(slots.map { .string($0.text) })
    frame = [
      last?.found ?? .null, .map(steps), outputs ?? .null, .list(runs.map(\.found)), .list(entries.map(\.value)),
      .list(slots.map(\.found)), .timestamp(bench.time.now()),
    ]
  }

  /// The value at a path; nil if there is none.
  func value(at path: [String]) -> Value? {
    path.reduce(Value?.some(.map(found))) { value, name in value?[name] }
  }
}

extension RunRecord {
  /// The run as conditions see it.
  fileprivate var found: Value {
    var map = ValueMap()
    map["recipe"] = .string(recipe)
    map["status"] = .string(status.rawValue)
    map["startedAt"] = .timestamp(createdAt)
    map["endedAt"] = endedAt.map { .timestamp($0) }
    map["wakeAt"] = wakeAt.map { .timestamp($0) }
    map["reason"] = reason.map { .string($0) }
    map["slot"] = origin.cause.slot.map { .timestamp($0) }
    map["error"] = error?.encoded()
    return .map(map)
  }
}

extension SlotRecord {
  /// The slot as tests write it: `2026-11-20T09:00:00Z ×4 superseded`.
  fileprivate var text: String { "\(slot)\(count > 1 ? " ×\(count)" : "") \(outcome.rawValue)" }

  /// The slot as conditions see it.
  fileprivate var found: Value {
    var map = ValueMap()
    map["schedule"] = .string(schedule)
    map["slot"] = .timestamp(slot)
    map["count"] = .int(count)
    map["outcome"] = .string(outcome.rawValue)
    map["reason"] = reason.map { .string($0) }
    return .map(map)
  }
}
