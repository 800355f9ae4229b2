import Basics
import Calendars

/// Our own library `time`: instants in the wall-clock time of a zone.
///
/// None of these functions reads a clock; `now` is a variable. Each has a form without the zone, for the recipe's zone.
let timeFunctions: [FunctionDeclaration] = zonedFunctions.flatMap { [$0, $0.withoutZone] }

private let zonedFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "time.next", parameters: [.timestamp, .string, .string], result: .timestamp,
    summary: "The first instant after another when clocks in a zone show a time of day.",
    example:
      "time.next(timestamp('2026-11-20T09:30:00Z'), '02:00', 'Australia/Sydney') == timestamp('2026-11-20T15:00:00Z')",
    literalCheck: checking((1, checkClock), (2, checkZone))
  ) { arguments, context throws(EvaluationError) in
    let start = try arguments.timestamp(0)
    let seconds = try secondOfDay(arguments.string(1))
    let zone = try context.zone(arguments.string(2))
    var date = zone.localTime(at: start).time.date.daysSinceEpoch
    // Today's time may be past; of two days at most one is skipped by a change of the calendar.
    for _ in 0..<4 {
      let time = CivilTime(CivilDate(daysSinceEpoch: date), secondOfDay: seconds)
      date += 1
      // On a day that the zone skips, the time doesn't exist.
      if case .gap(_, let before, let after) = zone.resolve(time), after - before > 3 * 3600 { continue }
      let found = try instant(of: time, in: zone)
      if found > start { return .timestamp(found) }
    }
    throw EvaluationError("clocks in \(zone.name) do not show \(try arguments.string(1)) in the days after \(start)")
  },
  FunctionDeclaration(
    "time.at", parameters: [.timestamp, .string, .string], result: .timestamp,
    summary: "The instant on the same date when clocks in a zone show a time of day.",
    example:
      "time.at(timestamp('2026-11-20T09:30:00Z'), '08:00', 'Australia/Sydney') == timestamp('2026-11-19T21:00:00Z')",
    literalCheck: checking((1, checkClock), (2, checkZone))
  ) { arguments, context throws(EvaluationError) in
    let seconds = try secondOfDay(arguments.string(1))
    let zone = try context.zone(arguments.string(2))
    let date = zone.localTime(at: try arguments.timestamp(0)).time.date
    return .timestamp(try instant(of: CivilTime(date, secondOfDay: seconds), in: zone))
  },
  FunctionDeclaration(
    "time.startOfDay", parameters: [.timestamp, .string], result: .timestamp,
    summary: "The first instant of the date that clocks in a zone show.",
    example:
      "time.startOfDay(timestamp('2026-11-20T09:30:00Z'), 'Australia/Sydney') == timestamp('2026-11-19T13:00:00Z')",
    literalCheck: checking((1, checkZone))
  ) { arguments, context throws(EvaluationError) in
    let zone = try context.zone(arguments.string(1))
    let date = zone.localTime(at: try arguments.timestamp(0)).time.date
    return .timestamp(try instant(of: CivilTime(date), in: zone))
  },
  FunctionDeclaration(
    "time.plusDays", parameters: [.timestamp, .int, .string], result: .timestamp,
    summary: "The instant when clocks in a zone show the same time of day, the given number of days later, or earlier.",
    example:
      "time.plusDays(timestamp('2026-10-03T02:30:00Z'), 1, 'Australia/Sydney') == timestamp('2026-10-04T01:30:00Z')",
    literalCheck: checking((2, checkZone))
  ) { arguments, context throws(EvaluationError) in
    let start = try arguments.timestamp(0)
    let days = try arguments.int(1)
    let zone = try context.zone(arguments.string(2))
    // Adding 0 days must not change the second instant of a repeated time.
    guard days != 0 else { return arguments[0] }
    // No two dates are further apart.
    guard days.magnitude < 3_652_060 else { throw EvaluationError("\(days) days lead out of the years 1 to 9999") }
    let time = zone.localTime(at: start).time
    let date = CivilDate(daysSinceEpoch: time.date.daysSinceEpoch + days)
    return .timestamp(
      try instant(of: CivilTime(date, secondOfDay: time.secondOfDay), nanoseconds: start.nanoseconds, in: zone))
  },
  FunctionDeclaration(
    "time.weekday", parameters: [.timestamp, .string], result: .choice(TimeFormat.weekdays),
    summary: "The day of the week in a zone, 'Monday' to 'Sunday'.",
    example: "time.weekday(timestamp('2026-11-20T09:30:00Z'), 'Australia/Sydney') == 'Friday'",
    literalCheck: checking((1, checkZone))
  ) { arguments, context throws(EvaluationError) in
    let weekday = try context.zone(arguments.string(1)).localTime(at: try arguments.timestamp(0)).time.date.weekday
    return .string(TimeFormat.name(ofWeekday: weekday))
  },
  FunctionDeclaration(
    "time.format", parameters: [.timestamp, .string, .string], result: .string,
    summary:
      "The instant as text in a zone: %Y-%m-%d, %H:%M:%S, %A or %a (weekday), %B or %b (month), "
      + "%-d (without zero) and other clauses of strftime.",
    example:
      "time.format(timestamp('2026-11-20T09:30:00Z'), '%A %-d %B %Y, %H:%M', 'Australia/Sydney')"
      + " == 'Friday 20 November 2026, 20:30'",
    literalCheck: checking(
      (1, { text throws(EvaluationError) in try TimeFormat(text).checkClauses() }), (2, checkZone))
  ) { arguments, context throws(EvaluationError) in
    let format = try TimeFormat(arguments.string(1))
    return try context.made(format.text(of: arguments.timestamp(0), in: context.zone(arguments.string(2))))
  },
  FunctionDeclaration(
    "time.parse", parameters: [.string, .string, .string], result: .timestamp,
    summary:
      "The instant that a text names in a zone, parsed with a format as in `time.format`; midnight if it names no time.",
    example:
      "time.parse('20/11/2026 20:30', '%d/%m/%Y %H:%M', 'Australia/Sydney') == timestamp('2026-11-20T09:30:00Z')",
    literalCheck: checking(
      (1, { text throws(EvaluationError) in try TimeFormat(text).checkReadable() }), (2, checkZone))
  ) { arguments, context throws(EvaluationError) in
    let format = try TimeFormat(arguments.string(1))
    try format.checkReadable()
    try context.charge(reading: try arguments.string(0).utf8.count)
    return .timestamp(try format.instant(of: arguments.string(0), in: context.zone(arguments.string(2))))
  },
]
