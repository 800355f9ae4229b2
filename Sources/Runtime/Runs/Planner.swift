// How a recipe is planned.
//
// A plan walks the recipe as a run would (`StepRunner`), one thing after another and without records. Reads and
// computations are done; writes are shown and assumed to succeed. A value that only a write can give is unknown
// (`Unknown`), and so is one that is read after a write that may change it (`Footprint`). Expressions pass an unknown
// on as long as nothing needs its value. A condition that needs one leaves open whether its step runs: the step is then
// planned as if it did, everything in it is marked with the condition, and its value may be absent. A loop over an
// unknown list is planned once, for any item it may have.
//
// A step that succeeded in the plan may still fail in the run. If the recipe catches that (`onError`, `onItemError`,
// `onFailure`) and continues another way, the plan shows both: the steps that follow if nothing fails and, marked with
// the failure, the steps that follow from it (`PlannedEnvironment`).
//
// A repeated step is planned for its first round and, unless that is the last one, once for any later round
// (`PlannedRounds`).
//
// A plan skips waits, and takes approvals for given and questions for answered. Its clock moves only by the waits it
// skipped; after a wait of unknown length, `now` is unknown.
import ActionKit
package import Basics
import Expressions
package import Recipes
import RunState

/// Makes one plan.
package final class Planner {
  let services: Services
  let redactor: Redactor
  let time: any TimeSource
  let folder: String
  let values: PlannedValues
  var plan = Plan()
  /// The conditions of the steps around, outermost first.
  var conditions: [String] = []
  /// The changes of the writes so far.
  var changes = PlannedChanges()
  /// The changes that may be made in addition, noted under the failure that leads to them.
  var otherChanges = PlannedChanges()
  /// The failure that would precede what is planned; nil for none.
  var failing: String?
  /// The position in the forks around.
  var position = ConcurrencyPosition()
  /// The findings about the outermost fork around.
  var fork = PlannedFork()
  /// The forks of failures that need not be the first there.
  var contested: [StepPath: StepPath] = [:]
  /// When the plan's clock begins; only waits move it.
  let start: Timestamp
  /// How far waits have moved the plan's clock.
  var ahead = TimeSpan.zero
  var latest: Timestamp
  /// Why the time is unknown from here on.
  var lost: Unknown?
  /// When what is read in a later round of a repeated step is known; nil outside of one.
  var laterRound: Unknown?
  /// Whether a request made for the plan failed, which may succeed in the run.
  var wasRefused = false

  private init(
    services: Services, redactor: Redactor, values: [String: Value], time: any TimeSource, start: Timestamp,
    folder: String
  ) {
    self.values = PlannedValues(values: values)
    self.services = services
    self.redactor = redactor
    self.time = time
    self.folder = folder
    self.start = start
    latest = start
  }

  /// Plans a run.
  ///
  /// - Parameters:
  ///   - recipe: Read with `RecipeEnvironment.isForPlan`; otherwise unknowns would pass for values.
  ///   - inputs: As a run's record holds them.
  ///   - values: The stored values.
  ///   - start: When the plan's clock begins, so that a repeated plan compares with the first; now if left out.
  ///   - folder: The folder that relative paths start from.
  package static func plan(
    _ recipe: Recipe, inputs: Value, secrets: Secrets, services: Services, values: [String: Value] = [:],
    time: any TimeSource, start: Timestamp? = nil, folder: String
  ) async -> Plan {
    let planner = Planner(
      services: services, redactor: services.redactor.adding(recipe.secretInputs(inputs, in: secrets).map(\.text)),
      values: values, time: time, start: start ?? time.now(), folder: folder)
    var run = ValueMap()
    run["id"] = Unknown("known when the run begins").value
    run["recipe"] = .string(recipe.name)
    run["startedAt"] = .timestamp(planner.latest)
    run["attempt"] = .int(1)
    run["url"] = Unknown("known when the run begins", mayBeAbsent: true).value
    let environment = PlannedEnvironment(
      Environment(of: recipe, inputs: inputs, secrets: secrets, run: run, now: planner.latest))
    await planner.redactor.hidingSecrets {
      do throws(StepInterruption) {
        planner.plan.outputs = planner.masked(
          try await planner.outputs(of: recipe, in: environment, prefix: "").withOpenTruths)
      } catch {
        // A plan has no other early end.
        planner.plan.error = if case .failed(let error) = error { error } else { RunError(.internal, "\(error)") }
      }
    }
    return planner.plan
  }

  // MARK: Recipes

  func outputs(
    of recipe: Recipe, in environment: PlannedEnvironment, prefix: String
  ) async throws(StepInterruption) -> PlannedValue {
    var environment = environment
    let who = prefix.isEmpty ? "the run" : "'\(String(prefix.dropLast()).withoutIndexes)'"
    let failing = Unknown(Planner.whether + "\(who) fails", mayBeAbsent: true)
    var result: Result<PlannedValue, StepInterruption>
    do throws(StepInterruption) {
      try await run(recipe.steps, in: &environment, prefix: prefix)
      environment.now = now()
      result = .success(try values(recipe.outputs, in: environment, at: "\(prefix)#outputs"))
    } catch {
      result = .failure(error)
    }
    var failure: RunError?
    if case .failure(.failed(let error)) = result { failure = error }
    if let block = recipe.onFailure {
      let path = "\(prefix)#onFailure/"
      var handler = environment.forHandlers(names: recipe.topLevelNames, failing: failing)
      if let failure {
        handler.bind(value(of: failure))
        // Reports the error that led here.
        _ = try? await run(block, in: &handler, prefix: path)
      } else {
        handler = PlannedEnvironment(handler.otherwise ?? handler.environment)
        handler.now = now()
        handler.bind(Unknown(failing.reason).value)
        await suppose(after: failing, at: path) { () async throws(StepInterruption) in
          try await run(block, in: &handler, prefix: path)
        }
      }
    }
    if let block = recipe.finally {
      var handler = environment.forHandlers(names: recipe.topLevelNames, failing: failing)
      handler.bind(Value(.optional(failure.map(value(of:)))), otherwise: failure == nil ? failing.value : nil)
      do throws(StepInterruption) { try await run(block, in: &handler, prefix: "\(prefix)#finally/") } catch {
        if case .success = result { throw error }
      }
    }
    return try result.get()
  }

  // MARK: Blocks

  @discardableResult
  func run(
    _ block: Block, in environment: inout PlannedEnvironment, prefix: String
  ) async throws(StepInterruption) -> PlannedValue {
    var own = ValueMap()
    var other = ValueMap()
    var isSame = true
    for step in block.steps {
      if case .bindings(let names) = step.kind {
        try await bind(names, of: step, in: &environment, prefix: prefix)
        continue
      }
      let planned = try await run(step, in: environment, prefix: prefix)
      if case .failure = step.kind, let condition = step.condition { settle(&environment, by: condition) }
      guard let id = step.id else { continue }
      own[id] = planned.value
      other[id] = planned.otherwise ?? planned.value
      if planned.otherwise != nil { isSame = false }
      environment.setStep(id, planned)
    }
    return PlannedValue(.map(own), otherwise: isSame ? nil : .map(other))
  }

  func bind(
    _ names: [NamedTemplate], of step: Step, in environment: inout PlannedEnvironment, prefix: String
  ) async throws(StepInterruption) {
    let path = prefix + step.element
    var inner = environment
    inner.now = now()
    let decision = try step.condition.map { condition throws(StepInterruption) in
      try decide(condition, in: inner, at: path)
    }
    switch decision?.now {
    case nil, .known(true)?:
      for name in names {
        let planned = try evaluate(name.template, in: inner, at: path)
        let value = planned.value ?? .null
        inner.bind(value, otherwise: planned.otherwise)
        if let decision {
          let otherwise = decision.otherwise.map { Unknown($0.reason, mayBeAbsent: true).value }
          environment.bind(
            Value(.optional(value)), otherwise: otherwise ?? planned.otherwise.map { Value(.optional($0)) })
        } else {
          environment.bind(value, otherwise: planned.otherwise)
        }
      }
    case .known(false)?:
      let otherwise = decision?.otherwise.map { Unknown($0.reason, mayBeAbsent: true).value }
      for _ in names { environment.bind(Value(.optional(nil)), otherwise: otherwise) }
    case .unknown(let unknown)?:
      for _ in names { environment.bind(Unknown(unknown.reason, mayBeAbsent: true).value) }
    }
  }

  // MARK: Steps

  /// The value of a step; none if it is skipped or its error is caught.
  func run(_ step: Step, in environment: PlannedEnvironment, prefix: String) async throws(StepInterruption)
    -> PlannedValue
  {
    let path = prefix + step.element
    var environment = environment
    environment.now = now()
    guard let condition = step.condition else { return try await whole(step, in: environment, at: path) }
    let decision = try decide(condition, in: environment, at: path)
    let open = decision.otherwise.map { Unknown($0.reason, mayBeAbsent: true).value }
    switch decision.now {
    case .known(true):
      settle(&environment, by: condition)
      let planned = try await whole(step, in: environment, at: path)
      return PlannedValue(planned.value, otherwise: open ?? planned.otherwise)
    case .known(false):
      if let unknown = decision.otherwise, let other = environment.otherwise {
        await suppose(after: unknown, if: "`\(condition.text)`", at: path) { () async throws(StepInterruption) in
          _ = try await whole(step, in: PlannedEnvironment(other), at: path)
        }
      } else if case .action(let call) = step.kind, step.loop == nil, call.action.effect.isWrite {
        note(.leftOut(displayed(call, .null)), at: path)
      }
      return PlannedValue(nil, otherwise: open)
    case .unknown(let unknown):
      let count = plan.entries.count
      await suppose("if `\(condition.text)` (\(unknown.reason))", at: path) { () async throws(StepInterruption) in
        _ = try await whole(step, in: environment, at: path)
        if plan.entries.count == count { note(.undecided, at: path) }
      }
      return PlannedValue(Unknown(unknown.reason, mayBeAbsent: true).value)
    }
  }

  /// Plans what may not happen at all: what fails in it may fail.
  func suppose(_ condition: String, at path: StepPath, _ body: () async throws(StepInterruption) -> Void) async {
    conditions.append(condition)
    do throws(StepInterruption) { try await body() } catch {
      if case .failed(let error) = error { note(.mayFail(error.message), at: error.step ?? path) }
    }
    conditions.removeLast()
  }

  /// The beginning of a reason, for a value that depends on a step that may fail or be rejected.
  static let whether = "decided by whether "

  /// Plans what would follow from a failure, separately from the rest of the plan.
  func suppose(
    after unknown: Unknown, if condition: String = "``", at path: StepPath,
    _ body: () async throws(StepInterruption) -> Void
  ) async {
    var text = "\(condition.hasPrefix("unless") ? "" : "if ")\(condition) (\(unknown.reason))"
    if unknown.reason.hasPrefix(Planner.whether) {
      text = "if \(unknown.reason.dropFirst(Planner.whether.count))" + (condition == "``" ? "" : " (\(condition))")
    }
    let (ahead, latest, lost, failing) = (ahead, latest, lost, failing)
    self.failing = unknown.reason
    await suppose(text, at: path, body)
    (self.ahead, self.latest, self.lost, self.failing) = (ahead, latest, lost, failing)
  }

  func whole(_ step: Step, in environment: PlannedEnvironment, at path: StepPath) async throws(StepInterruption)
    -> PlannedValue
  {
    if let loop = step.loop { return try await value(of: loop, step, in: environment, at: path) }
    return try await once(step, in: environment, at: path).planned
  }

  /// The value of a step, retried by its `retry` if that doesn't take long.
  func tried(_ step: Step, in environment: PlannedEnvironment, at path: StepPath) async throws(StepInterruption)
    -> PlannedValue
  {
    // Actions retry themselves.
    if case .action = step.kind { return try await value(of: step, in: environment, at: path) }
    let before = progress
    var number = 1
    while true {
      wasRefused = false
      do throws(StepInterruption) {
        let value = try await value(of: step, in: environment, at: path)
        if let limit = step.timeout.total, ahead > before.ahead + limit {
          note(.mayFail("what it waits for takes longer than its 'timeout' of \(limit.written)"), at: path)
        }
        if let most = step.retry?.schedule.maxAttempts, number < most, plan.hasWrites(after: before.entries) {
          note(.pause("would be tried again if it fails, \(most) times at most, and may then write more"), at: path)
        }
        return value
      } catch {
        guard case .failed(let failure) = error, let policy = step.schedule(after: failure, standard: nil),
          number < policy.maxAttempts
        else { throw error }
        let delay = failure.retryAfter ?? policy.delay(afterAttempt: number, chance: 0.5)
        guard delay <= Planner.mostPatience, (try? await time.sleep(for: delay)) != nil else { throw error }
        number += 1
        // The writes of an attempt that certainly fails are done, and the next attempt finds them.
        if !wasRefused, plan.hasWrites(after: before.entries) { continue }
        // The failed attempt is planned anew, except for the time that it took.
        let (latest, lost) = (self.latest, self.lost)
        progress = before
        (self.latest, self.lost) = (latest, lost)
      }
    }
  }

  /// The state of the planner, to restore before the next attempt.
  struct Progress {
    fileprivate var entries: Int
    fileprivate var reads: Int
    fileprivate var changes: PlannedChanges
    fileprivate var otherChanges: PlannedChanges
    fileprivate var ahead: TimeSpan
    fileprivate var latest: Timestamp
    fileprivate var lost: Unknown?
  }

  var progress: Progress {
    get {
      Progress(
        entries: plan.entries.count, reads: plan.reads.count, changes: changes, otherChanges: otherChanges,
        ahead: ahead, latest: latest, lost: lost)
    }
    set {
      plan.entries.removeSubrange(newValue.entries...)
      plan.reads.removeSubrange(newValue.reads...)
      (changes, otherChanges) = (newValue.changes, newValue.otherChanges)
      (ahead, latest, lost) = (newValue.ahead, newValue.latest, newValue.lost)
    }
  }

  /// One try of a step, and its error if that is caught.
  func once(
    _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> (planned: PlannedValue, caught: RunError?) {
    let planned: PlannedValue
    do throws(StepInterruption) { planned = try await repeated(step, in: environment, at: path) } catch {
      guard let failure = error.catchable, let onError = step.onError else { throw error }
      var inner = environment
      inner.bind(value(of: failure))
      if let block = onError.steps { try await run(block, in: &inner, prefix: path + "!/") }
      let instead = try onError.value.map { fallback throws(StepInterruption) in
        try value(of: fallback, in: inner, at: path)
      }
      let open = Unknown("\(Planner.whether)'\(path.withoutIndexes)' succeeds", mayBeAbsent: instead == nil)
      return (PlannedValue(instead, otherwise: open.value), failure)
    }
    guard let onError = step.onError, mayFail(step, planned) else { return (planned, nil) }
    let open = Unknown("\(Planner.whether)'\(path.withoutIndexes)' fails", mayBeAbsent: onError.value == nil)
    if onError.steps != nil || onError.value != nil {
      await suppose(after: open, at: path) { () async throws(StepInterruption) in
        var inner = PlannedEnvironment(environment.otherwise ?? environment.environment)
        inner.bind(Unknown(open.reason).value)
        if let block = onError.steps { try await run(block, in: &inner, prefix: path + "!/") }
        if let fallback = onError.value { _ = try value(of: fallback, in: inner, at: path) }
      }
    }
    return (PlannedValue(planned.value, otherwise: open.value), nil)
  }

  /// Whether what succeeded in the plan can fail in the run.
  func mayFail(_ step: Step, _ planned: PlannedValue) -> Bool {
    guard case .action(let call) = step.kind, call.action.effect == .pure else { return true }
    return planned.otherwise != nil || planned.value?.firstUnknown != nil
  }

  func value(of step: Step, in environment: PlannedEnvironment, at path: StepPath)
    async throws(StepInterruption) -> PlannedValue
  {
    switch step.kind {
    case .action(let call): return try await output(of: call, step, in: environment, at: path)
    case .wait(let wait): return PlannedValue(try value(of: wait, step, in: environment.environment, at: path))
    case .approval(let approval): return try await value(of: approval, step, in: environment, at: path)
    case .ask(let ask): return try await value(of: ask, step, in: environment, at: path)
    case .failure(let message):
      var error = RunError(.validation, try text(message, in: environment.environment, at: path), step: path)
      error.place(at: step.location)
      throw .failed(error)
    case .block(let block, let outputs):
      var environment = environment
      let own = try await run(block, in: &environment, prefix: path + "/")
      return if let outputs { try values(outputs, in: environment, at: path) } else { own }
    case .cases(let cases): return try await value(of: cases, in: environment, at: path)
    case .parallel(let branches):
      return try await forking(at: path) { () async throws(StepInterruption) in
        try await value(of: branches, in: environment, at: path)
      }
    case .call(let call):
      let given = try evaluate(call.inputs, in: environment, at: path)
      let inputs: ValueMap
      do throws(ValueError) { inputs = try call.recipe.inputs(ofPlannedCall: given.value ?? .null) } catch {
        var error = RunError(.validation, redactor.redact("the inputs of '\(call.recipe.name)': \(error)"), step: path)
        error.place(at: step.location)
        throw .failed(error)
      }
      let others = given.otherwise.flatMap { try? call.recipe.inputs(ofPlannedCall: $0) }
      return try await outputs(of: call.recipe, in: environment.forCall(inputs, otherwise: others), prefix: path + "/")
    case .bindings: return PlannedValue(.null)
    }
  }
}

extension String {
  /// A step's path without the indexes of items.
  package var withoutIndexes: String {
    var path = ""
    var isInside = false
    for scalar in unicodeScalars {
      if scalar == "[" { isInside = true }
      if !isInside { path.unicodeScalars.append(scalar) }
      if scalar == "]" { isInside = false }
    }
    return path
  }
}
