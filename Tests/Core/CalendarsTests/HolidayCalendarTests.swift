import Basics
import Calendars
import Testing

@Suite struct HolidayCalendarTests {
  /// The days of some lines of a calendar, as texts, with runs as `first…last`.
  static func days(_ lines: String, zone: String = "Europe/Bucharest") throws(Diagnostic) -> [String] {
    let text = "BEGIN:VCALENDAR\nVERSION:2.0\n\(lines)\nEND:VCALENDAR\n"
    let rules = (try? TimeZoneDatabase.system.rules(named: zone)) ?? .utc
    return try HolidayCalendar.days(in: Source(name: "days.ics", text: text), zone: rules).runs.map { run in
      let (first, last) = (CivilDate(daysSinceEpoch: run.lowerBound), CivilDate(daysSinceEpoch: run.upperBound))
      return first == last ? "\(first)" : "\(first)…\(last)"
    }
  }

  static func event(_ lines: String...) -> String {
    "BEGIN:VEVENT\n\(lines.joined(separator: "\n"))\nEND:VEVENT"
  }

  @Test(arguments: [
    // Days: the end does not belong to them.
    (event("DTSTART;VALUE=DATE:20261225"), ["2026-12-25"]),
    (event("DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261227"), ["2026-12-25…2026-12-26"]),
    (event("DTSTART;VALUE=DATE:20261225", "DURATION:P1W"), ["2026-12-25…2026-12-31"]),
    // Times: each day that they touch, in the schedule's zone.
    (event("DTSTART:20261224T220000Z", "DTEND:20261225T220000Z"), ["2026-12-25"]),
    (event("DTSTART:20261224T210000Z", "DTEND:20261225T220001Z"), ["2026-12-24…2026-12-26"]),
    (event("DTSTART;TZID=Australia/Sydney:20261225T000000", "DURATION:PT24H"), ["2026-12-24…2026-12-25"]),
    (event("DTSTART;TZID=\"Asia/Tokyo\":20261225T060000"), ["2026-12-24"]),
    (event("DTSTART:20261225T235960", "DURATION:PT1M"), ["2026-12-25…2026-12-26"]),
    // Months of days become one run.
    (
      event("DTSTART;VALUE=DATE:20261225") + "\n" + event("DTSTART;VALUE=DATE:20261226")
        + "\n" + event("DTSTART;VALUE=DATE:20261228"), ["2026-12-25…2026-12-26", "2026-12-28"]
    ),
    // Folded lines, alarms inside events, names in any case, and unknown lines.
    (
      event(
        "dtstart;VALUE=DA\n TE:2026\n\t1225", "SUMMARY:Crăciun: \"zi\"; liberă", "BEGIN:VALARM", "DTSTART:bad",
        "END:VALARM"),
      ["2026-12-25"]
    ),
    (event("DTSTART;VALUE=DATE:20261225", "STATUS:CANCELLED"), []),
    ("", []),
  ])
  func `knows the days that events cover`(_ lines: String, _ days: [String]) throws {
    #expect(try Self.days(lines) == days)
    #expect(try Self.days(lines.replacing("\n", with: "\r\n")) == days)
  }

  @Test(arguments: [
    ("RRULE:FREQ=YEARLY;COUNT=3", ["2026-12-25", "2027-12-25", "2028-12-25"]),
    (
      "RRULE:FREQ=WEEKLY;UNTIL=20270108;BYDAY=FR,SU",
      ["2026-12-25", "2026-12-27", "2027-01-01", "2027-01-03", "2027-01-08"]
    ),
    ("RRULE:FREQ=DAILY;INTERVAL=2;COUNT=3\nEXDATE;VALUE=DATE:20261227", ["2026-12-25", "2026-12-29"]),
    ("RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=3", ["2026-12-25", "2027-01-29", "2027-02-26"]),
    ("RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3", ["2026-12-25", "2026-12-31", "2027-01-31"]),
    ("RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;COUNT=3", ["2026-12-25", "2027-11-25", "2028-11-23"]),
    ("RDATE;VALUE=DATE:20270101,20270106", ["2026-12-25", "2027-01-01", "2027-01-06"]),
  ])
  func `repeats events`(_ lines: String, _ days: [String]) throws {
    #expect(try Self.days(Self.event("DTSTART;VALUE=DATE:20261225", lines)) == days)
  }

  @Test func `repeats for ever through the year 2099`() throws {
    let days = try Self.days(Self.event("DTSTART;VALUE=DATE:20281225", "RRULE:FREQ=YEARLY"))
    #expect(days.count == 72)
    #expect(days.last == "2099-12-25")
  }

