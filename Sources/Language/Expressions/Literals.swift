import Basics

/// An error in the text of a literal.
struct LiteralError: Error {
  let message: String
  let range: Range<Int>
}

/// The bytes of a text or bytes literal, given with its prefix and quotes.
///
/// In a text, `\x` and octal escapes are code points; in bytes, they are bytes. Escapes of surrogates, escapes beyond
/// 10FFFF and escapes that CEL doesn't define are errors.
func decodeTextLiteral(_ text: [UInt8], _ range: Range<Int>, isBytes: Bool) throws(LiteralError) -> [UInt8] {
  var start = range.lowerBound
  var isRaw = false
  while isLetter(text[start]) {
    if text[start] | 0x20 == UInt8(ascii: "r") { isRaw = true }
    start += 1
  }
  let quote = text[start]
  let isTriple = range.upperBound - start >= 6 && text[start + 1] == quote && text[start + 2] == quote
  let inner = start + (isTriple ? 3 : 1)..<range.upperBound - (isTriple ? 3 : 1)
  if isRaw || !text[inner].contains(ASCII.backslash) { return Array(text[inner]) }

  var result: [UInt8] = []
  result.reserveCapacity(inner.count)
  var index = inner.lowerBound
  while index < inner.upperBound {
    let byte = text[index]
    guard byte == ASCII.backslash else {
      result.append(byte)
      index += 1
      continue
    }
    let begin = index
    func fault(_ message: String, _ length: Int) -> LiteralError {
      LiteralError(message: message, range: begin..<min(begin + length, inner.upperBound))
    }
    let escape = index + 1 < inner.upperBound ? text[index + 1] : 0
    index += 2
    switch escape {
    case UInt8(ascii: "a"): result.append(0x07)
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "f"): result.append(ASCII.formFeed)
    case UInt8(ascii: "n"): result.append(ASCII.newline)
    case UInt8(ascii: "r"): result.append(ASCII.carriageReturn)
    case UInt8(ascii: "t"): result.append(ASCII.tab)
    case UInt8(ascii: "v"): result.append(0x0B)
    case ASCII.backslash, ASCII.question, ASCII.quote, ASCII.apostrophe, ASCII.backtick:
      result.append(escape)
    case UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "u"), UInt8(ascii: "U"),
      ASCII.zero...UInt8(ascii: "3"):
      let isOctal = isDigit(escape)
      let length = isOctal ? 3 : escape | 0x20 == UInt8(ascii: "x") ? 2 : escape == UInt8(ascii: "u") ? 4 : 8
      if isOctal { index -= 1 }
      var code: UInt32 = 0
      for offset in 0..<length {
        let digit = index + offset < inner.upperBound ? hexValue(text[index + offset]) : nil
        guard let digit, !isOctal || digit < 8 else {
          throw fault(
            isOctal
              ? "three octal digits must follow `\\`, from \\000 to \\377"
              : "\(length) hexadecimal digits must follow `\\\(UnicodeScalar(escape))`", index + offset - begin)
        }
        code = code &* (isOctal ? 8 : 16) &+ UInt32(digit)
      }
      index += length
      if isBytes {
        guard length < 4 else { throw fault("bytes have no `\\\(UnicodeScalar(escape))`; write octets as \\xHH", 2) }
        result.append(UInt8(truncatingIfNeeded: code))
      } else {
        guard let scalar = UnicodeScalar(code) else {
          throw fault("this code point does not exist or is a surrogate", index - begin)
        }
        result.append(contentsOf: String(Character(scalar)).utf8)
      }
    default:
      throw fault("there is no such escape; a backslash itself is written `\\\\`, or the text as r'…'", 2)
    }
  }
  return result
}

private func hexValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case ASCII.digits: byte &- ASCII.zero
  case 0x41...0x46: byte &- 0x41 &+ 10
  case 0x61...0x66: byte &- 0x61 &+ 10
  default: nil
  }
}

/// The magnitude of an integer literal without its suffix, decimal or with `0x`; nil beyond 64 bits.
func decodeInteger(_ digits: ArraySlice<UInt8>) -> UInt? {
  let isHex = digits.count > 2 && digits[digits.startIndex + 1] == UInt8(ascii: "x")
  let radix: UInt = isHex ? 16 : 10
  var value: UInt = 0
  for byte in isHex ? digits.dropFirst(2) : digits {
    guard let digit = hexValue(byte) else { return nil }
    let (product, overflow) = value.multipliedReportingOverflow(by: radix)
    let (sum, overflow2) = product.addingReportingOverflow(UInt(digit))
    if overflow || overflow2 { return nil }
    value = sum
  }
  return value
}
