import ActionKit
import ActionTestKit
import HTTPClient
import Testing

@testable import TimetablePlugin

@Suite struct ReadingTests {
  @Test(arguments: [
    ("8–10", 480, 600), ("11–13", 660, 780), ("08:00–10:00", 480, 600), ("8-10", 480, 600), ("8 – 10", 480, 600),
    ("9:30 - 11:05", 570, 665), ("0–24", 0, 1440), ("22–24:00", 1320, 1440),
  ])
  func `reads times`(_ text: String, _ start: Int, _ end: Int) {
    let time = ClassTime(text)
    #expect(time?.start == start)
    #expect(time?.end == end)
  }

  @Test(arguments: ["", "8", "10–8", "8–8", "8–10–12", "8h–10h", "8:5–10", "25–26", "8–24:01", "8—10", "-8–10", "٨–١٠"])
  func `leaves other times for display`(_ text: String) { #expect(ClassTime(text) == nil) }

  private static func file(
    _ entries: String, head: String = #""version":1,"#, source: String = #""2026-02-27""#
  ) -> String {
    #"{\#(head)"academicYear":"2025-2026","programId":"informatica-maghiara","year":1,"group":511,"#
      + #""lastUpdatedAtSource":\#(source),"days":[{"day":"monday","entries":[\#(entries)]}]}"#
  }

  private static func entry(_ time: String, _ more: String = "") -> String {
    #"{"time":"\#(time)","frequency":"weekly","course":"C","type":"lab","room":"","instructor":""\#(more)}"#
  }

  private static let path = "\(base)\(selection().path)"

  @Test func `sorts by parsed times, keeps unreadable ones last, and folds doubles`() async throws {
    let audience = #","audience":{"formation":null,"scope":"unknown","expectedScope":"subgroup","isStandard":true}"#
    let entries =
      ["10–12", "afternoon", "8–10", "10–12", "noon"].map { Self.entry($0) } + [Self.entry("8–10", audience)]
    let (client, _) = scripted([.on("GET", Self.path, Self.file(entries.joined(separator: ",")))])
    let day = try #require(try await client.timetable(of: selection()).content?.days.first)
    #expect(day.entries.map(\.time) == ["8–10", "8–10", "10–12", "afternoon", "noon"])
    #expect(day.entries.map { $0.audience == nil } == [true, false, true, true, true])
    #expect(day.entries.map(\.start) == ["08:00", "08:00", "10:00", nil, nil])
  }

  @Test(arguments: [
    (#""version":3,"more":{},"#, "The file is of version 3, which this program does not know, and may say more."),
    (#""version":null,"generatedAt":null,"#, nil), ("", nil),
  ])
  func `accepts what later versions add`(_ head: String, _ warning: String?) async throws {
    let (client, _) = scripted([
      .on("GET", Self.path, Self.file(Self.entry("8–10", #","roomAddress":null,"new":[1]"#), head: head))
    ])
    let answer = try await client.timetable(of: selection())
    #expect(answer.content?.days.first?.entries.count == 1)
    #expect(answer.warnings == (warning.map { [$0] } ?? []))
  }

  @Test func `says that a file is of another group`() async throws {
    let file = Self.file(Self.entry("8–10")).replacing(#""group":511"#, with: #""group":512"#)
    let (client, _) = scripted([.on("GET", Self.path, file)])
    #expect(
      try await client.timetable(of: selection()).warnings == [
        "The file says that it is of another group than 2025-2026 informatica-maghiara year 1 group 511."
      ])
  }

  @Test(arguments: [
    ("", "it is not valid JSON (line 1, column 1: "), ("<!DOCTYPE html>", "it is a web page"),
    ("[]", "'file' takes a map"),
    (#"{"days":"soon"}"#, "'file' needs 'academicYear'"),
    (#"{"academicYear":"2025-2026","programId":"p","year":1.5,"group":1,"days":[]}"#, "'file.year' must be an int"),
    (
      #"{"academicYear":"2025-2026","programId":"p","year":1,"group":1,"days":[{"day":"saturday","entries":[]}]}"#,
      "'file.days[0].day' must be 'monday'"
    ),
  ])
  func `names what is wrong in a file`(_ text: String, _ words: String) async throws {
    let (client, _) = scripted([.on("GET", Self.path, text)])
    let error = try await client.failure { _ = try await $0.timetable(of: selection()) }
    #expect(error.message.contains(words), "\(error.message)")
  }

  // MARK: Caching

  private static let refused = HTTPError(.connect, "Nobody answers.", sent: .nothing)

  @Test func `asks once in ten minutes, then with the tag, and at once if it is told to`() async throws {
    let time = TestTime()
    let (client, transport) = scripted(
      [
        .on("GET", "\(base)/catalog.json", headers: ["ETag": "\"1\""], try fixture("catalog.json")),
        .on("GET", "\(base)/catalog.json", status: 304), .on("GET", "\(base)/catalog.json", status: 304),
      ], interval: .seconds(600), time: time)
    #expect(try await !client.catalog().fromCache)
    time.advance(by: .seconds(599))
    #expect(try await client.catalog().fromCache)
    #expect(transport.requests.count == 1)
    time.advance(by: .seconds(1))
    let confirmed = try await client.catalog()
    #expect(confirmed.cachedAt == TestTime.start)
    #expect(confirmed.checkedAt == time.now())
    _ = try await client.catalog(refresh: true)
    #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", "\"1\""])
  }

  @Test func `gives the kept timetable when the network fails or the file is damaged`() async throws {
    let (client, _) = scripted([
      .on("GET", Self.path, Self.file(Self.entry("8–10"))), .on("GET", Self.path, fail: Self.refused),
      .on("GET", Self.path, status: 503), .on("GET", Self.path, status: 418), .on("GET", Self.path, "<html>"),
      .on("GET", Self.path, Self.file("", source: "null")), .on("GET", Self.path, Self.file(Self.entry("9–10"))),
    ])
    var reasons: [String?] = []
    for _ in 0..<7 {
      let answer = try await client.timetable(of: selection())
      #expect(answer.content?.days.first?.entries.map(\.time) == [reasons.count < 6 ? "8–10" : "9–10"])
      reasons.append(answer.staleReason)
    }
    #expect(
      reasons == [
        nil, "Nobody answers.", "The server answered with HTTP status 503.",
        "The server answered with HTTP status 418.",
        "The file /2025-2026/informatica-maghiara/y1/g511.json does not match the contract: it is a web page.",
        "The publisher could not read the university's page and put an empty timetable in place of this one.", nil,
      ])
  }

  @Test func `does not bring back a timetable that was withdrawn`() async throws {
    let (client, _) = scripted([
      .on("GET", Self.path, Self.file(Self.entry("8–10"))), .on("GET", Self.path, status: 404),
      .on("GET", Self.path, fail: Self.refused),
    ])
    #expect(try await client.timetable(of: selection()).content != nil)
    #expect(try await client.timetable(of: selection()).content == nil)
    let offline = try await client.timetable(of: selection())
    #expect(offline.content == nil)
    #expect(offline.staleReason == "Nobody answers.")
  }

  @Test func `tells a catalog that is gone from one that was never there`() async throws {
    let (client, _) = scripted([
      .on("GET", "\(base)/catalog.json", status: 404), .on("GET", "\(base)/catalog.json", try fixture("catalog.json")),
      .on("GET", "\(base)/catalog.json", status: 404),
    ])
    let error = try await client.failure { _ = try await $0.catalog() }
    #expect(
      error.message
        == "The publisher has no file for the catalog: check that 'baseURL' is the address of its files.")
    #expect(error.actionError.kind == .notFound)
    _ = try await client.catalog()
    #expect(try await client.catalog().staleReason == "The server answered with HTTP status 404.")
  }

  @Test(arguments: [
    (
      ScriptedTransport.Step.on("GET", "\(base)/announcements-v2.json", status: 500),
      "The publisher's server answered /announcements-v2.json with HTTP status 500."
    ),
    (
      .on("GET", "\(base)/announcements-v2.json", "{"),
      "The file /announcements-v2.json does not match the contract: it is not valid JSON"
    ),
    (
      .on("GET", "\(base)/announcements-v2.json", fail: refused),
      "Reading /announcements-v2.json failed. Nobody answers."
    ),
  ])
  func `reads the notices in one language when those in two are no good`(
    _ step: ScriptedTransport.Step, _ reason: String
  ) async throws {
    let one = ScriptedTransport.Step.on("GET", "\(base)/announcements.json", try fixture("announcements.json"))
    let (client, _) = scripted([step, one])
    let list = try await client.announcements()
    #expect(list.content.items.count == 8 && list.staleReason == nil)
    #expect(list.warnings.count == 1)
    #expect(
      list.warnings.first?.hasPrefix("The notices are in one language only. \(reason)") == true, "\(list.warnings)")
    // Without those there are none, and that is what is wrong.
    let (none, _) = scripted([
      step, .on("GET", "\(base)/announcements.json", status: 503, #"{"detail":"Down until noon."}"#),
    ])
    let error = try await none.failure { _ = try await $0.announcements() }
    #expect(error.message == "The publisher's server answered /announcements.json with HTTP status 503.")
    #expect(error.actionError.detail == "Down until noon.")
  }

  @Test func `asks a publisher in vain no more often than every ten minutes`() async throws {
    let time = TestTime()
    let path = "\(base)/catalog.json"
    let (client, transport) = scripted(
      [
        .on("GET", path, try fixture("catalog.json")), .on("GET", path, fail: Self.refused),
        .on("GET", path, fail: Self.refused), .on("GET", path, "<html>"),
      ], interval: .seconds(600), time: time)
    func read(after seconds: Int, refresh: Bool = false) async throws -> String {
      time.advance(by: .seconds(seconds))
      let catalog = try await client.catalog(refresh: refresh)
      #expect(catalog.checkedAt == TestTime.start)
      return "\(transport.requests.count) \(catalog.staleReason ?? "current")"
    }
    #expect(try await read(after: 0) == "1 current")
    #expect(try await read(after: 600) == "2 Nobody answers.")
    #expect(try await read(after: 1) == "2 Nobody answers.")
    #expect(try await read(after: 0, refresh: true) == "3 Nobody answers.")
    #expect(try await read(after: 599) == "3 Nobody answers.")
    let broken = "4 The file /catalog.json does not match the contract: it is a web page."
    #expect(try await read(after: 1) == broken)
    #expect(try await read(after: 599) == broken)
  }

  @Test func `says that the legend behind its addresses is old`() async throws {
    let entry = Self.entry("8–10").replacing(#""room":"""#, with: #""room":"A1""#)
    let timetable = ScriptedTransport.Step.on("GET", Self.path, Self.file(entry))
    let (client, _) = scripted([
      timetable, .on("GET", "\(base)/rooms.json", #"{"rooms":[{"code":"A1","address":"Here"}]}"#),
      timetable, .on("GET", "\(base)/rooms.json", fail: Self.refused),
    ])
    #expect(try await client.timetable(of: selection()).warnings.isEmpty)
    let answer = try await client.timetable(of: selection())
    #expect(answer.content?.days.first?.entries.first?.roomAddress == "Here")
    #expect(
      answer.warnings == [
        "The legend of rooms is of 2026-11-20T09:30:00Z, and a newer one is unavailable. Nobody answers."
      ])
    let (bare, _) = scripted([timetable, .on("GET", "\(base)/rooms.json", status: 404)])
    #expect(
      try await bare.timetable(of: selection()).warnings == ["The publisher has no legend of rooms at the moment."])
  }

  @Test func `does without what only some publishers have`() async throws {
    let (client, _) = scripted([
      .on("GET", "\(base)/rooms.json", status: 404), .on("GET", "\(base)/academic-calendar.json", status: 404),
    ])
    let rooms = try await client.rooms()
    #expect(rooms.content.rooms.isEmpty)
    #expect(rooms.warnings == ["The publisher has no legend of rooms at the moment."])
    #expect(try await client.academicCalendar().content == nil)
  }

  @Test func `gives a timetable without addresses when the legend cannot be had`() async throws {
    let entry = Self.entry("8–10").replacing(#""room":"""#, with: #""room":"A1""#)
    let (client, _) = scripted([
      .on("GET", Self.path, Self.file(entry)), .on("GET", "\(base)/rooms.json", fail: Self.refused),
    ])
    let answer = try await client.timetable(of: selection())
    #expect(answer.content?.days.count == 1)
    #expect(answer.warnings == ["Addresses of rooms are missing. Reading /rooms.json failed. Nobody answers."])
  }
}
