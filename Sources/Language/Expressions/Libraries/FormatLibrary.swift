import Basics
import Glibc

// `format`, as in cel-go's library `strings`.
//
//     %s any value          %d whole numbers                  %f fixed point   %e with an exponent
//     %% a percent sign     %b %o %x %X in base 2, 8 and 16
//
// `%.2f` sets the number of decimals (default 6). `%f` and `%e` round the exact value of the double, and a tie to the
// even digit; `stats.round` rounds a tie away from zero, as people do. Maps are written with sorted keys. A constant
// format is parsed when the expression is checked.

let formatFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "format", receiver: .string, parameters: [.list(.dyn)], result: .string,
    summary:
      "The text with its clauses (%s %d %f %e %x %o %b) replaced by the values of the list; "
      + "%.1f gives one decimal, rounding a tie to even.",
    example: "'%s has %d tasks, %.1f%% done'.format(['7B', 12, 62.5]) == '7B has 12 tasks, 62.5% done'",
    literalCheck: { constants in
      guard let text = constants[0]?.string else { return nil }
      do throws(EvaluationError) {
        let format = try TextFormat(text)
        if let list = constants[1]?.list { _ = try format.apply(to: list) }
        return nil
      } catch {
        return LiteralFault(argument: 0, error.message)
      }
    }
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(reading: text.utf8.count)
    return try context.made(TextFormat(text).apply(to: arguments.list(1), context: &context))
  }
]

/// A parsed format.
private struct TextFormat {
  private enum Part {
    case text(String)
    case clause(Clause)
  }

  private struct Clause {
    var verb: UInt8
    var precision: Int?
    var spelling: String
  }

  private var parts: [Part] = []
  private var clauseCount = 0

  /// More decimals than a double can have.
  private static let largestPrecision = 1100

  init(_ text: String) throws(EvaluationError) {
    let bytes = Array(text.utf8)
    var index = 0
    var start = 0
    func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    while index < bytes.count {
      guard bytes[index] == ASCII.percent else {
        index += 1
        continue
      }
      if start < index { parts.append(.text(string(start..<index))) }
      let clauseStart = index
      index += 1
      var precision: Int?
      if index < bytes.count, bytes[index] == ASCII.dot {
        let digits = bytes[(index + 1)...].prefix { ASCII.digits.contains($0) }
        guard let number = Int(String(decoding: digits, as: UTF8.self)), number <= TextFormat.largestPrecision else {
          throw EvaluationError("the format needs a number of decimals after '%.', as in '%.2f'")
        }
        precision = number
        index = digits.endIndex
      }
      guard index < bytes.count else {
        throw EvaluationError("the format ends inside a clause; write '%%' for a percent sign")
      }
      let verb = bytes[index]
      index += 1
      start = index
      if verb == ASCII.percent, precision == nil {
        parts.append(.text("%"))
        continue
      }
      guard "sdfexXob".utf8.contains(verb) else {
        let scalar = string(clauseStart..<bytes.count).unicodeScalars.first {
          $0.value != 0x25 && $0 != "." && !("0"..."9").contains($0)
        }
        throw EvaluationError(
          "the format has no clause '%\(scalar.map { String($0) } ?? "")'; "
            + "there are %s %d %f %e %x %X %o %b, and '%%' for a percent sign"
        )
      }
      guard precision == nil || verb == UInt8(ascii: "f") || verb == UInt8(ascii: "e") else {
        throw EvaluationError("the clause '\(string(clauseStart..<index))' takes no decimals; only %f and %e do")
      }
      parts.append(.clause(Clause(verb: verb, precision: precision, spelling: string(clauseStart..<index))))
      clauseCount += 1
    }
    if start < bytes.count { parts.append(.text(string(start..<bytes.count))) }
  }

  /// The formatted text, for a list that is constant in the expression.
  func apply(to values: [Value]) throws(EvaluationError) -> String {
    var context = EvaluationContext(slots: [], limits: EvaluationLimits())
    return try apply(to: values, context: &context)
  }

  func apply(to values: [Value], context: inout EvaluationContext) throws(EvaluationError) -> String {
    guard values.count >= clauseCount else {
      throw EvaluationError(
        "the format has \(counted(clauseCount, "clause")) and the list \(counted(values.count, "value"))")
    }
    var result = ""
    var next = 0
    for part in parts {
      switch part {
      case .text(let text): result += text
      case .clause(let clause):
        let text = try TextFormat.text(values[next], clause, &context)
        try context.charge(bytes: text.utf8.count)
        result += text
        next += 1
      }
    }
    return result
  }

