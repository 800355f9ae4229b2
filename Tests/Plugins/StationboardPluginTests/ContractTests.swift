import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Testing

@testable import StationboardPlugin

/// The exchanges of the contract, over real HTTP.
@Suite struct ContractTests {
  private static func exchange(_ name: String) throws -> (request: Value, answer: HTTPServerResponse) {
    let all = try JSON.parse(fixture("exchanges.json"))["exchanges"]?.list ?? []
    let exchange = try #require(all.first { $0["name"]?.string == name }, "no exchange '\(name)'")
    let response = try #require(exchange["response"])
    var answer = HTTPServerResponse(status: response["status"]?.int ?? 0)
    for header in response["headers"]?.map?.members ?? [] {
      if let name = header.name { answer.headers[name] = header.value.string }
    }
    if let file = response["bodyFile"]?.string { answer.body = .bytes(try fixture(file)) }
    return (try #require(exchange["request"]), answer)
  }

  /// The query that leads to a request of the exchanges.
  private static func query(_ request: Value) -> BoardQuery {
    var query = BoardQuery(request["query"]?["stop_id"]?.string ?? "Parent8507000")
    query.limit = (request["query"]?["limit"]?.string).flatMap { Int($0) } ?? 20
    query.includesAlerts = request["query"]?["include_alerts"]?.string != "0"
    query.onlyIfNew = request["query"]?["since_rt"] != nil
    return query
  }

  @Test(arguments: [
    ("full", "6 departures, MISS"),
    ("full from the edge cache", "6 departures, HIT"),
    ("alerts not asked for", "3 departures"),
    ("alerts and banners", "5 departures"),
    ("degraded static", "4 departures, degraded, realtime reduced, nothing new"),
    ("stale cache fallback", "6 departures, degraded, nothing new, stationboard_timeout"),
    (
      "static timeout fallback",
      "0 departures, degraded, realtime reduced, nothing new, stationboard_timeout_no_cache_static"
    ),
    ("since_rt without if_board", "6 departures"),
    ("limit is not a number: default of 300 is used, no error", "6 departures"),
  ])
  func `a board is read as the contract says`(_ name: String, _ expected: String) async throws {
    let (request, answer) = try Self.exchange(name)
    try await withAnswers([answer]) { (client, service) async throws in
      var query = Self.query(request)
      query.onlyIfNew = false
      #expect(try await short(client.board(query)) == expected)
      let sent = try #require(service.requests.first)
      #expect(sent.path == "/api/stationboard")
      #expect(sent.query["stop_id"] == request["query"]?["stop_id"]?.string)
      #expect(sent.query["include_alerts"] == request["query"]?["include_alerts"]?.string ?? "1")
      #expect(sent.headers["Accept"] == "application/json")
      #expect(sent.headers["Cache-Control"] == "no-store, no-cache, max-age=0")
      #expect(sent.headers["Pragma"] == "no-cache")
    }
  }

  @Test func `nothing new keeps the board that is held, without what has left meanwhile`() async throws {
    let (request, answer) = try Self.exchange("nothing newer than since_rt")
    let time = TestTime(morning)
    let late = try HTTPServerResponse.board("static_timeout_fallback")
    try await withAnswers([.board("full"), answer, late], time: time) { (client, service) async throws in
      let query = Self.query(request)
      #expect(try await short(client.board(query)) == "6 departures")
      time.advance(by: .seconds(400))
      // IC61 left at 06:34:12, and S3 at 06:36; the clock shows 06:37:01.
      let kept = try await client.board(query)
      #expect(short(kept) == "4 departures, unchanged")
      #expect(kept.receivedAt == time.now())
      #expect(kept.age?.description == "400.588s")
      let sent = try #require(service.requests.last)
      #expect(sent.query.items.map(\.name) == ["stop_id", "limit", "include_alerts", "since_rt", "if_board"])
      #expect(sent.query["since_rt"] == "2026-04-14T06:30:11.292Z")
      #expect(sent.query["if_board"] == "1")
      // A server that doesn't answer in time doesn't repeat its statement that the board is unchanged.
      time.advance(by: .seconds(15))
      #expect(try await short(client.board(query)) == "4 departures, nothing new, from cache, stale")
    }
  }

  @Test func `the server is asked for all of it after ten minutes, whatever it says of news`() async throws {
    let time = TestTime(morning)
    try await withAnswers([.board("full"), .unchanged, .board("full")], time: time) { (client, service) async throws in
      var query = BoardQuery("Parent8507000")
      query.onlyIfNew = true
      _ = try await client.board(query)
      time.advance(by: .seconds(599))
      _ = try await client.board(query)
      time.advance(by: .seconds(1))
      #expect(try await short(client.board(query)) == "6 departures")
      #expect(service.requests.map { $0.query["if_board"] } == [nil, "1", nil])
    }
  }

  @Test func `nothing new for somebody who holds nothing is no empty board`() async throws {
    try await withAnswers([.unchanged, .board("full")]) { (client, service) async throws in
      var query = BoardQuery("Parent8507000")
      query.onlyIfNew = true
      let nothing = try await client.board(query)
      #expect(short(nothing) == "0 departures, degraded, realtime reduced, nothing new, unchanged")
      #expect(try await short(client.board(query)) == "6 departures")
      #expect(service.targets.allSatisfy { !$0.contains("since_rt") })
    }
  }

  @Test func `an instant that the service does not take is left out, once`() async throws {
    let (_, refusal) = try Self.exchange("malformed since_rt")
    try await withAnswers([.board("full"), refusal, .board("delayed"), refusal, refusal]) {
      (client, service) async throws in
      var query = BoardQuery("Parent8507000")
      query.onlyIfNew = true
      _ = try await client.board(query)
      #expect(try await short(client.board(query)) == "7 departures")
      #expect(service.requests.map { $0.query["since_rt"] != nil } == [false, true, false])
      let error = try await failure { try await client.board(query) }
      #expect(
        error.message == "The service refuses the request: invalid_since_rt, since_rt is neither an ISO instant nor "
          + "epoch milliseconds.")
      #expect(service.requests.count == 5)
    }
  }

