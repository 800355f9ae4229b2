/// Base64 with the standard alphabet (RFC 4648, section 4).
extension Collection<UInt8> {
  /// The octets in base64, padded.
  public var base64: String {
    let bytes = Array(self)
    return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { buffer in
      var written = 0
      for start in stride(from: 0, to: bytes.count, by: 3) {
        let chunk = bytes[start..<Swift.min(start + 3, bytes.count)]
        let bits = chunk.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - chunk.count))
        for place in 0..<4 {
          let digit = Int(bits >> (18 - 6 * UInt32(place)) & 63)
          buffer[written] = place <= chunk.count ? alphabet[digit] : padding
          written += 1
        }
      }
      return written
    }
  }
}

extension [UInt8] {
  /// Reads octets from base64; nil if the text is anything else.
  ///
  /// The bits that belong to no octet must be zero, so that each text has one reading and each reading one text.
  /// - Parameter requiresPadding: Whether `=` must fill the last group; without, it may be left out.
  public init?(base64 text: String, requiresPadding: Bool = true) {
    var digits = Array(text.utf8)[...]
    var pads = 0
    while pads < 2, digits.last == padding {
      digits.removeLast()
      pads += 1
    }
    guard digits.count % 4 != 1, pads == 0 && !requiresPadding || (digits.count + pads).isMultiple(of: 4) else {
      return nil
    }
    self = []
    reserveCapacity(digits.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var held: UInt32 = 0
    for byte in digits {
      guard let digit = digit(byte) else { return nil }
      bits = bits << 6 | digit
      held += 6
      if held >= 8 {
        held -= 8
        append(UInt8(truncatingIfNeeded: bits >> held))
        bits &= 1 << held - 1
      }
    }
    guard bits == 0 else { return nil }
  }
}

private let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
private let padding = ASCII.equals

private func digit(_ byte: UInt8) -> UInt32? {
  switch byte {
  case ASCII.uppercase: UInt32(byte - UInt8(ascii: "A"))
  case ASCII.lowercase: UInt32(byte - UInt8(ascii: "a")) + 26
  case ASCII.digits: UInt32(byte - ASCII.zero) + 52
  case ASCII.plus: 62
  case ASCII.slash: 63
  default: nil
  }
}
