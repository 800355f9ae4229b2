/// A value of a step's input that its action refuses in any state of the outside world.
public struct Refusal: Sendable {
  /// The message of the error that the run would fail with.
  public var message: String
  /// The refused value, with its place.
  public var value: Value

  /// Creates a refusal from the error that the action throws.
  public init(_ error: ActionError, of value: Value) {
    message = error.message
    self.value = value
  }
}

/// The input of a step's action, as far as it is known before anything runs.
public struct StepInput: Sendable {
  /// The input with null for each computed part; constant expressions are already computed.
  public let value: Value
  private let computed: [Int: ValueType]

  /// Creates an input; `computed` holds the types of computed parts by the offsets of their places.
  package init(_ value: Value, computed: [Int: ValueType]) {
    self.value = value
    self.computed = computed
  }

  /// The field of that name.
  public subscript(name: String) -> Value? { value[name] }

  /// The type of a computed part; nil if the part is a literal.
  public func type(of part: Value) -> ValueType? {
    part.isNull ? part.place.offset.flatMap { computed[$0] } : nil
  }

  /// Whether a part contains neither computed values nor null.
  public func isKnown(_ part: Value) -> Bool {
    switch part.content {
    case .null: false
    case .list(let items): items.allSatisfy(isKnown)
    case .map(let map): map.members.allSatisfy { isKnown($0.value) }
    default: true
    }
  }
}

/// A plugin that knows some inputs that its actions are certain to refuse on a connection, before anything runs.
///
/// It calls the functions that the actions themselves call, so that check and run never disagree. It needn't check
/// types, limits and rules between fields: these are reported without it.
public protocol RefusingPlugin: Plugin {
  /// The values that an action is certain to refuse.
  ///
  /// - Parameters:
  ///   - action: The action's name, without the plugin's.
  ///   - input: The step's input.
  ///   - connection: The settings, with made-up texts for secrets; nil if they aren't known, so that only values
  ///     that every connection refuses are reported.
  ///   - context: The base of relative paths.
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
    // Errors in the settings are reported at the settings.
    guard let connection = try? Configuration(checking: settings) else { return [] }
    return refusals(of: action, input, on: connection, in: context)
  }
}
