/// All that runs, checks and pages know of an action, read from its declaration, and the action itself behind it.
///
/// An object, because steps, attempts and calls hold it: copied as a value it was the largest part of what a run in
/// flight takes.
public final class ActionDescriptor: Sendable {
  /// The plugin's name.
  public let plugin: String
  /// The plugin's name and the action's: `markbook.putStudentResult`.
  public let id: String
  /// One sentence that says what the action does.
  public let summary: String
  /// What the action does to the world outside; if the step has to say it, the worst until it has.
  public let effect: Effect
  /// Whether the step says what the action does to the world outside.
  public let takesEffect: Bool
  /// What recipes give.
  public let input: ObjectSchema
  /// What recipes get.
  public let output: ObjectSchema
  /// The type of what recipes get for every input: only an optional field may be absent.
  public let outputType: ValueType
  private let shaping: (@Sendable (Value) -> ObjectSchema)?
  private let needing: (@Sendable (Value) -> [String])?
  /// What is recorded before a write that can be reconciled.
  public let baseline: ObjectSchema?
  /// Inputs as recipes write them.
  public let examples: [Example]
  /// Former ids, under which the action is still found.
  public let formerIDs: [String]
  /// Whether the service does nothing twice for the same idempotency key.
  public let acceptsKey: Bool
  /// How failures are tried again unless the step says otherwise; nil for not at all.
  public let retry: RetrySchedule?
  /// How long all attempts together may take unless the step says otherwise.
  public let timeout: TimeSpan

  /// How long an action may take that does not say it: five minutes.
  public static let standardTimeout = TimeSpan.seconds(300)

  private let calls: Calls

  /// What an action does, on the service that its plugin connected.
  package struct Calls: Sendable {
    package typealias Call = @Sendable (Value, any Sendable, ActionContext) async throws -> Value
    /// Runs it once and gives its output, in which optional fields that are nil are absent.
    package var running: Call
    /// Looks at what is there before the first attempt of a write that can be reconciled.
    package var takingBaseline: Call?
    /// Looks with that whether the attempt that began at an instant was done.
    package var reconciling:
      (@Sendable (Value, Value, Timestamp, any Sendable, ActionContext) async throws -> Reconciliation<Value>)?
    /// What running it would change now.
    package var previewing: (@Sendable (Value, any Sendable, ActionContext) async throws -> [Change])?
    /// Whether that compares with what it reads, and so tells nothing once an earlier step has written there.
    package var previewReads = false
    /// Whether a preview says what is done, and not what is changed.
    package var previewsDeeds = false
    /// What it sends, where its input doesn't tell: `DELETE /pupils/{id}`.
    package var sends: String?
    /// Whether something else than the action makes it, so that its failure doesn't mean that the action would fail.
    package var previewIsSeparate = false

    package init(running: @escaping Call) { self.running = running }
  }

  /// Reads an action's declaration.
  init<A: Action>(_ action: A.Type, of plugin: String) {
    self.plugin = plugin
    id = "\(plugin).\(A.name)"
    summary = A.summary
    effect = A.effect
    input = A.Input.schema
    output = A.Output.schema
    outputType = output.outputType
    examples = A.examples
    let special = A.self as? any SpecialAction.Type
    shaping = (special as? any ShapedAction.Type).map { $0.shaping }
    needing = (special as? any SettingsAction.Type).map { $0.needing }
    formerIDs = (special as? any RenamedAction.Type).map { $0.formerNames.map { "\(plugin).\($0)" } } ?? []
    takesEffect = special is any StepEffectAction.Type
    acceptsKey = special is any KeyedAction.Type
    retry = (special as? any RetryingAction.Type).map { $0.retry } ?? A.effect.standardRetry
    timeout = (special as? any TimedAction.Type).map { $0.timeout } ?? ActionDescriptor.standardTimeout
    var calls = Calls { input, service, context in
      let output = try await A.run(A.Input(reading: input), on: A.cast(service), in: context)
      do { return try output.encoded() } catch {
        throw ActionError(.internal, "the action's output cannot be kept: \(error)", effect: .done, cause: error)
      }
    }
    let reconciling = (special as? any ReconcilingAction.Type).map { $0.calls }
    baseline = reconciling?.baseline
    calls.takingBaseline = reconciling?.takingBaseline
    calls.reconciling = reconciling?.reconciling
    calls.previewing = (special as? any PreviewingAction.Type).map { $0.previewing }
    calls.previewsDeeds = calls.previewing != nil && special is any DoingAction.Type
    self.calls = calls
  }

  /// Creates an action from data.
  ///
  /// - Parameters:
  ///   - baseline: What is recorded before a write that `calls` can reconcile.
  ///   - timeout: How long all attempts together may take; nil for the usual time.
  package init(
    plugin: String, name: String, summary: String, effect: Effect, input: ObjectSchema, output: ObjectSchema,
    baseline: ObjectSchema? = nil, examples: [Example] = [], acceptsKey: Bool = false, timeout: TimeSpan? = nil,
    calls: Calls
  ) {
    self.plugin = plugin
    id = "\(plugin).\(name)"
    self.summary = summary
    self.effect = effect
    takesEffect = false
    self.input = input
    self.output = output
    outputType = output.outputType
    shaping = nil
    needing = nil
    self.baseline = baseline
    self.examples = examples
    formerIDs = []
    self.acceptsKey = acceptsKey
    retry = effect.standardRetry
    self.timeout = timeout ?? ActionDescriptor.standardTimeout
    self.calls = calls
  }

