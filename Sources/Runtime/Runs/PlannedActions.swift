import ActionKit
import Basics
import Expressions
import Recipes
import RunState

extension Planner {
  /// The longest delay before a plan retries a read.
  static let mostPatience = TimeSpan.seconds(10)

  /// The output of an action, as far as it is known before the run.
  func output(
    of call: ActionCall, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    let action = call.action
    let given = try evaluate(call.input, in: environment, at: path)
    let input = given.value ?? .null
    let missing = input.firstUnknown
    /// The unknown in the input if something fails before.
    var doubt = missing == nil ? given.otherwise?.firstUnknown : nil
    let displayed = displayed(call, input)
    let later = PlannedValue(Unknown("known after '\(name(of: step, path))'").value(of: call.outputType))
    switch action.effect {
    case .write, .idempotentWrite:
      try await write(call, step, input, missing, at: path)
      if let doubt, let other = given.otherwise {
        await suppose(after: doubt, at: path) { () async throws(StepInterruption) in
          try await write(call, step, other, doubt, at: path)
        }
      }
      return later
    case .consume:
      try check(input, missing, of: call, step, at: path)
      note(.notCalled(displayed), at: path)
      // Its changes on this machine, such as a new file.
      let changed = footprint(of: call, input, at: path).changes.filter { $0 != .everything }
      noteChanges(changed, by: name(of: step, path), of: call, told: nil)
      return later
    case .pure:
      if let missing { return PlannedValue(Unknown(missing.reason).value(of: call.outputType)) }
    case .read:
      if let missing {
        note(.notRead(displayed, Plan.Reason("its input is \(missing.reason)")), at: path)
        return later
      }
      if let laterRound {
        try check(input, missing, of: call, step, at: path)
        note(.notRead(displayed, Plan.Reason("what is there then is \(laterRound.reason)")), at: path)
        return later
      }
      let reads = footprint(of: call, input, at: path).reads
      if let reason = reasonToWait(before: reads) {
        try check(input, missing, of: call, step, at: path)
        note(.notRead(displayed, reason), at: path)
        return later
      }
      let other = otherChanges.writer(before: reads) ?? fork.otherWriter(beside: position, of: reads)
      fork.rely(on: reads, isDoubted: other != nil, in: position)
      if let reason = other {
        if failing != nil {
          note(.notRead(displayed, Plan.Reason("what is there then is \(reason)")), at: path)
          return later
        }
        doubt = doubt ?? Unknown(reason)
      }
    }
    func known(_ output: Value) -> Value {
      output.replacingMasked { Unknown("known when '\($0.secretNames.first ?? "")' is the secret that it was").value }
    }
    let answer = try await attempt(call, step, input, at: path) { service, context async throws(ActionError) in
      try await action.run(input, on: service, in: context)
    }
    if action.effect == .read {
      plan.reads.append(
        Plan.Read(
          path: path, call: displayed, output: try hashes(of: masked(action.output.withoutVolatile(known(answer)))))
      )
    }
    let output: Value
    switch call.fitted(answer, redacting: redactor.adding(call.input.secrets(in: input)).redact) {
    case .success(let fitted): output = known(fitted)
    case .failure(let misfits):
      var error = RunError(
        ActionError(.validation, misfits.message, effect: ActionError.Effect.none), step: path, attempt: 1,
        redactedBy: redactor.adding(call.input.secrets(in: input)))
      error.place(at: step.location)
      throw .failed(error)
    }
    return PlannedValue(output, otherwise: doubt.map { Unknown($0.reason).value(of: call.outputType) })
  }

  /// The footprint of an action, as far as its input is known.
  private func footprint(of call: ActionCall, _ input: Value, at path: StepPath) -> Footprint {
    services.footprint(of: call, input.withoutUnknowns, in: context(at: path))
  }

  /// Why something may have changed by the time it is read; nil if it won't.
  private func reasonToWait(before reads: [Resource]) -> Plan.Reason? {
    if let writer = fork.writer(beside: position, of: reads) {
      return Plan.Reason("'\(writer)' may write there before")
    }
    return changes.writer(before: reads).map { Plan.Reason("'\($0)' writes there before") }
  }

