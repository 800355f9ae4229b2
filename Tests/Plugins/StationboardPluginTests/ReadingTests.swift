import ActionKit
import ActionTestKit
import Testing

@testable import StationboardPlugin

/// Reading boards, valid and odd.
@Suite struct ReadingTests {
  @Test(arguments: [
    ("full", "6 departures"), ("full_bus_tram", "4 departures"), ("full_include_alerts0", "3 departures"),
    ("alerts_banners", "5 departures"), ("alerts_stale", "2 departures"), ("cancelled", "5 departures"),
    ("delayed", "7 departures"), ("platform_change", "4 departures"),
    ("degraded_static", "4 departures, degraded, realtime reduced, nothing new"),
    ("degraded_static_rt_applied_alerts_failed", "4 departures, degraded, nothing new"),
    ("stale_cache_fallback", "6 departures, degraded, nothing new"),
    ("static_timeout_fallback", "0 departures, degraded, realtime reduced, nothing new"),
    ("no_service", "0 departures, without service"),
    ("full_rt_stale_cache", "4 departures, realtime reduced"), ("full_rt_disabled", "2 departures, realtime reduced"),
    ("full_rt_missing_cache", "2 departures, realtime reduced"),
    ("full_rt_guarded_error", "2 departures, realtime reduced"),
    ("minimal_required_only", "2 departures"),
    ("minimal_without_meta", "1 departures, degraded, realtime reduced"),
    ("nulls_allowed_by_schema", "1 departures, realtime reduced"),
    ("unknown_values", "2 departures, degraded, realtime reduced"),
  ])
  func `every form of board is read`(_ name: String, _ expected: String) throws {
    let board = try fixtureBoard(name)
    #expect(short(board) == expected)
    // A board can be stored with a run and read again.
    let kept = try JSON.parse(JSON.text(board.encoded()))
    let again = try Board(reading: kept).encoded()
    #expect(try JSON.text(again) == JSON.text(board.encoded()))
  }

