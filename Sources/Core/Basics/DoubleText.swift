extension Double {
  /// The shortest text that reads back the same: `12`, `0.1`, `1e+21`.
  ///
  /// In the manner of C's `%g` it has an exponent below 1e-4, and from the threshold on.
  package func written(exponentFrom threshold: Int) -> String {
    guard isFinite else { return isNaN ? "NaN" : self < 0 ? "-Inf" : "+Inf" }
    guard self != 0 else { return self.sign == .minus ? "-0" : "0" }
    // Swift's description is the shortest text too, but with another threshold for exponents.
    let (digits, point) = shortestDigits(magnitude)
    let sign = self < 0 ? "-" : ""
    let exponent = point - 1
    if exponent < -4 || exponent >= threshold {
      let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
      let places = exponent.magnitude
      return "\(sign)\(digits.prefix(1))\(fraction)e\(exponent < 0 ? "-" : "+")\(places < 10 ? "0" : "")\(places)"
    }
    if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits }
    if point >= digits.count { return sign + digits + String(repeating: "0", count: point - digits.count) }
    return sign + digits.prefix(point) + "." + digits.dropFirst(point)
  }
}

/// The significant digits of a positive number and the position of the point in them: 12.5 is ("125", 2).
package func shortestDigits(_ number: Double) -> (digits: String, point: Int) {
  var digits = ""
  var point = 0
  var exponent = 0
  var seenPoint = false
  var text = Array(number.description.utf8)[...]
  while let byte = text.popFirst() {
    if byte == ASCII.dot {
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
