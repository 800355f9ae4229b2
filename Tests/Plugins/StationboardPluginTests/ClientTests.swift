import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Synchronization
import Testing

@testable import StationboardPlugin

/// The number of requests to the service, and their targets.
@Suite struct ClientTests {
  @Test func `the same board is not asked for again before something can be new`() async throws {
    let time = TestTime(morning)
    try await withAnswers([.board("full"), .board("delayed"), .board("cancelled")], interval: .seconds(15), time: time)
    {
      (client, service) async throws in
      #expect(try await short(client.board(BoardQuery("Parent8507000"))) == "6 departures")
      time.advance(by: .milliseconds(14_999))
      #expect(try await short(client.board(BoardQuery(" Parent8507000 "))) == "6 departures, from cache")
      var other = BoardQuery("Parent8507000")
      other.limit = 6
      #expect(try await short(client.board(other)) == "7 departures")
      time.advance(by: .milliseconds(1))
      #expect(try await short(client.board(BoardQuery("Parent8507000"))) == "5 departures")
      #expect(
        service.targets == [
          "/api/stationboard?stop_id=Parent8507000&limit=20&include_alerts=1",
          "/api/stationboard?stop_id=Parent8507000&limit=6&include_alerts=1",
          "/api/stationboard?stop_id=Parent8507000&limit=20&include_alerts=1",
        ])
    }
  }

  @Test func `what one program was told holds for the next one`() async throws {
    let time = TestTime(morning)
    let folder = FileManager.default.temporaryDirectory.appending(path: "boards-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func client(_ steps: [ScriptedTransport.Step]) -> (StationboardClient, ScriptedTransport) {
      let transport = ScriptedTransport(steps)
      let client = StationboardClient(
        baseURL: "http://h", http: HTTPClient(transport: transport), time: time, keptIn: folder)
      return (client, transport)
    }
    let query = BoardQuery("Parent8507000")
    let body = String(decoding: try fixture("full.json"), as: UTF8.self)
    let (first, _) = client([.on("GET", "http://h/api/stationboard…", headers: ["x-md-cache": "MISS"], body)])
    let board = try await first.board(query)
    time.advance(by: .milliseconds(14_999))
    let (second, asked) = client([])
    let kept = try await second.board(query)
    #expect(asked.requests.isEmpty && kept.fromCache && kept.departures == board.departures)
    #expect(kept.receivedAt == board.receivedAt && kept.delivery.edgeCache == "MISS")
    time.advance(by: .milliseconds(1))
    var patient = query
    patient.standIn = .seconds(60)
    let (third, failing) = client([.on("GET", "http://h/api/stationboard…", status: 500)])
    let stale = try await third.board(patient)
    #expect(failing.missing.isEmpty && stale.isStale && stale.departures == board.departures)
    // A damaged file counts as missing.
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      try Data("{".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
    }
    let (fourth, again) = client([.on("GET", "http://h/api/stationboard…", body)])
    _ = try await fourth.board(query)
    #expect(again.missing.isEmpty)
  }

  @Test func `the sandbox's edge gives a board again for fifteen seconds, whoever asks`() async throws {
    try await withSandbox { (sandbox, client, time) async throws in
      var query = BoardQuery("Parent8507000")
      query.requestID = "first"
      let first = try await client.board(query)
      sandbox.strike("IC61", SandboxTrouble(cancelled: "trip"))
      time.advance(by: .milliseconds(14_999))
      query.requestID = "second"
      let second = try await client.board(query)
      #expect(short(first) == "20 departures, MISS" && short(second) == "20 departures, HIT")
      // The board, with the id in it, belongs to the first request; the delivery belongs to each request.
      #expect(second.meta.requestId == "first" && second.meta.serverTime == first.meta.serverTime)
      #expect(first.delivery.requestId == "first" && second.delivery.requestId == "second")
      #expect(second.departures == first.departures)
      var other = query
      other.limit = 19
      #expect(try await client.board(other).departures.contains(where: \.cancelled))
      time.advance(by: .milliseconds(1))
      let third = try await client.board(query)
      #expect(short(third) == "20 departures, MISS" && third.departures.contains(where: \.cancelled))
    }
  }

  @Test func `the sandbox's edge takes 120 requests a minute, and says how many are left`() async throws {
    try await withSandbox { (_, client, time) async throws in
      let query = BoardQuery("Parent8507000")
      #expect(try await client.board(query).delivery.rateRemaining == 119)
      // Also what the edge holds is asked for.
      #expect(try await client.board(query).delivery.rateRemaining == 118)
      for _ in 0..<117 { _ = try await client.health() }
      time.advance(by: .milliseconds(59_999))
      #expect(try await client.board(query).delivery.rateRemaining == 0)
      let error = try await failure { try await client.board(query) }
      #expect(error.message == "Too many requests came from this address; the service asks to wait for 60s.")
      #expect(error.actionError.kind == .rateLimited && error.retryAfter == .seconds(60))
      time.advance(by: .milliseconds(1))
      #expect(try await client.board(query).delivery.rateRemaining == 119)
    }
  }

  @Test func `a clock that was set back makes no board current for longer`() async throws {
    let time = TestTime(morning)
    try await withAnswers([.board("full"), .board("delayed")], interval: .seconds(15), time: time) {
      (client, _) async throws in
      _ = try await client.board(BoardQuery("8507000"))
      time.setWallClock(to: morning.advanced(by: .seconds(-3600)) ?? morning)
      #expect(try await short(client.board(BoardQuery("8507000"))) == "7 departures")
    }
  }

  @Test func `one board is asked for by one request at a time`() async throws {
    let (time, gate) = (TestTime(morning), TestTime(morning))
    let concurrent = Mutex((now: 0, most: 0, all: 0))
    let body = try fixture("full.json")
    let server = try HTTPServer { _ in
      concurrent.withLock {
        $0.now += 1
        $0.all += 1
        $0.most = max($0.most, $0.now)
      }
      try? await gate.sleep(for: .seconds(1))
      concurrent.withLock { $0.now -= 1 }
      return HTTPServerResponse(body: .bytes(body))
    }
    let client = StationboardClient(
      baseURL: server.baseURL, minimumInterval: .seconds(15), limits: HTTPLimits(attempt: .seconds(60)), time: time)
    let boards = try await withThrowingTaskGroup(of: Board.self) { group in
      for _ in 0..<8 { group.addTask { try await client.board(BoardQuery("Parent8507000")) } }
      await gate.advanceToNextSleeper()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(boards.count == 8 && boards.count { $0.fromCache } == 7)
    #expect(concurrent.withLock { $0.most == 1 && $0.all == 1 })
    await server.stop()
  }

  @Test func `whoever waits for a request that fails asks for himself`() async throws {
    try await withAnswers([.text("no", status: 500), .board("full"), .board("full")]) {
      (client, service) async throws in
      async let first = try? client.board(BoardQuery("8507000"))
      async let second = try? client.board(BoardQuery("8507000"))
      let boards = await [first, second]
      #expect(boards.compactMap(\.self).count == 1)
      #expect(service.requests.count == 2)
    }
  }

  @Test func `parameters are sent as the contract has them`() async throws {
    try await withAnswers([.board("full")]) { (client, service) async throws in
      var query = BoardQuery("8507000:0:8 ü&x=1")
      query.limit = 3
      query.includesAlerts = false
      query.language = .de
      query.windowMinutes = 60
      query.requestID = "run 1-put[3].écrire"
      let board = try await client.board(query)
      let sent = try #require(service.requests.first)
      #expect(
        sent.target
          == "/api/stationboard?stop_id=8507000%3A0%3A8%20%C3%BC%26x%3D1&limit=3&include_alerts=0&lang=de&window_minutes=60"
      )
      #expect(sent.headers["x-md-request-id"] == "run-1-put[3].-crire")
      #expect(board.delivery.requestId == "sb-demo-0001")
    }
  }

  @Test func `a prefix and a slash of the base address are minded`() async throws {
    let service = try Answers([.board("full")])
    let client = StationboardClient(baseURL: "\(service.baseURL)/md//", time: TestTime())
    _ = try await client.board(BoardQuery("8507000"))
    #expect(service.requests.first?.path == "/md/api/stationboard")
    await service.stop()
  }

  @Test func `headers of the answer are kept`() async throws {
    var answer = try HTTPServerResponse.board("minimal_required_only")
    answer.headers["X-MD-Request-ID"] = "edge-7"
    answer.headers["x-md-cache"] = "HIT"
    answer.headers["x-md-rate-remaining"] = "118"
    answer.headers["x-md-stale-reason"] = "stationboard_timeout"
    var other = try HTTPServerResponse.board("full")
    other.headers["x-md-cache"] = "HIT"
    try await withAnswers([answer, other]) { (client, _) async throws in
      let delivery = try await client.board(BoardQuery("8507000")).delivery
      #expect(delivery.requestId == "edge-7" && delivery.edgeCache == "HIT" && delivery.rateRemaining == 118)
      #expect(delivery.staleReason == "stationboard_timeout")
      // Without the header, the only id on an edge hit is a stranger's.
      let hit = try await client.board(BoardQuery("8507000"))
      #expect(hit.delivery.requestId == nil && hit.meta.requestId == "sb-demo-0001")
    }
  }

  @Test(arguments: [
    (BoardQuery(" "), "A stop has to be given, such as Parent8507000, in at most 100 characters."),
    (
      BoardQuery(String(repeating: "1", count: 101)),
      "A stop has to be given, such as Parent8507000, in at most 100 characters."
    ),
    (BoardQuery("8507\n000"), "A stop has to be given, such as Parent8507000, in at most 100 characters."),
    (query(limit: 0), "A board has 1 to 20 departures, not 0."),
    (query(limit: 21), "A board has 1 to 20 departures, not 21."),
    (query(window: 29), "Departures are looked for 30 to 720 minutes ahead, not 29."),
    (query(window: 721), "Departures are looked for 30 to 720 minutes ahead, not 721."),
  ])
  func `asks nobody what the service would take for something else`(_ query: BoardQuery, _ message: String)
    async throws
  {
    try await withAnswers([]) { (client, service) async throws in
      let error = try await failure { try await client.board(query) }
      #expect(error.message == message)
      #expect(error.actionError.kind == .validation)
      #expect(service.requests.isEmpty)
    }
  }

  @Test func `asks nobody for searches that cannot be`() async throws {
    try await withAnswers([]) { (client, service) async throws in
      for error in [
        try await failure { try await client.searchStops(" b ") },
        try await failure { try await client.searchStops(String(repeating: "b", count: 201)) },
        try await failure { try await client.searchStops("bern", limit: 51) },
        try await failure { try await client.nearbyStops(latitude: 90.1, longitude: 0) },
        try await failure { try await client.nearbyStops(latitude: .nan, longitude: 0) },
        try await failure { try await client.nearbyStops(latitude: 0, longitude: 0, limit: 0) },
      ] { #expect(error.actionError.kind == .validation) }
      #expect(service.requests.isEmpty)
    }
  }

  @Test func `a name in place of an id is answered with ids`() async throws {
    try await withSandbox { (sandbox, client, _) async throws in
      let error = try await failure { try await client.board(BoardQuery("Bern Wankdof")) }
      #expect(
        error.message
          == "The service knows no such stop (stop_not_found, stop_id_not_found_in_static_db); its id can be "
          + "found with a search for stops. Did you mean Parent8507083 (Bern Wankdorf)?")
      #expect(error.actionError.kind == .notFound)
      let other = try await failure { try await client.board(BoardQuery("Parent9999999")) }
      #expect(other.message.hasSuffix("found with a search for stops."))
      #expect(sandbox.server.count("/api/stops/search") == 1)
    }
  }

  @Test func `an empty answer for lack of time is replaced by what is held`() async throws {
    let time = TestTime(morning)
    let built = #""serverTime": "2026-04-14T06:30:41.000Z""#
    let text = try String(decoding: fixture("static_timeout_fallback.json"), as: UTF8.self)
      .replacing(#/"serverTime": "[^"]*"/#, with: built)
    let late = (0..<7).map { _ in HTTPServerResponse.text(text) }
    try await withAnswers([.board("full")] + late, time: time) { (client, _) async throws in
      let nothing = "0 departures, degraded, realtime reduced, nothing new"
      var query = BoardQuery("Parent8507000")
      _ = try await client.board(query)
      time.advance(by: .seconds(20))
      let held = try await client.board(query)
      #expect(short(held) == "6 departures, nothing new, from cache, stale")
      #expect(held.staleReason == "The service ran out of time." && held.receivedAt == morning)
      query.maxAge = .seconds(20)
      #expect(try await short(client.board(query)) == nothing)
      query.maxAge = nil
      query.standIn = .seconds(19)
      #expect(try await short(client.board(query)) == nothing)
      query.standIn = .seconds(20)
      #expect(try await client.board(query).isStale)
      // Without a limit it is of use as long as something on it is to come: the last row leaves at 07:07:00.
      query.standIn = nil
      time.advance(by: .seconds(2200))
      #expect(try await short(client.board(query)) == "1 departures, nothing new, from cache, stale")
      time.advance(by: .seconds(60))
      #expect(try await short(client.board(query)) == nothing)
    }
  }

  @Test func `a board that is too old is a failure that passes`() async throws {
    let time = TestTime(morning)
    try await withAnswers([.board("stale_cache_fallback"), .board("full")], time: time) { (client, _) async throws in
      var query = BoardQuery("Parent8507000")
      query.maxAge = .seconds(60)
      let error = try await failure { try await client.board(query) }
      #expect(
        error.message == "The service sent a board of Parent8507000 that is 64.588s old, and at most 60s was wanted.")
      #expect(error.actionError.kind == .server && error.actionError.retryable)
      #expect(try await short(client.board(query)) == "6 departures")
    }
  }

  @Test(arguments: [-30 * 86400, -240, 0, 240, 30 * 86400])
  func `what the service has just sent is given whole, whatever this machine's clock says`(_ off: Int) async throws {
    let time = TestTime(try #require(morning.advanced(by: .seconds(off))))
    let service = try Answers([.board("full"), .unchanged, .unchanged])
    let client = StationboardClient(
      baseURL: service.baseURL, minimumInterval: .seconds(15), limits: HTTPLimits(attempt: .seconds(60)),
      time: GoingTime(time))
    var query = BoardQuery("Parent8507000")
    query.onlyIfNew = true
    #expect(try await short(client.board(query)) == "6 departures")
    time.advance(by: .seconds(14))
    #expect(try await short(client.board(query)) == "6 departures, from cache")
    // By the service's clock it is 06:34:44, then 06:36:47; IC61 left at 06:34:12, and S3 at 06:36.
    time.advance(by: .seconds(250))
    #expect(try await short(client.board(query)) == "6 departures, unchanged")
    time.advance(by: .seconds(123))
    #expect(try await short(client.board(query)) == "4 departures, unchanged")
    await service.stop()
  }

  @Test func `a board of months ago is read by the clock of today`() async throws {
    let service = try Answers([.board("full")])
    let client = StationboardClient(baseURL: service.baseURL, limits: HTTPLimits(attempt: .seconds(60)))
    #expect(try await short(client.board(BoardQuery("Parent8507000"))) == "6 departures")
    await service.stop()
  }

  @Test func `nothing new is not asked for where that would be too old`() async throws {
    let time = TestTime(morning)
    let bodies = try ["06:30:20", "06:30:40", "06:30:50"].map { built in
      try String(decoding: fixture("full.json"), as: UTF8.self).replacing("06:30:20.412Z", with: "\(built).412Z")
    }
    let targets = Mutex<[HTTPQuery]>([])
    let server = try HTTPServer { request in
      let number = targets.withLock { targets in
        targets.append(request.query)
        return targets.count
      }
      // The second question with a condition takes so long that the answer comes too late.
      if request.query["if_board"] != nil {
        if number > 3 { time.advance(by: .seconds(6)) }
        return .unchanged
      }
      return .text(number < 5 ? bodies[number / 2] : bodies[2])
    }
    let client = StationboardClient(
      baseURL: server.baseURL, minimumInterval: .zero, limits: HTTPLimits(attempt: .seconds(60)), time: time)
    var query = BoardQuery("Parent8507000")
    query.onlyIfNew = true
    query.maxAge = .seconds(10)
    #expect(try await short(client.board(query)) == "6 departures")
    time.advance(by: .seconds(20))
    #expect(try await short(client.board(query)) == "6 departures")
    time.advance(by: .seconds(5))
    #expect(try await short(client.board(query)) == "6 departures, unchanged")
    #expect(try await short(client.board(query)) == "6 departures")
    #expect(targets.withLock { $0.map { $0["if_board"] } } == [nil, nil, "1", "1", nil])
    await server.stop()
  }

  @Test func `holds no more boards than are of use`() async throws {
    let answers = try (0..<66).map { _ in try HTTPServerResponse.board("minimal_required_only") }
    let time = TestTime(morning)
    try await withAnswers(answers, interval: .seconds(600), time: time) { (client, service) async throws in
      for number in 0...64 {
        time.advance(by: .milliseconds(1))
        _ = try await client.board(BoardQuery("\(number)"))
      }
      #expect(try await client.board(BoardQuery("64")).fromCache)
      #expect(try await client.board(BoardQuery("1")).fromCache)
      #expect(service.requests.count == 65)
      #expect(try await client.board(BoardQuery("0")).fromCache == false)
    }
  }
}

private func query(limit: Int = 20, window: Int? = nil) -> BoardQuery {
  var query = BoardQuery("8507000")
  query.limit = limit
  query.windowMinutes = window
  return query
}
