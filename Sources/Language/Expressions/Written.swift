import Basics

/// A value for messages: texts in quotes and shortened, collections by their size.
func written(_ value: Value) -> String {
  switch value.content {
  case .null: "null"
  case .bool(let value): "\(value)"
  case .int(let value): "\(value)"
  case .uint(let value): "\(value)u"
  case .double(let value): written(value)
  case .string(let value): "'\(value.excerpt(40))'"
  case .bytes(let value): "\(counted(value.count, "byte"))"
  case .timestamp(let value): "timestamp('\(value)')"
  case .duration(let value): "duration('\(value)')"
  case .list(let value): "a list of \(counted(value.count, "item"))"
  case .map(let value): "a map of \(counted(value.count, "entry", "entries"))"
  case .optional(let value): value.map { "optional.of(\(written($0)))" } ?? "optional.none()"
  case .type(let name): name
  case .masked(let text): "'\(text.displayed)'"
  }
}

func counted(_ count: Int, _ one: String, _ many: String? = nil) -> String {
  count == 1 ? "1 \(one)" : "\(count) \(many ?? one + "s")"
}

/// A double as CEL's `string()` writes it, with an exponent from 1e+06 on.
///
/// Texts for people use a higher threshold.
package func written(_ number: Double, exponentFrom threshold: Int = 6) -> String {
  number.written(exponentFrom: threshold)
}
