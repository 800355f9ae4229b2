import Basics

// The rule at the end of a TZif file: POSIX's TZ, with the hours of RFC 8536 section 3.3.1 (-167 to 167).
//
//     rule   = name offset [name [offset] "," date ["/" time] "," date ["/" time]]
//     name   = three letters or more, or "<" letters, digits, "+" and "-" ">"
//     offset = [+-]hh[:mm[:ss]]      to be subtracted from local time: "EST5" is five hours behind UTC
//     date   = "J" 1…365 (29 February is never counted) | 0…365 | "M" month "." week "." weekday   (week 5: the last)
//     time   = [+-]h[hh][:mm[:ss]]   of the clock before the change; 02:00:00 if left out
//
// The first date begins daylight time, the second ends it; south of the equator the first is the later one.

/// Local time after the last transition of a TZif file.
struct TimeZoneFooter {
  var standard: TimeZoneFile.LocalTimeType
  /// Daylight time with its begin and end; nil if the clocks no longer change.
  var daylight: (type: TimeZoneFile.LocalTimeType, begin: Change, end: Change)?

  /// A day of each year, and seconds after its midnight.
  struct Change {
    var day: Day
    var time: Int

    enum Day {
      /// Counted from 1 without 29 February.
      case withoutLeapDay(Int)
      /// Counted from 0 with 29 February.
      case ofYear(Int)
      /// The first to fourth or (5) last such weekday of a month.
      case weekday(month: Int, week: Int, weekday: Int)
    }

    /// The change in one year, in local seconds since the epoch on the clock before it.
    func localSeconds(in year: Int) -> Int {
      let days: Int
      switch day {
      case .withoutLeapDay(let number):
        let leapDay = CivilDate.isLeap(year) && number >= 60 ? 1 : 0
        days = CivilDate.daysSinceEpoch(year: year, month: 1) + number - 1 + leapDay
      case .ofYear(let number):
        days = CivilDate.daysSinceEpoch(year: year, month: 1) + number
      case .weekday(let month, let week, let weekday):
        let first = CivilDate.daysSinceEpoch(year: year, month: month)
        let firstWeekday = (first + 4).flooredRemainder(by: 7)
        var number = (weekday - firstWeekday).flooredRemainder(by: 7) + (week - 1) * 7
        if number >= CivilDate.days(inMonth: month, of: year) { number -= 7 }
        days = first + number
      }
      return days * 86_400 + time
    }
  }

  /// The changes of one year in ascending order: the instant, and whether daylight time begins.
  func changes(in year: Int) -> [(at: Int, isDaylight: Bool)] {
    guard let daylight else { return [] }
    let begin = daylight.begin.localSeconds(in: year) - standard.offset
    let end = daylight.end.localSeconds(in: year) - daylight.type.offset
    return begin < end ? [(begin, true), (end, false)] : [(end, false), (begin, true)]
  }

  /// Reads a rule; nil if it is none.
  init?(_ text: ArraySlice<UInt8>) {
    var reader = Reader(rest: text)
    guard let name = reader.name(), let offset = reader.time(maximumHours: 24) else { return nil }
    standard = .init(offset: -offset, isDaylight: false, abbreviation: name)
    guard !reader.rest.isEmpty else { return }
    guard let daylightName = reader.name() else { return nil }
    var daylightOffset = standard.offset + 3600
    if let first = reader.rest.first, first != ASCII.comma {
      guard let offset = reader.time(maximumHours: 24) else { return nil }
      daylightOffset = -offset
    }
    // As libc has it of a variable without dates (tzset(3)); a file names them.
    if reader.rest.isEmpty { reader.rest = Array(",M3.2.0,M11.1.0".utf8)[...] }
    guard let begin = reader.change(), let end = reader.change(), reader.rest.isEmpty else { return nil }
    daylight = (.init(offset: daylightOffset, isDaylight: true, abbreviation: daylightName), begin, end)
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func consume(_ byte: Character) -> Bool {
      guard let first = rest.first, first == byte.asciiValue else { return false }
      rest = rest.dropFirst()
      return true
    }

    mutating func name() -> String? {
      let isQuoted = consume("<")
      let letters = rest.prefix { byte in
        switch byte {
        case ASCII.uppercase, ASCII.lowercase: true
        case ASCII.digits, ASCII.plus, ASCII.minus: isQuoted
        default: false
        }
      }
      rest = rest.dropFirst(letters.count)
      guard letters.count >= 3, !isQuoted || consume(">") else { return nil }
      return String(decoding: letters, as: UTF8.self)
    }

    mutating func number(atMost maximum: Int) -> Int? {
      let digits = rest.prefix { ASCII.digits.contains($0) }
      guard (1...3).contains(digits.count) else { return nil }
      rest = rest.dropFirst(digits.count)
      let number = digits.reduce(0) { $0 * 10 + Int($1 - ASCII.zero) }
      return number <= maximum ? number : nil
    }

    /// A signed time, in seconds.
    mutating func time(maximumHours: Int) -> Int? {
      let isNegative = consume("-")
      if !isNegative { _ = consume("+") }
      guard var seconds = number(atMost: maximumHours).map({ $0 * 3600 }) else { return nil }
      for unit in [60, 1] where consume(":") {
        guard let number = number(atMost: 59) else { return nil }
        seconds += number * unit
      }
      return isNegative ? -seconds : seconds
    }

    mutating func change() -> Change? {
      guard consume(",") else { return nil }
      let day: Change.Day
      if consume("J") {
        guard let number = number(atMost: 365), number >= 1 else { return nil }
        day = .withoutLeapDay(number)
      } else if consume("M") {
        guard let month = number(atMost: 12), month >= 1, consume("."), let week = number(atMost: 5), week >= 1,
          consume("."),
          let weekday = number(atMost: 6)
        else { return nil }
        day = .weekday(month: month, week: week, weekday: weekday)
      } else {
        guard let number = number(atMost: 365) else { return nil }
        day = .ofYear(number)
      }
      guard consume("/") else { return Change(day: day, time: 7200) }
      return time(maximumHours: 167).map { Change(day: day, time: $0) }
    }
  }
}
