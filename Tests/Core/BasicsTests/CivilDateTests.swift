import Testing

@testable import Basics

@Suite struct CivilDateTests {
  @Test(arguments: [
    ("2026-03-10", "2026-03-10"), ("2024-02-29", "2024-02-29"), ("2026-02-29", nil), ("2026-3-10", nil),
    ("2026-03-10T00:00:00Z", nil), ("10.03.2026", nil), ("", nil),
  ])
  func `reads a date, and nothing else`(_ text: String, _ date: String?) {
    #expect(CivilDate(text)?.description == date)
  }

  @Test(arguments: [
    ("2026-04-13", "2026-04-13"), ("2026-04-14", "2026-04-13"), ("2026-04-19", "2026-04-13"),
    ("2026-03-01", "2026-02-23"), ("1970-01-01", "1969-12-29"),
  ])
  func `a week begins on Monday`(_ text: String, _ monday: String) throws {
    #expect(try #require(CivilDate(text)).monday.description == monday)
  }

  @Test(arguments: [
    ("2026-02-28", 1, "2026-03-01"), ("2026-01-01", -1, "2025-12-31"), ("2024-02-28", 366, "2025-02-28"),
  ])
  func `days are added over months and years`(_ text: String, _ days: Int, _ date: String) throws {
    #expect(try #require(CivilDate(text)).adding(days: days).description == date)
  }
}
