import Basics
import Expressions

/// The value of an expression without variables, or its error: `checked: …` or `ran: …`.
///
/// - Parameter strings: Variables of type string, so that nothing about them is known when the expression is checked.
func outcome(_ text: String, _ strings: KeyValuePairs<String, String> = [:]) -> String {
  var scope = ExpressionScope()
  for (name, _) in strings { scope.declare(name, .string) }
  switch CompiledExpression.compile(text, in: scope) {
  case .failure(let faults): return faults.list.map { "checked: \($0.message)" }.joined(separator: "\n")
  case .success(let program):
    do throws(EvaluationError) {
      return described(try program.evaluate(strings.map { .string($0.value) }))
    } catch {
      return "ran: \(error.message)"
    }
  }
}

/// A value as an expression would write it.
private func described(_ value: Value) -> String {
  switch value.content {
  case .string(let text): "'\(text)'"
  case .double(let number): number.description
  case .list(let items): "[\(items.map(described).joined(separator: ", "))]"
  case .optional(let wrapped): wrapped.map { "optional.of(\(described($0)))" } ?? "optional.none()"
  case .timestamp(let instant): instant.description
  case .int(let number): String(number)
  case .bool(let flag): String(flag)
  case .map(let map): "{\(map.members.map { "\(described($0.key)): \(described($0.value))" }.joined(separator: ", "))}"
  default: "\(value)"
  }
}
