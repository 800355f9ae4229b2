/// A day of the proleptic Gregorian calendar, in no time zone.
///
/// The conversions are the well-known ones by eras of 400 years, exact for every year that fits.
public struct CivilDate: Hashable, Sendable {
  /// The year; 0 is 1 BC.
  public var year: Int
  /// The month, 1 to 12.
  public var month: Int
  /// The day of the month, from 1.
  public var day: Int

  /// Creates a date that exists, or nil.
  public init?(year: Int, month: Int, day: Int) {
    guard (1...12).contains(month), day >= 1, day <= CivilDate.days(inMonth: month, of: year) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  /// The date that a text such as `2026-11-22` names, or nil.
  public init?(written text: String) {
    let parts = text.utf8.split(separator: ASCII.minus, omittingEmptySubsequences: false)
    guard parts.map(\.count) == [4, 2, 2] else { return nil }
    let numbers = parts.compactMap { part in part.allSatisfy(ASCII.digits.contains) ? Int(Substring(part)) : nil }
    guard numbers.count == 3 else { return nil }
    self.init(year: numbers[0], month: numbers[1], day: numbers[2])
  }

  /// The date that many days after 1970-01-01.
  public init(daysSinceEpoch days: Int) {
    // Days are counted from 0000-03-01, so that a leap day ends its year.
    let shifted = days + 719_468
    let era = shifted.flooredDivision(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Days after 1970-01-01, or before it as a negative number.
  public var daysSinceEpoch: Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear.flooredDivision(by: 400)
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  /// The day of the week, 0 for Sunday to 6 for Saturday.
  public var weekday: Int { (daysSinceEpoch + 4).flooredRemainder(by: 7) }

  /// Whether a year has 366 days.
  public static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// How many days a month has, 28 to 31.
  public static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension CivilDate {
  /// Reads `2026-03-10`; nil if it isn't a date.
  public init?(_ text: String) {
    guard text.utf8.count == 10, let midnight = Timestamp("\(text)T00:00:00Z") else { return nil }
    self.init(daysSinceEpoch: midnight.seconds.flooredDivision(by: 86_400))
  }

  /// The date a number of days later, or earlier.
  public func adding(days: Int) -> CivilDate { CivilDate(daysSinceEpoch: daysSinceEpoch + days) }

  /// The Monday of the date's week.
  public var monday: CivilDate { adding(days: -(weekday + 6).flooredRemainder(by: 7)) }
}

extension CivilDate: Comparable {
  /// Whether the left day is the earlier one.
  public static func < (left: CivilDate, right: CivilDate) -> Bool {
    (left.year, left.month, left.day) < (right.year, right.month, right.day)
  }
}

extension CivilDate: CustomStringConvertible {
  /// ISO 8601: `2026-11-20`.
  public var description: String {
    let digits = String(year.magnitude)
    let padded = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    return "\(year < 0 ? "-" : "")\(padded)-\(twoDigits(month))-\(twoDigits(day))"
  }
}

/// A number below 100 in two digits.
package func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

extension Int {
  /// The quotient rounded down, for a positive divisor.
  public func flooredDivision(by divisor: Int) -> Int {
    self >= 0 ? self / divisor : (self + 1) / divisor - 1
  }

  /// The remainder that is never negative, for a positive divisor.
  public func flooredRemainder(by divisor: Int) -> Int {
    self - flooredDivision(by: divisor) * divisor
  }
}
