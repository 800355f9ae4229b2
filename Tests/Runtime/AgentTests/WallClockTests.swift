import Basics
import Calendars
import Testing

@testable import Agent

@Suite struct WallClockTests {
  private static let start = Timestamp("2026-11-20T09:00:00Z") ?? .earliest

  private func clock(_ zone: String, at now: Timestamp = start) throws -> WallClock {
    WallClock(try TimeZoneDatabase.system.rules(named: zone), now: now)
  }

  static let dates: [(zone: String, instant: String, date: String, withOffset: String)] = [
    ("Australia/Sydney", "2026-11-20T06:30:00Z", "Fri 2026-11-20 17:30 AEDT", "Fri 2026-11-20 17:30 +11:00"),
    ("UTC", "2026-11-20T06:30:05.9Z", "Fri 2026-11-20 06:30:05 UTC", "Fri 2026-11-20 06:30:05 +00:00"),
    ("America/St_Johns", "2026-11-20T02:00:00Z", "Thu 2026-11-19 22:30 NST", "Thu 2026-11-19 22:30 -03:30"),
    // The repeated hour.
    ("Europe/Bucharest", "2026-10-25T00:30:00Z", "Sun 2026-10-25 03:30 EEST", "Sun 2026-10-25 03:30 +03:00"),
    ("Europe/Bucharest", "2026-10-25T01:30:00Z", "Sun 2026-10-25 03:30 EET", "Sun 2026-10-25 03:30 +02:00"),
  ]

  @Test(arguments: dates)
  func `instants are displayed in a zone's local time`(
    _ example: (zone: String, instant: String, date: String, withOffset: String)
  ) throws {
    let instant = try #require(Timestamp(example.instant))
    #expect(try clock(example.zone).date(instant) == example.date)
    #expect(try clock(example.zone).dateWithOffset(instant) == example.withOffset)
  }

  @Test(arguments: [
    ("2026-11-20T06:30:05.9Z", "Fri 2026-11-20 06:30 UTC"), ("2026-11-20T06:30:00Z", "Fri 2026-11-20 06:30 UTC"),
    ("1969-12-31T23:59:59Z", "Wed 1969-12-31 23:59 UTC"),
  ])
  func `an instant to the minute has no seconds`(_ instant: String, _ minute: String) throws {
    #expect(try clock("UTC").minute(try #require(Timestamp(instant))) == minute)
  }

  @Test(arguments: [
    ("approved by ann at 2026-11-20T06:30:00Z", "approved by ann at Fri 2026-11-20 17:30 AEDT"),
    ("(until 2026-11-20T06:30:05Z); it ended.", "(until Fri 2026-11-20 17:30:05 AEDT); it ended."),
    ("'2026-11-20T06:30:00Z' and 2026-11-20T07:00:00Z.", "'Fri 2026-11-20 17:30 AEDT' and Fri 2026-11-20 18:00 AEDT."),
    // An address and a name stay what they are, and so does a text that is no instant.
    ("http://a.example/?from=2026-11-20T06:30:00Z", "http://a.example/?from=2026-11-20T06:30:00Z"),
    ("x2026-11-20T06:30:00Z 2026-11-20T06:30:00Zx", "x2026-11-20T06:30:00Z 2026-11-20T06:30:00Zx"),
    ("2026-13-20T06:30:00Z: Zoo  Z", "2026-13-20T06:30:00Z: Zoo  Z"), ("", ""),
  ])
  func `a sentence has its instants in words`(_ text: String, _ told: String) throws {
    #expect(try clock("Australia/Sydney").told(text) == told)
  }

  @Test func `a clock that tells no distances says the same at any time`() throws {
    let instant = try #require(Timestamp("2026-11-21T06:30:00Z"))
    for hours in [-40, 0, 40] {
      let now = try #require(WallClockTests.start.advanced(by: .seconds(hours * 3600)))
      var clock = try clock("UTC", at: now)
      clock.tellsDistance = false
      #expect(clock.fromNow(instant) == "on Sat 2026-11-21 06:30 UTC")
      #expect(clock.dateFromNow(instant) == "Sat 2026-11-21 06:30 UTC")
    }
  }

  @Test(arguments: [
    (0, "0 ms"), (999_999, "0 ms"), (6_000_000, "6 ms"), (999_999_999, "999 ms"), (1_000_000_000, "1 s"),
    (7_440_000_000_000, "2 h 4 min"), (-1, "less than a second"),
  ])
  func `a short length of time is in milliseconds`(_ nanoseconds: Int, _ words: String) {
    #expect(TimeSpan(nanoseconds: nanoseconds).inShort == words)
  }

  static let times: [(String, String?)] = [
    ("17:30", "2026-11-20T15:30:00Z"), ("2026-11-21", "2026-11-20T22:00:00Z"),
    ("2026-11-21 02:00", "2026-11-21T00:00:00Z"), ("2026-11-21T02:00:05", "2026-11-21T00:00:05Z"),
    ("2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z"), ("2026-11-21T02:00:00+11:00", "2026-11-20T15:00:00Z"),
    // 03:30 is skipped and means the first instant after the gap; a repeated time means the first.
    ("2026-03-29 03:30", "2026-03-29T01:00:00Z"), ("2026-10-25 03:30", "2026-10-25T00:30:00Z"),
    ("", nil), ("25:00", nil), ("2026-13-01", nil), ("2026-11-21 2:00", nil), ("now", nil), ("17:30 2026-11-21", nil),
    ("2026-11-21 02:00 EET", nil),
  ]

  @Test(arguments: times) func `instants are read in local time`(_ text: String, _ instant: String?)
    throws
  {
    #expect(try clock("Europe/Bucharest").instant(text)?.description == instant)
  }

  static let spans: [(Int, String)] = [
    (0, "less than a second"), (45, "45 s"), (60, "1 min"), (245, "4 min 5 s"), (3600, "1 h"), (32_340, "8 h 59 min"),
    (86_400, "1 day"), (180_000, "2 days 2 h"), (1_000_000, "11 days 13 h"),
  ]

  @Test(arguments: spans) func `lengths of time are displayed with their two largest units`(
    _ seconds: Int, _ words: String
  ) {
    #expect(TimeSpan.seconds(seconds).inWords == words)
  }

  @Test func `instants are displayed relative to now`() throws {
    let clock = try clock("UTC")
    #expect(clock.fromNow(WallClockTests.start) == "now")
    #expect(clock.fromNow(try #require(Timestamp("2026-11-20T09:00:30Z"))) == "in 30 s")
    #expect(clock.fromNow(try #require(Timestamp("2026-11-17T09:00:00Z"))) == "3 days ago")
  }

  static let words: [(String, String)] = [
    ("put[3]/write", "'put[3]/write'"), ("#2", "'#2'"), ("fan/left", "fan/left"), ("", "''"), ("it's", #"'it'\''s'"#),
    ("weekly-report", "weekly-report"), ("né", "'né'"),
  ]

  @Test(arguments: words) func `words are quoted for shells`(_ word: String, _ quoted: String) {
    #expect(word.shellQuoted == quoted)
  }
}
