/// The named values that outlive runs, as the action of one step sees them.
///
/// They are part of the program's state: changes survive a crash, and all runs on the same state see them. A step
/// changes one value, once. The state remembers the change until the step ends, so that an attempt after a crash gets
/// the earlier outcome instead of making the change a second time.
public protocol ValueStore: Sendable {
  /// The existing names, sorted by Unicode scalars.
  var names: [String] { get async }

  /// The value of a name, or nil if there is none.
  func value(of name: String) async throws(ActionError) -> Value?

  /// Changes the value of a name, unless an earlier attempt of the step has done so.
  ///
  /// - Parameter decide: Decides on the change from the current value. It may be called several times, because another
  ///   run may change the value meanwhile.
  func change(
    _ name: String, _ decide: (_ current: Value?) throws(ActionError) -> ValueChange
  ) async throws(ActionError) -> ValueOutcome

  /// The outcome of an earlier attempt of the step, or nil if no attempt has changed the value.
  func earlierChange() async throws(ActionError) -> ValueOutcome?
}

/// A change of a value.
public enum ValueChange: Equatable, Sendable {
  /// Leave the value unchanged.
  case keep
  /// Store this value, whether or not there was one.
  case set(Value)
  /// Remove the value.
  case remove
}

/// The outcome of a change.
public struct ValueOutcome: Equatable, Sendable {
  /// Whether the step changed it.
  public var isChanged: Bool
  /// The current value; nil if there is none.
  public var value: Value?

  /// Creates an outcome.
  public init(isChanged: Bool, value: Value?) {
    self.isChanged = isChanged
    self.value = value
  }
}
