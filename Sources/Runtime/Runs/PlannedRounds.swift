// How a plan walks a step that has `repeat`.
//
// The first round is planned like any step. If `until` holds after it, the step is over. Otherwise what the step gives
// is unknown, and any later round is planned once more: with unknown carried values, and without reading anything,
// because it is repeated to see something else than now. A later round of an action that carries nothing is like the
// first.
import ActionKit
import Basics
import Expressions
import Recipes
import RunState

extension Planner {
  /// The value of a step, repeated by its `repeat`.
  func repeated(_ step: Step, in environment: PlannedEnvironment, at path: StepPath) async throws(StepInterruption)
    -> PlannedValue
  {
    guard let repetition = step.repetition else { return try await tried(step, in: environment, at: path) }
    var first = environment
    for value in repetition.carried {
      let planned = try evaluate(value.first, in: environment, at: path)
      first.bind(
        try carried(value, planned.value ?? .null, "carry", at: path),
        otherwise: planned.otherwise.flatMap { try? value.carried($0, as: "carry") })
    }
    let result = try await tried(step, in: first, at: roundPath(of: step, path, "1"))
    first.bind(result.value ?? .null, otherwise: result.otherwise)
    var value = ValueMap()
    /// Whether it may differ if something fails before.
    var isOpen = result.otherwise != nil
    var after = environment
    for (index, name) in repetition.carried.enumerated() {
      var next = PlannedValue(first.environment.slots[environment.environment.slots.count + index])
      if let other = first.otherwise?.slots[environment.environment.slots.count + index], other != next.value {
        next.otherwise = other
      }
      if let template = repetition.next.first(where: { $0.name == name.name })?.template {
        let planned = try evaluate(template, in: first, at: path)
        next = PlannedValue(
          try carried(name, planned.value ?? .null, "next", at: path),
          otherwise: planned.otherwise.flatMap { try? name.carried($0, as: "next") })
      }
      after.bind(next.value ?? .null, otherwise: next.otherwise)
      if next.otherwise != nil { isOpen = true }
      value[name.name] = next.value?.ifPresent
    }
    after.bind(result.value ?? .null, otherwise: result.otherwise)
    value["rounds"] = .int(1)
    if let collect = repetition.collect {
      switch try known(collect, in: first.environment, at: path) {
      case .unknown(let unknown): value["collected"] = unknown.value
      case .known(let list):
        guard list.list != nil else {
          throw failure("'collect' takes a list, but this is \(list.kindName)", at: path)
        }
        value["collected"] = list
        if let other = first.otherwise {
          if case .known(let otherList)? = try? known(collect, in: other, at: path), otherList == list { break }
          isOpen = true
        }
      }
    }
    let decision = try decide(repetition.until, in: after, at: path)
    let later = Unknown("known after '\(name(of: step, path))'")
    let open = later.value(of: repetition.valueType)
    guard case .known(true) = decision.now else {
      let pace = repetition.every.map { "every \($0.written)" } ?? "again"
      note(.pause("would be done \(pace) until `\(repetition.until.text)`"), at: path)
      if repetition.every != nil { lost = lost ?? later }
      try await supposeRounds(repetition, step, in: environment, at: path)
      return PlannedValue(open)
    }
    if let unknown = decision.otherwise {
      await suppose(after: unknown, at: path) { () async throws(StepInterruption) in
        try await supposeRounds(
          repetition, step, in: PlannedEnvironment(environment.otherwise ?? environment.environment), at: path)
      }
    }
    guard repetition.hasMemory else {
      return PlannedValue(result.value, otherwise: decision.otherwise == nil ? result.otherwise : open)
    }
    return PlannedValue(.map(value), otherwise: isOpen || decision.otherwise != nil ? open : nil)
  }

  private func roundPath(of step: Step, _ path: StepPath, _ number: String) -> StepPath {
    if case .action = step.kind { path } else { "\(path)/#round\(number)" }
  }

  private func carried(
    _ carried: CarriedValue, _ value: Value, _ key: String, at path: StepPath
  ) throws(StepInterruption) -> Value {
    do throws(ValueError) { return try carried.carried(value, as: key) } catch {
      throw failure("\(error)", at: path)
    }
  }

  /// Plans what may happen in any round but the first.
  private func supposeRounds(
    _ repetition: Repetition, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) {
    if case .action = step.kind, repetition.carried.isEmpty { return }
    let before = ahead
    let outer = laterRound
    let unknown = Unknown("known in that round")
    laterRound = unknown
    defer { laterRound = outer }
    var inner = environment
    inner.now = now()
    for value in repetition.carried {
      inner.bind(
        value.isOptional
          ? Unknown(unknown.reason, mayBeAbsent: true).value : unknown.value(of: value.valueType))
    }
    // The changes of one round are there for the next.
    try await forking(at: path) { () async throws(StepInterruption) in
      try await branch(nil, of: path) { () async throws(StepInterruption) in
        await suppose("in each later round, until `\(repetition.until.text)`", at: path) {
          () async throws(StepInterruption) in
          _ = try await tried(step, in: inner, at: roundPath(of: step, path, "*"))
        }
      }
    }
    if ahead > before { lost = lost ?? Unknown("known after '\(name(of: step, path))'") }
  }
}
