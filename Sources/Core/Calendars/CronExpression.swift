package import Basics

// Five fields, as Debian's cron reads them, and a rule for clock changes.
//
//     minute 0-59   hour 0-23   day of the month 1-31   month 1-12 or JAN-DEC   day of the week 0-7 or SUN-SAT
//
// A field is a list of items joined by commas; an item is `*`, a value, or a range `a-b`, each with a step `/n` if
// wanted; `a/n` means `a-max/n`. 7 is Sunday, as 0 is. A step counts from the start of its range in every period.
// `@hourly @daily @midnight @weekly @monthly @yearly @annually` have their usual meanings.
//
// The two day fields. A day matches if both match, provided that either begins with `*`; if neither does, one is
// enough. For a plain `*` that is the expected behaviour; the rest gets a warning.
//
// Clock changes. An expression is wild if its minute or hour begins with `*`: it matches every wall minute that exists,
// and each minute of a repeated hour twice. Any other expression names times of day:
//   - A time that a jump leaves out is made up for at the first instant after the jump (or left out: `DSTGap.skip`),
//     once however many times were left out. A jump of more than three hours makes up for nothing.
//   - A time that the clock shows twice counts the first time (or the last, or both: `DSTFold`).
//
// The fields of `calendar` are the same five, with two differences. All of them must match, the two day fields too. And
// the day of the month may be counted from the end: `L` is the last day, `L-2` the third last, alone or in a list.

/// A schedule in five fields.
package struct CronExpression: Hashable, Sendable {
  // One bit per value.
  let minutes: UInt64
  let hours: UInt64
  let days: UInt64
  /// Days before the last one of the month, bit 0 for the last one itself.
  let daysFromEnd: UInt64
  let months: UInt64
  let weekdays: UInt64
  /// Whether the minute or the hour begins with `*`.
  package let isWild: Bool
  /// Whether a day must match both day fields rather than one.
  let needsBothDays: Bool

  /// How to treat a time that a jump of the clock leaves out.
  package enum DSTGap: String, CaseIterable, Sendable {
    case shift, skip
  }

  /// The instants that count if the clock shows a time twice.
  package enum DSTFold: String, CaseIterable, Sendable {
    case first, last, both
  }

  /// How the fields are to be understood.
  package enum Form: Sendable {
    /// As the lines of a crontab.
    case cron
    /// The fields of `calendar`: all must match.
    case calendar
  }

  /// Something wrong or doubtful in the text of an expression.
  package struct Fault: Hashable, Sendable {
    /// The fault and how to fix it: no full stop, lower case.
    package var text: MessageText
    /// The part of the text, as UTF-8 offsets.
    package var range: Range<Int>
    /// A warning says that the expression probably means something else than its author thinks.
    package var severity: Diagnostic.Severity
    /// The zone that the part names, which belongs elsewhere.
    package var zone: MisplacedZone?

    package var message: String { text.text }
    /// The suggested replacements for parts of the text.
    package var suggestions: [Suggestion] { text.suggestions }
  }

  /// A zone among the fields.
  package struct MisplacedZone: Hashable, Sendable {
    /// Its name as written; perhaps it isn't the name of a zone.
    package var name: String
    /// The part to remove so that only the fields are left, as UTF-8 offsets.
    package var removal: Range<Int>
  }

  /// Reads an expression and reports all faults at once; the expression is nil if one of them is an error.
  package static func parse(_ text: String, as form: Form = .cron) -> (expression: CronExpression?, faults: [Fault]) {
    var parser = CronParser(text, form)
    let expression = parser.parse()
    return (parser.faults.contains { $0.severity == .error } ? nil : expression, parser.faults)
  }
}

// MARK: Matching

extension CronExpression {
  /// The days of a month that match, bit 1 for the first.
  @inline(__always)
  private func days(ofMonth month: Int, firstWeekday: Int, count: Int) -> UInt64 {
    // The week's pattern six times over, shifted so that bit 0 is the first day's weekday.
    let weeks = weekdays &* 0x0008_1020_4081
    let byWeekday = (weeks &>> UInt64(firstWeekday)) &<< 1
    let existing = (2 &<< UInt64(count)) &- 2
    var byDay = days
    var fromEnd = daysFromEnd
    while fromEnd != 0 {
      // A day before the first falls out below.
      byDay |= 1 << (count - fromEnd.trailingZeroBitCount)
      fromEnd &= fromEnd &- 1
    }
    return (needsBothDays ? byDay & byWeekday : byDay | byWeekday) & existing
  }

  /// The first wall time at or after one that matches, both in local seconds; nil if none comes before the limit.
  func nextMatch(from local: Int, before limit: Int) -> Int? {
    let minute = (local + 59).flooredDivision(by: 60)
    var day = minute.flooredDivision(by: 1440)
    var minuteOfDay = minute - day * 1440
    var date = CivilDate(daysSinceEpoch: day)
    while day * 86_400 < limit {
      if months &>> UInt64(date.month) & 1 != 0 {
        let first = day - date.day + 1
        let matching = days(
          ofMonth: date.month, firstWeekday: (first + 4).flooredRemainder(by: 7),
          count: CivilDate.days(inMonth: date.month, of: date.year))
        // The day itself counts only if a time of it is left.
        if matching &>> UInt64(date.day) & 1 != 0, let time = nextTime(from: minuteOfDay) {
          let found = day * 86_400 + time * 60
          return found < limit ? found : nil
        }
        let later = matching &>> UInt64(date.day + 1)
        if later != 0, let time = nextTime(from: 0) {
          let found = (day + later.trailingZeroBitCount + 1) * 86_400 + time * 60
          return found < limit ? found : nil
        }
      }
      // On to the first of the next month.
      day += CivilDate.days(inMonth: date.month, of: date.year) - date.day + 1
      date.day = 1
      date.month += 1
      if date.month == 13 {
        date.month = 1
        date.year += 1
      }
      minuteOfDay = 0
    }
    return nil
  }