  @Test(arguments: [
    ("no stop id", ErrorKind.validation, "The service refuses the request: missing_stop_id."),
    (
      "stop ids disagree", .validation,
      "The service refuses the request: conflicting_stop_id, the two identifiers name different stations."
    ),
    (
      "unknown parent stop", .notFound,
      "The service knows no such stop (stop_not_found, parent_stop_id_not_found_in_static_db); its id can be found with "
        + "a search for stops."
    ),
    (
      "unknown other stop", .notFound,
      "The service knows no such stop (stop_not_found, stop_id_not_found_in_static_db); its id can be found with a "
        + "search for stops."
    ),
    (
      "rate limited", .rateLimited,
      "Too many requests came from this address; the service asks to wait for 60s."
    ),
    (
      "backend failure", .server,
      "The service answered /api/stationboard with HTTP status 500: stationboard_failed."
    ),
    (
      "edge out of quota", .server,
      "The service answered /api/stationboard with HTTP status 503: busy, Daily quota is used up."
    ),
    ("gateway page", .server, "The service answered /api/stationboard with HTTP status 502."),
    ("wrong method", .plugin, "The service answered /api/stationboard with HTTP status 405."),
  ])
  func `an error of the service is told in its words`(_ name: String, _ kind: ErrorKind, _ message: String)
    async throws
  {
    let (request, answer) = try Self.exchange(name)
    try await withAnswers([answer]) { (client, service) async throws in
      let error = try await failure { try await client.board(Self.query(request)) }
      #expect(error.message == message)
      #expect(error.actionError.kind == kind)
      #expect(error.actionError.effect == ActionError.Effect.none)
      #expect(error.actionError.retryable == [.server, .rateLimited].contains(kind))
      #expect(error.retryAfter == answer.retryAfter)
      #expect(service.requests.count == 1)
    }
  }

  @Test(arguments: [
    (
      400, "400_unknown_stop.json",
      "The service knows no such stop (unknown_stop); its id can be found with a search for stops."
    ),
    (
      500, "500_stationboard_failed_nonproduction.json",
      "The service answered /api/stationboard with HTTP status 500: stationboard_failed, demo: relation does not exist."
    ),
    (
      503, "503_rt_origin_not_configured.json",
      "The service answered /api/stationboard with HTTP status 503: rt_origin_not_configured, demo: no backend address "
        + "set."
    ),
    (200, "200_truncated_body.txt", "The board does not match the contract: it is not valid JSON"),
    (200, "502_gateway.html", "The board does not match the contract: it is a web page."),
    (200, "500_stationboard_failed.json", "The board does not match the contract: it has no list of departures."),
  ])
  func `every other body of an error is read`(_ status: Int, _ file: String, _ message: String) async throws {
    let answer = HTTPServerResponse(status: status, body: .bytes(try fixture("errors/\(file)")))
    try await withAnswers([answer]) { (client, _) async throws in
      let error = try await failure { try await client.board(BoardQuery("8507000")) }
      #expect(error.message.hasPrefix(message), "\(error.message)")
    }
  }

  // MARK: Stops and health

