import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Testing

@testable import TimetablePlugin

/// Faults between client and publisher, over real HTTP.
@Suite struct FaultTests {
  /// A sandbox with a client of it.
  private static func withSandbox(
    limits: HTTPLimits = HTTPLimits(maxBodyBytes: 1 << 20), cacheFolder: String? = nil, interval: TimeSpan = .zero,
    _ test: (_ sandbox: TimetableSandbox, _ client: TimetableClient, _ time: TestTime) async throws -> Void
  ) async throws {
    let time = TestTime()
    let sandbox = try TimetableSandbox(SandboxOptions(time: time))
    let client = TimetableClient(
      baseURL: sandbox.baseURL, cacheFolder: cacheFolder, minimumInterval: interval, limits: limits, time: time)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await test(sandbox, client, time)) } catch { outcome = .failure(error) }
    await sandbox.stop()
    try outcome.get()
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var fault: ServiceFault
    var error: ErrorKind
    var words: String
    var retryAfter: TimeSpan?
    var testDescription: String { "\(fault.kind.rawValue) \(fault.status)" }

    init(_ fault: ServiceFault, _ error: ErrorKind, _ words: String, retryAfter: TimeSpan? = nil) {
      self.fault = fault
      self.error = error
      self.words = words
      self.retryAfter = retryAfter
    }

    static func status(_ status: Int, _ error: ErrorKind, retryAfter: TimeSpan? = nil) -> Case {
      var fault = ServiceFault(.status)
      fault.status = status
      fault.retryAfter = retryAfter.map { String(Int($0.inSeconds)) }
      return Case(fault, error, "answered /catalog.json with HTTP status \(status).", retryAfter: retryAfter)
    }
  }

  private static let broken = "The file /catalog.json does not match the contract: it is "

  @Test(arguments: [
    Case(ServiceFault(.refuse), .network, "Reading /catalog.json failed."),
    Case(ServiceFault(.lostAnswer), .network, "closed the connection"),
    Case(ServiceFault(.truncated), .network, "closed the connection"),
    Case(ServiceFault(.slow), .timeout, "did not send a complete answer within"),
    Case(ServiceFault(.oversized), .plugin, "larger than 1048576 bytes"),
    Case(ServiceFault(.wrongType), .plugin, "does not match the contract: 'file' takes a map of fields"),
    Case(ServiceFault(.badUTF8), .plugin, broken + "not valid UTF-8."),
    Case(ServiceFault(.html), .plugin, broken + "a web page."),
    Case(ServiceFault(.redirect), .network, "elsewhere.example"),
    Case(ServiceFault(.redirectLoop, times: 6), .plugin, "redirects more than 5 times in a row"),
    .status(403, .authorization), .status(410, .plugin), .status(429, .rateLimited, retryAfter: .seconds(120)),
    .status(500, .server), .status(503, .server, retryAfter: .seconds(7)),
  ])
  func `is an error that says what happened, or the kept file that says why`(_ c: Case) async throws {
    let folder = try Folder()
    try await Self.withSandbox(cacheFolder: folder.path) { sandbox, client, time in
      // Only the answer that never comes may time out early; otherwise a busy machine decides which fault occurs.
      let limits = HTTPLimits(attempt: c.fault.kind == .slow ? .milliseconds(300) : .seconds(60), maxBodyBytes: 1 << 20)
      let struck = TimetableClient(
        baseURL: sandbox.baseURL, cacheFolder: folder.path, minimumInterval: .zero, limits: limits, time: time)
      sandbox.server.add(c.fault)
      let error = try await struck.failure { _ = try await $0.catalog() }
      #expect(error.message.contains(c.words), "\(error.message)")
      #expect(error.actionError.kind == c.error)
      #expect(error.actionError.effect == ActionError.Effect.none)
      #expect(error.actionError.retryAfter == c.retryAfter)

      let whole = try await client.catalog()
      #expect(whole.staleReason == nil)
      sandbox.server.add(c.fault)
      let kept = try await struck.catalog(refresh: true)
      #expect(kept.fromCache)
      #expect(kept.content.programs.count == 3)
      #expect(kept.staleReason?.isEmpty == false)
      // The fault has no lasting effect.
      #expect(try await client.catalog(refresh: true).staleReason == nil)
    }
  }

  @Test(arguments: ["http://127.0.0.1:9/x", "https://no.such.host.invalid/x"])
  func `nobody at the address is a network error`(_ baseURL: String) async throws {
    let error = try await TimetableClient(baseURL: baseURL, time: TestTime()).failure { _ = try await $0.catalog() }
    #expect(error.actionError.kind == .network)
    #expect(error.message.hasPrefix("Reading /catalog.json failed. GET \(baseURL)/catalog.json: "))
  }

  @Test(arguments: ["http://publisher.example", "publisher.example", "ftp://publisher.example", ""])
  func `asks nobody without encryption, but this machine`(_ baseURL: String) async throws {
    let transport = ScriptedTransport([])
    let client = TimetableClient(baseURL: baseURL, http: HTTPClient(transport: transport), time: TestTime())
    let error = try await client.failure { _ = try await $0.catalog() }
    #expect(
      error.message == "'\(baseURL)' isn't a publisher's address: it must begin with https, or be on this machine.")
    #expect(transport.requests.isEmpty)
  }

  @Test func `keeps files for the next program, and works without the network`() async throws {
    let folder = try Folder()
    try await Self.withSandbox(cacheFolder: folder.path, interval: .seconds(600)) { sandbox, client, time in
      let year = try #require(try await client.catalog().content.academicYears.last)
      let mine = selection(in: year)
      let live = try await client.timetable(of: mine)
      #expect(live.content?.days.flatMap(\.entries).first { $0.room == "A1" }?.roomAddress != nil)
      let next = TimetableClient(
        baseURL: sandbox.baseURL, cacheFolder: folder.path, minimumInterval: .seconds(600), time: time)
      let before = sandbox.server.count("GET")
      #expect(try await next.timetable(of: mine).fromCache)
      #expect(sandbox.server.count("GET") == before)

      time.advance(by: .seconds(600))
      let confirmed = try await next.timetable(of: mine)
      #expect(confirmed.fromCache && confirmed.checkedAt == time.now() && confirmed.cachedAt == TestTime.start)

      time.advance(by: .seconds(24 * 3600))
      sandbox.server.add(ServiceFault(.refuse, times: 100))
      let offline = try await next.timetable(of: mine)
      #expect(offline.content?.days == live.content?.days)
      #expect(offline.staleReason?.contains("closed the connection") == true)
    }
  }

  @Test func `asks again the next day, when there is a new edition`() async throws {
    try await Self.withSandbox { sandbox, client, time in
      let year = try #require(try await client.catalog().content.academicYears.last)
      let before = try #require(try await client.timetable(of: selection(in: year)).content)
      _ = try await HTTPClient().send(HTTPRequest("GET", "\(sandbox.server.baseURL)/sandbox/publish"))
      let after = try await client.timetable(of: selection(in: year), refresh: true)
      #expect(!after.fromCache)
      #expect(
        EntryChange.between(before.days, try #require(after.content).days).map(\.text) == [
          "changed: Friday 12–14 Analysis (seminar): now Friday 14–16; room lambda → 7/I",
          "new: Friday 16–18 Consultation (seminar), 7/I",
        ])
      let path = "/sandbox/withdraw?path=\(selection(in: year).path)"
      _ = try await HTTPClient().send(HTTPRequest("GET", sandbox.server.baseURL + path))
      #expect(try await client.timetable(of: selection(in: year), refresh: true).content == nil)
      time.advance(by: .seconds(24 * 3600))
      #expect(try await client.catalog().content.generatedAt == Timestamp("2026-11-21T06:00:00Z"))
    }
  }

  @Test func `has in the sandbox what the contract has`() async throws {
    try await Self.withSandbox { sandbox, client, _ in
      let catalog = try await client.catalog().content
      #expect(catalog.academicYears == ["2025-2026", "2026-2027"])
      let calendar = try #require(try await client.academicCalendar().content)
      let weeks = TeachingWeeks(calendar: calendar, language: .hu)
      #expect(words(weeks.week(of: try date("2026-11-20"))) == "week2 8")
      #expect(weeks.teachingDates == (try date("2026-09-28"))...(try date("2027-06-06")))
      #expect(try await client.announcements().content.items.map(\.id) == ["welcome", "building-b", "maintenance"])
      #expect(try await client.timetable(of: selection(group: 513, in: "2026-2027")).content == nil)
      #expect(
        try await client.timetable(of: selection("informatica-maghiara", 2, 521, in: "2026-2027")).content?
          .isPlaceholder
          == true)
      #expect(sandbox.summaryLines().first == "GET /ubborarservice/catalog.json: once")
    }
  }
}
