import Basics
import Calendars

// Shared by the functions of wall-clock times. A time that a clock change skips means the first instant after the gap;
// a time that is shown twice means the first of the two, as in schedules (`CronExpression`).

/// The rules of a zone that an expression names.
private func rules(_ name: String) throws(EvaluationError) -> TimeZoneRules {
  do {
    return try TimeZoneDatabase.system.rules(named: name)
  } catch {
    throw EvaluationError(error.message)
  }
}

extension EvaluationContext {
  /// The rules of a zone that an expression names.
  mutating func zone(_ name: String) throws(EvaluationError) -> TimeZoneRules {
    do throws(EvaluationError) {
      return try rules(name)
    } catch {
      // Finding a suggestion searches all names.
      try charge(steps: 1000)
      throw error
    }
  }
}

/// The seconds after midnight of a time of day in an expression.
func secondOfDay(_ text: String) throws(EvaluationError) -> Int {
  if let seconds = CivilTime.secondOfDay(text) { return seconds }
  throw EvaluationError("\(written(.string(text))) isn't a time of day; write it as '02:00' or '17:30:15'")
}

/// The instant of a wall time.
func instant(
  of time: CivilTime, nanoseconds: Int32 = 0, in zone: TimeZoneRules
) throws(EvaluationError) -> Timestamp {
  guard let found = zone.instant(of: time, nanoseconds: nanoseconds) else {
    throw EvaluationError("\(time.date) is outside the years 1 to 9999")
  }
  return found
}

/// Checks constant arguments: each function receives the constant at its index and throws an error if it is invalid.
func checking(
  _ checks: (index: Int, check: @Sendable (String) throws(EvaluationError) -> Void)...
) -> FunctionDeclaration.LiteralCheck {
  { constants in
    for (index, check) in checks {
      guard constants.indices.contains(index), let text = constants[index]?.string else { continue }
      do throws(EvaluationError) { try check(text) } catch { return LiteralFault(argument: index, error.message) }
    }
    return nil
  }
}

/// The check of a zone's name.
@Sendable func checkZone(_ name: String) throws(EvaluationError) { _ = try rules(name) }

/// The check of a time of day.
@Sendable func checkClock(_ text: String) throws(EvaluationError) { _ = try secondOfDay(text) }

/// CEL's getters of timestamps with a zone: an IANA name or an offset, whose sign may be left out.
let zonedGetters: [FunctionDeclaration] = [
  getter("getFullYear", "The year", 2009) { time, _ in time.date.year },
  getter("getMonth", "The month from 0", 1) { time, _ in time.date.month - 1 },
  getter("getDate", "The day of the month from 1", 14) { time, _ in time.date.day },
  getter("getDayOfMonth", "The day of the month from 0", 13) { time, _ in time.date.day - 1 },
  getter("getDayOfWeek", "The day of the week from 0 for Sunday", 6) { time, _ in time.date.weekday },
  getter("getDayOfYear", "The day of the year from 0", 44) { time, _ in time.date.dayOfYear - 1 },
  getter("getHours", "The hour", 10) { time, _ in time.hour },
  getter("getMinutes", "The minute", 31) { time, _ in time.minute },
  getter("getSeconds", "The second", 30) { time, _ in time.second },
  getter("getMilliseconds", "The thousandths of the second", 0) { _, instant in Int(instant.nanoseconds) / 1_000_000 },
]

private func getter(
  _ name: String, _ summary: String, _ example: Int, _ get: @escaping @Sendable (CivilTime, Timestamp) -> Int
) -> FunctionDeclaration {
  // In CEL, `02:00` is an offset.
  @Sendable func signed(_ name: String) -> String {
    CivilTime.secondOfDay(name) != nil && name.utf8.count == 5 ? "+" + name : name
  }
  return FunctionDeclaration(
    name, receiver: .timestamp, parameters: [.string], result: .int,
    summary: "\(summary) that clocks in a zone show.",
    example: "timestamp('2009-02-13T23:31:30Z').\(name)('Australia/Sydney') == \(example)",
    literalCheck: checking((1, { name throws(EvaluationError) in try checkZone(signed(name)) }))
  ) { arguments, context throws(EvaluationError) in
    let instant = try arguments.timestamp(0)
    return .int(get(try context.zone(signed(arguments.string(1))).localTime(at: instant).time, instant))
  }
}
