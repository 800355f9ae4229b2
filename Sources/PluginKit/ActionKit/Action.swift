/// One thing that a recipe can ask for by name.
///
/// An action is a type and never a value: what it needs beside its input it is handed. None of the requirements has a
/// default, because the compiler takes a default in silence when a plugin declares the requirement with the wrong
/// type. What only some actions have is in protocols of their own: `PreviewingAction`, `ReconcilingAction`,
/// `KeyedAction`, `RetryingAction`, `TimedAction`, `RenamedAction`, `ShapedAction`, `SettingsAction`.
public protocol Action<Service>: Sendable {
  /// What the action works on; every action of a plugin has the same one.
  associatedtype Service: Sendable
  /// What recipes give under `with`.
  associatedtype Input: FieldSet
  /// What recipes read from the step.
  associatedtype Output: FieldSet

  /// The name that recipes use after the plugin's.
  ///
  /// Runs that last for days have it in their state, so it is written out and does not change when the type's name
  /// does.
  static var name: String { get }
  /// One sentence that says what the action does.
  static var summary: String { get }
  /// What the action does to the world outside.
  static var effect: Effect { get }
  /// Inputs that the pages show and the tests check; at least one.
  static var examples: [Example] { get }

  /// Does it, once; trying again is the runs' business.
  ///
  /// It throws an `ActionError`, or an error that is `ActionErrorConvertible`; what else it throws counts as the
  /// plugin's fault with an unknown outcome.
  static func run(_ input: Input, on service: Service, in context: ActionContext) async throws -> Output
}

/// An input as a recipe writes it under `with`.
public struct Example: Hashable, Sendable {
  /// What it shows, as a heading without full stop.
  public var title: String
  /// The fields in YAML.
  public var input: String

  /// Creates an example.
  public init(_ title: String, _ input: String) {
    self.title = title
    self.input = input
  }
}

/// What the protocols for only some actions have in common; an action conforms to those and does not name this.
///
/// Each question whether a type conforms to a protocol searches the whole program, and all are asked of an action when
/// its declaration is read: for the plain actions, which are the most, this is the only one.
public protocol SpecialAction<Service>: Action {}

/// A write that can say beforehand what it would change, as `errand plan` shows it.
public protocol PreviewingAction<Service>: SpecialAction {
  /// What running the action would change now; reads only.
  static func preview(_ input: Input, on service: Service, in context: ActionContext) async throws -> [Change]
}

/// A write that does something, such as a command that is run or a mail that is sent, and so has nothing before it: a plan
/// shows each call in a line of its own.
public protocol DoingAction<Service>: PreviewingAction {}

/// One thing that a write changes, or does.
public struct Change: Hashable, Sendable {
  /// What is changed, in words that people know: `Essay 2 of Ada Lovelace`.
  public var subject: String
  /// What it is now; nil if it is not there yet.
  public var before: String?
  /// What it will be; nil if it is removed.
  public var after: String?

  /// Creates a change.
  public init(_ subject: String, from before: String?, to after: String?) {
    self.subject = subject
    self.before = before
    self.after = after
  }
}

/// A write that can find out after an unknown outcome whether it happened.
public protocol ReconcilingAction<Service>: SpecialAction {
  /// What was there before, so that it is not taken for ours.
  associatedtype Baseline: FieldSet

  /// Looks at what is there before the first attempt; it is on disk before anything is sent.
  static func baseline(_ input: Input, on service: Service, in context: ActionContext) async throws -> Baseline

  /// Looks whether the attempt that began at an instant was done; reads only.
  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on service: Service, in context: ActionContext
  ) async throws -> Reconciliation<Output>
}

/// What became of a write whose answer was lost.
public enum Reconciliation<Output: Sendable>: Sendable {
  /// It was done, and this is what it would have answered.
  case done(Output)
  /// It was not done, and may be sent again.
  case notDone
  /// It cannot be told; the sentence says what a person should look at.
  case unknown(String)
}

/// An action whose output has fields that its input names, such as the columns of a table.
public protocol ShapedAction<Service>: SpecialAction {
  /// The output for an input in which values may be missing, wrong, or texts that hold expressions; what is not known
  /// is left as it is declared.
  ///
  /// What running the action gives for the same input keeps to it.
  static func output(for input: Value) -> ObjectSchema
}

/// An action that for some inputs needs settings of its connection which are optional for others.
public protocol SettingsAction<Service>: SpecialAction {
  /// The names of those settings for an input in which values may be missing, wrong, or texts that hold expressions.
  static func neededSettings(for input: Value) -> [String]
}

/// A write whose service does nothing twice for the same `ActionContext.idempotencyKey`.
public protocol KeyedAction<Service>: SpecialAction {}

/// An action whose effect on the world outside only the recipe's author knows.
///
/// The step says it, in the input's required field `effect`, whose type is `StepEffect`. It is written out, never an
/// expression, because what may be done twice is decided before the run. The action's own effect is `write`, the worst.
public protocol StepEffectAction<Service>: SpecialAction {}

/// What a step can say of an action's effect.
public enum StepEffect: String, Choice {
  /// It computes from its input alone.
  case pure
  /// It looks, and leaves all as it was.
  case read
  /// It writes, and doing it again with the same input changes nothing more, however late.
  case idempotentWrite
  /// It writes, and doing it again would do it a second time.
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

/// An action that is tried again on a schedule of its own, unless the step says otherwise.
public protocol RetryingAction<Service>: SpecialAction {
  /// The schedule.
  static var retry: RetrySchedule { get }
}

/// An action that may take longer, or must end sooner, than others.
public protocol TimedAction<Service>: SpecialAction {
  /// How long all attempts together may take unless the step says otherwise.
  static var timeout: TimeSpan { get }
}

/// An action that had other names, by which recipes may still call it.
public protocol RenamedAction<Service>: SpecialAction {
  /// The names, without the plugin's.
  static var formerNames: [String] { get }
}