  @Test func `lets an event stand in for one of a series`() throws {
    let series = Self.event("UID:a", "DTSTART;VALUE=DATE:20260401", "RRULE:FREQ=MONTHLY;COUNT=4")
    let moved = Self.event("UID:a", "RECURRENCE-ID;VALUE=DATE:20260501", "DTSTART;VALUE=DATE:20260504")
    let dropped = Self.event(
      "UID:a", "RECURRENCE-ID;VALUE=DATE:20260601", "DTSTART;VALUE=DATE:20260601", "STATUS:CANCELLED")
    let days = try Self.days([moved, series, dropped].joined(separator: "\n"))
    #expect(days == ["2026-04-01", "2026-05-04", "2026-07-01"])
  }

  @Test func `repeats by the clock of the event's zone and not by elapsed time`() throws {
    // 22:30 UTC in winter and 21:30 in summer, when Bucharest's day is the next one.
    let event = Self.event(
      "DTSTART;TZID=Europe/Bucharest:20260327T003000", "DURATION:PT10M", "RRULE:FREQ=DAILY;UNTIL=20260329T213000Z")
    #expect(try Self.days(event) == ["2026-03-27…2026-03-30"])
    #expect(try Self.days(event, zone: "UTC") == ["2026-03-26…2026-03-29"])
  }

  @Test(arguments: [
    ("DTSTART:yesterday", 4, "DTSTART: 'yesterday' isn't a day such as 20261225 or a time such as 20261225T090000Z"),
    ("DTSTART:20260230", 4, "DTSTART: '20260230' isn't a day such as 20261225 or a time such as 20261225T090000Z"),
    (
      "DTSTART;TZID=Nowhere:20260228T000000", 4,
      "DTSTART: 'Nowhere' isn't a time zone; write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"
    ),
    ("SUMMARY:x", 4, "the event has no DTSTART"),
    ("DTSTART:20261225\nDTEND:20261224", 5, "DTEND comes before DTSTART"),
    ("DTSTART:20261225\nDTEND:20261225T000000Z", 5, "DTEND and DTSTART must both be days or both be times"),
    ("DTSTART:20261225\nDURATION:1 day", 5, "DURATION: '1 day' isn't a duration such as P1D or PT8H"),
    (
      "DTSTART:20261225\nRRULE:FREQ=HOURLY", 5,
      "RRULE: FREQ=HOURLY is not supported; DAILY, WEEKLY, MONTHLY and YEARLY are"
    ),
    (
      "DTSTART:20261225\nRRULE:FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1", 5,
      "RRULE: BYSETPOS is not supported; list the days as RDATE"
    ),
    (
      "DTSTART:20261225\nRRULE:FREQ=WEEKLY;BYDAY=1FR", 5,
      "RRULE: days of the week with a number go with MONTHLY and YEARLY"
    ),
    ("DTSTART:20261225\nRRULE:FREQ=WEEKLY;BYDAY=XX", 5, "RRULE: BYDAY cannot hold 'XX'"),
    ("DTSTART:20261225\nRRULE:FREQ=DAILY;INTERVAL=0", 5, "RRULE: INTERVAL cannot hold '0'"),
    ("DTSTART:20261225\nRRULE:COUNT=3", 5, "RRULE: it has no FREQ"),
    ("DTSTART:20261225\nRRULE:FREQ=DAILY;COUNT=3;UNTIL=20270101", 5, "RRULE: COUNT and UNTIL exclude each other"),
    (
      "DTSTART:20261225\nRDATE;VALUE=PERIOD:20260101T000000Z/PT1H", 5,
      "RDATE is supported with days and times, not with periods"
    ),
    ("DTSTART:20261225\nEND:VCALENDAR", 5, "END:VCALENDAR found, but END:VEVENT is wanted"),
    ("DTSTART:20261225\nno colon", 5, "this isn't a line of an iCalendar file, such as DTSTART:20261225"),
  ])
  func `refuses what it cannot follow, at its line`(_ lines: String, _ line: Int, _ message: String) throws {
    let fault = try #require(throws: Diagnostic.self) { try Self.days(Self.event(lines)) }
    #expect(fault.message == message)
    let location = try #require(fault.location)
    #expect(location.source.position(at: location.range.lowerBound).line == line)
  }

