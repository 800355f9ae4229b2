package import ActionKit
package import Basics
import Expressions

/// When and how often a failed step is tried again.
package struct RetryPolicy: Sendable {
  package var schedule = RetrySchedule.standard
  /// The kinds of errors that are tried again; nil for all errors that the action calls temporary.
  package var kinds: Set<ErrorKind>?
  /// Sees `error`; if the condition is false, the step isn't tried again.
  package var condition: RecipeExpression?
  /// How many variables the condition sees before `error`.
  package var scopeSize = 0
}

/// How long a step may take: each attempt, and all of it with its retries and waits.
package struct TimeLimits: Sendable {
  package var attempt: TimeSpan?
  package var total: TimeSpan?

  /// The same for each attempt, however many there are.
  var ofEachAttempt: TimeLimits { TimeLimits(attempt: attempt ?? total) }
}

/// Repeats a step until a condition holds.
package struct Repetition: Sendable {
  package var until: RecipeExpression
  /// How long to wait before the next round; nil to begin it at once.
  package var every: TimeSpan?
  package var factor = 1.0
  package var maxEvery: TimeSpan?
  /// By how much each wait is longer or shorter, by chance.
  package var jitter = TimeSpan.zero
  package var timeout: TimeSpan?
  package var maxRounds: Int?
  /// The values that a round gets from the round before.
  ///
  /// The names are declared outside the step's own, in this order; `result` comes after them.
  package var carried: [CarriedValue] = []
  /// The carried values of the next round that differ; they see this round's and `result`.
  package var next: [NamedTemplate] = []
  /// The list that each round adds to `collected`.
  package var collect: RecipeExpression?
  /// The type of the step's value.
  package var valueType = ValueType.dyn

  /// Whether the step returns the carried and collected values, and not its last result.
  package var hasMemory: Bool { !carried.isEmpty || collect != nil }

  /// The most rounds without `every` and `maxRounds`.
  static let mostRounds = 1000
}

/// A value that a repeated step passes from one round to the next.
package struct CarriedValue: Sendable {
  package var name: String
  package var first: ValueTemplate
  /// Whether it may be absent, so that expressions see an optional.
  package var isOptional: Bool
  let type: FieldType

  /// The value's type in expressions.
  package var valueType: ValueType { isOptional ? .optional(type.inputType) : type.inputType }

  /// A computed value in the form for the next round.
  ///
  /// - Parameter key: The key that computed it: `carry` or `next`.
  package func carried(_ value: Value, as key: String) throws(ValueError) -> Value {
    switch value.content {
    case .optional(let inner?): return try carried(inner, as: key)
    case .null where isOptional, .optional(nil) where isOptional: return Value(.optional(nil))
    default: break
    }
    // In a plan, unknown values are carried too.
    if value.firstUnknown != nil { return value }
    let schema = ObjectSchema(fields: [FieldSchema(name, type, "")])
    let given = Value.object([name: value])
    let faults = schema.check(given, as: key).filter { $0.severity == .error }
    guard faults.isEmpty else { throw ValueError(faults) }
    let restored = schema.restored(given)[name] ?? value
    return isOptional ? Value(.optional(restored)) : restored
  }
}

/// The reaction when a wait or a question takes too long.
package enum OnTimeout: String, CaseIterable, Sendable { case fail, `continue` }
