package import Basics

/// A date and a time of day as a clock on a wall shows them, in no time zone and to the second.
package struct CivilTime: Hashable, Sendable {
  /// The date.
  package var date: CivilDate
  /// Seconds after midnight, 0 to 86,399.
  package var secondOfDay: Int

  /// The time that many seconds after 1970-01-01T00:00:00 on the same wall.
  package init(secondsSinceEpoch seconds: Int) {
    date = CivilDate(daysSinceEpoch: seconds.flooredDivision(by: 86_400))
    secondOfDay = seconds.flooredRemainder(by: 86_400)
  }

  /// A time of a date; what is outside the day carries over to other dates.
  package init(_ date: CivilDate, secondOfDay: Int = 0) {
    self.init(secondsSinceEpoch: date.daysSinceEpoch * 86_400 + secondOfDay)
  }

  /// Seconds after 1970-01-01T00:00:00 on the same wall.
  package var secondsSinceEpoch: Int { date.daysSinceEpoch * 86_400 + secondOfDay }

  /// The hour, 0 to 23.
  package var hour: Int { secondOfDay / 3600 }
  /// The minute, 0 to 59.
  package var minute: Int { secondOfDay / 60 % 60 }
  /// The second, 0 to 59.
  package var second: Int { secondOfDay % 60 }

  /// Reads a time of day, `HH:MM` or `HH:MM:SS`, as seconds after midnight; nil if it is none.
  package static func secondOfDay(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count == 5 || bytes.count == 8 else { return nil }
    var parts: [Int] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let tens = Int(bytes[start]) - Int(ASCII.zero)
      let ones = Int(bytes[start + 1]) - Int(ASCII.zero)
      guard (0...9).contains(tens), (0...9).contains(ones), start + 2 == bytes.count || bytes[start + 2] == ASCII.colon
      else { return nil }
      parts.append(tens * 10 + ones)
    }
    let second = parts.count == 3 ? parts[2] : 0
    guard parts[0] < 24, parts[1] < 60, second < 60 else { return nil }
    return parts[0] * 3600 + parts[1] * 60 + second
  }
}

extension CivilTime: Comparable {
  package static func < (left: CivilTime, right: CivilTime) -> Bool {
    (left.date, left.secondOfDay) < (right.date, right.secondOfDay)
  }
}

extension CivilDate {
  /// The day of the year, from 1.
  package var dayOfYear: Int {
    daysSinceEpoch - CivilDate.daysSinceEpoch(year: year, month: 1) + 1
  }

  /// The first day of a month, in days after 1970-01-01.
  static func daysSinceEpoch(year: Int, month: Int) -> Int {
    CivilDate(year: year, month: month, day: 1)?.daysSinceEpoch ?? 0
  }
}
