import Basics

// RRULE (RFC 5545, section 3.3.10), as far as days go: FREQ=DAILY, WEEKLY, MONTHLY or YEARLY with INTERVAL, COUNT,
// UNTIL, BYMONTH, BYMONTHDAY, BYDAY and WKST. The other parts of the standard are refused, since ignoring one would
// give other days.
//
// Periods of days, weeks, months or years follow one another from the one that holds the begin, every INTERVAL of them.
// In each, a day counts if it passes all parts of the rule. If the parts leave the day within its period open, the
// begin fills it in: the day of the week of a weekly rule, of the month of a monthly one, and so on. The begin itself
// always counts, and first.

/// How an event is repeated.
struct ICalendarRule {
  private enum Frequency: String { case daily, weekly, monthly, yearly }

  private var frequency = Frequency.daily
  private var interval = 1
  private var count: Int?
  /// The last begin that may count.
  private(set) var until: CalendarMoment?
  private var months: [Int] = []
  private var monthDays: [Int] = []
  /// Days of the week; an ordinal counts them in the month or the year, from its end if it is negative, and 0 is all.
  private var weekdays: [(ordinal: Int, weekday: Int)] = []
  private var weekStart = 1

  private static let names = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]

  /// Reads the value of RRULE.
  init(
    _ property: ICalendarProperty, file: ICalendarFile, begin: CivilDate,
    moment: (String) throws(Diagnostic) -> CalendarMoment
  ) throws(Diagnostic) {
    func fault(_ message: String) -> Diagnostic { file.fault("RRULE: \(message)", property.range) }
    func numbers(_ text: Substring, _ name: String, _ range: ClosedRange<Int>) throws(Diagnostic) -> [Int] {
      var numbers: [Int] = []
      for word in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let number = Int(word), range.contains(number), number != 0 else {
          throw fault("\(name) cannot hold '\(word)'")
        }
        numbers.append(number)
      }
      return numbers
    }
    var hasFrequency = false
    for part in property.value.uppercased().split(separator: ";") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { throw fault("'\(part)' isn't a part of a rule, such as FREQ=YEARLY") }
      let (name, text) = (String(sides[0]), sides[1])
      switch name {
      case "FREQ":
        guard let word = Frequency(rawValue: text.lowercased()) else {
          throw fault("FREQ=\(text) is not supported; DAILY, WEEKLY, MONTHLY and YEARLY are")
        }
        frequency = word
        hasFrequency = true
      case "INTERVAL": interval = try numbers(text, name, 1...10_000).first ?? 1
      case "COUNT": count = try numbers(text, name, 1...Int(Int32.max)).first
      case "UNTIL": until = try moment(String(text))
      case "BYMONTH": months = Set(try numbers(text, name, 1...12)).sorted()
      case "BYMONTHDAY": monthDays = try numbers(text, name, -31...31)
      case "BYDAY":
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
          let ordinal = word.dropLast(2)
          guard let weekday = ICalendarRule.names.firstIndex(of: String(word.suffix(2))),
            let number = ordinal.isEmpty ? 0 : Int(ordinal), (-53...53).contains(number), ordinal.isEmpty || number != 0
          else { throw fault("BYDAY cannot hold '\(word)'") }
          weekdays.append((number, weekday))
        }
      case "WKST":
        guard let weekday = ICalendarRule.names.firstIndex(of: String(text)) else {
          throw fault("WKST cannot be '\(text)'")
        }
        weekStart = weekday
      default: throw fault("\(name) is not supported; list the days as RDATE")
      }
    }
    guard hasFrequency else { throw fault("it has no FREQ") }
    guard count == nil || until == nil else { throw fault("COUNT and UNTIL exclude each other") }
    if frequency == .daily || frequency == .weekly, weekdays.contains(where: { $0.ordinal != 0 }) {
      throw fault("days of the week with a number go with MONTHLY and YEARLY")
    }
    if frequency == .weekly, !monthDays.isEmpty { throw fault("BYMONTHDAY isn't allowed with FREQ=WEEKLY") }
    takeRest(from: begin)
  }

  /// Fills in the days of a period from the begin, if the rule leaves them open.
  private mutating func takeRest(from begin: CivilDate) {
    switch frequency {
    case .daily: break
    case .weekly:
      if weekdays.isEmpty { weekdays = [(0, begin.weekday)] }
    case .monthly:
      if weekdays.isEmpty, monthDays.isEmpty { monthDays = [begin.day] }
    case .yearly:
      guard weekdays.isEmpty else { break }
      if monthDays.isEmpty {
        if months.isEmpty { months = [begin.month] }
        monthDays = [begin.day]
      }
    }
  }

  /// Passes the days of the rule after its begin to `body`, through the end of a year, until it returns false.
  ///
  /// Each day that is checked takes one from the budget.
  /// - Returns: False once the budget is used up.
  func dates(from begin: CivilDate, through lastYear: Int, budget: inout Int, _ body: (CivilDate) -> Bool) -> Bool {
    let first = begin.daysSinceEpoch
    let end = CivilDate.daysSinceEpoch(year: lastYear + 1, month: 1)
    // The begin is the first.
    var left = (count ?? .max) - 1
    /// Looks at some days of a period; nil if there is no more to look at.
    func offer(_ days: some Sequence<Int>) -> Bool? {
      for day in days {
        budget -= 1
        if budget < 0 { return false }
        if day <= first { continue }
        guard left > 0, day < end else { return nil }
        let date = CivilDate(daysSinceEpoch: day)
        guard passes(date, day) else { continue }
        guard body(date) else { return nil }
        left -= 1
      }
      return true
    }
    var period = 0
    while true {
      let continues: Bool?
      switch frequency {
      case .daily:
        continues = offer(CollectionOfOne(first + period))
      case .weekly:
        let week = first - (begin.weekday - weekStart).flooredRemainder(by: 7) + period * 7
        continues = offer(week..<week + 7)
      case .monthly:
        let month = begin.month - 1 + period
        continues = offer(days(ofMonth: month % 12 + 1, in: begin.year + month / 12))
      case .yearly:
        let year = begin.year + period
        var result: Bool? = true
        for month in months.isEmpty ? Array(1...12) : months where result == true {
          result = offer(days(ofMonth: month, in: year))
        }
        continues = result
      }
      // Rules whose months never have such a day end here too.
      guard let continues else { return true }
      guard continues else { return false }
      period += interval
      if left <= 0 { return true }
    }
  }

  /// The days of a month that may count, in order: one is enough where it is named, and the first tells when to end.
  private func days(ofMonth month: Int, in year: Int) -> [Int] {
    let start = CivilDate.daysSinceEpoch(year: year, month: month)
    let length = CivilDate.days(inMonth: month, of: year)
    if year > HolidayCalendar.years.upperBound { return [start] }
    if monthDays.isEmpty { return Array(start..<start + length) }
    let days = Set(monthDays.map { $0 > 0 ? $0 : length + 1 + $0 }).filter { (1...length).contains($0) }
    return days.sorted().map { start + $0 - 1 }
  }

  private func passes(_ date: CivilDate, _ day: Int) -> Bool {
    if !months.isEmpty, !months.contains(date.month) { return false }
    let length = CivilDate.days(inMonth: date.month, of: date.year)
    if !monthDays.isEmpty, !monthDays.contains(where: { $0 == date.day || $0 == date.day - length - 1 }) {
      return false
    }
    if weekdays.isEmpty { return true }
    let weekday = date.weekday
    // Where days with a number are counted: in the year only if no months are named.
    let isInYear = frequency == .yearly && months.isEmpty
    let index = isInYear ? date.dayOfYear - 1 : date.day - 1
    let total = isInYear ? (CivilDate.isLeap(date.year) ? 366 : 365) : length
    return weekdays.contains { item in
      item.weekday == weekday
        && (item.ordinal == 0 || item.ordinal == index / 7 + 1 || item.ordinal == -((total - 1 - index) / 7 + 1))
    }
  }
}
