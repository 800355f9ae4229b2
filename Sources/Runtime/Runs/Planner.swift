// How a recipe is planned.
//
// A plan walks the recipe as a run would (`StepRunner`), one thing after another and without records. What reads is done,
// what computes is computed, and what writes is shown and taken for done. What only a write can tell is an unknown
// (`Unknown`), and so is what is read after a write that may change it (`Footprint`). An unknown goes on through
// expressions as far as nothing needs it. A condition that needs one leaves open whether its step is done: then the step
// is planned as if it were, what happens in it is marked with the condition, and its value may be absent. A list that
// needs one is gone through once, for whatever item it may have.
//
// What a plan did without trouble may still fail in the run. Where the recipe catches that (`onError`, `onItemError`,
// `onFailure`), and goes on in another way, the plan shows both: what follows if nothing fails, and, marked with the
// failure, what would follow from it (`PlannedEnvironment`).
//
// A wait is passed by, and so is an approval, which is taken for given. The clock of the plan stands still but for the
// waits that it passed; after a wait whose end nobody can tell, `now` is unknown.
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
  /// What the steps around are subject to, from the outside in.
  var conditions: [String] = []
  /// What is there after the writes so far.
  var changes = PlannedChanges()
  /// What may be there beside it, by the failures that lead to it.
  var otherChanges = PlannedChanges()
  /// The failure after which what is planned would come; nil for none.
  var failing: String?
  /// Where what is planned is in what goes on side by side.
  var strand = Strand()
  /// What is known of the outermost fork around it.
  var fork = PlannedFork()
  /// The forks of failures that need not be the first there.
  private var contested: [StepPath: StepPath] = [:]
  /// Where the plan's clock begins; it stands still but for what is waited.
  private let start: Timestamp
  /// How far the plan's clock is ahead of where it began.
  private var ahead = TimeSpan.zero
  private(set) var latest: Timestamp
  /// Why the plan's clock shows nothing any more.
  private var lost: Unknown?
  /// Whether something that was asked for the plan failed, which may go better in the run.
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
  ///   - recipe: Read with `RecipeEnvironment.isForPlan`, or what is unknown would be taken for a value.
  ///   - inputs: As a run's record holds them.
  ///   - values: Those that outlive runs.
  ///   - start: When the plan's clock begins, so that a plan made again compares with the first; now unless it is given.
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
    let environment = PlannedEnvironment(
      Environment(of: recipe, inputs: inputs, secrets: secrets, run: run, now: planner.latest))
    await planner.redactor.hidingSecrets {
      do throws(StepInterruption) {
        planner.plan.outputs = planner.masked(
          try await planner.outputs(of: recipe, in: environment, prefix: "").value ?? .null)
      } catch {
        // A plan ends early in no other way.
        planner.plan.error = if case .failed(let error) = error { error } else { RunError(.internal, "\(error)") }
      }
    }
    return planner.plan
  }

  // MARK: Recipes

  private func outputs(
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
        // The error that led here is the one to be told.
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
  private func run(
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

  private func bind(
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

  /// The value of a step; none if it is left out or its error is caught.
  private func run(_ step: Step, in environment: PlannedEnvironment, prefix: String) async throws(StepInterruption)
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
        await suppose(after: unknown, if: condition, at: path) { () async throws(StepInterruption) in
          _ = try await whole(step, in: PlannedEnvironment(other), at: path)
        }
      } else if case .action(let call) = step.kind, step.loop == nil, call.action.effect.isWrite {
        note(.leftOut(shown(call, .null)), at: path)
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
  private func suppose(_ condition: String, at path: StepPath, _ body: () async throws(StepInterruption) -> Void) async
  {
    conditions.append(condition)
    do throws(StepInterruption) { try await body() } catch {
      if case .failed(let error) = error { note(.mayFail(error.message), at: error.step ?? path) }
    }
    conditions.removeLast()
  }

  /// Begins the reason of what something depends on that may fail, or be rejected.
  static let whether = "decided by whether "

  /// Plans what would follow from a failure, of which the rest of the plan knows nothing.
  func suppose(
    after unknown: Unknown, if condition: RecipeExpression? = nil, at path: StepPath,
    _ body: () async throws(StepInterruption) -> Void
  ) async {
    var text = "if `\(condition?.text ?? "")` (\(unknown.reason))"
    if unknown.reason.hasPrefix(Planner.whether) {
      text = "if \(unknown.reason.dropFirst(Planner.whether.count))" + (condition.map { " (`\($0.text)`)" } ?? "")
    }
    let (ahead, latest, lost, failing) = (ahead, latest, lost, failing)
    self.failing = unknown.reason
    await suppose(text, at: path, body)
    (self.ahead, self.latest, self.lost, self.failing) = (ahead, latest, lost, failing)
  }

  private func whole(_ step: Step, in environment: PlannedEnvironment, at path: StepPath) async throws(StepInterruption)
    -> PlannedValue
  {
    if let loop = step.loop { return try await value(of: loop, step, in: environment, at: path) }
    return try await once(step, in: environment, at: path).planned
  }

  /// The value of a step, which is tried again as its `retry` says if that does not take long.
  private func tried(_ step: Step, in environment: PlannedEnvironment, at path: StepPath) async throws(StepInterruption)
    -> PlannedValue
  {
    // Actions do so themselves.
    if case .action = step.kind { return try await value(of: step, in: environment, at: path) }
    let before = progress
    var number = 1
    while true {
      wasRefused = false
      do throws(StepInterruption) {
        let value = try await value(of: step, in: environment, at: path)
        if let limit = step.timeout.total, ahead > before.ahead + limit {
          note(.mayFail("what it waits for takes longer than its 'timeout' of \(limit.spelled)"), at: path)
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
        // What the run writes before it fails for certain is written, and the next attempt finds it.
        if !wasRefused, plan.hasWrites(after: before.entries) { continue }
        // What was planned in vain is planned anew, but for the time that it took.
        let (latest, lost) = (self.latest, self.lost)
        progress = before
        (self.latest, self.lost) = (latest, lost)
      }
    }
  }

  /// How far a plan is, so that what was planned in vain can be planned anew.
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

  /// What a step gives once, and how it failed if that is caught.
  private func once(
    _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> (planned: PlannedValue, caught: RunError?) {
    let planned: PlannedValue
    do throws(StepInterruption) { planned = try await tried(step, in: environment, at: path) } catch {
      guard let failure = error.catchable, let onError = step.onError else { throw error }
      if case .steps(let block) = onError {
        var inner = environment
        inner.bind(value(of: failure))
        try await run(block, in: &inner, prefix: path + "!/")
      }
      let open = Unknown("\(Planner.whether)'\(path.withoutIndexes)' succeeds", mayBeAbsent: true)
      return (PlannedValue(nil, otherwise: open.value), failure)
    }
    guard let onError = step.onError, mayFail(step, planned) else { return (planned, nil) }
    let open = Unknown("\(Planner.whether)'\(path.withoutIndexes)' fails", mayBeAbsent: true)
    if case .steps(let block) = onError {
      await suppose(after: open, at: path) { () async throws(StepInterruption) in
        var inner = PlannedEnvironment(environment.otherwise ?? environment.environment)
        inner.bind(Unknown(open.reason).value)
        try await run(block, in: &inner, prefix: path + "!/")
      }
    }
    return (PlannedValue(planned.value, otherwise: open.value), nil)
  }

  /// Whether what went well in the plan can fail in the run.
  private func mayFail(_ step: Step, _ planned: PlannedValue) -> Bool {
    guard case .action(let call) = step.kind, call.action.effect == .pure else { return true }
    return planned.otherwise != nil || planned.value?.firstUnknown != nil
  }

  private func value(of step: Step, in environment: PlannedEnvironment, at path: StepPath)
    async throws(StepInterruption) -> PlannedValue
  {
    switch step.kind {
    case .action(let call): return try await output(of: call, step, in: environment, at: path)
    case .wait(let wait): return PlannedValue(try value(of: wait, step, in: environment.environment, at: path))
    case .approval(let approval): return try value(of: approval, step, in: environment.environment, at: path)
    case .failure(let message):
      var error = RunError(.validation, try text(message, in: environment.environment, at: path), step: path)
      error.place(at: step.location)
      throw .failed(error)
    case .block(let block, let outputs):
      var environment = environment
      let own = try await run(block, in: &environment, prefix: path + "/")
      return if let outputs { try values(outputs, in: environment, at: path) } else { own }
    case .parallel(let branches):
      return try await forking(at: path) { () async throws(StepInterruption) in
        try await value(of: branches, in: environment, at: path)
      }
    case .call(let call):
      let given = try evaluate(call.inputs, in: environment, at: path)
      let inputs: ValueMap
      do throws(Faults) { inputs = try call.recipe.inputs(ofPlannedCall: given.value ?? .null) } catch {
        var error = RunError(.validation, redactor.redact("the inputs of '\(call.recipe.name)': \(error)"), step: path)
        error.place(at: step.location)
        throw .failed(error)
      }
      let others = given.otherwise.flatMap { try? call.recipe.inputs(ofPlannedCall: $0) }
      return try await outputs(of: call.recipe, in: environment.forCall(inputs, otherwise: others), prefix: path + "/")
    case .bindings: return PlannedValue(.null)
    }
  }

  // MARK: Branches

  /// The failure that is told of those that happen side by side.
  private func first(of failures: [RunError], at path: StepPath) -> RunError? {
    guard let first = failures.first else { return nil }
    if failures.count > 1, let step = first.step { contested[step] = path }
    return first
  }

  /// What handlers see of a failure.
  private func value(of failure: RunError) -> Value {
    guard let fork = failure.step.flatMap({ contested[$0] }) else { return failure.value }
    return Unknown("decided by what fails first in '\(fork.withoutIndexes)'").value
  }

  private func value(
    of branches: [Branch], in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    var value = ValueMap()
    var other = ValueMap()
    var isSame = true
    var failures: [RunError] = []
    // The branches begin at once, so that what they wait for does not add up; the longest counts.
    let (before, known) = (ahead, latest)
    var end = (ahead: ahead, latest: latest)
    for (number, branch) in branches.enumerated() {
      (ahead, latest) = (before, known)
      let failed = failures.first?.step ?? fork.failure(after: number, of: path)
      do throws(StepInterruption) {
        let own = try await self.branch(number, of: path, unless: failed) { () async throws(StepInterruption) in
          var environment = environment
          return try await run(branch.block, in: &environment, prefix: "\(path)/\(branch.name)/")
        }
        value[branch.name] = own.value
        other[branch.name] = own.otherwise ?? own.value
        if own.otherwise != nil { isSame = false }
      } catch {
        guard case .failed(let failure) = error else { throw error }
        failures.append(failure)
        fork.noteFailure(of: number, of: path, at: failure.step ?? path)
      }
      end = (max(end.ahead, ahead), max(end.latest, latest))
    }
    (ahead, latest) = end
    if let failure = first(of: failures, at: path) { throw .failed(failure) }
    return PlannedValue(.map(value), otherwise: isSame ? nil : .map(other))
  }

  // MARK: Loops

  private func value(
    of loop: Loop, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    guard loop.maxParallel > 1 else { return try await items(of: loop, step, in: environment, at: path) }
    return try await forking(at: path) { () async throws(StepInterruption) in
      try await items(of: loop, step, in: environment, at: path)
    }
  }

  private func items(
    of loop: Loop, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    let list: Value
    switch try known(loop.items, in: environment.environment, at: path) {
    case .known(let value): list = value
    case .unknown(let unknown):
      try await supposeItems(of: loop, unknown, step, in: environment, at: path)
      return PlannedValue(unknown.value)
    }
    // The list may be another if something fails.
    var otherwise: Unknown?
    if let other = environment.otherwise, case .unknown(let unknown)? = try? known(loop.items, in: other, at: path) {
      otherwise = unknown
      await suppose(after: unknown, at: path) { () async throws(StepInterruption) in
        try await supposeItems(of: loop, unknown, step, in: PlannedEnvironment(other), at: path)
      }
    }
    guard let items = list.list else {
      throw failure("'forEach' takes a list, but this is \(list.kindName)", at: path)
    }
    let isForked = loop.maxParallel > 1
    var results: [StepRunner.ItemResult] = []
    var failures: [RunError] = []
    /// Why it is not known how many results there are.
    var doubt: Unknown?
    for (index, item) in items.enumerated() {
      do throws(StepInterruption) {
        let planned =
          !isForked
          ? try await self.item(item, index, of: loop, step, in: environment, at: path)
          : try await branch(index, of: path, unless: failures.first?.step) { () async throws(StepInterruption) in
            try await self.item(item, index, of: loop, step, in: environment, at: path)
          }
        otherwise = otherwise ?? planned.otherwise
        doubt = doubt ?? planned.doubt
        if let result = planned.result { results.append(result) }
      } catch {
        guard isForked, case .failed(let failure) = error else { throw error }
        failures.append(failure)
      }
    }
    if let failure = first(of: failures, at: path) { throw .failed(failure) }
    if loop.onItemError == .continue, !results.isEmpty {
      otherwise = otherwise ?? Unknown("\(Planner.whether)'\(path.withoutIndexes)' fails for an item")
    }
    if let doubt { return PlannedValue(doubt.value) }
    let value = Value.list(loop.givesOutcomes(step) ? results.map(\.value) : results.compactMap(\.output))
    return PlannedValue(value, otherwise: otherwise.map { Unknown($0.reason).value })
  }

  /// Plans one item, and gives what leaves open how it ends, and whether it is done at all.
  private func item(
    _ item: Value, _ index: Int, of loop: Loop, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> (result: StepRunner.ItemResult?, otherwise: Unknown?, doubt: Unknown?) {
    let path = "\(path)[\(index)]"
    var inner = environment
    inner.bind(item)
    if loop.hasIndex { inner.bind(.int(index)) }
    var otherwise: Unknown?
    if let condition = loop.condition {
      let decision = try decide(condition, in: inner, at: path)
      otherwise = decision.otherwise
      switch decision.now {
      case .known(true): settle(&inner, by: condition)
      case .known(false):
        if let unknown = decision.otherwise, let other = inner.otherwise {
          await suppose(after: unknown, if: condition, at: path) { () async throws(StepInterruption) in
            _ = try await once(step, in: PlannedEnvironment(other), at: path)
          }
        }
        return (nil, otherwise, nil)
      case .unknown(let unknown):
        await supposeItem("where `\(condition.text)` (\(unknown.reason))", step, in: inner, at: path)
        return (nil, otherwise, unknown)
      }
    }
    do throws(StepInterruption) {
      let (planned, caught) = try await once(step, in: inner, at: path)
      let result = StepRunner.ItemResult(index: index, output: caught == nil ? planned.value : nil, error: caught)
      return (result, otherwise ?? planned.otherwise?.firstUnknown, nil)
    } catch {
      guard loop.onItemError == .continue, let failure = error.catchable else { throw error }
      return (StepRunner.ItemResult(index: index, error: failure), otherwise, nil)
    }
  }

  /// Plans what may be done for the items of a list that is not known.
  private func supposeItems(
    of loop: Loop, _ unknown: Unknown, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) {
    let element: ValueType = if case .list(let element) = loop.items.program.type { element } else { .dyn }
    var inner = environment
    inner.bind(unknown.value(of: element))
    if loop.hasIndex { inner.bind(Unknown(unknown.reason).value) }
    var text = "for each item of `\(loop.items.text)` (\(unknown.reason))"
    if let condition = loop.condition {
      switch try holds(condition, in: inner.environment, at: path) {
      case .known(true): break
      case .known(false): return
      case .unknown: text += " where `\(condition.text)`"
      }
    }
    // What is done for one item is there for the next.
    try await forking(at: path) { () async throws(StepInterruption) in
      try await branch(nil, of: path) { () async throws(StepInterruption) in
        await supposeItem(text, step, in: inner, at: "\(path)[*]")
      }
    }
  }

  /// Plans what may be done for an item.
  private func supposeItem(_ text: String, _ step: Step, in environment: PlannedEnvironment, at path: StepPath) async {
    let count = plan.entries.count
    await suppose(text, at: path) { () async throws(StepInterruption) in
      _ = try await once(step, in: environment, at: path)
      if plan.entries.count == count { note(.undecided, at: path) }
    }
  }

  // MARK: Waits

  private func value(of wait: Wait, _ step: Step, in environment: Environment, at path: StepPath)
    throws(StepInterruption) -> Value
  {
    switch wait {
    case .span(let span): pass(span, at: path)
    case .duration(let expression):
      switch try known(expression, in: environment, at: path) {
      case .unknown(let unknown):
        note(.pause("would wait for a time that is \(unknown.reason)"), at: path)
        lost = lost ?? unknown
      case .known(let value):
        guard let span = value.duration else {
          throw failure("'wait' takes a duration, but this is \(value.kindName)", at: path)
        }
        pass(span, at: path)
      }
    case .until(let expression):
      switch try known(expression, in: environment, at: path) {
      case .unknown(let unknown):
        note(.pause("would wait until an instant that is \(unknown.reason)"), at: path)
        lost = lost ?? unknown
      case .known(let value):
        guard let due = value.timestamp else {
          throw failure("'wait' takes an instant, but this is \(value.kindName)", at: path)
        }
        note(.pause("would wait until \(due.inSeconds)"), at: path)
        if lost == nil, due > latest { ahead = due.span(since: start) ?? ahead }
      }
    case .event(let name, _, let onTimeout):
      note(.pause("would wait for the event '\(name)'"), at: path)
      let later = Unknown("known after '\(self.name(of: step, path))'", mayBeAbsent: onTimeout == .continue)
      lost = lost ?? later
      return .object(["event": later.value])
    }
    return .map(ValueMap())
  }

  private func pass(_ span: TimeSpan, at path: StepPath) {
    note(.pause("would wait \(span.spelled)"), at: path)
    if lost == nil, let due = latest.advanced(by: span) { ahead = due.span(since: start) ?? ahead }
  }

  private func value(
    of approval: Approval, _ step: Step, in environment: Environment, at path: StepPath
  ) throws(StepInterruption) -> PlannedValue {
    let question = try text(approval.prompt, in: environment, at: path)
    let whom = approval.by.isEmpty ? "" : " \(approval.by.joined(separator: ", "))"
    note(.pause("would ask\(whom): \(question) (taken for approved)"), at: path)
    let later = Unknown("known after '\(self.name(of: step, path))'", mayBeAbsent: approval.onTimeout == .continue)
    lost = lost ?? later
    let value = Value.object([
      "approved": .bool(true), "by": later.value, "at": later.value,
      "comment": Unknown(later.reason, mayBeAbsent: true).value,
    ])
    guard approval.onReject == .continue || approval.onTimeout == .continue, var other = value.map else {
      return PlannedValue(value)
    }
    other["approved"] = Unknown("\(Planner.whether)'\(path.withoutIndexes)' is rejected").value
    return PlannedValue(value, otherwise: .map(other))
  }

  /// What the next step's expressions call `now`.
  private func now() -> Value {
    if let lost { return lost.value }
    latest = max(latest, start.advanced(by: ahead) ?? .latest)
    return .timestamp(latest)
  }

  // MARK: Expressions

  enum Knowledge<Content> {
    case known(Content)
    case unknown(Unknown)
  }

  /// The value as far as it is known, also if something fails before.
  func evaluate(_ template: ValueTemplate, in environment: PlannedEnvironment, at path: StepPath)
    throws(StepInterruption) -> PlannedValue
  {
    let value = try evaluate(template, in: environment.environment, at: path)
    guard let environment = environment.otherwise, let other = try? evaluate(template, in: environment, at: path),
      other != value
    else {
      return PlannedValue(value)
    }
    return PlannedValue(value, otherwise: other)
  }

  /// The value as far as it is known.
  func evaluate(_ template: ValueTemplate, in environment: Environment, at path: StepPath) throws(StepInterruption)
    -> Value
  {
    do throws(LocatedEvaluationError) { return try template.evaluate(asFarAsKnownIn: environment.slots) } catch {
      throw failure(error.message, at: path, error.location)
    }
  }

  /// A text for people, with words in the place of what is not known.
  private func text(_ template: ValueTemplate, in environment: Environment, at path: StepPath) throws(StepInterruption)
    -> String
  {
    do throws(LocatedEvaluationError) {
      return redactor.redact(try template.text(asFarAsKnownIn: environment.slots))
    } catch {
      throw failure(error.message, at: path, error.location)
    }
  }

  func known(
    _ expression: RecipeExpression, in environment: Environment, at path: StepPath
  ) throws(StepInterruption) -> Knowledge<Value> {
    do throws(LocatedEvaluationError) { return .known(try expression.evaluate(in: environment.slots)) } catch {
      if let unknown = error.unknown { return .unknown(unknown) }
      throw failure(error.message, at: path, error.location)
    }
  }

  func holds(
    _ condition: RecipeExpression, in environment: Environment, at path: StepPath
  ) throws(StepInterruption) -> Knowledge<Bool> {
    switch try known(condition, in: environment, at: path) {
    case .unknown(let unknown): return .unknown(unknown)
    case .known(let value):
      guard let holds = value.bool else {
        throw failure("a condition must be a bool, but this is \(value.kindName)", at: path)
      }
      return .known(holds)
    }
  }

  /// Whether a condition holds, and what leaves that open if something fails before.
  private func decide(
    _ condition: RecipeExpression, in environment: PlannedEnvironment, at path: StepPath
  ) throws(StepInterruption) -> (now: Knowledge<Bool>, otherwise: Unknown?) {
    let now = try holds(condition, in: environment.environment, at: path)
    guard case .known = now, let other = environment.otherwise,
      case .unknown(let unknown)? = try? holds(condition, in: other, at: path)
    else { return (now, nil) }
    return (now, unknown)
  }

  /// Takes it for decided that those failures have not happened by which a condition would be open.
  private func settle(_ environment: inout PlannedEnvironment, by condition: RecipeExpression) {
    guard case .known? = try? holds(condition, in: environment.environment, at: "") else { return }
    environment.settle { candidate in
      if case .unknown? = try? holds(condition, in: candidate, at: "") { true } else { false }
    }
  }

  private func values(
    _ outputs: [NamedTemplate], in environment: PlannedEnvironment, at path: StepPath
  ) throws(StepInterruption) -> PlannedValue {
    var values = ValueMap()
    var others = ValueMap()
    var isSame = true
    for output in outputs {
      let planned = try evaluate(output.template, in: environment, at: path)
      values[output.name] = planned.value
      others[output.name] = planned.otherwise ?? planned.value
      if planned.otherwise != nil { isSame = false }
    }
    return PlannedValue(.map(values), otherwise: isSame ? nil : .map(others))
  }

  private func failure(_ message: String, at path: StepPath, _ location: Diagnostic.Location? = nil) -> StepInterruption
  {
    var error = RunError(.expression, redactor.redact(message), step: path)
    error.place(at: location)
    return .failed(error)
  }

  /// What a step is called where only people read it.
  func name(of step: Step, _ path: StepPath) -> String { step.id == nil ? step.title : path }

  func note(_ event: Plan.Event, at path: StepPath) {
    plan.entries.append(Plan.Entry(path: path, conditions: conditions, event: event))
  }
}

extension String {
  /// A step's path without the numbers of items.
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

/// The values that outlive runs, for actions that look at them in a plan.
struct PlannedValues: ValueStore {
  let values: [String: Value]

  var names: [String] { values.keys.sorted { $0.precedesByScalars($1) } }

  func value(of name: String) -> Value? { values[name] }

  func change(
    _ name: String, _ decide: (_ current: Value?) throws(ActionError) -> ValueChange
  ) throws(ActionError) -> ValueOutcome {
    throw ActionError(.internal, "a plan changes no stored value", effect: ActionError.Effect.none)
  }

  func earlierChange() -> ValueOutcome? { nil }
}

extension Value {
  /// The value with something else for each part that is kept by reference, made of the name of a secret in it.
  func withMaskedReplaced(_ replace: (String) -> Value) -> Value {
    guard isMasked else { return self }
    switch content {
    case .masked(let text):
      let names = text.parts.compactMap { if case .secret(let secret) = $0 { secret.name } else { nil } }
      return replace(names.first ?? "")
    case .optional(let wrapped): return Value(.optional(wrapped?.withMaskedReplaced(replace)))
    case .list(let items): return .list(items.map { $0.withMaskedReplaced(replace) })
    case .map(let map):
      if let key = map.members.first(where: { $0.key.isMasked })?.key { return key.withMaskedReplaced(replace) }
      var replaced = ValueMap()
      for member in map.members { replaced[member.key] = member.value.withMaskedReplaced(replace) }
      return .map(replaced)
    default: return self
    }
  }
}
