/// An operation that a recipe can call by name.
///
/// An action is a type and never a value: it gets its service and context as arguments. No requirement has a default,
/// because the compiler silently uses a default when a plugin declares the requirement with the wrong type.
/// Requirements of only some actions are in separate protocols: `PreviewingAction`, `ReconcilingAction`, `KeyedAction`,
/// `RetryingAction`, `TimedAction`, `RenamedAction`, `ShapedAction`, `SettingsAction`.
public protocol Action<Service>: Sendable {
  /// The service that the action calls; all actions of a plugin share the type.
  associatedtype Service: Sendable
  /// The fields that recipes give under `with`.
  associatedtype Input: FieldSet
  /// The fields that recipes read from the step.
  associatedtype Output: FieldSet

  /// The name that recipes use after the plugin's.
  ///
  /// The state of long runs holds it. So it is written out, and doesn't change when the type is renamed.
  static var name: String { get }
  /// One sentence that says what the action does.
  static var summary: String { get }
  /// The action's effect on the outside world.
  static var effect: Effect { get }
  /// Inputs that the pages show and the tests check; at least one.
  static var examples: [Example] { get }

  /// Runs the action once; the runtime makes any further attempts.
  ///
  /// It throws an `ActionError`, or an error that is `ActionErrorConvertible`. Any other error counts as a fault of the
  /// plugin with an unknown outcome.
  static func run(_ input: Input, on service: Service, in context: ActionContext) async throws -> Output
}

/// An input as a recipe writes it under `with`.
public struct Example: Hashable, Sendable {
  /// The purpose of the example, as a heading without full stop.
  public var title: String
  /// The fields in YAML.
  public var input: String

  /// Creates an example.
  public init(_ title: String, _ input: String) {
    self.title = title
    self.input = input
  }
}

/// The base of the protocols for only some actions; an action conforms to these, and doesn't name this one.
///
/// Each check whether a type conforms to a protocol searches the whole program, and reading an action's declaration
/// checks all of these protocols. For plain actions, which are the majority, this is the only check.
public protocol SpecialAction<Service>: Action {}

/// A write that can compute its changes beforehand, for `errand plan`.
public protocol PreviewingAction<Service>: SpecialAction {
  /// Returns the changes that running the action would make now; reads only.
  static func preview(_ input: Input, on service: Service, in context: ActionContext) async throws -> [Change]
}

/// A write that does something instead of changing a value, such as running a command or sending a mail.
///
/// Such a write has no previous value; a plan shows each call on its own line.
public protocol DoingAction<Service>: PreviewingAction {}

/// One change that a write makes, or one thing that it does.
public struct Change: Hashable, Sendable {
  /// The thing to change, in words that people know: `Essay 2 of Ada Lovelace`.
  public var subject: String
  /// Its current value; nil if it doesn't exist yet.
  public var before: String?
  /// Its new value; nil if it is removed.
  public var after: String?

  /// Creates a change.
  public init(_ subject: String, from before: String?, to after: String?) {
    self.subject = subject
    self.before = before
    self.after = after
  }
}

/// A write that can find out after an unknown outcome whether it was done.
public protocol ReconcilingAction<Service>: SpecialAction {
  /// The service's state before the write, to tell the write's result from earlier data.
  associatedtype Baseline: FieldSet

  /// Reads the service's state before the first attempt; the result is on disk before the write is sent.
  static func baseline(_ input: Input, on service: Service, in context: ActionContext) async throws -> Baseline

  /// Checks whether the attempt that began at an instant was done; reads only.
  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on service: Service, in context: ActionContext
  ) async throws -> Reconciliation<Output>
}

/// The outcome of a write whose response was lost.
public enum Reconciliation<Output: Sendable>: Sendable {
  /// It was done, and would have given this output.
  case done(Output)
  /// It was not done, and may be sent again.
  case notDone
  /// The outcome can't be determined; the sentence says what a person should check.
  case unknown(String)
}

/// An action whose output fields depend on its input, such as the columns of a table.
public protocol ShapedAction<Service>: SpecialAction {
  /// The output for an input whose values may be missing, wrong, or texts with expressions.
  ///
  /// Parts that such values determine stay as they are declared. The output of a run with the same input must match.
  static func output(for input: Value) -> ObjectSchema
}

/// An action that needs some optional settings of its connection for some inputs.
public protocol SettingsAction<Service>: SpecialAction {
  /// The names of these settings, for an input whose values may be missing, wrong, or texts with expressions.
  static func neededSettings(for input: Value) -> [String]
}

/// A write whose service ignores repeated requests with the same `ActionContext.idempotencyKey`.
public protocol KeyedAction<Service>: SpecialAction {}

/// An action whose effect on the outside world is known only to the recipe's author.
///
/// The step declares it in the input's required field `effect`, of type `StepEffect`. It must be a literal, because the
/// runtime decides before the run which steps may be repeated. The action's own effect is `write`, the most restrictive
/// one.
public protocol StepEffectAction<Service>: SpecialAction {}

/// The effects that a step can declare.
public enum StepEffect: String, Choice {
  /// It computes from its input alone.
  case pure
  /// It reads, and changes nothing.
  case read
  /// It writes; a repetition with the same input changes nothing more, however late.
  case idempotentWrite
  /// It writes; a repetition would do it a second time.
  case write

  /// The effect as actions declare it.
  public var effect: Effect {
    switch self {
    case .pure: .pure
    case .read: .read
    case .idempotentWrite: .idempotentWrite(within: .forever)
    case .write: .write
    }
  }
}

/// An action with its own retry schedule, which a step can override.
public protocol RetryingAction<Service>: SpecialAction {
  /// The schedule.
  static var retry: RetrySchedule { get }
}

/// An action that may take longer, or must end sooner, than others.
public protocol TimedAction<Service>: SpecialAction {
  /// The time limit for all attempts together; a step can override it.
  static var timeout: TimeSpan { get }
}

/// An action with former names, which recipes may still use.
public protocol RenamedAction<Service>: SpecialAction {
  /// The names, without the plugin's.
  static var formerNames: [String] { get }
}