  @Test(arguments: [
    ("", "this isn't an iCalendar file; one begins with BEGIN:VCALENDAR"),
    ("<html>", "this isn't a line of an iCalendar file, such as DTSTART:20261225"),
    ("VERSION:2.0", "this isn't an iCalendar file; one begins with BEGIN:VCALENDAR"),
    ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225", "the file ends before END:VEVENT; it may have been cut off"),
    (
      "BEGIN:VCALENDAR\n" + String(repeating: "BEGIN:X\n", count: 100), "components are nested too deep"
    ),
    (String(repeating: "x", count: 1 << 20) + "x", "a calendar may have 1 MiB; this one has 1048577 bytes"),
  ])
  func `refuses what is no calendar`(_ text: String, _ message: String) throws {
    let fault = try #require(throws: Diagnostic.self) {
      try HolidayCalendar.days(in: Source(name: "x.ics", text: text), zone: .utc)
    }
    #expect(fault.message == message)
  }

  /// A zone as Outlook and others write it, and an event of half an hour after midnight in it.
  static func zoned(_ name: String, _ parts: String..., on day: String) -> String {
    "BEGIN:VTIMEZONE\nTZID:\(name)\n\(parts.joined(separator: "\n"))\nEND:VTIMEZONE\n"
      + event("DTSTART;TZID=\"\(name)\":\(day)T003000", "DURATION:PT10M")
  }

  static let berlin = [
    "BEGIN:STANDARD\nDTSTART:16010101T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\n"
      + "RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD",
    "BEGIN:DAYLIGHT\nDTSTART:16010101T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n"
      + "RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3\nEND:DAYLIGHT",
  ]

  @Test(arguments: [
    // 00:30 in Berlin is the day before in UTC at either offset; in a zone west of it the same day.
    (zoned("W. Europe Standard Time", berlin[0], berlin[1], on: "20260115"), ["2026-01-14"]),
    (zoned("W. Europe Standard Time", berlin[1], berlin[0], on: "20260715"), ["2026-07-14"]),
    (
      zoned(
        "Custom", "BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:-0330\nTZOFFSETTO:-0330\nEND:STANDARD",
        on: "20260115"), ["2026-01-15"]
    ),
    // Days that are listed, and a rule that is over.
    (
      zoned(
        "/example.org/Own",
        "BEGIN:STANDARD\nDTSTART:20200101T000000\nTZOFFSETFROM:+0000\nTZOFFSETTO:-0100\n"
          + "RDATE:20250101T000000\nEND:STANDARD",
        "BEGIN:DAYLIGHT\nDTSTART:20240101T000000\nTZOFFSETFROM:-0100\nTZOFFSETTO:+0100\nEND:DAYLIGHT",
        on: "20240601"), ["2024-05-31"]
    ),
    (
      zoned(
        "Old rule",
        "BEGIN:DAYLIGHT\nDTSTART:20100328T020000\nTZOFFSETFROM:+0000\nTZOFFSETTO:+0100\n"
          + "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3;UNTIL=20120325T020000Z\nEND:DAYLIGHT",
        "BEGIN:STANDARD\nDTSTART:20101031T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0000\n"
          + "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10;UNTIL=20121028T010000Z\nEND:STANDARD", on: "20260715"),
      ["2026-07-15"]
    ),
    // A name that the system knows means that zone, whatever the file says of it.
    (
      zoned(
        "Europe/Berlin", "BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:-0900\nTZOFFSETTO:-0900\nEND:STANDARD",
        on: "20260115"), ["2026-01-14"]
    ),
  ])
  func `a zone that the file defines holds where the system knows none of its name`(
    _ lines: String, _ days: [String]
  ) throws {
    for ends in ["\n", "\r\n", "\r"] {
      #expect(try Self.days(lines.replacing("\n", with: ends), zone: "UTC") == days)
    }
  }

  @Test(arguments: [
    ("TZOFFSETFROM:+0100\nTZOFFSETTO:+01", "TZOFFSETTO: '+01' isn't an offset such as +0100"),
    ("TZOFFSETTO:+0100", "the zone 'X' has a part without TZOFFSETFROM"),
    (
      "TZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=HOURLY",
      "RRULE: FREQ=HOURLY is not supported; DAILY, WEEKLY, MONTHLY and YEARLY are"
    ),
  ])
  func `a zone that can't be read is told where it is used`(_ part: String, _ message: String) throws {
    let zone = "BEGIN:STANDARD\nDTSTART:19700101T000000\n\(part)\nEND:STANDARD"
    let fault = try #require(throws: Diagnostic.self) { try Self.days(Self.zoned("X", zone, on: "20260115")) }
    #expect(fault.message == message)
    // One that no event uses costs nothing.
    let unused = Self.zoned("X", zone, on: "20260115").replacing("TZID=\"X\"", with: "TZID=Europe/Berlin")
    #expect(try Self.days(unused, zone: "Europe/Berlin") == ["2026-01-15"])
  }

  @Test func `does not work for ever on a hostile file`() throws {
    let event = Self.event("DTSTART;VALUE=DATE:19700101", "RRULE:FREQ=DAILY")
    let fault = try #require(throws: Diagnostic.self) {
      try Self.days(Array(repeating: event, count: 1000).joined(separator: "\n"))
    }
    #expect(fault.message == "the calendar's events are repeated more than 1000000 times")
    // Rules that give nothing end as well.
    #expect(
      try Self.days(Self.event("DTSTART:20260101", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30")) == ["2026-01-01"])
    #expect(
      try Self.days(Self.event("DTSTART:99991231", "RRULE:FREQ=WEEKLY;INTERVAL=10000")) == ["9999-12-31"])
  }
}
