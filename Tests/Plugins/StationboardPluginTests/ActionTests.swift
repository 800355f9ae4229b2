import ActionKit
import ActionTestKit
import HTTPClient
import SandboxKit
import Testing

@testable import StationboardPlugin

@Suite struct ActionTests {
  private static let catalog = ActionCatalog([StationboardPlugin.self])

  private static func run(_ name: String, _ input: String, on client: StationboardClient) async throws -> Value {
    let action = try #require(catalog.action("stationboard.\(name)"))
    let value = try JSON.parse(input)
    #expect(action.input.check(value, as: "with").map(\.message) == [])
    let output = try await action.run(value, on: client, in: .testing(step: "board", time: TestTime(morning)))
    #expect(action.output.check(output, as: "output").map(\.message) == [])
    return output
  }

  @Test func `is well formed`() { expectWellFormed(StationboardPlugin.self) }

  @Test func `runs its examples in the sandbox`() async { await expectExamplesRun(of: StationboardPlugin.self) }

  @Test func `only reads, and is tried again as the service's own programs do it`() throws {
    for action in PluginDescriptor(StationboardPlugin.self).actions { #expect(action.effect == .read) }
    let retry = try #require(Self.catalog.action("stationboard.getBoard")?.retry)
    #expect((1...5).map { retry.delay(afterAttempt: $0, chance: 0.5).inSeconds } == [2, 5, 10, 20, 20])
    #expect(retry.maxAttempts == 5 && retry.kinds == RetrySchedule.passingKinds)
  }

  @Test func `gives a board to recipes`() async throws {
    try await withAnswers([.board("cancelled")]) { (client, service) async throws in
      let output = try await Self.run(
        "getBoard", #"{"stopId":"Parent8503000","limit":5,"language":"fr","includeAlerts":false}"#, on: client)
      #expect(output["station"]?["name"]?.string == "Zürich HB")
      #expect(output["departures"]?.list?.map { $0["cancelled"]?.bool } == [true, true, true, false, false])
      #expect(output["departures"]?.list?.first?["platform"]?.string == "9")
      #expect(output["departures"]?.list?.first?["previousPlatform"] == nil)
      #expect(output["isDegraded"]?.bool == false)
      #expect(output["receivedAt"]?.timestamp == morning)
      #expect(output["age"]?.duration == .milliseconds(588))
      #expect(service.requests.first?.headers["x-md-request-id"] == "test-board")
      #expect(service.requests.first?.query["lang"] == "fr")
    }
  }

  @Test(arguments: [
    #"{"stopId":""}"#, #"{"stopId":"8507000","limit":21}"#, #"{"stopId":"8507000","limit":0}"#,
    #"{"stopId":"8507000","language":"rm"}"#, #"{"stopId":"8507000","windowMinutes":10}"#,
    #"{"stopId":"8507000","maxAge":"-1s"}"#, "{}",
  ])
  func `refuses what cannot be before anything is sent`(_ input: String) throws {
    let action = try #require(Self.catalog.action("stationboard.getBoard"))
    let value = try JSON.parse(input)
    #expect(action.input.check(value, as: "with").count == 1)
  }

  // MARK: One departure

  /// A board, a train's line and scheduled time, the time now, and the expected state.
  @Test(arguments: [
    ("full", "IC61", "06:34", "06:30", "onTime: "),
    ("full", "ic 61", "06:34", "06:30", "onTime: "),
    ("full", "RE1", "06:39", "06:30", "late: is 4 min late"),
    ("full", "S1", "06:42", "06:30", "onTime: "),
    ("full", "IR15", "06:48", "06:30", "planned: "),
    ("full", "IC16", "06:34", "06:30", "missing: , No line 'IC16' is on the board; did you mean 'IC61'?"),
    ("full", "S3", "06:46", "06:30", "missing: "),
    ("full", "IC61", "05:34", "06:30", "gone: , over"),
    ("full", "IC61", "10:34", "06:30", "awaited: "),
    ("delayed", "EC9", "05:50", "06:30", "late: is 42 min late"),
    ("cancelled", "IC3", "06:37", "06:30", "cancelled: is cancelled"),
    ("cancelled", "S12", "06:40", "06:30", "cancelled: does not stop here"),
    ("cancelled", "S8", "06:44", "06:30", "cancelled: is cancelled"),
    (
      "platform_change", "IR27", "06:35", "06:30",
      "late: is 3 min late and leaves from platform 4 instead of 7"
    ),
    ("platform_change", "S1", "06:39", "06:30", "elsewhere: leaves from platform 12 instead of 11"),
    ("platform_change", "1", "06:44", "06:30", "elsewhere: leaves no longer from platform D"),
    ("degraded_static", "X", "05:00", "06:30", "unknown: "),
    ("static_timeout_fallback", "IC61", "06:00", "06:30", "unknown: "),
    ("stale_cache_fallback", "RE1", "06:39", "06:30", "late: is 4 min late"),
    ("no_service", "IC61", "06:29:16", "06:30", "missing: "),
    ("no_service", "IC61", "06:29", "06:30", "gone: , over"),
    ("minimal_required_only", "S3", "06:36", "06:30", "planned: "),
  ])
  func `says what is the matter with a departure`(
    _ name: String, _ line: String, _ scheduled: String, _ now: String, _ expected: String
  ) throws {
    let time = { (text: String) in Timestamp("2026-04-14T\(text)\(text.count == 5 ? ":00" : "")Z") }
    var wanted = WantedDeparture(scheduled: try #require(time(scheduled)))
    wanted.line = line
    let board = try fixtureBoard(name, at: try #require(time(now)))
    let state = try #require(board.state(of: wanted, limit: 20))
    var text = "\(state.status.rawValue): \(state.troubles.joined(separator: " and "))"
    if state.isOver { text += ", over" }
    if let hint = state.hint { text += ", \(hint)" }
    #expect(text == expected)
    #expect(state.hasTrouble == !state.troubles.isEmpty)
  }

  /// The board of `full`, limited to six rows; the last one leaves at 07:07.
  @Test(arguments: [
    // A departure of 06:20 may be 30 minutes late and still come; the board reaches beyond that.
    ("06:20", "06:30", "gone"), ("06:40", "06:41", "awaited"), ("06:37", "06:38", "gone"),
    ("06:45", "06:30", "missing"),
    ("07:07", "06:30", "awaited"), ("07:08", "06:30", "awaited"), ("06:38", "07:08", "gone"),
  ])
  func `a full board does not tell what comes after its last row`(
    _ scheduled: String, _ now: String, _ status: String
  ) throws {
    var wanted = WantedDeparture(scheduled: try #require(Timestamp("2026-04-14T\(scheduled):00Z")))
    wanted.line = "IC99"
    let board = try fixtureBoard("full", at: try #require(Timestamp("2026-04-14T\(now):00Z")))
    #expect(board.state(of: wanted, limit: 6)?.status.rawValue == status)
  }

  /// A full board with a departure every minute from 06:29:40 on, built at 06:30:20.
  ///
  /// Its first row leaves it five seconds later. Each case: the seconds until the question, the train's scheduled time,
  /// and the expected status.
  @Test(arguments: [
    (0, "07:30", "awaited"), (14, "07:30", "awaited"), (0, "06:25", "awaited"), (14, "06:25", "awaited"),
    (14, "06:32", "missing"), (14, "06:10", "gone"),
  ])
  func `a full board stays full when its first rows have left`(
    _ after: Int, _ scheduled: String, _ status: String
  ) async throws {
    let start = try #require(Timestamp("2026-04-14T06:29:40Z"))
    let rows = try (0..<20).map { minute in
      let leaves = try #require(start.advanced(by: .seconds(minute * 60)))
      return #"{"line": "S1", "destination": "Thun", "scheduledDeparture": "\#(leaves)", "cancelled": false}"#
    }
    let meta = #""meta": {"responseMode": "full", "rtStatus": "applied", "serverTime": "2026-04-14T06:30:20Z"}"#
    let time = TestTime(morning)
    let answer = HTTPServerResponse.text(#"{"departures": [\#(rows.joined(separator: ","))], \#(meta)}"#)
    try await withAnswers([answer], interval: .seconds(15), time: time) { (client, _) async throws in
      #expect(try await client.board(BoardQuery("8507000")).departures.count == 20)
      time.advance(by: .seconds(after))
      let input = #"{"stopId": "8507000", "line": "IC9", "scheduled": "2026-04-14T\#(scheduled):00Z"}"#
      #expect(try await Self.run("findDeparture", input, on: client)["status"]?.string == status)
    }
  }

  @Test func `a board reaches as far ahead as it did when it was built`() throws {
    var board = try fixtureBoard("full")
    var wanted = WantedDeparture(scheduled: try #require(morning.advanced(by: .seconds(205 * 60))))
    wanted.line = "IC99"
    #expect(board.state(of: wanted, limit: 20)?.status == .missing)
    board.age = .seconds(360)
    #expect(board.state(of: wanted, limit: 20)?.status == .awaited)
  }

  @Test func `a departure is told by its key, and several that may be meant are an error`() async throws {
    let rows = """
      {"departures": [
        {"key": "a", "line": "S1", "destination": "Thun", "scheduledDeparture": "2026-04-14T06:36:00Z", "delayMin": 9},
        {"key": "b", "line": "S1", "destination": "Brig", "scheduledDeparture": "2026-04-14T06:36:00Z", "delayMin": 0}],
       "meta": {"responseMode": "full", "rtStatus": "applied"}}
      """
    try await withAnswers([.text(rows), .text(rows), .text(rows)]) { (client, _) async throws in
      let at = #""stopId": "8507000", "scheduled": "2026-04-14T06:36:00Z""#
      let key = try await Self.run("findDeparture", #"{\#(at), "key": "b"}"#, on: client)
      #expect(key["departure"]?["destination"]?.string == "Brig" && key["status"]?.string == "onTime")
      let name = try await Self.run("findDeparture", #"{\#(at), "destination": "thu", "minDelay": 9}"#, on: client)
      #expect(name["troubles"]?.list?.map(\.string) == ["is 9 min late"])
      let action = try #require(Self.catalog.action("stationboard.findDeparture"))
      let input = try JSON.parse(#"{\#(at), "line": "S1"}"#)
      let error = await #expect(throws: ActionError.self) {
        try await action.run(input, on: client, in: .testing(time: TestTime(morning)))
      }
      #expect(
        error?.message
          == "Several departures may be meant: S1 to Thun, S1 to Brig; give 'line', 'destination' or 'key'.")
      #expect(error?.kind == .validation)
    }
  }

  // MARK: The sandbox

  @Test func `the sandbox keeps to the contract`() async throws {
    try await withSandbox { (sandbox, client, time) async throws in
      let board = try await client.board(BoardQuery("8507000:0:5"))
      #expect(board.resolved?.canonicalId == "Parent8507000")
      #expect(
        board.departures.prefix(3).map(short) == [
          "06:34 IC61 Interlaken Ost, 5, +0", "06:35 IC5 Zürich HB, 7, +0", "06:36 S3 Belp, 12, +0",
        ])
      #expect(board.departures.first { $0.line == "RE1" }?.delayMin == 4)
      #expect(board.departures.first { $0.line == "IR15" }?.hasRealtime == false)
      #expect(try await client.board(BoardQuery("Parent8591234")).isWithoutService)
      #expect(try await client.health().isHealthy)
      var query = BoardQuery("8507000")
      query.onlyIfNew = true
      _ = try await client.board(query)
      // The edge knows nothing of that question.
      #expect(try await short(client.board(query)) == "20 departures, HIT")
      time.advance(by: .seconds(15))
      #expect(try await client.board(query).isUnchanged == false)
      #expect(
        try await client.nearbyStops(latitude: 46.6, longitude: 7.9, limit: 2).stops.map(\.name) == [
          "Hinterwald, Alp", "Bern, Hirschengraben",
        ])
      #expect(sandbox.summaryLines().last == "GET /api/stops/nearby: once")
    }
  }

  @Test func `troubles, modes and time of the sandbox are set from outside`() async throws {
    try await withSandbox { (sandbox, client, time) async throws in
      func tell(_ path: String) async throws -> String {
        let answer = try await HTTPClient().send(HTTPRequest("GET", sandbox.baseURL + path))
        return String(decoding: answer.body, as: UTF8.self)
      }
      let query = BoardQuery("8507000")
      #expect(
        try await tell("/sandbox/train?line=IC61&delay=7m&platform=8&known=10m") == #"{"line":"IC61","trouble":true}"#)
      let board = try await client.board(query)
      #expect(
        board.departures.filter { $0.line == "IC61" }.map(short).prefix(2) == [
          "06:41 IC61 Interlaken Ost, 8 (was 5), +7", "07:04 IC61 Interlaken Ost, 5, +0",
        ])
      #expect(board.banners.map(\.header) == ["Störungen"])
      _ = try await tell("/sandbox/train?line=IC61&cancelled=stop")
      time.advance(by: .seconds(15))
      #expect(try await client.board(query).departures.first { $0.line == "IC61" }?.cancelReasonCode == "SKIPPED_STOP")
      #expect(try await tell("/sandbox/train?line=IC61") == #"{"line":"IC61","trouble":false}"#)
      #expect(try await tell("/sandbox/train?line=IC1").hasPrefix("Say which line"))
      time.advance(by: .seconds(15))
      _ = try await client.board(query)

      _ = try await tell("/sandbox/mode?is=stale_cache_fallback")
      time.advance(by: .seconds(90))
      let stale = try await client.board(query)
      #expect(short(stale) == "20 departures, degraded, nothing new, MISS, stationboard_timeout")
      #expect(stale.age == .seconds(90))
      time.advance(by: .seconds(15))
      let held = try await client.board(query)
      #expect(short(held).hasSuffix("degraded, nothing new, from cache, stale, MISS, stationboard_timeout"))
      let other = StationboardClient(baseURL: sandbox.baseURL, minimumInterval: .zero, time: time)
      #expect(
        try await short(other.board(query))
          == "0 departures, degraded, realtime reduced, nothing new, HIT, stationboard_timeout_no_cache_static")
      _ = try await tell("/sandbox/mode?rt=missing_cache")
      time.advance(by: .seconds(15))
      let reduced = try await client.board(query)
      #expect(short(reduced) == "20 departures, realtime reduced, MISS")
      #expect(reduced.departures.allSatisfy { !$0.hasRealtime })
      _ = try await tell("/sandbox/clock?advance=30m")
      let later = try await client.board(query).departures.first.map(short)
      #expect(later == "07:04 IC61 Interlaken Ost, 5, no realtime")
    }
  }
}