  /// Another action with the effect that a step declares, and the retries that belong to that effect.
  private init(_ other: ActionDescriptor, effect: Effect) {
    plugin = other.plugin
    id = other.id
    summary = other.summary
    self.effect = effect
    takesEffect = other.takesEffect
    input = other.input
    output = other.output
    outputType = other.outputType
    shaping = other.shaping
    needing = other.needing
    baseline = other.baseline
    examples = other.examples
    formerIDs = other.formerIDs
    acceptsKey = other.acceptsKey
    retry = other.retry == other.effect.standardRetry ? effect.standardRetry : other.retry
    timeout = other.timeout
    calls = other.calls
  }
}

extension ActionDescriptor {
  /// The type of what recipes give: a field with a default may be absent.
  public var inputType: ValueType { input.inputType }
  /// The type of what recipes get for an input as they write it, in which values may be expressions.
  public func outputType(for input: Value) -> ValueType { shaping?(input).outputType ?? outputType }
  /// The settings, beside those that every connection of the plugin needs, that an input as recipes write it needs.
  public func neededSettings(for input: Value) -> [String] { needing?(input) ?? [] }
  /// Whether it can be found out after an unknown outcome what happened.
  public var canReconcile: Bool { calls.reconciling != nil }
  /// Whether a plan can show what would change.
  public var canPreview: Bool { calls.previewing != nil }
  /// Whether a preview tells nothing once an earlier step has written to what the action reads.
  package var previewReads: Bool { calls.previewReads }
  /// Whether a preview says what is done, which has nothing before it.
  package var previewsDeeds: Bool { calls.previewsDeeds }
  /// What it sends, where its input doesn't tell.
  package var sends: String? { calls.sends }
  /// Whether a preview that fails says nothing about the action.
  package var previewIsSeparate: Bool { calls.previewIsSeparate }

  /// The action for a step, with the effect that its input declares if it is for the step to declare one.
  ///
  /// What is missing, wrong or an expression declares nothing; the check of the input reports it.
  public func declared(by input: Value) -> ActionDescriptor {
    guard takesEffect, let effect = input["effect"]?.string.flatMap(StepEffect.init)?.effect else { return self }
    return ActionDescriptor(self, effect: effect)
  }

  /// Runs the action once and gives its output, in which optional fields that are nil are absent.
  public func run(_ input: Value, on service: any Sendable, in context: ActionContext) async throws(ActionError)
    -> Value
  {
    try checked(input)
    return try await calling { try await calls.running(input, service, context) }
  }

  /// What is there before the first attempt, or nil if the action does not reconcile.
  public func baseline(_ input: Value, on service: any Sendable, in context: ActionContext) async throws(ActionError)
    -> Value?
  {
    try checked(input)
    return try await calling { try await calls.takingBaseline?(input, service, context) }
  }

  /// Looks whether the attempt that began at an instant was done.
  public func reconcile(
    _ input: Value, with baseline: Value, startedAt: Timestamp, on service: any Sendable, in context: ActionContext
  ) async throws(ActionError) -> Reconciliation<Value> {
    try checked(input)
    return try await calling {
      try await calls.reconciling?(input, baseline, startedAt, service, context)
        ?? .unknown("'\(id)' cannot look whether it was done")
    }
  }

  /// What running the action would change now, or nil if it cannot say.
  public func preview(_ input: Value, on service: any Sendable, in context: ActionContext) async throws(ActionError)
    -> [Change]?
  {
    try checked(input)
    return try await calling { try await calls.previewing?(input, service, context) }
  }

  /// Refuses an input that does not keep to the declaration, without relying on earlier checks.
  package func checked(_ value: Value) throws(ActionError) {
    let faults = ValueError(input.check(value, as: "input").filter { $0.severity == .error })
    if !faults.list.isEmpty { throw ActionError(.validation, faults.description, cause: faults) }
  }

  private func calling<Result>(_ call: () async throws -> Result) async throws(ActionError) -> Result {
    do { return try await call() } catch { throw ActionError(error) }
  }
}

extension Action {
  /// The connection as the action's own type of service.
  fileprivate static func cast(_ service: any Sendable) throws(ActionError) -> Service {
    guard let service = service as? Service else {
      throw ActionError(
        .internal, "'\(name)' works on \(Service.self), and was handed \(type(of: service))",
        effect: ActionError.Effect.none)
    }
    return service
  }
}

extension PreviewingAction {
  fileprivate static var previewing: @Sendable (Value, any Sendable, ActionContext) async throws -> [Change] {
    { input, service, context in try await preview(Input(reading: input), on: cast(service), in: context) }
  }
}

extension ShapedAction {
  fileprivate static var shaping: @Sendable (Value) -> ObjectSchema { { output(for: $0) } }
}

extension SettingsAction {
  fileprivate static var needing: @Sendable (Value) -> [String] { { neededSettings(for: $0) } }
}

/// What a reconciling action has beside an ordinary one.
private struct ReconcilingCalls {
  let baseline: ObjectSchema
  let takingBaseline: @Sendable (Value, any Sendable, ActionContext) async throws -> Value
  let reconciling:
    @Sendable (Value, Value, Timestamp, any Sendable, ActionContext) async throws -> Reconciliation<Value>
}

extension ReconcilingAction {
  fileprivate static var calls: ReconcilingCalls {
    ReconcilingCalls(baseline: Baseline.schema) { input, service, context in
      try await baseline(Input(reading: input), on: cast(service), in: context).encoded()
    } reconciling: { input, baseline, startedAt, service, context in
      let outcome = try await reconcile(
        Input(reading: input), with: Baseline(reading: baseline), startedAt: startedAt, on: cast(service), in: context)
      return switch outcome {
      case .done(let output): .done(try output.encoded())
      case .notDone: .notDone
      case .unknown(let look): .unknown(look)
      }
    }
  }
}
