/// An action and its declaration, for runs, checks and pages.
///
/// It is an object, because steps, attempts and calls hold it: copies of it as a value used most of the memory of a
/// running run.
public final class ActionDescriptor: Sendable {
  /// The plugin's name.
  public let plugin: String
  /// The plugin's name and the action's: `markbook.putStudentResult`.
  public let id: String
  /// One sentence that says what the action does.
  public let summary: String
  /// The action's effect on the outside world; if the step declares it, `write` until it has.
  public let effect: Effect
  /// Whether the step declares the effect.
  public let takesEffect: Bool
  /// The fields of the input.
  public let input: ObjectSchema
  /// The fields of the output.
  public let output: ObjectSchema
  /// The type of the output for any input: only an optional field may be absent.
  public let outputType: ValueType
  private let shaping: (@Sendable (Value) -> ObjectSchema)?
  private let needing: (@Sendable (Value) -> [String])?
  /// The fields of the baseline, which is recorded before a write that can be reconciled.
  public let baseline: ObjectSchema?
  /// Inputs as recipes write them.
  public let examples: [Example]
  /// Former ids, which still find the action.
  public let formerIDs: [String]
  /// Whether the service ignores repeated requests with the same idempotency key.
  public let acceptsKey: Bool
  /// The retry schedule, which a step can override; nil for no retries.
  public let retry: RetrySchedule?
  /// The time limit for all attempts together; a step can override it.
  public let timeout: TimeSpan

  /// The time limit of an action that declares none: five minutes.
  public static let standardTimeout = TimeSpan.seconds(300)

  private let calls: Calls

  /// The functions of an action, on the service that its plugin connected.
  package struct Calls: Sendable {
    package typealias Call = @Sendable (Value, any Sendable, ActionContext) async throws -> Value
    /// Runs the action once and returns its output, without the optional fields that are nil.
    package var running: Call
    /// Reads the baseline before the first attempt of a write that can be reconciled.
    package var takingBaseline: Call?
    /// Checks with the baseline whether the attempt that began at an instant was done.
    package var reconciling:
      (@Sendable (Value, Value, Timestamp, any Sendable, ActionContext) async throws -> Reconciliation<Value>)?
    /// Computes the changes that running the action would make now.
    package var previewing: (@Sendable (Value, any Sendable, ActionContext) async throws -> [Change])?
    /// Whether a preview compares with data that it reads, so that it is useless once an earlier step has written them.
    package var previewReads = false
    /// Whether a preview lists things to do, not changes.
    package var previewsDeeds = false
    /// The request that it sends, if its input doesn't tell: `DELETE /pupils/{id}`.
    package var sends: String?
    /// Whether other code than the action makes the preview, so that its failure doesn't mean that the action would
    /// fail.
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
  ///   - baseline: The fields of the baseline, if `calls` can reconcile.
  ///   - timeout: The time limit for all attempts together; nil for the usual time.
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

  /// A copy of an action with the effect that a step declares, and with that effect's retries.
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
  /// The type of the input that recipes give: a field with a default may be absent.
  public var inputType: ValueType { input.inputType }
  /// The type of the output for an input as recipes write it; its values may be expressions.
  public func outputType(for input: Value) -> ValueType { shaping?(input).outputType ?? outputType }
  /// The optional settings of the connection that an input, as recipes write it, needs.
  public func neededSettings(for input: Value) -> [String] { needing?(input) ?? [] }
  /// Whether the action can find out after an unknown outcome whether it was done.
  public var canReconcile: Bool { calls.reconciling != nil }
  /// Whether a plan can show the changes.
  public var canPreview: Bool { calls.previewing != nil }
  /// Whether a preview is useless once an earlier step has written the data that it reads.
  package var previewReads: Bool { calls.previewReads }
  /// Whether a preview lists things to do, which have no previous value.
  package var previewsDeeds: Bool { calls.previewsDeeds }
  /// The request that it sends, if its input doesn't tell.
  package var sends: String? { calls.sends }
  /// Whether a preview that fails says nothing about the action.
  package var previewIsSeparate: Bool { calls.previewIsSeparate }

  /// The action for a step, with the effect that the step's input declares if the action leaves it to the step.
  ///
  /// An effect that is missing, wrong or an expression is ignored here; the check of the input reports it.
  public func declared(by input: Value) -> ActionDescriptor {
    guard takesEffect, let effect = input["effect"]?.string.flatMap(StepEffect.init)?.effect else { return self }
    return ActionDescriptor(self, effect: effect)
  }

  /// Runs the action once and returns its output, without the optional fields that are nil.
  public func run(_ input: Value, on service: any Sendable, in context: ActionContext) async throws(ActionError)
    -> Value
  {
    try checked(input)
    return try await calling { try await calls.running(input, service, context) }
  }

  /// Reads the baseline before the first attempt, or returns nil if the action doesn't reconcile.
  public func baseline(_ input: Value, on service: any Sendable, in context: ActionContext) async throws(ActionError)
    -> Value?
  {
    try checked(input)
    return try await calling { try await calls.takingBaseline?(input, service, context) }
  }

  /// Checks whether the attempt that began at an instant was done.
  public func reconcile(
    _ input: Value, with baseline: Value, startedAt: Timestamp, on service: any Sendable, in context: ActionContext
  ) async throws(ActionError) -> Reconciliation<Value> {
    try checked(input)
    return try await calling {
      try await calls.reconciling?(input, baseline, startedAt, service, context)
        ?? .unknown("'\(id)' cannot look whether it was done")
    }
  }

  /// Returns the changes that running the action would make now, or nil if it has no preview.
  public func preview(_ input: Value, on service: any Sendable, in context: ActionContext) async throws(ActionError)
    -> [Change]?
  {
    try checked(input)
    return try await calling { try await calls.previewing?(input, service, context) }
  }

  /// Refuses an input that doesn't match the declaration; it doesn't rely on earlier checks.
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

/// The extra functions of a reconciling action.
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