  /// How many times of a day match.
  var timesOfDay: Int { hours.nonzeroBitCount * minutes.nonzeroBitCount }

  /// The first of them, in seconds after midnight.
  var firstSecondOfDay: Int { hours.trailingZeroBitCount * 3600 + minutes.trailingZeroBitCount * 60 }

  /// The first matching minute of a day at or after one.
  @inline(__always)
  private func nextTime(from minuteOfDay: Int) -> Int? {
    let hour = minuteOfDay / 60
    let minute = minuteOfDay - hour * 60
    if hours &>> UInt64(hour) & 1 != 0 {
      let left = minutes &>> UInt64(minute)
      if left != 0 { return minuteOfDay + left.trailingZeroBitCount }
    }
    let later = hours &>> UInt64(hour + 1)
    return later == 0 ? nil : (hour + 1 + later.trailingZeroBitCount) * 60 + minutes.trailingZeroBitCount
  }
}

// MARK: The next instant

extension CronExpression {
  /// How far ahead an expression is followed: 29 February can be eight years away (2096 to 2104).
  private static let horizon = (8 * 366 + 1) * 86_400
  /// No clock is further from UTC, so that a wall time beyond the horizon by this is beyond it everywhere.
  private static let largestOffset = TimeZoneFile.largestOffset
  /// A longer jump isn't a clock change but a change of the calendar, such as Samoa's in 2011.
  private static let longestMadeUp = 3 * 3600

  /// The first due instant strictly after an instant; nil if there is none within eight years and a day.
  ///
  /// Goes through periods of constant offset in order. Within a period, local time and instants differ by a constant,
  /// so the next matching wall time is the next instant; special cases occur only where two periods meet.
  package func next(
    after instant: Timestamp, in zone: TimeZoneRules, gap: DSTGap = .shift, fold: DSTFold = .first
  ) -> Timestamp? {
    let end = instant.seconds + CronExpression.horizon
    var from = instant.seconds + 1
    var period = zone.period(atSeconds: from)
    // The match found last, which stays the next one for every later period that begins before it.
    var known: (from: Int, match: Int)?
    while true {
      var local = from + period.offset
      var localEnd = period.end == .max ? Int.max : period.end + period.offset
      if !isWild {
        if from == period.start, gap == .shift, makesUp(for: period) { return Timestamp(seconds: from) }
        if period.previousOffset > period.offset, fold == .first {
          local = max(local, period.start + period.previousOffset)
        }
        if period.nextOffset < period.offset, fold == .last {
          localEnd = period.end + period.nextOffset
        }
      }
      let match: Int
      if let known, known.from <= local, known.match >= local {
        match = known.match
      } else {
        match = nextMatch(from: local, before: end + CronExpression.largestOffset) ?? .max
      }
      if match < localEnd {
        let seconds = match - period.offset
        return seconds <= end ? Timestamp(seconds: seconds) : nil
      }
      guard period.end <= end else { return nil }
      known = (local, match)
      from = period.end
      period = zone.period(atSeconds: from)
    }
  }

  /// Whether the jump at a period's beginning left out a matching time.
  private func makesUp(for period: TimeZoneRules.Period) -> Bool {
    madeUp(for: period).map { nextMatch(from: $0.lowerBound, before: $0.upperBound) != nil } ?? false
  }

  /// The wall times, in local seconds, that the jump at a period's beginning leaves out; nil if there is no such jump,
  /// or if it is too long to be made up for.
  private func madeUp(for period: TimeZoneRules.Period) -> Range<Int>? {
    let jump = period.offset - period.previousOffset
    guard jump > 0, jump <= CronExpression.longestMadeUp else { return nil }
    let resumed = period.start + period.offset
    return resumed - jump..<resumed
  }

  /// The wall times of an instant when the schedule is due: the time that the clock shows, a time that a jump ending
  /// there left out, or both; never empty.
  package func wallTimes(
    at instant: Timestamp, in zone: TimeZoneRules, gap: DSTGap = .shift
  ) -> [CivilTime] {
    let period = zone.period(atSeconds: instant.seconds)
    let displayed = CivilTime(secondsSinceEpoch: instant.seconds + period.offset)
    guard !isWild, gap == .shift, period.start == instant.seconds, let leftOut = madeUp(for: period) else {
      return [displayed]
    }
    var times: [CivilTime] = []
    // Through the time that the clock shows, which may be named too.
    var from = leftOut.lowerBound
    while let match = nextMatch(from: from, before: leftOut.upperBound + 1) {
      times.append(CivilTime(secondsSinceEpoch: match))
      from = match + 60
    }
    return times.isEmpty ? [displayed] : times
  }
}