  @Test func `departures are given by the time at which they leave`() throws {
    #expect(
      try fixtureBoard("delayed").departures.map(short) == [
        "06:31 S5 Uster, 42, +0", "06:32 EC9 Milano Centrale, 6, +42", "06:34 S6 Uetikon, 31, +0",
        "06:35 S7 Rapperswil SG, 32, +1", "06:36 4 Bahnhof Tiefenbrunnen, +1", "06:40 IR70 Luzern, 7, +5",
        "06:55 RE48 Schaffhausen, 17, +18",
      ])
    #expect(
      try fixtureBoard("alerts_banners").departures.map(short) == [
        "06:38 IR17 Burgdorf, 4, +0, cancelled", "06:41 IC5 Zürich HB, 7, +7", "06:45 S2 Langnau, 1, +0",
        "06:46 EV1 Burgdorf, Bahnhof, Kante Q, +2", "06:50 IC1 Genève-Aéroport, 9, +0",
      ])
  }

  @Test func `what leaves at the same time stays in the service's order`() throws {
    func row(_ line: String, _ time: String) -> String {
      #"{"line":"\#(line)","destination":"X","scheduledDeparture":"2026-04-14T\#(time)Z","cancelled":false}"#
    }
    let rows = [row("c", "07:00:00"), row("a", "06:40:00"), row("b", "06:40:00"), row("d", "06:39:59.5")]
    let board = try #require(try board(#"{"departures":[\#(rows.joined(separator: ","))]}"#))
    #expect(board.departures.map(\.line) == ["d", "a", "b", "c"])
  }

  @Test func `only cancelled says that something is cancelled`() throws {
    let cancelled = try fixtureBoard("cancelled").departures
    #expect(cancelled.map(\.cancelled) == [true, true, true, false, false])
    #expect(cancelled.map(\.status) == ["CANCELLED", "SKIPPED_STOP", "UNKNOWN", "DELAYED", "ON_TIME"])
    #expect(cancelled.map(\.cancelReasonCode) == ["CANCELED_TRIP", "SKIPPED_STOP", nil, nil, nil])
    #expect(cancelled[1].stopEvent == "SKIPPED")
    #expect(cancelled[3].flags == ["SHORT_TURN", "RT_CONFIRMED"])
  }

  @Test func `platforms are those of now and of the timetable`() throws {
    #expect(
      try fixtureBoard("platform_change").departures.map(short) == [
        "06:38 IR27 Basel SBB, 4 (was 7), +3", "06:39 S1 Baar, 12 (was 11), +0", "06:42 IR26 Locarno, 5, +0",
        "06:44 1 Kriens, Busschleife (was D), +0",
      ])
  }

  @Test func `a row has all that the contract names`() throws {
    let row = try #require(try fixtureBoard("full").departures.first { $0.line == "RE1" })
    #expect(row.key == "103.TA.91-RE1-demo-1.5.H|8507000:0:2|2026-04-14T06:39:00.000Z")
    #expect(row.tripId == "103.TA.91-RE1-demo-1.5.H" && row.routeId == "91-RE1-demo-1" && row.stopId == "8507000:0:2")
    #expect(row.stopSequence == 1 && row.category == "RE" && row.number == "1" && row.operator == "BLS AG (bls)")
    #expect(row.scheduledDeparture == Timestamp("2026-04-14T06:39:00Z"))
    #expect(row.realtimeDeparture == Timestamp("2026-04-14T06:42:24Z") && row.departsAt == row.realtimeDeparture)
    #expect(row.rawDelaySec == 204 && row.rawDelayMin == 3 && row.displayedDelayMin == 4 && row.hasRealtime)
  }

  @Test func `the service's word about its answer is typed`() throws {
    let board = try fixtureBoard("alerts_banners")
    #expect(board.station?.id == "Parent8507000" && board.station?.name == "Bern")
    #expect(board.resolved?.canonicalId == "Parent8507000" && board.resolved?.childrenCount == 12)
    #expect(board.meta.totalBackendMs == 214.6 && board.meta.rtAppliedCount == 5)
    #expect(board.meta.rtPollAgeMs == 4050 && board.meta.alertsStatus == "applied")
    #expect(board.realtimeFeed?.feedKey == "rt_parsed_tables" && board.realtimeFeed?.instance?.pid == 512)
    #expect(board.realtimeFeed?.freshnessThresholdMs == 45_000)
    #expect(board.alertsFeed?.reason == "applied" && board.alertsFeed?.includeRequested == true)
    #expect(board.banners.map(\.severity) == [.severe, .info, .unknown])
    #expect(board.banners.map(\.header) == ["Line blocked at Burgdorf", "Lift out of service", nil])
    #expect(board.banners[1].affected.stopId == "8507000:0:1" && board.banners[1].affected.routeId == "91-S2-demo-1")
    let alerts = board.departures.flatMap(\.alerts)
    #expect(alerts.map(\.id) == ["demo-alert-79", "demo-alert-77", "demo-alert-78", "demo-alert-77", "demo-alert-79"])
    #expect(alerts[2].description == nil && alerts[2].severity == "info")
  }

  @Test func `an empty board says why`() throws {
    let none = try fixtureBoard("no_service")
    #expect(none.noService?.reason == "no_service_in_time_window")
    #expect(none.noService?.window?.start == Timestamp("2026-04-14T05:30:20.412Z"))
    #expect(none.noService?.window?.end == Timestamp("2026-04-14T10:00:20.412Z"))
    let unknown = try fixtureBoard("static_timeout_fallback")
    #expect(unknown.noService?.reason == "backend_timeout_fallback" && !unknown.isWithoutService)
  }

  @Test func `what is not known is absent, and what nobody knows is passed over`() throws {
    let minimal = try fixtureBoard("minimal_required_only").departures
    #expect(minimal.map(short) == ["06:36 S3 Belp, no realtime", "06:40 - -, no realtime, cancelled"])
    #expect(minimal.map(\.key) == ["S3|Belp|2026-04-14T06:36:00Z", "||2026-04-14T06:40:00Z"])
    let unknown = try fixtureBoard("unknown_values")
    #expect(unknown.meta.responseMode == "partial_realtime" && unknown.meta.rtStatus == "replayed")
    #expect(unknown.departures[0].status == "BOARDING" && unknown.departures[0].flags == ["RT_CONFIRMED", "LOW_FLOOR"])
    #expect(unknown.isCurrent)
  }

  /// A row with one member more, or another.
  @Test(arguments: [
    (#""platform": 7"#, "06:36 S3 Belp, no realtime"),
    (#""delayMin": 3.0"#, "06:36 S3 Belp, +3"),
    (#""delayMin": -2"#, "06:36 S3 Belp, +-2"),
    (#""delayMin": "3""#, "06:36 S3 Belp, no realtime"),
    (#""delayMin": 2.5"#, "06:36 S3 Belp, no realtime"),
    (#""delayMin": 1e300"#, "06:36 S3 Belp, no realtime"),
    (#""realtimeDeparture": "soon""#, "06:36 S3 Belp, no realtime"),
    (#""realtimeDeparture": "2026-04-14T08:37:30+02:00""#, "06:37 S3 Belp, no realtime"),
    (#""flags": null"#, "06:36 S3 Belp, no realtime"),
    (#""flags": "RT_CONFIRMED""#, "06:36 S3 Belp, no realtime"),
    (#""flags": ["RT_CONFIRMED", 4]"#, "06:36 S3 Belp"),
    (#""line": """#, "06:36 - Belp, no realtime"),
    (#""alerts": [7, {"id": "a"}]"#, "06:36 S3 Belp, no realtime"),
    (#""platformChanged": null"#, "06:36 S3 Belp, no realtime"),
    (#""platformChanged": "yes""#, "unreadable"),
    (#""cancelled": null"#, "06:36 S3 Belp, no realtime"),
    (#""cancelled": "no""#, "unreadable"),
    (#""cancelled": 0"#, "unreadable"),
    (#""scheduledDeparture": null"#, "unreadable"),
    (#""scheduledDeparture": "08:36""#, "unreadable"),
    (#""departsAt": "2020-01-01T00:00:00Z", "hasRealtime": true"#, "06:36 S3 Belp, no realtime"),
  ])
  func `one odd member spoils no board`(_ member: String, _ expected: String) throws {
    let name = member.prefix { $0 != ":" }
    let usual = [
      #""line": "S3""#, #""destination": "Belp""#, #""scheduledDeparture": "2026-04-14T06:36:00Z""#,
      #""cancelled": false"#,
    ]
    let row = (usual.filter { !$0.hasPrefix(name) } + [member]).joined(separator: ",")
    let good = usual.joined(separator: ",")
    let board = try #require(try board("{\"departures\": [{\(row)}, {\(good)}, 3]}"))
    if expected == "unreadable" {
      #expect(board.departures.map(short) == ["06:36 S3 Belp, no realtime"])
      #expect(board.unreadable == 2)
    } else {
      #expect(board.departures.map(short).contains(expected), "\(board.departures.map(short))")
      #expect(board.departures.count == 2 && board.unreadable == 1)
    }
  }

  @Test(arguments: [
    #"{}"#, #"[]"#, #"{"departures": null}"#, #"{"departures": {}}"#, #""full""#, #"[{"departures": []}]"#,
  ])
  func `without a list of departures there is no board`(_ text: String) throws {
    #expect(try board(text) == nil)
  }

  @Test func `parts of another kind are absent, and nothing derived is taken from outside`() throws {
    let odd = try #require(
      try board(
        #"""
        {"departures": [], "station": "Bern", "meta": [], "rt": 1, "alerts": null, "banners": "x", "noService": "none",
         "isCurrent": true, "isStale": true, "unreadable": 9, "rowCount": 9,
        "isDegraded": false, "receivedAt": "2020-01-01T00:00:00Z",
         "delivery": {"edgeCache": "HIT"}, "age": "1s", "fromCache": true, "staleReason": "x", "isWithoutService": true}
        """#))
    #expect(short(odd) == "0 departures, degraded, realtime reduced")
    #expect(odd.station == nil && odd.banners.isEmpty && odd.noService == nil && odd.receivedAt == morning)
    #expect(odd.staleReason == nil && odd.age == nil && odd.rowCount == 0)
  }

  /// The age that counts, and from where on it does.
  @Test(arguments: [
    (#""rtPollAgeMs": 45000, "rtCacheAgeMs": 90000"#, false), (#""rtPollAgeMs": 45001"#, true),
    (#""rtPollAgeMs": null, "rtCacheAgeMs": 45001"#, true), (#""rtCacheAgeMs": 45000"#, false), (#""x": 1"#, false),
  ])
  func `realtime is reduced when it is old`(_ ages: String, _ expected: Bool) throws {
    let text = #"{"departures": [], "meta": {"responseMode": "full", "rtStatus": "applied", \#(ages)}}"#
    #expect(try board(text)?.isRealtimeReduced == expected)
  }

  @Test func `a board grows old, and what has left leaves it`() throws {
    let board = try fixtureBoard("full")
    #expect(board.dated(morning).age?.description == "0.588s")
    #expect(board.dated(try #require(Timestamp("2026-04-14T06:30:00Z"))).age == .zero)
    let sent = try #require(Timestamp("2026-04-14T06:30:20.412Z"))
    func first(_ now: String, sentAt: Timestamp = sent) throws -> String? {
      board.seen(at: try #require(Timestamp("2026-04-14T\(now)Z")), sentAt: sentAt).departures.first?.line
    }
    // S3 leaves at 06:36:00 and stays for 45 seconds; IC61 left at 06:34:12.
    #expect(try first("06:36:45") == "S3")
    #expect(try first("06:36:45.1") == "RE1")
    // The age of the board counts, so a clock that was set back removes no departure.
    #expect(try first("06:36:45.1", sentAt: morning) == "S3")
    #expect(try first("06:29:00") == "IC61")
    #expect(board.rowCount == 6)
  }
}
