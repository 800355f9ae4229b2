import ActionKit
import Basics
import Expressions
import Recipes
import RunState

extension Planner {
  /// The longest that a plan waits before it tries a read again.
  static let mostPatience = TimeSpan.seconds(10)

  /// What an action gives, or what is known of it before the run.
  func output(
    of call: ActionCall, _ step: Step, in frame: Frame, at path: StepPath
  ) async throws(StepExit) -> Value {
    let action = call.action
    let input = try evaluate(call.input, in: frame, at: path)
    let missing = input.firstUnknown
    let shown = shown(call, input)
    let later = Unknown("known after '\(name(of: step, path))'").value(of: action.outputType)
    switch action.effect {
    case .write, .idempotentWrite:
      try await write(call, step, input, missing, in: frame, at: path)
      return later
    case .consume:
      note(.notCalled(shown), at: path)
      noteRounds(of: call, at: path)
      return later
    case .pure:
      if let missing { return Unknown(missing.reason).value(of: action.outputType) }
    case .read:
      if let missing {
        note(.notRead(shown, Plan.Reason("what it asks for is \(missing.reason)")), at: path)
        return later
      }
      if let writer = writers[call.connection] {
        note(.notRead(shown, Plan.Reason("'\(writer)' writes there before")), at: path)
        return later
      }
    }
    let answer = try await attempt(call, step, in: frame, at: path) { service, context async throws(ActionError) in
      try await action.run(input, on: service, in: context)
    }
    let output = redactor.withoutSecrets(answer, of: action.outputType)
    if action.effect == .read {
      plan.reads.append(
        Plan.Read(path: path, call: shown, output: try hashes(of: action.output.withoutVolatile(output))))
    }
    guard let repetition = call.repetition else { return output }
    var inner = frame
    inner.bind(output)
    if case .known(true) = try holds(repetition.until, in: inner, at: path) { return output }
    noteRounds(of: call, at: path)
    return later
  }

  private func noteRounds(of call: ActionCall, at path: StepPath) {
    guard let repetition = call.repetition else { return }
    note(.pause("would be done every \(repetition.every.spelled) until `\(repetition.until.text)`"), at: path)
  }

  private func hashes(of output: Value) throws(StepExit) -> Value {
    do {
      var hashes = ValueMap()
      for member in output.map?.members ?? [] {
        hashes[member.key] = .string(try sha256(JSON.write(StoredValue.inline(member.value).encoded())))
      }
      return .map(hashes)
    } catch let error as StateError {
      throw .failed(RunError(.configuration, error.message))
    } catch {
      throw .failed(RunError(.internal, "the output cannot be written as JSON: \(error)"))
    }
  }

  // MARK: Writes

  private func write(
    _ call: ActionCall, _ step: Step, _ input: Value, _ missing: Unknown?, in frame: Frame, at path: StepPath
  ) async throws(StepExit) {
    let result: Result<[Change], Plan.Reason>
    if let missing {
      result = .failure(Plan.Reason("it needs what is \(missing.reason)"))
    } else {
      result = try await preview(of: call, step, input, in: frame, at: path)
    }
    note(.write(shown(call, input), result), at: path)
    noteRounds(of: call, at: path)
    if writers[call.connection] == nil { writers[call.connection] = name(of: step, path) }
  }

  private func preview(
    of call: ActionCall, _ step: Step, _ input: Value, in frame: Frame, at path: StepPath
  ) async throws(StepExit) -> Result<[Change], Plan.Reason> {
    let action = call.action
    let found: [Change]?
    do throws(StepExit) {
      found = try await attempt(call, step, in: frame, at: path) { service, context async throws(ActionError) in
        try await action.preview(input, on: service, in: context)
      }
    } catch {
      // What is not there may be made by the writes before; and what may not happen need not go well.
      guard case .failed(let failure) = error, writers[call.connection] != nil || !conditions.isEmpty else {
        throw error
      }
      return .failure(Plan.Reason("as things are, \(failure.message)"))
    }
    guard let found else { return .failure(Plan.Reason("\(action.id) cannot say beforehand what it changes")) }
    var changes: [Change] = []
    for change in found {
      var change = Change(
        redactor.redact(change.subject), from: change.before.map(redactor.redact), to: change.after.map(redactor.redact)
      )
      // What a write before this one leaves there.
      if let before = planned[call.connection]?[change.subject], before != change.before {
        guard case .idempotentWrite = action.effect else {
          return .failure(Plan.Reason("a step before changes what it builds on: \(change.subject)"))
        }
        change.before = before
      }
      changes.append(change)
    }
    for change in changes { planned[call.connection, default: [:]][change.subject] = .some(change.after) }
    return .success(changes)
  }

  // MARK: Attempts

  /// Asks a service, and again if that may help and does not take long.
  private func attempt<Output: Sendable>(
    _ call: ActionCall, _ step: Step, in frame: Frame, at path: StepPath,
    _ body: @escaping @Sendable (any Sendable, ActionContext) async throws(ActionError) -> Output
  ) async throws(StepExit) -> Output {
    let action = call.action
    let limit = step.timeout.attempt ?? step.timeout.total ?? action.timeout
    var made = ActionContext(
      run: "plan", step: path, idempotencyKey: "plan/\(path)", now: latest, time: time, folder: folder,
      values: values)
    made.ownFiles = services.ownFiles
    let context = made
    var number = 1
    while true {
      let failure: ActionError
      do throws(ActionError) {
        let service = try await services.service(named: call.connection, of: action.plugin)
        let (result, isTimeout) = await withTimeLimit(limit, time: time) { () async throws(ActionError) in
          try await body(service, context)
        }
        if isTimeout, case .failure = result {
          throw ActionError(.timeout, "\(action.id) gave no result within \(limit)", effect: ActionError.Effect.none)
        }
        return try result.get()
      } catch {
        failure = error
      }
      var error = RunError(failure, step: path, attempt: number, redactedBy: redactor)
      error.place(at: step.location)
      guard let policy = step.retry?.schedule ?? action.retry, number < policy.maxAttempts,
        policy.kinds.contains(error.kind), error.retryable || step.retry != nil
      else { throw .failed(error) }
      let delay = error.retryAfter ?? policy.delay(afterAttempt: number, chance: 0.5)
      guard delay <= Planner.mostPatience, (try? await time.sleep(for: delay)) != nil else { throw .failed(error) }
      number += 1
    }
  }

  // MARK: What is shown

  /// An action with its input, without secrets.
  func shown(_ call: ActionCall, _ input: Value) -> Plan.Call {
    Plan.Call(
      action: call.action.id, connection: call.connection, input: masked(input, FieldType.object(call.action.input)))
  }

  private func masked(_ value: Value, _ type: FieldType?) -> Value {
    if Unknown(value) != nil { return value }
    switch (type, value.content) {
    case (.secret, _): return .string("•••")
    case (.optional(let wrapped), _): return masked(value, wrapped)
    case (_, .string(let text)): return .string(redactor.redact(text))
    case (_, .list(let items)):
      let element: FieldType? = if case .list(let element)? = type { element } else { nil }
      return .list(items.map { masked($0, element) })
    case (_, .map(let map)):
      var shown = ValueMap()
      for member in map.members {
        let field: FieldType? =
          switch type {
          case .object(let schema): schema.fields.first { $0.name == member.name }?.type
          case .map(let value): value
          default: nil
          }
        shown[member.key] = masked(member.value, field)
      }
      return .map(shown)
    default: return value
    }
  }
}
