import ActionKit
import Testing

@testable import TimetablePlugin

@Suite struct ChangeTests {
  /// Days out of rows such as `monday 8–10 weekly A1 Varga Logic`.
  private static func days(_ rows: [String]) throws -> [TimetableDay] {
    try Weekday.allCases.compactMap { day in
      let entries = try rows.map { $0.split(separator: " ").map(String.init) }.filter { $0[0] == day.rawValue }.map {
        row in
        try TimetableEntry {
          $0.time = row[1]
          $0.start = ClassTime(row[1]).map { ClassTime.text($0.start) }
          $0.end = ClassTime(row[1]).map { ClassTime.text($0.end) }
          $0.frequency = Frequency(rawValue: row[2]) ?? .weekly
          $0.room = row[3] == "-" ? "" : row[3]
          $0.instructor = row[4] == "-" ? "" : row[4]
          $0.course = row[5]
          $0.type = .lab
        }
      }
      return entries.isEmpty
        ? nil
        : try TimetableDay {
          $0.day = day
          $0.entries = entries
        }
    }
  }

  @Test(arguments: [
    (["monday 8–10 weekly A1 Varga Logic"], ["monday 8–10 weekly A1 Varga Logic"], []),
    ([], ["monday 8–10 weekly A1 Varga Logic"], ["new: Monday 8–10 Logic (lab), A1"]),
    (["friday 8–10 week2 - Varga Logic"], [], ["gone: Friday 8–10 week2 Logic (lab)"]),
    (
      ["monday 8–10 weekly A1 Varga Logic"], ["monday 8–10 weekly B2 Varga Logic"],
      ["changed: Monday 8–10 Logic (lab): room A1 → B2"]
    ),
    (
      ["monday 8–10 weekly - Varga Logic"], ["monday 8–10 weekly B2 Kiss Logic"],
      ["changed: Monday 8–10 Logic (lab): room none → B2; Varga → Kiss"]
    ),
    (
      ["monday 8–10 weekly A1 Varga Logic"], ["friday 9–11 week1 A1 Varga Logic"],
      ["changed: Monday 8–10 Logic (lab): now Friday 9–11 week1"]
    ),
    (
      ["monday 8–10 weekly A1 Varga Logic"], ["friday 9–11 weekly B2 - Logic"],
      ["changed: Monday 8–10 Logic (lab): now Friday 9–11; room A1 → B2; Varga → none"]
    ),
    // The one that stayed is not paired with the one that is new.
    (
      ["monday 8–10 weekly A1 Varga Logic"],
      ["monday 8–10 weekly A1 Varga Logic", "tuesday 8–10 weekly A1 Varga Logic"],
      ["new: Tuesday 8–10 Logic (lab), A1"]
    ),
    // The most similar entries are paired first, in any order.
    (
      ["monday 8–10 weekly A1 Varga Logic", "tuesday 8–10 weekly A1 Varga Logic"],
      ["tuesday 8–10 weekly B2 Varga Logic", "wednesday 8–10 weekly A1 Varga Logic"],
      [
        "changed: Tuesday 8–10 Logic (lab): room A1 → B2", "changed: Monday 8–10 Logic (lab): now Wednesday 8–10",
      ]
    ),
    (
      ["monday 8–10 weekly A1 Varga Logic"], ["monday 8–10 weekly A1 Varga Analysis"],
      ["gone: Monday 8–10 Logic (lab), A1", "new: Monday 8–10 Analysis (lab), A1"]
    ),
  ])
  func `says what changed`(_ old: [String], _ new: [String], _ changes: [String]) throws {
    let found = EntryChange.between(try Self.days(old), try Self.days(new))
    #expect(found.map(\.text) == changes)
  }
}
