/// Why an action refuses what a step gives it, whatever there is when it runs.
public struct Refusal: Sendable {
  /// The sentence that the run would fail with.
  public var message: String
  /// What is refused, with its place.
  public var value: Value

  /// Creates a refusal out of the error that the action throws.
  public init(_ error: ActionError, of value: Value) {
    message = error.message
    self.value = value
  }
}

/// A plugin that can tell of some inputs that its actions refuse them on a connection, before anything runs.
///
/// It asks the functions that the actions themselves ask, so that check and run never disagree. What a type, a limit or a
/// rule between fields says is not its business: that is told without it.
public protocol RefusingPlugin: Plugin {
  /// What an action refuses for certain.
  ///
  /// - Parameters:
  ///   - action: The action's name, without the plugin's.
  ///   - input: What the step gives, with null in the place of what is computed.
  ///   - connection: The settings, with made-up texts in the place of secrets; nil if they are not known, so that only
  ///     what no connection takes is refused.
  ///   - context: Where relative paths start.
  static func refusals(
    of action: String, _ input: Value, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal]
}

extension RefusingPlugin {
  /// The refusals on a connection as `errand.yaml` sets it.
  static func refusals(
    of action: String, _ input: Value, settings: Value?, in context: ActionContext
  ) -> [Refusal] {
    guard let settings else { return refusals(of: action, input, on: nil, in: context) }
    // What is wrong with the settings is said where they are.
    guard let connection = try? Configuration(checking: settings) else { return [] }
    return refusals(of: action, input, on: connection, in: context)
  }
}