  /// Rejects an input that the run would certainly reject.
  private func check(
    _ input: Value, _ missing: Unknown?, of call: ActionCall, _ step: Step, at path: StepPath
  ) throws(StepInterruption) {
    if missing != nil { return }
    do throws(ActionError) { try call.action.checked(input) } catch {
      var error = RunError(error, step: path, attempt: 1, redactedBy: redactor)
      error.place(at: step.location)
      throw .failed(error)
    }
  }

  private func hashes(of output: Value) throws(StepInterruption) -> Value {
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
    _ call: ActionCall, _ step: Step, _ input: Value, _ missing: Unknown?, at path: StepPath
  ) async throws(StepInterruption) {
    let footprint = footprint(of: call, input, at: path)
    let preview: Plan.Preview
    if let missing {
      preview = .opaque(Plan.Reason("it needs a value that is \(missing.reason)"))
    } else {
      preview = try await self.preview(of: call, step, input, footprint, at: path)
    }
    note(.write(displayed(call, input), preview), at: path)
    noteChanges(footprint.changes, by: name(of: step, path), of: call, told: preview.changes)
  }

  private func noteChanges(_ resources: [Resource], by name: String, of call: ActionCall, told: [Change]?) {
    let plugin = call.action.plugin
    fork.note(failing ?? name, of: plugin, on: resources, told: told, in: position, isOther: failing != nil)
    if let failing {
      otherChanges.note(failing, of: plugin, on: resources, told: told, isCertain: false, in: position)
    } else {
      changes.note(name, of: plugin, on: resources, told: told, isCertain: conditions.isEmpty, in: position)
    }
  }

  private func preview(
    of call: ActionCall, _ step: Step, _ input: Value, _ footprint: Footprint, at path: StepPath
  ) async throws(StepInterruption) -> Plan.Preview {
    let action = call.action
    if action.previewReads {
      if let reason = reasonToWait(before: footprint.reads) {
        return .opaque(action.sends.map { Plan.Reason("\(reason.text); it sends \($0)") } ?? reason)
      }
      fork.rely(on: footprint.reads, isDoubted: false, in: position)
    }
    if action.previewIsSeparate { try check(input, nil, of: call, step, at: path) }
    let found: [Change]?
    do throws(StepInterruption) {
      found = try await attempt(call, step, input, at: path) { service, context async throws(ActionError) in
        try await action.preview(input, on: service, in: context)
      }
    } catch {
      if action.previewIsSeparate, case .failed(let failure) = error,
        [.plugin, .server, .timeout, .validation].contains(failure.kind)
      {
        return .opaque(Plan.Reason("the preview couldn't be made: \(failure.message)"))
      }
      // A missing thing may be made by the writes before, and a step that may not happen need not succeed; but an
      // invalid input fails all the same.
      guard case .failed(let failure) = error, failure.kind != .validation,
        reasonToWait(before: footprint.reads) != nil || !conditions.isEmpty
      else {
        fork.rely(on: footprint.reads, isDoubted: false, in: position)
        throw error
      }
      return .opaque(Plan.Reason("as things are, \(failure.message)"))
    }
    guard let found else { return .opaque(Plan.Reason("\(action.id) cannot say beforehand what it changes")) }
    let redactor = redactor.adding(call.input.secrets(in: input))
    var told: [Change] = []
    for change in found {
      var change = Change(
        redactor.redact(change.subject), from: change.before.map(redactor.redact), to: change.after.map(redactor.redact)
      )
      if action.previewsDeeds {
        told.append(change)
        continue
      }
      if let writer = fork.writer(beside: position, of: change.subject, action.plugin, on: footprint.changes) {
        return .opaque(Plan.Reason("'\(writer)' may write there before"))
      }
      fork.rely(on: change.subject, of: action.plugin, on: footprint.changes, in: position)
      // The state of the subject after the writes before this one.
      switch changes.state(of: change.subject, action.plugin, on: footprint.changes) {
      case .unchanged: break
      // A write that can't tell the state before it may write something else, even if its description has the same
      // words.
      case .left(let before) where before == change.before || change.before == nil && before == change.after: break
      case .left(let before):
        guard case .idempotentWrite = action.effect else {
          return .opaque(Plan.Reason("a step before changes what it builds on: \(change.subject)"))
        }
        change.before = before
      case .unknown(let writer): return .opaque(Plan.Reason("'\(writer)' writes there before"))
      }
      told.append(change)
    }
    return action.previewsDeeds ? .deeds(told) : .changes(told)
  }

