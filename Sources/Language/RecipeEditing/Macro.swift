import Basics
import Expressions

/// A loop, a binding or `has`: language constructs that look like functions, as editors and pages display them.
package struct Macro: Sendable {
  let name: String
  package let form: String
  package let summary: String

  /// The macros that editors offer, in the same form as in messages.
  package static let all: [Macro] = {
    let methods = ExpressionScope.macros(of: .list(.dyn)) + ExpressionScope.macros(of: .optional(.dyn))
    return methods.map { Macro(name: $0.name, form: $0.form, summary: summaries[$0.name] ?? "") } + others
  }()

  private static let summaries = [
    "map": "A list with a value for each item.",
    "filter": "The items that meet the condition.",
    "exists": "Whether the condition holds for at least one item.",
    "all": "Whether the condition holds for every item.",
    "existsOne": "Whether the condition holds for exactly one item.",
    "sortBy": "The items, sorted by the key of each.",
    "transformList":
      "A list with a value computed from each item and its index, or from each key of a map and its value.",
    "transformMap": "A map with the same keys, and a value computed from each key and its value.",
    "optMap": "An optional that holds a value computed from the optional's value; empty if it is empty.",
    "optFlatMap": "The optional computed from the optional's value; empty if it is empty.",
  ]

  private static let others = [
    Macro(
      name: "transformMapEntry", form: "transformMapEntry(key, x, {newKey: value})",
      summary: "A map of the entries computed from each key and its value."),
    Macro(name: "has", form: "has(a.b)", summary: "Whether a field that may be absent exists."),
    Macro(
      name: "bind", form: "cel.bind(x, value, result)", summary: "The result, where x is the value."),
  ]

  var page: [String] { ["```cel\n\(form)\n```", summary] }
}
