import Basics

/// The exact sum of decimal numbers: 45 and 40.05 make 85.05, and a third of that is 28.35.
///
/// Marks are decimals, but a double is only the nearest binary fraction: added and divided as doubles, the same marks
/// have a mean of 28.349999999999998, which rounds the other way. So each number is converted to its shortest decimal
/// form and added exactly, with a common power of ten. If that isn't possible (exponents, too many digits), the doubles
/// are added with compensated summation (Neumaier).
struct DecimalSum {
  private var total: Int128 = 0
  private var unit: Int128 = 1

  /// Nil if a number has no short decimal form, or the sum is too large.
  init?(_ numbers: [Double]) {
    var decimals: [(digits: Int128, places: Int)] = []
    decimals.reserveCapacity(numbers.count)
    for number in numbers {
      guard let decimal = DecimalSum.decimal(number) else { return nil }
      decimals.append(decimal)
    }
    let places = decimals.map(\.places).max() ?? 0
    unit = DecimalSum.power(places)
    for (digits, own) in decimals {
      let (scaled, overflow) = digits.multipliedReportingOverflow(by: DecimalSum.power(places - own))
      let (sum, overflow2) = total.addingReportingOverflow(scaled)
      guard !overflow, !overflow2 else { return nil }
      total = sum
    }
  }

  /// The sum divided by a positive number, as the nearest double.
  func divided(by count: Int) -> Double {
    let (divisor, overflow) = unit.multipliedReportingOverflow(by: Int128(count))
    return overflow ? Double(total) / Double(unit) / Double(count) : Double(total) / Double(divisor)
  }

  /// The shortest decimal form, as an integer and the number of decimal places; nil for a number with an exponent.
  private static func decimal(_ number: Double) -> (digits: Int128, places: Int)? {
    var digits: Int128 = 0
    var places = -1
    for byte in number.description.utf8 {
      switch byte {
      case ASCII.minus: continue
      case ASCII.dot: places = 0
      case ASCII.digits:
        // The shortest form has at most 17 digits, and leading zeros if the number is below one.
        digits = digits * 10 + Int128(byte - ASCII.zero)
        if places >= 0 { places += 1 }
      default: return nil
      }
    }
    return (number < 0 ? -digits : digits, max(places, 0))
  }

  private static func power(_ exponent: Int) -> Int128 {
    (0..<max(exponent, 0)).reduce(1) { power, _ in power * 10 }
  }
}