  @Test(arguments: [
    ("stop search", "ok"), ("stop search, fallback answer", "fallback"),
  ])
  func `stops are searched by name`(_ name: String, _ kind: String) async throws {
    let (request, answer) = try Self.exchange(name)
    try await withAnswers([answer]) { (client, service) async throws in
      let search = try await client.searchStops(" bern\n", limit: 20)
      #expect(service.targets == ["/api/stops/search?q=bern&limit=20"])
      #expect(request["query"]?["q"]?.string == "bern")
      if kind == "ok" {
        #expect(search.stops.map(\.id) == ["Parent8507000", "Parent8507083", "Parent8507000"])
        #expect(search.stops.map(\.name) == ["Bern", "Bern Wankdorf", "Bern"])
        #expect(search.stops.map(\.rawStopId) == ["Parent8507000", "Parent8507083", "8507000:0:5"])
        #expect(search.stops.map(\.isPlatform) == [false, false, true])
        #expect(search.stops.first?.nbStopTimes == 15320)
        #expect(search.stops.first?.aliasesMatched == ["bern hb"])
        #expect(!search.isFallback)
      } else {
        #expect(search.stops.map(\.id) == ["Parent8507000"])
        #expect(search.stops.first?.nbStopTimes == nil)
        #expect(search.isFallback && search.fallbackReason == "stops_search_timeout")
      }
    }
  }

  @Test(arguments: [("only_raw_ids", ["Parent8507000"]), ("empty", [])])
  func `an id is found wherever it stands`(_ file: String, _ ids: [String]) async throws {
    try await withAnswers([HTTPServerResponse(body: .bytes(try fixture("stop_search/\(file).json")))]) {
      (client, _) async throws in
      #expect(try await client.searchStops("bern").stops.map(\.id) == ids)
    }
  }

  @Test func `stops are searched by place`() async throws {
    try await withAnswers([try Self.exchange("nearby").answer]) { (client, service) async throws in
      let search = try await client.nearbyStops(latitude: 46.9488, longitude: 7.4391, limit: 2)
      #expect(service.targets == ["/api/stops/nearby?lat=46.9488&lon=7.4391&limit=2"])
      #expect(search.stops.map(\.id) == ["Parent8507000", "Parent8590010"])
      #expect(search.stops.map(\.name) == ["Bern", "Bern, Hirschengraben"])
      #expect(search.stops.map(\.distanceM) == [84.31, 241.07])
    }
  }

  @Test(arguments: [
    ("stop search, too short", "The service refuses the request: query_too_short, Type two characters or more."),
    ("nearby, bad coordinates", "The service refuses the request: invalid_coordinates."),
  ])
  func `a search that the service refuses is an error`(_ name: String, _ message: String) async throws {
    try await withAnswers([try Self.exchange(name).answer]) { (client, _) async throws in
      let error = try await failure { try await client.searchStops("bern") }
      #expect(error.message == message)
      #expect(error.actionError.kind == .validation)
    }
  }

  @Test(arguments: [
    ("stop_search/search_500", "The service answered /api/stops/search with HTTP status 500: search_failed."),
    ("stop_search/nearby_500", "The service answered /api/stops/search with HTTP status 500: stops_nearby_failed."),
  ])
  func `a search that fails is an error`(_ file: String, _ message: String) async throws {
    let answer = HTTPServerResponse(status: 500, body: .bytes(try fixture("\(file).json")))
    try await withAnswers([answer]) { (client, _) async throws in
      #expect(try await failure { try await client.searchStops("bern") }.message == message)
    }
  }

  @Test func `health is an answer, good or bad`() async throws {
    try await withAnswers([try Self.exchange("health").answer, try Self.exchange("health, database down").answer]) {
      (client, service) async throws in
      let good = try await client.health()
      #expect(good.isHealthy && good.db == true && good.usesRealtime == true && good.hasToken == true)
      #expect(good.port == 8080 && good.reason == nil)
      let bad = try await client.health()
      #expect(!bad.isHealthy && bad.reason == "demo: connection refused" && bad.db == nil)
      #expect(service.targets == ["/health", "/health"])
    }
  }

  @Test(arguments: [
    (200, "{}", "The word about health does not match the contract: it does not say 'ok'."),
    (200, "fine", "The word about health does not match the contract: it is not valid JSON"),
    (502, "<html>", "The service answered /health with HTTP status 502."),
    (500, "{}", "The service answered /health with HTTP status 500."),
  ])
  func `a word about health that says nothing is an error`(_ status: Int, _ body: String, _ message: String)
    async throws
  {
    try await withAnswers([.text(body, status: status)]) { (client, _) async throws in
      let error = try await failure { try await client.health() }
      #expect(error.message.hasPrefix(message), "\(error.message)")
    }
  }
}

extension HTTPServerResponse {
  /// The seconds until a retry, by the answer's `Retry-After`.
  fileprivate var retryAfter: TimeSpan? { headers["Retry-After"].flatMap { Int($0) }.map { .seconds($0) } }
}
