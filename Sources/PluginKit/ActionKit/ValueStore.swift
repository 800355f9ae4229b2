/// The named values that outlive runs, as the action of one step sees them.
///
/// They are part of the program's state: what was changed survives a crash, and all runs on the same state see it. A
/// step changes one value, once: the state remembers the change until the step ends, and an attempt after a crash is
/// told of it instead of doing it a second time.
public protocol ValueStore: Sendable {
  /// The names that there are, in the order of their scalars.
  var names: [String] { get async }

  /// The value of a name, or nil if there is none.
  func value(of name: String) async throws(ActionError) -> Value?

  /// Changes the value of a name, unless an earlier attempt of the step has done so.
  ///
  /// - Parameter decide: What to do with the current value. It may be asked several times, because another run
  ///   may change the value meanwhile.
  func change(
    _ name: String, _ decide: (_ current: Value?) throws(ActionError) -> ValueChange
  ) async throws(ActionError) -> ValueOutcome

  /// What an attempt of the step made of the value, or nil if none has changed it.
  func earlierChange() async throws(ActionError) -> ValueOutcome?
}

/// What is to become of a value.
public enum ValueChange: Equatable, Sendable {
  /// It stays as it is.
  case keep
  /// Store this value, whether there was one or not.
  case set(Value)
  /// Remove the value.
  case remove
}

/// What became of a value.
public struct ValueOutcome: Equatable, Sendable {
  /// Whether the step changed it.
  public var isChanged: Bool
  /// What it is now; nil if there is none.
  public var value: Value?

  /// Creates an outcome.
  public init(isChanged: Bool, value: Value?) {
    self.isChanged = isChanged
    self.value = value
  }
}