  private static func text(
    _ value: Value, _ clause: Clause, _ context: inout EvaluationContext
  ) throws(EvaluationError) -> String {
    switch (clause.verb, value.content) {
    case (UInt8(ascii: "s"), _): return try plainText(value, depth: 0, &context)
    case (UInt8(ascii: "d"), .int(let number)): return String(number)
    case (UInt8(ascii: "d"), .uint(let number)): return String(number)
    case (UInt8(ascii: "d"), .double(let number)) where !number.isFinite: return nonFinite(number)
    case (UInt8(ascii: "b"), .bool(let flag)): return flag ? "1" : "0"
    case (UInt8(ascii: "f"), .int), (UInt8(ascii: "f"), .uint), (UInt8(ascii: "f"), .double),
      (UInt8(ascii: "e"), .int), (UInt8(ascii: "e"), .uint), (UInt8(ascii: "e"), .double):
      let number = double(value)
      guard number.isFinite else { return nonFinite(number) }
      return printed(number, clause.verb, clause.precision ?? 6)
    case (UInt8(ascii: "x"), .string(let text)): return text.utf8.hexadecimal
    case (UInt8(ascii: "X"), .string(let text)): return text.utf8.hexadecimal.uppercased()
    case (UInt8(ascii: "x"), .bytes(let bytes)): return bytes.hexadecimal
    case (UInt8(ascii: "X"), .bytes(let bytes)): return bytes.hexadecimal.uppercased()
    case (_, .int(let number)):
      return String(number, radix: radix(clause.verb), uppercase: clause.verb == UInt8(ascii: "X"))
    case (_, .uint(let number)):
      return String(number, radix: radix(clause.verb), uppercase: clause.verb == UInt8(ascii: "X"))
    default:
      throw EvaluationError(
        "the clause '\(clause.spelling)' takes \(wanted(clause.verb)), and \(value.kindName) was given\(hint(value, clause.verb))"
      )
    }
  }

  private static func wanted(_ verb: UInt8) -> String {
    switch verb {
    case UInt8(ascii: "d"), UInt8(ascii: "o"): "an int"
    case UInt8(ascii: "b"): "an int or a bool"
    case UInt8(ascii: "f"), UInt8(ascii: "e"): "a number"
    default: "an int, a string or bytes"
    }
  }

  private static func hint(_ value: Value, _ verb: UInt8) -> String {
    guard verb == UInt8(ascii: "d") else { return "" }
    if case .double = value.content { return "; write %.0f, or int(x) for the whole part" }
    return "; %s takes any value"
  }

  private static func radix(_ verb: UInt8) -> Int {
    switch verb {
    case UInt8(ascii: "b"): 2
    case UInt8(ascii: "o"): 8
    default: 16
    }
  }

  private static func double(_ value: Value) -> Double {
    switch value.content {
    case .int(let number): Double(number)
    case .uint(let number): Double(number)
    case .double(let number): number
    default: .nan
    }
  }

  private static func nonFinite(_ number: Double) -> String {
    number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity"
  }

  /// The number as C prints it, with exact rounding.
  private static func printed(_ number: Double, _ verb: UInt8, _ precision: Int) -> String {
    withVaList([Int32(truncatingIfNeeded: precision), number]) { list in
      // A double has at most 309 digits before the point.
      String(unsafeUninitializedCapacity: precision + 330) { buffer in
        buffer.withMemoryRebound(to: CChar.self) { buffer in
          Int(vsnprintf(buffer.baseAddress, buffer.count, verb == UInt8(ascii: "f") ? "%.*f" : "%.*e", list))
        }
      }
    }
  }

  /// The text of a value for `%s`.
  private static func plainText(
    _ value: Value, depth: Int, _ context: inout EvaluationContext
  ) throws(EvaluationError) -> String {
    guard depth < 100 else { throw EvaluationError("the value for '%s' has lists in lists more than 100 deep") }
    try context.charge()
    switch value.content {
    case .null: return "null"
    case .bool(let flag): return flag ? "true" : "false"
    case .int(let number): return String(number)
    case .uint(let number): return String(number)
    case .double(let number): return number.isFinite ? written(number) : nonFinite(number)
    case .string(let text): return text
    case .bytes(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw EvaluationError("the bytes for '%s' aren't valid UTF-8; write %x for their digits")
      }
      return text
    case .timestamp(let instant): return instant.description
    case .duration(let span): return span.description
    case .type(let name): return name
    case .masked(let text): return text.displayed
    case .optional(let wrapped):
      guard let wrapped else { return "optional.none()" }
      return "optional(\(try plainText(wrapped, depth: depth + 1, &context)))"
    case .list(let items):
      var texts: [String] = []
      for item in items { texts.append(try plainText(item, depth: depth + 1, &context)) }
      try context.charge(bytes: texts.reduce(0) { $0 + $1.utf8.count })
      return "[\(texts.joined(separator: ", "))]"
    case .map(let map):
      var texts: [(key: String, entry: String)] = []
      for member in map.members {
        let key = try plainText(member.key, depth: depth + 1, &context)
        texts.append((key, "\(key): \(try plainText(member.value, depth: depth + 1, &context))"))
      }
      try context.charge(bytes: texts.reduce(0) { $0 + $1.entry.utf8.count })
      texts.sort { $0.key.precedesByScalars($1.key) }
      return "{\(texts.map(\.entry).joined(separator: ", "))}"
    }
  }
}
