import ActionKit
import ActionTestKit
import Testing

@testable import TimetablePlugin

@Suite struct WeekTests {
  private static func calendar(_ periods: String) throws -> AcademicCalendar {
    let semester =
      #"{"semester":1,"teachingStartsOn":"2026-03-02","teachingEndsOn":"2026-06-07","periods":[\#(periods)]}"#
    let text =
      #"{"academicYear":"2025-2026","sourceUrl":"https://x","calendars":[{"languages":["ro"],"#
      + #""studyYearKind":"nonterminal","semesters":[\#(semester),\#(semester)]}]}"#
    return try AcademicCalendar(answer: try JSON.parse(text), as: "calendar")
  }

  private static func period(_ type: String, _ start: String, _ end: String) -> String {
    #"{"type":"\#(type)","startDate":"2026-\#(start)","endDate":"2026-\#(end)"}"#
  }

  /// Teaching from a Wednesday to a Tuesday; then a break to Thursday, in the middle of a week; then on.
  @Test(arguments: [
    ("2026-03-03", "no teaching period"), ("2026-03-04", "week1 1"), ("2026-03-09", "week2 2"),
    ("2026-03-10", "week2 2"), ("2026-03-11", "vacation"), ("2026-03-12", "vacation"), ("2026-03-13", "week2 2"),
    ("2026-03-16", "week1 3"), ("2026-03-17", "no teaching period"),
  ])
  func `counts a week that teaching only touches, and holds no classes outside it`(_ text: String, _ expected: String)
    throws
  {
    let calendar = try Self.calendar(
      [
        Self.period("teaching", "03-04", "03-10"), Self.period("vacation", "03-11", "03-12"),
        Self.period("teaching", "03-13", "03-16"),
      ].joined(separator: ","))
    #expect(words(TeachingWeeks(calendar: calendar, language: .ro).week(of: try date(text))) == expected)
  }

  @Test func `begins a semester at a weekend with the week after it`() throws {
    let calendar = try Self.calendar(Self.period("teaching", "03-07", "03-20"))
    let weeks = TeachingWeeks(calendar: calendar, language: .ro)
    #expect(words(weeks.week(of: try date("2026-03-08"))) == "no weekday of teaching")
    #expect(words(weeks.week(of: try date("2026-03-09"))) == "week1 1")
  }

  @Test(arguments: [
    ("2026-03-08", "week2"), ("2026-03-09", "week1"), ("2026-03-15", "week1"), ("2026-03-16", "week2"),
    ("2026-03-02", "week2"), ("2026-02-23", "week1"), ("2027-03-08", "week1"),
  ])
  func `counts from a known Monday, both ways`(_ text: String, _ expected: String) throws {
    let weeks = TeachingWeeks(anchor: try date("2026-03-09"))
    #expect(words(weeks.week(of: try date(text))) == expected)
  }

  @Test func `goes by the first rule that can tell`() throws {
    let calendar = try Self.calendar(Self.period("teaching", "03-02", "03-20"))
    let anchor = try date("2026-03-09")
    let day = try date("2026-03-03")
    func week(_ explicit: TeachingWeek.Parity?, _ language: TeachingLanguage?, _ anchor: CivilDate?) -> String {
      words(TeachingWeeks(explicit: explicit, calendar: calendar, language: language, anchor: anchor).week(of: day))
    }
    #expect(week(.week2, .ro, anchor) == "week2")
    #expect(week(nil, .ro, anchor) == "week1 1")
    #expect(week(nil, .hu, anchor) == "week2")
    #expect(week(nil, nil, anchor) == "week2")
    #expect(week(nil, nil, nil) == "unknown")
    // The calendar says nothing about the year after it.
    let later = try date("2026-09-01")
    #expect(words(TeachingWeeks(calendar: calendar, language: .ro).week(of: later)) == "unknown")
  }
}
