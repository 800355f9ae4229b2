import Basics
import Testing

@testable import Calendars

@Suite struct ICalendarWriterTests {
  private func event(_ summary: String, location: String = "", details: String = "") throws -> ICalendar.Event {
    var event = ICalendar.Event(
      uid: "1@x", stamp: try #require(Timestamp("2026-03-02T06:04:10.5Z")),
      start: try #require(Timestamp("2026-03-30T05:00:00Z")), end: try #require(Timestamp("2026-03-30T07:00:00Z")),
      summary: summary)
    event.location = location
    event.details = details
    return event
  }

  @Test func `writes a calendar`() throws {
    var calendar = ICalendar(name: "Orar, 511", product: "-//X//Y//EN")
    calendar.events = [try event("Logic; II (lab)", location: "A\\1, Strada Lungă 1", details: "one\r\ntwo\u{0}")]
    #expect(
      calendar.text.split(separator: "\r\n", omittingEmptySubsequences: false) == [
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//X//Y//EN", "CALSCALE:GREGORIAN", "NAME:Orar\\, 511",
        "X-WR-CALNAME:Orar\\, 511", "BEGIN:VEVENT", "UID:1@x", "DTSTAMP:20260302T060410Z", "DTSTART:20260330T050000Z",
        "DTEND:20260330T070000Z", "SUMMARY:Logic\\; II (lab)", "LOCATION:A\\\\1\\, Strada Lungă 1",
        "DESCRIPTION:one\\ntwo", "END:VEVENT", "END:VCALENDAR", "",
      ])
  }

  @Test(arguments: ["a", "ă", "–", "🌿", "e\u{301}"])
  func `folds lines between characters, at 75 octets`(_ character: String) throws {
    let summary = String(repeating: character, count: 100)
    var calendar = ICalendar(name: "n", product: "p")
    calendar.events = [try event(summary)]
    let lines = Array(calendar.text.utf8).split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
    // With the CR, which does not count.
    #expect(lines.allSatisfy { $0.count <= 76 && $0.last == 0x0D })
    #expect(lines.allSatisfy { String(validating: $0, as: UTF8.self) != nil })
    let unfolded = lines.reduce(into: [UInt8]()) { bytes, line in
      let isMore = line.first == 0x20
      bytes += (isMore ? [] : [0x0A]) + line.dropFirst(isMore ? 1 : 0).dropLast()
    }
    #expect(unfolded.split(separator: 0x0A).contains { $0.elementsEqual("SUMMARY:\(summary)".utf8) })
  }
}
