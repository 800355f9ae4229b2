import Basics
import Expressions
import Testing

@Suite struct TimeLibraryTests {
  /// Evaluates with `now` as a variable.
  private func outcome(_ text: String, now: String) throws -> String {
    var scope = ExpressionScope()
    scope.declare("now", .timestamp)
    let value = try CompiledExpression.compile(text, in: scope).get().evaluate([.timestamp(#require(Timestamp(now)))])
    return value.timestamp?.description ?? value.string ?? value.int.map(String.init) ?? "\(value)"
  }

  @Test(arguments: [
    // Strictly after, today or tomorrow.
    ("time.next(now, '02:00', 'Australia/Sydney')", "2026-11-20T15:00:00Z", "2026-11-21T15:00:00Z"),
    ("time.next(now, '02:00', 'Australia/Sydney')", "2026-11-20T14:59:59.5Z", "2026-11-20T15:00:00Z"),
    ("time.next(now, '02:00:30', 'UTC')", "2026-11-20T02:00:00Z", "2026-11-20T02:00:30Z"),
    // In a gap the first instant after it, in a repeated hour the first time.
    ("time.next(now, '02:30', 'America/New_York')", "2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"),
    ("time.next(now, '01:30', 'America/New_York')", "2026-11-01T04:00:00Z", "2026-11-01T05:30:00Z"),
    ("time.next(now, '01:30', 'America/New_York')", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"),
    // Samoa had no 30 December 2011.
    ("time.next(now, '09:00', 'Pacific/Apia')", "2011-12-29T20:00:00Z", "2011-12-30T19:00:00Z"),
    ("time.at(now, '00:00', 'America/Sao_Paulo')", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z"),
    ("time.startOfDay(now, 'America/Sao_Paulo')", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z"),
    ("time.startOfDay(now, 'Asia/Kathmandu')", "2026-11-20T18:15:00Z", "2026-11-20T18:15:00Z"),
    ("time.plusDays(now, 1, 'America/New_York')", "2026-03-07T17:00:00.25Z", "2026-03-08T16:00:00.25Z"),
    ("time.plusDays(now, -1, 'America/New_York')", "2026-03-09T06:30:00Z", "2026-03-08T07:00:00Z"),
    ("time.plusDays(now, 0, 'America/New_York')", "2026-11-01T06:30:00Z", "2026-11-01T06:30:00Z"),
    ("time.weekday(now, 'Pacific/Kiritimati')", "2026-11-20T10:00:00Z", "Saturday"),
    (
      "time.format(now, '%F %T %z %:z %Z', 'Australia/Lord_Howe')", "2026-07-01T00:00:00Z",
      "2026-07-01 10:30:00 +1030 +10:30 +1030"
    ),
    ("time.format(now, '%Y-%m-%d', '-03:30')", "2026-01-01T03:29:59Z", "2025-12-31"),
    ("time.format(now, '%a %-d %b %y, %-I:%M %p', 'UTC')", "2026-03-05T00:07:00Z", "Thu 5 Mar 26, 12:07 AM"),
    ("time.format(now, '%G-W%V-%u %j', 'UTC')", "2027-01-01T00:00:00Z", "2026-W53-5 001"),
    ("time.format(now, '%G-W%V-%u %w', 'UTC')", "2024-12-30T00:00:00Z", "2025-W01-1 1"),
    ("time.format(now, '%s 100%% %R', 'UTC')", "1970-01-01T00:01:00Z", "60 100% 00:01"),
    (
      "string(time.parse('5 march 2026', '%d %B %Y', 'Europe/Bucharest'))", "1970-01-01T00:00:00Z",
      "2026-03-04T22:00:00Z"
    ),
    ("time.parse('12:05 am 03/04/26', '%I:%M %p %d/%m/%y', 'UTC')", "1970-01-01T00:00:00Z", "2026-04-03T00:05:00Z"),
    ("time.parse('2026-11-20T20:30:00+11:00', '%FT%T%z', 'UTC')", "1970-01-01T00:00:00Z", "2026-11-20T09:30:00Z"),
    ("time.parse('-60', '%s', 'UTC')", "1970-01-01T00:00:00Z", "1969-12-31T23:59:00Z"),
    ("now.getHours('02:00')", "2026-11-20T09:30:00Z", "11"),
    ("now.getDayOfYear('Asia/Tokyo')", "2026-12-31T20:00:00Z", "0"),
  ])
  func `knows the clocks of zones`(_ text: String, _ now: String, _ result: String) throws {
    #expect(try outcome(text, now: now) == result)
  }

  @Test(arguments: [
    ("time.next(timestamp(0), '2:00', 'UTC')", "'2:00' isn't a time of day; write it as '02:00' or '17:30:15'"),
    ("time.next(timestamp(0), '24:00', 'UTC')", "'24:00' isn't a time of day; write it as '02:00' or '17:30:15'"),
    (
      "time.next(timestamp(0), '02:00', 'Australia/Sidney')",
      "'Australia/Sidney' isn't a time zone; did you mean 'Australia/Sydney'?"
    ),
    ("timestamp(0).getHours('Sydney')", "'Sydney' isn't a time zone; did you mean 'Australia/Sydney'?"),
    (
      "time.format(timestamp(0), '%Q', 'UTC')",
      "'%Q' has a clause that is unknown; there are %Y %m %d %H %M %S, %A %a %B %b %-d and the like of strftime, and %% for a percent sign"
    ),
    ("time.parse('1', '%d', 'UTC')", "'%d' reads no whole date; it needs a year (%Y), a month (%m) and a day (%d)"),
    ("time.parse('1', '%F %I', 'UTC')", "%I and %p are of use together only; the hour to 23 is %H"),
    ("time.parse('1', '%F %V', 'UTC')", "%V is for time.format() only; read the date by %Y, %m and %d"),
  ])
  func `constants are read when checked`(_ text: String, _ message: String) {
    #expect(ExpressionsTests.outcome(text) == "checked: \(message)")
  }

  @Test(arguments: [
    ("31/02/2026", "'31/02/2026' does not fit '%d/%m/%Y': there is no day 31 in month 2 of 2026"),
    ("1/2", "'1/2' does not fit '%d/%m/%Y': '/' is missing at the end"),
    ("1/2/26", "'1/2/26' does not fit '%d/%m/%Y': %Y finds nothing it can read at '26'"),
    ("1/13/2026", "'1/13/2026' does not fit '%d/%m/%Y': %m finds nothing it can read at '/2026'"),
    ("1/2/2026 ", "'1/2/2026 ' does not fit '%d/%m/%Y': ' ' is left over"),
  ])
  func `says what does not fit a format`(_ text: String, _ message: String) {
    #expect(ExpressionsTests.outcome("string(time.parse(s, '%d/%m/%Y', 'UTC'))", ["s": text]) == "ran: \(message)")
  }

  @Test func `a weekday that is not the date's is refused`() {
    #expect(
      ExpressionsTests.outcome("string(time.parse(s, '%A %F', 'UTC'))", ["s": "Monday 2026-11-20"])
        == "ran: 'Monday 2026-11-20' does not fit '%A %F': 2026-11-20 is a Friday")
  }

  @Test func `a weekday compares with weekdays only`() {
    #expect(
      ExpressionsTests.outcome("time.weekday(timestamp(0), 'UTC') == 'friday'").hasPrefix("checked: "))
  }
}
