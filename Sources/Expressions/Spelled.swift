import Basics

/// A value as messages show it: texts in quotes and cut short, collections by their size.
func spelled(_ value: Value) -> String {
  switch value.content {
  case .null: "null"
  case .bool(let value): "\(value)"
  case .int(let value): "\(value)"
  case .uint(let value): "\(value)u"
  case .double(let value): spelled(value)
  case .string(let value):
    value.unicodeScalars.count > 40 ? "'\(String(value.unicodeScalars.prefix(37)))…'" : "'\(value)'"
  case .bytes(let value): "\(counted(value.count, "byte"))"
  case .timestamp(let value): "timestamp('\(value)')"
  case .duration(let value): "duration('\(value)')"
  case .list(let value): "a list of \(counted(value.count, "item"))"
  case .map(let value): "a map of \(counted(value.count, "entry", "entries"))"
  case .optional(let value): value.map { "optional.of(\(spelled($0)))" } ?? "optional.none()"
  case .type(let name): name
  }
}

func counted(_ count: Int, _ one: String, _ many: String? = nil) -> String {
  count == 1 ? "1 \(one)" : "\(count) \(many ?? one + "s")"
}

/// A double as CEL's `string()` writes it: the shortest text that reads back the same.
///
/// In the manner of C's `%g` it has an exponent below 1e-4 and from 1e+06 on; where people read the text, from later on.
package func spelled(_ number: Double, exponentFrom threshold: Int = 6) -> String {
  guard number.isFinite else { return number.isNaN ? "NaN" : number < 0 ? "-Inf" : "+Inf" }
  guard number != 0 else { return number.sign == .minus ? "-0" : "0" }
  // Swift's description is the shortest text too, but with another threshold for exponents.
  let (digits, point) = shortestDigits(number.magnitude)
  let sign = number < 0 ? "-" : ""
  let exponent = point - 1
  if exponent < -4 || exponent >= threshold {
    let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
    let magnitude = exponent.magnitude
    return "\(sign)\(digits.prefix(1))\(fraction)e\(exponent < 0 ? "-" : "+")\(magnitude < 10 ? "0" : "")\(magnitude)"
  }
  if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
  if point >= digits.count { return sign + digits + String(repeating: "0", count: point - digits.count) }
  return sign + digits.prefix(point) + "." + digits.dropFirst(point)
}

/// The significant digits of a positive number and where the point stands in them: 12.5 is ("125", 2).
package func shortestDigits(_ number: Double) -> (digits: String, point: Int) {
  var digits = ""
  var point = 0
  var exponent = 0
  var seenPoint = false
  var text = Array(number.description.utf8)[...]
  while let byte = text.popFirst() {
    if byte == UInt8(ascii: ".") {
      seenPoint = true
    } else if byte | 0x20 == UInt8(ascii: "e") {
      exponent = Int(String(decoding: text, as: UTF8.self)) ?? 0
      break
    } else {
      if byte == 0x30, digits.isEmpty {
        if seenPoint { point -= 1 }
        continue
      }
      digits.unicodeScalars.append(UnicodeScalar(byte))
      if !seenPoint { point += 1 }
    }
  }
  while digits.hasSuffix("0") { digits.removeLast() }
  return (digits, point + exponent)
}