  // MARK: Attempts

  /// Asks a service, and retries if that may help and doesn't take long.
  private func attempt<Output: Sendable>(
    _ call: ActionCall, _ step: Step, _ input: Value, at path: StepPath,
    _ body: @escaping @Sendable (any Sendable, ActionContext) async throws(ActionError) -> Output
  ) async throws(StepInterruption) -> Output {
    let action = call.action
    let limit = step.timeout.attempt ?? step.timeout.total ?? action.timeout
    var context = context(at: path)
    context.secrets = call.input.secrets(in: input)
    context.ownFiles = services.ownFiles
    context.standIn = services.standIn
    let given = context
    var number = 1
    while true {
      let failure: ActionError
      do throws(ActionError) {
        let service = try await services.service(named: call.connection, of: action.plugin)
        let (result, isTimeout) = await withTimeLimit(limit, time: time) { () async throws(ActionError) in
          try await body(service, given)
        }
        if isTimeout, case .failure = result {
          throw ActionError(.timeout, "\(action.id) timed out after \(limit.rounded)", effect: ActionError.Effect.none)
        }
        return try result.get()
      } catch {
        failure = error
      }
      var error = RunError(failure, step: path, attempt: number, redactedBy: redactor.adding(given.secrets))
      error.place(at: step.location)
      wasRefused = true
      guard let policy = step.schedule(after: error, standard: action.retry), number < policy.maxAttempts
      else { throw .failed(error) }
      let delay = error.retryAfter ?? policy.delay(afterAttempt: number, chance: 0.5)
      guard delay <= Planner.mostPatience, (try? await time.sleep(for: delay)) != nil else { throw .failed(error) }
      number += 1
    }
  }

  private func context(at path: StepPath) -> ActionContext {
    ActionContext(
      run: "plan", step: path, idempotencyKey: "plan/\(path)", now: latest, time: time, folder: folder,
      values: values)
  }

  // MARK: Display

  /// An action with its input, without secrets.
  func displayed(_ call: ActionCall, _ input: Value) -> Plan.Call {
    let input = call.input.replacingSecrets(in: input) { Unknown($0) == nil ? .string("•••") : $0 }
    return Plan.Call(
      action: call.action.id, connection: call.connection, input: masked(input, FieldType.object(call.action.input)))
  }

  /// The value with its secrets masked.
  func masked(_ value: Value, _ type: FieldType? = nil) -> Value {
    if Unknown(value) != nil { return value }
    switch (type, value.content) {
    case (.secret, _): return .string("•••")
    case (.optional(let wrapped), _): return masked(value, wrapped)
    case (_, .string(let text)): return .string(redactor.redact(text))
    case (_, .bytes(let bytes)):
      let text = String(decoding: bytes, as: UTF8.self)
      return redactor.redact(text) == text ? value : .string(MaskedText.mark)
    case (_, .int), (_, .uint), (_, .double):
      let text = JSON.displayed(value)
      return redactor.redact(text).hasSameScalars(as: text) ? value : .string(MaskedText.mark)
    case (_, .list(let items)):
      let element: FieldType? = if case .list(let element)? = type { element } else { nil }
      return .list(items.map { masked($0, element) })
    case (_, .map(let map)):
      var displayed = ValueMap()
      for member in map.members {
        switch type {
        case .object(let schema):
          displayed[member.key] = masked(member.value, schema.fields.first { $0.name == member.name }?.type)
        case .map(let element): displayed[masked(member.key)] = masked(member.value, element)
        default: displayed[masked(member.key)] = masked(member.value)
        }
      }
      return .map(displayed)
    default: return value
    }
  }
}
