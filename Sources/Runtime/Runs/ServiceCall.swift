package import ActionKit
package import Basics

/// One call of an action whose plugin doesn't use HTTP.
package struct ServiceCall: Sendable {
  /// The part of the action that is called.
  package enum Part: String, Sendable {
    /// To run.
    case run
    /// Its baseline: the state before it runs.
    case baseline
    /// Whether it was done.
    case outcome
  }

  package var connection: String
  /// The action's id.
  package var action: String
  package var part: Part
  /// The input from the recipe, with secrets in it.
  package var input: Value
  /// The declaration of the input.
  package var schema: ObjectSchema
  /// The texts in the input that are made with secrets.
  package var secrets: [String]
  /// Whether it touches only the state, which a replay has of its own.
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

/// Sits between runs and the actions of plugins that don't use HTTP, and the files that others read, as a recording
/// does.
package protocol CallInterceptor: FileInterceptor {
  /// The folder that all paths lead into if the interceptor answers, so that nothing outside is touched.
  var confinement: String? { get }
  /// The first call that the replayed run didn't make, if there is one.
  var mismatch: ActionError? { get }

  /// The result of a call.
  func carry(
    _ call: ServiceCall, _ perform: () async -> Result<Value, ActionError>
  ) async -> Result<Value, ActionError>
}

extension Value {
  /// The value with one text replaced by another in all of its texts.
  func replacing(_ text: String, with other: String) -> Value {
    switch content {
    case .string(let whole): return .string(whole.replacing(text, with: other))
    case .list(let items): return .list(items.map { $0.replacing(text, with: other) })
    case .map(let map): return .map(map.mapValues { $0.replacing(text, with: other) })
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
