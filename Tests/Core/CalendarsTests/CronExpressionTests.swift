import Basics
import Calendars
import Testing

@Suite struct CronExpressionTests {
  /// Faults as `error 0-2: …`.
  private func faults(_ text: String) -> [String] {
    CronExpression.parse(text).faults.map {
      "\($0.severity) \($0.range.lowerBound)-\($0.range.upperBound): \($0.message)"
    }
  }

  @Test(arguments: [
    ("", "error 0-0: a cron expression has five fields (minute, hour, day, month, weekday); this one is empty"),
    (
      "0 9 * *",
      "error 0-7: a cron expression has five fields and this one has 4; write minute, hour, day of the month, month and day of the week"
    ),
    (
      "0 0 9 * * 1",
      "error 0-11: a cron expression has five fields and this one has 6; leave out the first if it counts seconds, as other programs have it, or the last if it is a year"
    ),
    ("60 9 * * *", "error 0-2: 60 isn't a minute; write 0-59"),
    ("0 24 * * *", "error 2-4: 24 isn't an hour; write 0-23"),
    ("0 9 0 * *", "error 4-5: 0 isn't a day of the month; write 1-31"),
    ("0 9 * JNA *", "error 6-9: 'JNA' isn't a month; did you mean 'JAN'?"),
    ("0 9 * * Monday", "error 8-14: 'Monday' isn't a day of the week; did you mean 'MON'?"),
    ("0 9 * * 8", "error 8-9: 8 isn't a day of the week; write 0-7 or SUN-SAT"),
    ("0 22-6 * * *", "error 2-6: the range '22-6' runs backwards; write '22-23,0-6'"),
    ("0 9 * * SAT-SUN", "error 8-15: the range 'SAT-SUN' runs backwards; write 'SAT,SUN'"),
    ("0 9 * * 7-2", "error 8-11: the range '7-2' runs backwards; write '0-2'"),
    ("0 9 L * *", "error 4-5: 'L' isn't a day of the month; 'L' is not supported; use the key `calendar` for it"),
    ("0 9 ? * 1", "error 4-5: '?' isn't a day of the month; '?' is not supported; write '*'"),
    (
      "0 9 * * 5#2",
      "error 8-11: '5#2' isn't a day of the week; '#' is not supported; for a second Monday use the key `calendar` with dayOfMonth: 8-14 and dayOfWeek: MON"
    ),
    (
      "H 9 * * *", "error 0-1: 'H' isn't a minute; 'H' is not supported; write a value, and `jitter` to spread runs out"
    ),
    (
      "0~30 9 * * *",
      "error 0-4: '0~30' isn't a minute; '~' is not supported; write a value, and `jitter` to spread runs out"
    ),
    ("*/0 * * * *", "error 2-3: '0' isn't a step; write a number from 1, as in '*/15'"),
    ("1,,2 9 * * *", "error 2-2: an item is missing beside the comma; write values as in '1,15'"),
    ("1-2-3 9 * * *", "error 0-5: '1-2-3' isn't a range; write two values, as in '1-5'"),
    ("*/2/3 9 * * *", "error 0-5: '*/2/3' has two steps; write one, as in '*/15'"),
    ("-5 9 * * *", "error 0-0: a value is missing; write 0-59"),
    ("0 9 30 2 *", "error 4-8: none of these months has such a day, so the schedule would never be due"),
    ("0 9 31 4,6,9,11 *", "error 4-15: none of these months has such a day, so the schedule would never be due"),
    ("@reboot", "error 0-7: '@reboot' isn't a time; run the recipe from a unit that starts with the machine"),
    ("@every 5m", "error 0-6: '@every' is not cron; use the key `every`, as in `every: 90m`"),
    ("@dayly", "error 0-6: '@dayly' is unknown; did you mean '@daily'?"),
    ("@daily 5", "error 6-8: '@daily' replaces all five fields (0 0 * * *); leave out what follows"),
    (
      "CRON_TZ=Asia/Tokyo 0 9 * * *",
      "error 0-18: 'CRON_TZ=Asia/Tokyo' doesn't belong here; name the zone with the key `zone`"
    ),
    ("0 9 * * * Asia/Tokyo", "error 10-20: 'Asia/Tokyo' doesn't belong here; name the zone with the key `zone`"),
    ("９ 9 * * *", "error 0-3: '９' isn't a minute; write 0-59"),
    ("99999999999999999999 9 * * *", "error 0-20: '99999999999999999999' isn't a minute; write 0-59"),
  ])
  func `refuses with the place and the fix`(_ text: String, _ fault: String) {
    #expect(CronExpression.parse(text).expression == nil)
    #expect(faults(text) == [fault])
  }

