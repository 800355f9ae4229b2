import Basics

/// YAML 1.2's core schema (specification 10.3.2): what a plain scalar is.
///
/// Hence `yes`, `no`, `on`, `off` are strings, `0644` is 644, `1e3` is a double, and `1:30`, `1_000`, `0b1` and
/// `2026-11-20` are strings.
enum CoreSchema {
  /// A plain scalar's content, or why there is none.
  enum Resolution {
    case content(Value.Content)
    /// An integer beyond 64 bits or a decimal number beyond what a double holds, and the nearest double.
    case overflow(Double, isInteger: Bool)
  }

  static func resolve(_ text: UnsafeBufferPointer<UInt8>) -> Resolution {
    guard let first = text.first else { return .content(.null) }
    switch first {
    case ASCII.digits, ASCII.plus, ASCII.minus, ASCII.dot:
      return number(text) ?? string(text)
    case ASCII.tilde, UInt8(ascii: "n"), UInt8(ascii: "N"), UInt8(ascii: "t"), UInt8(ascii: "T"),
      UInt8(ascii: "f"), UInt8(ascii: "F"):
      return word(text) ?? string(text)
    default:
      return string(text)
    }
  }

  private static func string(_ text: UnsafeBufferPointer<UInt8>) -> Resolution {
    .content(.string(String(decoding: text, as: UTF8.self)))
  }

  private static func word(_ text: UnsafeBufferPointer<UInt8>) -> Resolution? {
    guard text.count <= 5 else { return nil }
    switch String(decoding: text, as: UTF8.self) {
    case "null", "Null", "NULL", "~": return .content(.null)
    case "true", "True", "TRUE": return .content(.bool(true))
    case "false", "False", "FALSE": return .content(.bool(false))
    default: return nil
    }
  }

  private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Resolution? {
    if text.count > 2, text[0] == ASCII.zero {
      if text[1] == UInt8(ascii: "x") { return int(text[2...], radix: 16) }
      if text[1] == UInt8(ascii: "o") { return int(text[2...], radix: 8) }
    }
    let hasSign = text[0] == ASCII.minus || text[0] == ASCII.plus
    let unsigned = text[(hasSign ? 1 : 0)...]
    if let int = int(unsigned, radix: 10, isNegative: text[0] == ASCII.minus) { return int }
    return isDecimal(unsigned) ? double(text) : special(text, unsigned)
  }

  /// An integer of digits alone, or nil if there is anything else.
  private static func int(
    _ digits: Slice<UnsafeBufferPointer<UInt8>>, radix: Int, isNegative: Bool = false
  ) -> Resolution? {
    guard !digits.isEmpty else { return nil }
    var value = 0
    var hasOverflown = false
    for byte in digits {
      guard let digit = digitValue(byte), digit < radix else { return nil }
      // Negative numbers are built downward, because the smallest has no positive counterpart.
      let product = value.multipliedReportingOverflow(by: radix)
      let sum =
        isNegative
        ? product.partialValue.subtractingReportingOverflow(digit)
        : product.partialValue.addingReportingOverflow(digit)
      hasOverflown = hasOverflown || product.overflow || sum.overflow
      value = sum.partialValue
    }
    if !hasOverflown { return .content(.int(value)) }
    let text = String(decoding: digits, as: UTF8.self)
    if !isNegative, let uint = UInt(text, radix: radix) { return .content(.uint(uint)) }
    // The nearest but for the last bit, which matters to no limit or example.
    let magnitude =
      radix == 10
      ? Double(text) ?? .infinity
      : digits.reduce(0) { $0 * Double(radix) + Double(digitValue($1) ?? 0) }
    return .overflow(isNegative ? -magnitude : magnitude, isInteger: true)
  }

  private static func digitValue(_ byte: UInt8) -> Int? {
    switch byte {
    case ASCII.digits: Int(byte - ASCII.zero)
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte) - 0x57
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte) - 0x37
    default: nil
    }
  }

  /// Whether a text is `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
  private static func isDecimal(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var rest = text
    func digits() -> Int {
      let count = rest.prefix { $0 >= ASCII.zero && $0 <= UInt8(ascii: "9") }.count
      rest = rest.dropFirst(count)
      return count
    }
    let whole = digits()
    if rest.first == ASCII.dot {
      rest = rest.dropFirst()
      if digits() == 0, whole == 0 { return false }
    } else if whole == 0 {
      return false
    }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      if rest.first == ASCII.minus || rest.first == ASCII.plus { rest = rest.dropFirst() }
      if digits() == 0 { return false }
    }
    return rest.isEmpty
  }

  private static func double(_ text: UnsafeBufferPointer<UInt8>) -> Resolution? {
    guard let value = Double(String(decoding: text, as: UTF8.self)) else { return nil }
    return value.isFinite ? .content(.double(value)) : .overflow(value, isInteger: false)
  }

  private static func special(
    _ text: UnsafeBufferPointer<UInt8>, _ unsigned: Slice<UnsafeBufferPointer<UInt8>>
  ) -> Resolution? {
    guard unsigned.count == 4 else { return nil }
    switch String(decoding: unsigned, as: UTF8.self) {
    case ".inf", ".Inf", ".INF":
      return .content(.double(text[0] == ASCII.minus ? -.infinity : .infinity))
    case ".nan", ".NaN", ".NAN":
      return unsigned.count == text.count ? .content(.double(.nan)) : nil
    default:
      return nil
    }
  }
}

/// Whether a plain scalar is a bool in YAML 1.1 and a string in YAML 1.2, so that a bool may be meant.
package func looksLikeYAML11Bool(_ text: String) -> Bool {
  switch text {
  case "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF": true
  default: false
  }
}
