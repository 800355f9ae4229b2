// Examples of inputs with only the required fields, so that a page shows at once what a step must contain. The values
// are within the limits of their fields, so an example passes the check.

import ActionKit
import Basics

extension ObjectSchema {
  /// An input with the required fields.
  var sample: Example {
    Example("The required fields", members.map { "\($0.name): \($0.sample)" }.joined(separator: "\n"))
  }

  /// The required fields, in YAML's flow style.
  fileprivate var members: [(name: String, sample: String)] {
    fields.filter(\.isRequired).map { ($0.name.plainOrQuoted, $0.type.sample($0.limits)) }
  }
}

extension FieldType {
  /// The maximum length of samples.
  private static let longest = 1000
  private static let mostItems = 20

  /// A value of the type within limits, in YAML's flow style.
  fileprivate func sample(_ limits: [Limit]) -> String {
    let (least, most) = limits.lengths
    let items = min(max(least, min(1, most)), Self.mostItems)
    switch self {
    case .bool: return "true"
    case .int: return "\(max(limits.least?.int ?? .min, min(1, limits.most?.int ?? .max)))"
    case .uint: return "\(max(limits.least?.uint ?? .min, min(1, limits.most?.uint ?? .max)))"
    case .double: return "\(max(limits.least?.number ?? -.infinity, min(1.5, limits.most?.number ?? .infinity)))"
    case .string:
      let length = min(max(least, min(4, most)), Self.longest)
      let word = String(String(repeating: "text", count: length / 4 + 1).prefix(length))
      return word.isEmpty ? "''" : word
    case .date: return "2026-11-20"
    case .bytes: return "dGV4dA=="
    case .timestamp: return "2026-11-20T09:30:00Z"
    case .duration: return "1h"
    case .dyn: return "{}"
    case .choice(let options): return options.first?.plainOrQuoted ?? "text"
    case .list(let element):
      return "[\(Array(repeating: element.sample(limits.ofItems), count: items).joined(separator: ", "))]"
    case .map(let element):
      if least == 0 { return "{}" }
      return "{ \((1...items).map { "name\($0): \(element.sample(limits.ofItems))" }.joined(separator: ", ")) }"
    case .object(let schema):
      return "{\(schema.members.map { " \($0.name): \($0.sample)" }.joined(separator: ",")) }"
    case .optional(let wrapped): return wrapped.sample(limits)
    case .secret: return "${{ secrets.TOKEN }}"
    }
  }
}

extension [Limit] {
  fileprivate var least: Value? { lazy.compactMap { if case .atLeast(let bound) = $0 { bound } else { nil } }.first }
  fileprivate var most: Value? { lazy.compactMap { if case .atMost(let bound) = $0 { bound } else { nil } }.first }
  fileprivate var ofItems: [Limit] { compactMap { if case .each(let limit) = $0 { limit } else { nil } } }
  fileprivate var lengths: (least: Int, most: Int) {
    var lengths = (least: 0, most: Int.max)
    for limit in self {
      switch limit {
      case .minLength(let length): lengths.least = Swift.max(0, length)
      case .maxLength(let length): lengths.most = Swift.max(0, length)
      default: break
      }
    }
    return lengths
  }
}

extension String {
  /// The text as a YAML scalar: plain if possible, or else quoted.
  fileprivate var plainOrQuoted: String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
    let isPlain =
      utf8.first.map(ASCII.isLetter) == true && !words.contains(lowercased())
      && utf8.allSatisfy { ASCII.isLetter($0) || ASCII.digits.contains($0) || $0 == ASCII.underscore }
    return isPlain ? self : JSON.quoted(self)
  }
}
