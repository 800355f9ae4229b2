/// A byte as two hexadecimal digits, in capitals.
func hex(_ byte: UInt8) -> String {
  let text = String(byte, radix: 16, uppercase: true)
  return byte < 16 ? "0" + text : text
}

/// The value of a hexadecimal digit in ASCII, in capitals or not.
func hexDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case ASCII.digits: byte - ASCII.zero
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}

extension [UInt8] {
  /// Random octets that are fit for keys.
  package static func random(_ count: Int) -> [UInt8] {
    // Linux's generator.
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}

extension Collection<UInt8> {
  /// The octets as hexadecimal digits in lower case, two each.
  public var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(unsafeUninitializedCapacity: count * 2) { buffer in
      var index = 0
      for byte in self {
        buffer[index] = digits[Int(byte >> 4)]
        buffer[index + 1] = digits[Int(byte & 15)]
        index += 2
      }
      return index
    }
  }
}

extension [UInt8] {
  /// Reads octets from pairs of hexadecimal digits; nil if the text is anything else.
  public init?(hexadecimal text: String) {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    self = []
    reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = hexDigit(digits[index]), let low = hexDigit(digits[index + 1]) else { return nil }
      append(high << 4 | low)
    }
  }
}
