import Basics

/// The sum of numbers as people write them: 45 and 40.05 make 85.05, a third of which is 28.35.
///
/// Marks are decimals, and a double is only the nearest binary fraction: added and divided as doubles, the same marks
/// have a mean of 28.349999999999998, which rounds the other way. So each number is taken for its shortest decimal form
/// and counted in a common power of ten, exactly. Where that does not fit (exponents, too many digits), the doubles are
/// added as they are, with the error carried along (Neumaier).
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

  /// The shortest decimal form as a whole number of so many places; nil for one with an exponent.
  private static func decimal(_ number: Double) -> (digits: Int128, places: Int)? {
    var digits: Int128 = 0
    var places = -1
    for byte in number.description.utf8 {
      switch byte {
      case ASCII.minus: continue
      case ASCII.dot: places = 0
      case ASCII.digits:
        // A shortest form has at most 17 digits, and zeros where it is below one.
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
