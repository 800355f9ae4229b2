import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import Testing

@testable import TimetablePlugin

private let catalog = ActionCatalog([TimetablePlugin.self])

private func action(_ name: String) throws -> ActionDescriptor { try #require(catalog.action("timetable.\(name)")) }

private func json(_ text: String) throws -> Value { try JSON.parse(text) }

/// Runs an action with its input as JSON.
private func run(
  _ name: String, _ input: String, on client: TimetableClient, now: String = "2026-03-10T09:00:00Z",
  in folder: String = "/tmp"
) async throws -> Value {
  let instant = try #require(Timestamp(now))
  let action = try action(name)
  let value = try json(input)
  #expect(action.input.check(value, as: "with").map(\.message) == [])
  let output = try await action.run(
    value, on: client, in: .testing(step: name, time: TestTime(instant), folder: folder))
  #expect(action.output.check(output, as: "output").map(\.message) == [])
  return output
}

private let g511 = #""programId":"informatica-maghiara","year":1,"group":511"#
private let g512 = #""programId":"informatica-maghiara","year":1,"group":512"#

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(TimetablePlugin.self) }

  @Test func `runs its examples in the sandbox`() async { await expectExamplesRun(of: TimetablePlugin.self) }

  @Test func `gives today's classes in the week that the academic calendar tells`() async throws {
    let output = try await run(
      "today", #"{"selection":{\#(g512),"subgroup":"512/1","language":"hu"}}"#, on: fixtureClient())
    #expect(output["available"]?.bool == true)
    let day = try #require(output["day"])
    #expect(day["date"]?.string == "2026-03-10")
    #expect(day["weekday"]?.string == "tuesday")
    #expect(day["week"]?.string == "week1")
    #expect(day["weekNumber"]?.int == 3)
    #expect(day["entries"]?.list?.compactMap { $0["time"]?.string } == ["10–12", "16–18"])
    #expect(day["firstStartsAt"]?.timestamp?.description == "2026-03-10T08:00:00Z")
    #expect(day["lastEndsAt"]?.timestamp?.description == "2026-03-10T16:00:00Z")
    #expect(output["freshness"]?["lastUpdatedAtSource"]?.string == "2026-02-27")
    #expect(output["freshness"]?["isStale"]?.bool == false)
    #expect(output["warnings"]?.list?.isEmpty == true)
  }

  /// The evening in UTC is the next day at the university; after the change of the clocks it is three hours ahead.
  @Test(arguments: [
    ("2026-03-09T21:59:59Z", "2026-03-09"), ("2026-03-09T22:00:00Z", "2026-03-10"),
    ("2026-04-20T21:00:00Z", "2026-04-21"),
  ])
  func `takes today from the university's clock`(_ now: String, _ expected: String) async throws {
    let output = try await run("today", #"{"selection":{\#(g511)}}"#, on: fixtureClient(), now: now)
    #expect(output["day"]?["date"]?.string == expected)
  }

  @Test func `gives classes of both weeks, and says so, when nobody knows which it is`() async throws {
    let output = try await run("today", #"{"selection":{\#(g511)},"date":"2026-03-09"}"#, on: fixtureClient())
    #expect(output["day"]?["week"] == nil)
    #expect(output["day"]?["entries"]?.list?.filter { $0["time"]?.string == "10–12" }.count == 2)
    #expect(
      output["warnings"]?.list?.compactMap(\.string) == [
        "It is unknown which of the alternating weeks it is, so classes of both are given: it takes an academic calendar of "
          + "that year and 'language' in the selection, or 'weekOneMonday' in the connection."
      ])
    let told = try await run(
      "today", #"{"selection":{\#(g511)},"date":"2026-03-09","week":"week2"}"#, on: fixtureClient())
    #expect(told["day"]?["entries"]?.list?.filter { $0["time"]?.string == "10–12" }.count == 1)
    #expect(told["warnings"]?.list?.isEmpty == true)
  }

  @Test func `gives five days of a week, and says why there are no classes`() async throws {
    let client = fixtureClient()
    let output = try await run("week", #"{"selection":{\#(g511),"language":"hu"},"date":"2026-04-11"}"#, on: client)
    let days = try #require(output["days"]?.list)
    #expect(days.compactMap { $0["date"]?.string } == (6...10).map { "2026-04-\($0 < 10 ? "0" : "")\($0)" })
    #expect(days.allSatisfy { $0["noClasses"]?.string == "Easter" && $0["entries"]?.list?.isEmpty == true })
    let romanian = try await run("week", #"{"selection":{\#(g511),"language":"ro"},"date":"2026-04-11"}"#, on: client)
    #expect(romanian["days"]?.list?.contains { $0["entries"]?.list?.isEmpty == false } == true)
  }

  @Test(arguments: ["today", "week", "exportCalendar"])
  func `says that the academic calendar behind its dates is old`(_ name: String) async throws {
    let folder = try Folder()
    let path = "/2025-2026/informatica-maghiara/y1/g511.json"
    let timetable = ScriptedTransport.Step.on("GET", base + path, try fixture(String(path.dropFirst())))
    let rooms = ScriptedTransport.Step.on("GET", "\(base)/rooms.json", try fixture("rooms.json"))
    let calendar = "\(base)/academic-calendar.json"
    let (client, _) = scripted([
      timetable, rooms, .on("GET", calendar, try fixture("academic-calendar.json")),
      timetable, rooms, .on("GET", calendar, status: 503),
    ])
    let target = name == "exportCalendar" ? #","to":"c.ics""# : ""
    let input = #"{"selection":{\#(g511),"academicYear":"2025-2026","language":"hu"}\#(target)}"#
    let live = try await run(name, input, on: client, in: folder.path)
    #expect(live["warnings"]?.list?.isEmpty == true)
    let old = try await run(name, input, on: client, in: folder.path)
    #expect(old["freshness"]?["isStale"]?.bool == false)
    #expect(
      old["warnings"]?.list?.compactMap(\.string) == [
        "The academic calendar is of 2026-11-20T09:30:00Z, and a newer one is unavailable. The server answered with "
          + "HTTP status 503."
      ])
  }

  @Test func `says where a room is, and how current that is`() async throws {
    let path = "\(base)/rooms.json"
    let (client, _) = scripted([
      .on("GET", path, try fixture("rooms.json")), .on("GET", path, status: 503),
    ])
    let live = try await run("findRoom", #"{"room":"lab3"}"#, on: client)
    let old = try await run("findRoom", #"{"room":"lab3"}"#, on: client)
    #expect(old["address"]?.string == live["address"]?.string && live["address"] != nil)
    #expect([live, old].map { $0["freshness"]?["isStale"]?.bool } == [false, true])
    let (none, _) = scripted([.on("GET", path, status: 404)])
    let unknown = try await run("findRoom", #"{"room":"lab3"}"#, on: none)
    #expect(unknown["address"] == nil)
    #expect(
      unknown["warnings"]?.list?.compactMap(\.string) == ["The publisher has no legend of rooms at the moment."])
  }

  @Test func `says that no timetable is published, and what the catalog lacks`() async throws {
    let client = fixtureClient()
    let absent = #"{"selection":{"programId":"informatica-maghiara","year":1,"group":513}}"#
    let output = try await run("getTimetable", absent, on: client)
    #expect(output["available"]?.bool == false)
    #expect(output["academicYear"]?.string == "2025-2026")
    #expect(output["warnings"]?.list?.isEmpty == true)
    let unknown = #"{"selection":{"programId":"informatica-magiara","year":1,"group":513}}"#
    let other = try await run("getTimetable", unknown, on: client)
    #expect(
      other["warnings"]?.list?.compactMap(\.string)
        == ["There is no program 'informatica-magiara'; did you mean 'informatica-maghiara'?"])
    let check = try await run("checkSelection", unknown, on: client)
    #expect(check["isValid"]?.bool == false)
    #expect(check["programTitle"] == nil)
    let day = try await run("today", absent, on: client)
    #expect(day["available"]?.bool == false)
    #expect(day["day"]?["entries"]?.list?.isEmpty == true)
  }

  @Test func `gives notices at an instant and in a language`() async throws {
    let client = fixtureClient()
    let all = try await run("getAnnouncements", #"{"language":"ro"}"#, on: client)
    let english = try await run("getAnnouncements", "{}", on: client)
    #expect(all["items"]?.list?.first?["title"]?.string != english["items"]?.list?.first?["title"]?.string)
    let never = try await run("getAnnouncements", #"{"at":"2020-01-01T00:00:00Z"}"#, on: client)
    #expect((never["items"]?.list?.count ?? 9) < (english["items"]?.list?.count ?? 0))
  }

  // MARK: The calendar file

  @Test func `exports each class at its own hours on both sides of a change of the clocks`() async throws {
    let folder = try Folder()
    let client = fixtureClient()
    let input = #"{"selection":{\#(g511),"language":"ro"},"to":"a/g511.ics","from":"2026-03-23","until":"2026-03-30"}"#
    let output = try await run("exportCalendar", input, on: client, in: folder.path)
    #expect(output["changed"]?.bool == true)
    let text = try folder.text("a/g511.ics")
    let events = text.split(separator: "BEGIN:VEVENT\r\n").dropFirst()
    #expect(output["events"]?.int == events.count)
    // Mondays, first in winter time and then in summer time, in the fifth and the sixth teaching week.
    for line in ["DTSTART:20260323T060000Z", "DTSTART:20260330T050000Z"] { #expect(text.contains("\(line)\r\n")) }
    let seminars = events.filter { $0.contains("DTSTART:20260323T080000Z") || $0.contains("DTSTART:20260330T070000Z") }
    #expect(
      seminars.map { $0.split(separator: "\r\n").first { $0.hasPrefix("SUMMARY:") } ?? "" } == [
        "SUMMARY:Computer Architecture (seminar)", "SUMMARY:Computational Logic (seminar)",
      ])
    let uids = events.map { $0.split(separator: "\r\n").first ?? "" }
    #expect(Set(uids).count == events.count)
    #expect(uids.allSatisfy { $0.hasPrefix("UID:2026-03-") && $0.hasSuffix("@errand.timetable") })

    let again = try await run("exportCalendar", input, on: client, in: folder.path)
    #expect(again["changed"]?.bool == false)
  }

  @Test func `spans the teaching of the academic year, without holidays, and shows beforehand what it will write`()
    async throws
  {
    let folder = try Folder()
    let client = fixtureClient()
    let input = #"{"selection":{\#(g511),"language":"hu"},"to":"c.ics"}"#
    let action = try action("exportCalendar")
    let changes = try await action.preview(try json(input), on: client, in: .testing(folder: folder.path))
    let output = try await run("exportCalendar", input, on: client, in: folder.path)
    #expect(output["from"]?.string == "2025-09-29")
    #expect(output["until"]?.string == "2026-06-07")
    let count = try #require(output["events"]?.int)
    #expect(changes == [Change("the file '\(folder.path)/c.ics'", from: nil, to: "\(count) events")])
    let text = try folder.text("c.ics")
    #expect(!text.contains("DTSTART:20260406") && !text.contains("DTSTART:20251222"))
    #expect(try await action.preview(try json(input), on: client, in: .testing(folder: folder.path)) == [])
    try Data("BEGIN:VEVENT\r\nEND:VEVENT\r\n".utf8).write(to: URL(filePath: "\(folder.path)/c.ics"))
    #expect(
      try await action.preview(try json(input), on: client, in: .testing(folder: folder.path))?.map(\.before)
        == ["1 events"])
  }

  @Test func `leaves the file alone when no timetable is published`() async throws {
    let folder = try Folder()
    try Data("old".utf8).write(to: URL(filePath: "\(folder.path)/c.ics"))
    let output = try await run(
      "exportCalendar", #"{"selection":{"programId":"informatica-maghiara","year":1,"group":513},"to":"c.ics"}"#,
      on: fixtureClient(), in: folder.path)
    #expect(output["available"]?.bool == false)
    #expect(output["changed"]?.bool == false)
    #expect(try folder.text("c.ics") == "old")
  }

  @Test(arguments: [
    ("2026-03-30", "2026-03-29", "'with.until' must not be before 'from'"),
    ("2025-01-01", "2026-12-31", "'with.until' must be at most 400 days after 'from'"),
    ("2026-02-30", "2026-12-31", "'with.from' must be a date such as 2026-11-20, but is '2026-02-30'"),
  ])
  func `refuses dates in no order before anything runs`(_ from: String, _ until: String, _ message: String) throws {
    let input = try json(#"{"selection":{\#(g511)},"to":"x","from":"\#(from)","until":"\#(until)"}"#)
    #expect(try action("exportCalendar").input.check(input, as: "with").map(\.message) == [message])
  }

  @Test func `says which file cannot be written`() async throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: "\(folder.path)/c.ics", withIntermediateDirectories: true)
    let error = await #expect(throws: ActionError.self) {
      _ = try await run(
        "exportCalendar", #"{"selection":{\#(g511)},"to":"c.ics"}"#, on: fixtureClient(), in: folder.path)
    }
    #expect(error?.kind == .validation)
    #expect(error?.message == "cannot read '\(folder.path)/c.ics': it is a folder (EISDIR).")
  }

  @Test(arguments: [
    ("exportCalendar", "to", #""selection":{\#(g511)}"#), ("compareWithCopy", "copy", #""selection":{\#(g511)}"#),
    ("saveCopy", "copy", #""days":[]"#),
  ])
  func `keeps to the connection's folder`(_ name: String, _ field: String, _ others: String) async throws {
    try await expectKeptInside { path, context in
      _ = try await run(name, #"{"\#(field)":"\#(path)",\#(others)}"#, on: fixtureClient(), in: context.folder)
    }
  }

  // MARK: Copies

  @Test func `compares with the copy that was saved`() async throws {
    let folder = try Folder()
    let client = fixtureClient()
    let compare = #"{"selection":{\#(g511)},"copy":"k/c.json"}"#
    let first = try await run("compareWithCopy", compare, on: client, in: folder.path)
    #expect(first["hasCopy"]?.bool == false)
    #expect(first["changes"]?.list?.isEmpty == true)
    var days = try #require(first["days"]?.list)
    func save() async throws {
      let text = try JSON.text(.object(["copy": .string("k/c.json"), "days": .list(days)]))
      _ = try await run("saveCopy", text, on: client, in: folder.path)
    }
    try await save()
    let same = try await run("compareWithCopy", compare, on: client, in: folder.path)
    #expect(same["hasCopy"]?.bool == true)
    #expect(same["copiedAt"]?.timestamp?.description == "2026-03-10T09:00:00Z")
    #expect(same["changes"]?.list?.isEmpty == true)
    days.removeFirst()
    try await save()
    let other = try await run("compareWithCopy", compare, on: client, in: folder.path)
    #expect(other["changes"]?.list?.allSatisfy { $0["kind"]?.string == "added" } == true)
    #expect(other["changes"]?.list?.first?["text"]?.string?.hasPrefix("new: Monday 8–10 ") == true)
    try Data("{}".utf8).write(to: URL(filePath: "\(folder.path)/k/c.json"))
    let error = await #expect(throws: ActionError.self) {
      _ = try await run("compareWithCopy", compare, on: client, in: folder.path)
    }
    #expect(
      error?.message == "'\(folder.path)/k/c.json' isn't a copy of a timetable; remove it, or name another file.")
  }

  // MARK: Connections

  @Test(arguments: [
    (#"{"baseURL":"http://example.org"}"#, ["'c.baseURL' must be an https address such as"]),
    (#"{"weekOneMonday":"2026-03-10"}"#, ["'c.weekOneMonday' must be a Monday, such as 2026-03-09"]),
    (#"{"baseURL":"https://example.org/a/","weekOneMonday":"2026-03-09"}"#, []), ("{}", []),
  ])
  func `checks a connection`(_ text: String, _ faults: [String]) throws {
    let plugin = try #require(catalog.plugin("timetable"))
    let found = plugin.configuration.check(try json(text), as: "c").map(\.message)
    #expect(found.count == faults.count)
    #expect(zip(found, faults).allSatisfy { $0.hasPrefix($1) }, "\(found)")
  }

  @Test func `says that a connection's zone is none`() async throws {
    let plugin = try #require(catalog.plugin("timetable"))
    let error = await #expect(throws: ActionError.self) {
      _ = try await plugin.connect(
        try json(#"{"zone":"Europe/Bukarest"}"#), in: PluginContext(connection: "faculty", time: TestTime()))
    }
    #expect(
      error?.message == "'zone' of the connection 'faculty': 'Europe/Bukarest' isn't a time zone; did you mean "
        + "'Europe/Bucharest'?.")
  }
}
