/// The digits of a number and its power of ten.
struct JSONNumber {
  private var digits: UInt64 = 0
  private var count = 0
  var exponent = 0

  @inline(__always) mutating func append(_ digit: UInt8) {
    // Nineteen digits always fit; from the twentieth on only the count is of use.
    if count < 19 { digits = digits &* 10 &+ UInt64(digit) }
    if count > 0 || digit > 0 { count += 1 }
  }

  func int(isNegative: Bool) -> Int? {
    guard count <= 19 else { return nil }
    if isNegative { return digits <= 1 << 63 ? Int(truncatingIfNeeded: 0 &- digits) : nil }
    return Int(exactly: digits)
  }

  /// The nearest double, where integers or one operation on exact doubles give it.
  var double: Double? {
    guard count <= 19 else { return nil }
    if digits <= 1 << 53 {
      // Both operands are exact, so that the operation rounds once (Clinger's fast path).
      switch exponent {
      case 0...22: return Double(digits) * powersOfTen[exponent]
      case -22..<0: return Double(digits) / powersOfTen[-exponent]
      default: return nil
      }
    }
    guard case -19..<0 = exponent else { return nil }
    // The quotient to at least 63 bits. A remainder sets the last bit, far below the bits that a double keeps, so that
    // the conversion rounds once and correctly.
    var divisor: UInt64 = 1
    for _ in exponent..<0 { divisor *= 10 }
    let (up, down) = (digits.leadingZeroBitCount, divisor.leadingZeroBitCount)
    let dividend = digits << UInt64(up)
    let (quotient, rest) = (divisor << UInt64(down)).dividingFullWidth((dividend >> 1, dividend << 63))
    let scale = Double(bitPattern: UInt64(1023 - 63 + down - up) << 52)
    return Double(quotient | (rest == 0 ? 0 : 1)) * scale
  }
}

/// The powers of ten that are exact doubles.
private let powersOfTen: [Double] = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
]
