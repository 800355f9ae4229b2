import ActionKit
import ActionTestKit
import HTTPClient
import Testing

@testable import TimetablePlugin

/// The contract's expectations of its sample files.
@Suite struct ContractTests {
  @Test func `shows the notices that hold at an instant, in file order`() async throws {
    let instant = try #require(Timestamp("2026-03-10T09:00:00Z"))
    let one = scripted([
      .on("GET", "\(base)/announcements-v2.json", status: 404, "<html>"),
      .on("GET", "\(base)/announcements.json", try fixture("announcements.json")),
    ])
    let items = try await one.client.announcements().content.items
    #expect(
      items.filter { $0.isVisible(at: instant) }.map(\.id) == [
        "always-on", "refresh-delayed-2026-03-09", "building-closed", "enrolment-until-noon", "starts-exactly-now",
      ])
    #expect(
      items.filter { !$0.isVisible(at: instant) }.map(\.id) == [
        "past-maintenance", "future-exam-session", "ends-exactly-now",
      ])
  }

  @Test func `reads notices in two languages`() async throws {
    let items = try await fixtureClient().announcements().content.items
    let first = try #require(items.first)
    #expect(first.title.text(in: .ro) != first.title.text(in: .en))
    #expect(first.title.romanian != nil)
  }

  @Test func `gives the classes of a day in either week, by parsed time`() async throws {
    let timetable = try #require(try await fixtureClient().timetable(of: selection()).content)
    func classes(_ text: String, _ parity: TeachingWeek.Parity) throws -> [String] {
      let day = try date(text)
      return short(timetable.days(day...day, TeachingWeeks(explicit: parity), subgroup: nil)[0].entries)
    }
    let monday = try classes("2026-03-09", .week1)
    #expect(monday.map { $0.split(separator: " ")[0] } == ["8–10", "10–12", "14–16"])
    #expect(monday[1] == "10–12 Computer Architecture seminar")
    #expect(try classes("2026-03-09", .week2)[1] == "10–12 Computational Logic seminar")
    #expect(try classes("2026-03-11", .week1).map { $0.split(separator: " ")[0] } == ["18–20"])
    #expect(try classes("2026-03-11", .week2).map { $0.split(separator: " ")[0] } == ["9–10"])
    #expect(try classes("2026-03-12", .week1).map { $0.split(separator: " ")[0] } == ["08:00–10:00", "10–13"])
  }

  @Test func `fills in addresses from the legend`() async throws {
    let timetable = try #require(try await fixtureClient().timetable(of: selection()).content)
    let entries = timetable.days.flatMap(\.entries)
    #expect(entries.first { $0.room == "Z9" }?.roomAddress == nil)
    #expect(entries.filter { $0.room.isEmpty }.allSatisfy { $0.roomAddress == nil })
    let other = try #require(try await fixtureClient().timetable(of: selection("matematica-romana", 1, 111)).content)
    #expect(other.days.flatMap(\.entries).contains { $0.roomAddress != nil })
  }

  @Test(arguments: [
    ("lab3", "Building B, basement (Strada Morii 12)"), ("LAMBDA", "River house (Strada Podului 3)"),
    ("226 (5/2)", "Physics wing, floor 2 (Piața Mică 7)"), ("Z9", nil), ("unassigned", nil), ("", nil), (" ", nil),
    ("a1 (online)", "Main building, ground floor (Strada Lungă 1)"),
    ("see 7/I or B12", "Old wing, floor 1 (Piața Mică 7)"),
  ])
  func `looks up a room as the publisher does`(_ room: String, _ address: String?) async throws {
    #expect(try await fixtureClient().rooms().content.address(of: room) == address)
  }

  @Test(arguments: [
    ("ro", "2026-03-10", "week1 3"), ("ro", "2026-04-15", "Easter"), ("ro", "2026-04-20", "week2 8"),
    ("ro", "2026-01-05", "week1 13"), ("hu", "2026-04-13", "week1 7"), ("hu", "2026-04-08", "Easter"),
    ("hu", "2025-12-24", "Christmas"), ("en", "2026-02-10", "no teaching period"), ("de", "2025-09-29", "week1 1"),
    ("de", "2026-06-07", "week2 14"), ("ro", "2026-10-05", "unknown"),
  ])
  func `counts teaching weeks`(_ language: String, _ text: String, _ expected: String) async throws {
    let calendar = try await fixtureClient().academicCalendar().content
    let weeks = TeachingWeeks(calendar: calendar, language: TeachingLanguage(rawValue: language))
    #expect(words(weeks.week(of: try date(text))) == expected)
  }

  @Test func `keeps what concerns a subgroup`() async throws {
    let timetable = try #require(try await fixtureClient().timetable(of: selection(group: 512)).content)
    func tuesday(_ parity: TeachingWeek.Parity) throws -> [String] {
      let day = try date("2026-03-10")
      return short(timetable.days(day...day, TeachingWeeks(explicit: parity), subgroup: "512/1")[0].entries)
    }
    #expect(try tuesday(.week1) == ["10–12 Programming Fundamentals lab", "16–18 Computational Logic lab"])
    #expect(try tuesday(.week2) == ["16–18 Computational Logic lab"])
    #expect(timetable.narrowed(to: "512/1").days.first { $0.day == .thursday }?.entries.count == 2)
  }

  @Test(arguments: [
    ("informatica-maghiara", 1, 511, "2024-2025"), ("data-science-en", 1, 1111, "2025-2026"),
    ("matematica-romana", 3, 131, "2025-2026"), ("matematica-romana", 1, 111, "2025-2026"),
  ])
  func `reads every generation of files`(_ program: String, _ year: Int, _ group: Int, _ academicYear: String)
    async throws
  {
    let wanted = selection(program, year, group, in: academicYear)
    let answer = try await fixtureClient().timetable(of: wanted)
    let timetable = try #require(answer.content)
    #expect(answer.warnings.isEmpty)
    #expect(!timetable.isEmpty)
    #expect(wanted.isEchoed(by: timetable))
    #expect(timetable.days.flatMap(\.entries).allSatisfy { $0.start != nil && $0.end != nil })
  }

  @Test func `takes a file that is not there for an empty state`() async throws {
    let answer = try await fixtureClient().timetable(of: selection(group: 513))
    #expect(answer.content == nil)
    #expect(answer.staleReason == nil)
  }

  @Test func `says that an empty timetable may be incomplete`() async throws {
    let answer = try await fixtureClient().timetable(of: selection("informatica-maghiara", 2, 521))
    #expect(answer.content?.isEmpty == true)
    #expect(
      answer.warnings == [
        "The timetable is empty, perhaps because the publisher could not read the university's page; it may be "
          + "incomplete."
      ])
  }

  @Test(arguments: [
    (
      "/2025-2026/informatica-maghiara/y1/g511.json", "invalid/g511-unknown-frequency.json",
      "'file.days[0].entries[0].frequency' must be 'weekly' or 'week1' or 'week2'"
    ),
    ("/announcements.json", "invalid/announcements-unknown-severity.json", "'file.items[0].severity' must be"),
  ])
  func `refuses values that are not of the contract`(_ path: String, _ file: String, _ words: String) async throws {
    let (client, _) = scripted([.on("GET", base + path, try fixture(file))])
    let error = try await client.failure {
      if path.hasPrefix("/a") { _ = try await $0.announcements() } else { _ = try await $0.timetable(of: selection()) }
    }
    #expect(error.message.hasPrefix("The file \(path) does not match the contract: \(words)"), "\(error.message)")
    #expect(error.actionError.kind == .plugin)
    #expect(error.actionError.effect == ActionError.Effect.none)
  }

  // MARK: Selections

  @Test(arguments: [
    (
      selection("informatica-magiara"),
      ["There is no program 'informatica-magiara'; did you mean 'informatica-maghiara'?"]
    ),
    (
      selection("Informatica-Maghiara"),
      ["There is no program 'Informatica-Maghiara'; did you mean 'informatica-maghiara'?"]
    ),
    (
      selection("x"),
      ["There is no program 'x'; there are data-science-en, informatica-maghiara, matematica-romana."]
    ),
    (selection("data-science-en", 3), ["Program 'data-science-en' has no study year 3; there are 1, 2."]),
    (selection("data-science-en", 2, 7), ["Year 2 of program 'data-science-en' has no group 7; there is none."]),
    (
      selection(group: 111, in: "2020-2021"),
      [
        "There is no academic year '2020-2021'; there are 2024-2025, 2025-2026.",
        "Year 1 of program 'informatica-maghiara' has no group 111; there are 511, 512, 513.",
      ]
    ), (selection(group: 513), []),
  ])
  func `compares a selection with the catalog`(_ wanted: TimetableSelection, _ faults: [String]) async throws {
    #expect(try await fixtureClient().catalog().content.faults(in: wanted) == faults)
  }

  @Test(arguments: [
    selection(in: "2025/2026"), selection(""), selection(".."), selection("a/b"), selection("a\\b"), selection("a?b"),
    selection("a#b"), selection("a\u{7}b"), selection("a", 0), selection("a", 1, 0),
  ])
  func `asks nobody about a selection that leads elsewhere`(_ wanted: TimetableSelection) async throws {
    let (client, transport) = scripted([])
    let error = try await client.failure { _ = try await $0.timetable(of: wanted) }
    #expect(error.actionError.kind == .validation)
    #expect(transport.requests.isEmpty)
  }

  @Test func `appends paths to the base address, and encodes the program`() async throws {
    let (client, transport) = scripted([.on("GET", "\(base)/2025-2026/a%20%C5%9F%2B/y1/g511.json", status: 404)])
    #expect(try await client.timetable(of: selection("a ş+")).content == nil)
    let request = try #require(transport.requests.first)
    #expect(request.headers["Accept"] == "application/json")
    #expect(try await fixtureClient("\(base)//").catalog().content.programs.count == 3)
  }
}

/// A short description of a week.
func words(_ week: TeachingWeek) -> String {
  switch week {
  case .teaching(let parity, let number): "\(parity.rawValue)\(number.map { " \($0)" } ?? "")"
  case .noClasses(let reason): reason
  case .unknown: "unknown"
  }
}
