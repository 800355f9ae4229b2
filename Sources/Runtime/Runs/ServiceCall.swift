package import ActionKit
package import Basics

/// One question to an action of a plugin that speaks something else than HTTP.
package struct ServiceCall: Sendable {
  /// What an action is asked for.
  package enum Part: String, Sendable {
    /// That it does what it is for.
    case run
    /// What is there before it does.
    case baseline
    /// Whether it was done.
    case outcome
  }

  package var connection: String
  /// The action's id.
  package var action: String
  package var part: Part
  /// What the recipe gives, with secrets in it.
  package var input: Value
  /// What the input is declared as.
  package var schema: ObjectSchema
  /// The texts in the input that are made with secrets.
  package var secrets: [String]
  /// Whether it reaches nothing but the state, which a run apart has of its own.
  package var isLocal: Bool

  package init(
    connection: String, action: String, part: Part, input: Value, schema: ObjectSchema, secrets: [String] = [],
    isLocal: Bool
  ) {
    self.connection = connection
    self.action = action
    self.part = part
    self.input = input
    self.schema = schema
    self.secrets = secrets
    self.isLocal = isLocal
  }
}

/// What stands between runs and the actions of plugins that speak something else than HTTP, as a recording does.
package protocol CallInterceptor: Sendable {
  /// The folder that all paths lead into if it answers in their place, so that nothing outside is touched.
  var confinement: String? { get }
  /// What was asked for that does not belong to the run that is played, once there is something.
  var mismatch: ActionError? { get }

  /// What comes of a call.
  func carry(
    _ call: ServiceCall, _ perform: () async -> Result<Value, ActionError>
  ) async -> Result<Value, ActionError>
}

extension Value {
  /// The value with another text in the place of one, wherever it stands in its texts.
  func replacing(_ text: String, with other: String) -> Value {
    switch content {
    case .string(let whole): return .string(whole.replacing(text, with: other))
    case .list(let items): return .list(items.map { $0.replacing(text, with: other) })
    case .map(var map):
      for member in map.members { map[member.key] = member.value.replacing(text, with: other) }
      return .map(map)
    default: return self
    }
  }
}

extension Reconciliation<Value> {
  /// Whether it was done, as a recording holds it.
  var value: Value {
    switch self {
    case .done(let output): .object(["done": output])
    case .notDone: .map(ValueMap())
    case .unknown(let text): .object(["unknown": .string(text)])
    }
  }

  init(_ value: Value) {
    self = value["done"].map { .done($0) } ?? value["unknown"]?.string.map { .unknown($0) } ?? .notDone
  }
}
