import Basics

// When something is due, in words: `every weekday at 17:30`, `every 15 minutes on Saturdays and Sundays`, `at 09:00 on
// the 1st and 15th of every month`. If the words would be longer than the five fields, the fields are given instead.

extension Recurrence {
  /// When it is due, in words, in its own zone and without the zone's name.
  package var words: String {
    var words =
      switch rule {
      case .cron(let expression), .calendar(let expression): expression.words
      case .every(let interval, from: _): "every \(interval.interval)"
      case .at: "once"
      }
    if !except.runs.isEmpty { words += ", but for some days" }
    return words
  }
}

extension CronExpression {
  private static let everyMinute: UInt64 = (1 << 60) - 1
  private static let everyHour: UInt64 = (1 << 24) - 1
  private static let everyDay: UInt64 = (1 << 32) - 2
  private static let everyMonth: UInt64 = (1 << 13) - 2
  private static let everyWeekday: UInt64 = (1 << 7) - 1
  private static let weekdayNames = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]
  private static let monthNames = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
  ]
  /// More times than these are not listed one by one.
  private static let mostTimes = 4

  package var words: String {
    guard let days = dayWords, let time = timeWords else { return fields }
    let months =
      self.months == CronExpression.everyMonth
      ? "" : " in \(listed(self.months.bits.map { CronExpression.monthNames[$0 - 1] }))"
    // `at 17:30` reads better after its days, `every 15 minutes` before them.
    if case .at(let at) = time { return (days.isEmpty ? "every day" : days) + months + " at \(at)" }
    guard case .every(let every) = time else { return fields }
    return every + (days.isEmpty ? "" : days.hasPrefix("every") ? ", \(days)" : " \(days)") + months
  }

  private enum Times {
    case at(String)
    case every(String)
  }

  private var timeWords: Times? {
    let minutes = self.minutes.bits
    let hours = self.hours.bits
    let allHours = self.hours == CronExpression.everyHour
    if allHours, self.minutes == CronExpression.everyMinute { return .every("every minute") }
    if allHours, minutes == [0] { return .every("every hour") }
    if allHours, minutes.count == 1 { return .every("every hour at \(minutes[0]) past") }
    if allHours, let step = step(of: minutes, in: 60) { return .every("every \(step) minutes") }
    if minutes == [0], isWild, let step = step(of: hours, in: 24) { return .every("every \(step) hours") }
    guard minutes.count * hours.count <= CronExpression.mostTimes else { return nil }
    return .at(listed(hours.flatMap { hour in minutes.map { "\(twoDigits(hour)):\(twoDigits($0))" } }))
  }

  /// How far apart values are that go through a whole round in equal steps from 0.
  private func step(of values: [Int], in round: Int) -> Int? {
    guard values.count > 1, values[0] == 0, round % values.count == 0 else { return nil }
    let step = round / values.count
    return values == Array(stride(from: 0, to: round, by: step)) ? step : nil
  }

  private var dayWords: String? {
    let weekdays = self.weekdays.bits
    let allDays = days == CronExpression.everyDay
    let allWeekdays = self.weekdays == CronExpression.everyWeekday
    if allDays, allWeekdays { return "" }
    let weekly: String =
      switch weekdays {
      case [1, 2, 3, 4, 5]: "every weekday"
      default:
        weekdays.count == 1
          ? "every \(CronExpression.weekdayNames[weekdays[0]])"
          : "on \(listed(weekdays.map { "\(CronExpression.weekdayNames[$0])s" }))"
      }
    if allDays { return weekly }
    let dates = days.bits.map { ordinal($0) } + daysFromEnd.bits.map { $0 == 0 ? "last" : "\(ordinal($0 + 1)) last" }
    guard dates.count <= 2 * CronExpression.mostTimes else { return nil }
    let ofMonth = months == CronExpression.everyMonth ? " of every month" : ""
    let monthly = "on the \(listed(dates))\(ofMonth)"
    if allWeekdays { return monthly }
    return needsBothDays ? nil : "\(monthly) and \(weekly)"
  }

  /// The five fields with names and steps written out.
  package var fields: String {
    func field(_ bits: UInt64, _ all: UInt64) -> String {
      if bits == all { return "*" }
      var parts: [String] = []
      var rest = bits.bits[...]
      while let first = rest.popFirst() {
        var last = first
        while rest.first == last + 1 { last = rest.removeFirst() }
        parts.append(last > first + 1 ? "\(first)-\(last)" : last > first ? "\(first),\(last)" : "\(first)")
      }
      return parts.joined(separator: ",")
    }
    let fromEnd = daysFromEnd.bits.map { $0 == 0 ? "L" : "L-\($0)" }
    let byDate = days == 0 ? [] : [field(days, CronExpression.everyDay)]
    return [
      field(minutes, CronExpression.everyMinute), field(hours, CronExpression.everyHour),
      (byDate + fromEnd).joined(separator: ","), field(months, CronExpression.everyMonth),
      field(weekdays, CronExpression.everyWeekday),
    ].joined(separator: " ")
  }
}

private func listed(_ words: [String]) -> String {
  let (head, last) = (words.dropLast(), words.last ?? "")
  return head.isEmpty ? last : "\(head.joined(separator: ", ")) and \(last)"
}

private func ordinal(_ number: Int) -> String {
  let suffix =
    switch number % 10 {
    case 1 where number != 11: "st"
    case 2 where number != 12: "nd"
    case 3 where number != 13: "rd"
    default: "th"
    }
  return "\(number)\(suffix)"
}

extension UInt64 {
  /// The numbers of the bits that are set, in order.
  fileprivate var bits: [Int] { (0..<64).filter { self & 1 << UInt64($0) != 0 } }
}

extension TimeSpan {
  /// The length after `every`: `90 minutes`, `hour`, `2 days`.
  fileprivate var interval: String {
    let units = [
      ("day", 86_400_000_000_000), ("hour", 3_600_000_000_000), ("minute", 60_000_000_000), ("second", 1_000_000_000),
    ]
    for (name, length) in units where nanoseconds >= length && nanoseconds % length == 0 {
      let count = nanoseconds / length
      return count == 1 ? name : "\(count) \(name)s"
    }
    return "\(self)"
  }
}
