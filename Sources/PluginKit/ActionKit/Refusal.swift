/// Why an action refuses what a step gives it, in every state of the world.
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

/// What a step gives to an action, as far as it is known before anything runs.
public struct StepInput: Sendable {
  /// The input with null in the place of what is computed; constant expressions are computed already.
  public let value: Value
  private let computed: [Int: ValueType]

  /// Creates an input; `computed` has the types of what is computed by the offsets of its places.
  package init(_ value: Value, computed: [Int: ValueType]) {
    self.value = value
    self.computed = computed
  }

  /// The field of that name.
  public subscript(name: String) -> Value? { value[name] }

  /// The type of what is computed in the place of a part; nil if the part is written out.
  public func type(of part: Value) -> ValueType? {
    part.isNull ? part.place.offset.flatMap { computed[$0] } : nil
  }

  /// Whether nothing in a part is computed, nor null.
  public func isKnown(_ part: Value) -> Bool {
    switch part.content {
    case .null: false
    case .list(let items): items.allSatisfy(isKnown)
    case .map(let map): map.members.allSatisfy { isKnown($0.value) }
    default: true
    }
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
  ///   - input: What the step gives.
  ///   - connection: The settings, with made-up texts in the place of secrets; nil if they are not known, so that only
  ///     what no connection takes is refused.
  ///   - context: Where relative paths start.
  static func refusals(
    of action: String, _ input: StepInput, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal]
}

extension RefusingPlugin {
  /// The refusals on a connection as `errand.yaml` sets it.
  static func refusals(
    of action: String, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal] {
    guard let settings else { return refusals(of: action, input, on: nil, in: context) }
    // What is wrong with the settings is said where they are.
    guard let connection = try? Configuration(checking: settings) else { return [] }
    return refusals(of: action, input, on: connection, in: context)
  }
}