  @Test func `finds every fault at once`() {
    #expect(
      faults("61 25 32 13 9").map { $0.prefix { $0 != ";" } } == [
        "error 0-2: 61 isn't a minute", "error 3-5: 25 isn't an hour", "error 6-8: 32 isn't a day of the month",
        "error 9-11: 13 isn't a month", "error 12-13: 9 isn't a day of the week",
      ])
  }

  @Test(arguments: [
    (
      "*/25 * * * *",
      "warning 0-4: '*/25' is 0, 25, 50 and then begins anew, so the last gap is shorter; use the key `every` for even ones"
    ),
    (
      "0 */7 * * *",
      "warning 2-5: '*/7' is 0, 7, 14, 21 and then begins anew, so the last gap is shorter; use the key `every` for even ones"
    ),
    (
      "*/90 * * * *",
      "warning 0-4: '*/90' is 0 alone, because a step begins anew every period; use the key `every` for longer ones"
    ),
    (
      "0 9 13 * FRI",
      "warning 4-12: with both day fields given, either is enough ('13' or 'FRI'); use the key `calendar` where both must hold"
    ),
    ("0 9 */2 * MON", "warning 4-13: because '*/2' begins with '*', both day fields must hold"),
    ("0 9 1-7 * */2", "warning 4-13: because '*/2' begins with '*', both day fields must hold"),
    ("0 9 31 * *", "warning 4-6: day 31 does not exist in every month; use the key `calendar` for the last day"),
    ("* 9 * * *", "warning 0-1: '*' runs every minute of the hour; write '0' for once"),
  ])
  func `warns of the traps`(_ text: String, _ fault: String) {
    #expect(CronExpression.parse(text).expression != nil)
    #expect(faults(text) == [fault])
  }

  @Test(arguments: [
    ("@hourly", "0 * * * *"), ("@Daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@weekly", "0 0 * * SUN"),
    ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 JAN *"),
    ("0 9 * * 7", "0 9 * * 0"), ("0 9 * * SUN-SAT", "0 9 * * 0-6"), ("0 9 * * 5-7", "0 9 * * FRI,sat,Sun"),
    ("05 009 * jan-MAR/2 *", "5 9 * 1,3 *"), ("10/20 9 * * *", "10,30,50 9 * * *"),
    ("  0\t9 * * 1-5,1 ", "0 9 * * 1-5"),
    ("0 9 * * 1/2", "0 9 * * 1,3,5"), ("0 9 * * 7/2", "0 9 * * 0"),
  ])
  func `reads equal things as equal`(_ left: String, _ right: String) {
    #expect(CronExpression.parse(left).expression != nil)
    #expect(CronExpression.parse(left).expression == CronExpression.parse(right).expression)
  }

  @Test(arguments: [
    // Strictly after, and seconds in the start.
    ("0 9 * * *", "UTC", "2026-11-20T09:00:00Z", "2026-11-21T09:00:00Z"),
    ("0 9 * * *", "UTC", "2026-11-20T08:59:59.999Z", "2026-11-20T09:00:00Z"),
    ("30 17 * * FRI", "Australia/Sydney", "2026-11-20T10:00:00Z", "2026-11-27T06:30:00Z"),
    // 29 February across a year that isn't a leap year.
    ("0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"),
    // Gap: New York, 02:30 on 8 March 2026, is made up for at 03:00. A wildcard in the minutes continues as usual.
    ("30 2 * * *", "America/New_York", "2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z"),
    ("*/30 * * * *", "America/New_York", "2026-03-08T06:30:00Z", "2026-03-08T07:00:00Z"),
    // Fold: 01:30 on 1 November 2026 counts the first time only.
    ("30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"),
    ("30 * * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"),
    // A start inside the repeated hour.
    ("45 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", "2026-11-02T06:45:00Z"),
    // São Paulo had no midnight on 4 November 2018.
    ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z"),
    // Apia had no 30 December 2011; a time on that day isn't made up for.
    ("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2012-12-29T19:00:00Z"),
    ("0 9 * * *", "Pacific/Apia", "2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z"),
    // St John's changed at 00:01 until 2011.
    ("1 0 * * *", "America/St_Johns", "2010-03-13T12:00:00Z", "2010-03-14T03:31:00Z"),
    // Beyond every file's table.
    ("30 2 * * *", "America/New_York", "2400-03-12T06:00:00Z", "2400-03-12T07:00:00Z"),
    // A zone with seconds in its offset.
    ("0 12 * * *", "Africa/Monrovia", "1960-01-01T00:00:00Z", "1960-01-01T12:44:30Z"),
    ("0 9 * * *", "+05:30", "2026-11-20T00:00:00Z", "2026-11-20T03:30:00Z"),
  ])
  func `knows the next instant`(_ text: String, _ zone: String, _ after: String, _ next: String) throws {
    let cron = try parsed(text)
    let rules = try TimeZoneDatabase.system.rules(named: zone)
    #expect(try cron.next(after: instant(after), in: rules)?.description == next)
  }

  @Test(arguments: [
    (
      CronExpression.DSTGap.skip, CronExpression.DSTFold.first, "30 2 * * *", "2026-03-08T06:00:00Z",
      "2026-03-09T06:30:00Z"
    ),
    (.shift, .last, "30 1 * * *", "2026-11-01T04:00:00Z", "2026-11-01T06:30:00Z"),
    (.shift, .both, "30 1 * * *", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"),
  ])
  func `obeys the keys for clock changes`(
    _ gap: CronExpression.DSTGap, _ fold: CronExpression.DSTFold, _ text: String, _ after: String, _ next: String
  ) throws {
    let cron = try parsed(text)
    let rules = try TimeZoneDatabase.system.rules(named: "America/New_York")
    let found = try cron.next(after: instant(after), in: rules, gap: gap, fold: fold)
    #expect(found?.description == next)
  }

  @Test func `gives up after eight years`() throws {
    // 29 February on a Saturday or Sunday, by a star that joins both day fields with "and".
    let cron = try parsed("0 0 29 2 */6")
    let start = try instant("2032-03-01T00:00:00Z")
    #expect(cron.next(after: start, in: .utc) == nil)
    let daily = try parsed("@daily")
    #expect(daily.next(after: .latest, in: .utc) == nil)
  }

  @Test func `two times in one gap are due once`() throws {
    let cron = try parsed("10,40 2 * * *")
    let rules = try TimeZoneDatabase.system.rules(named: "America/New_York")
    let first = try #require(cron.next(after: instant("2026-03-08T05:00:00Z"), in: rules))
    #expect(first.description == "2026-03-08T07:00:00Z")
    #expect(cron.next(after: first, in: rules)?.description == "2026-03-09T06:10:00Z")
  }
}

/// An expression that the test takes for granted.
private func parsed(_ text: String) throws -> CronExpression {
  try #require(CronExpression.parse(text).expression)
}

/// An instant that the test takes for granted.
private func instant(_ text: String) throws -> Timestamp {
  try #require(Timestamp(text))
}
