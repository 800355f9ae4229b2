import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Testing

@testable import StationboardPlugin

/// Faults between client and service, over real HTTP.
@Suite struct FaultTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var fault: ServiceFault
    var error: ErrorKind
    var message: String
    var isOutage = false
    var retryAfter: TimeSpan?
    var testDescription: String { "\(fault.kind.rawValue) \(fault.status)" }

    init(_ kind: ServiceFault.Kind, _ error: ErrorKind, _ message: String, isOutage: Bool = false, times: Int = 1) {
      fault = ServiceFault(kind, times: times)
      self.error = error
      self.message = message
      self.isOutage = isOutage
      // An invalid board is requested again no sooner than a valid one.
      if message.hasPrefix("The board does not match the contract") { retryAfter = .seconds(20) }
    }

    /// The edge cache's header for the next board: the edge has cached the board that was damaged on the way.
    var edge: String {
      switch fault.kind {
      case .lostAnswer, .truncated, .slow, .oversized, .wrongType, .badUTF8: "HIT"
      case .refuse, .html, .status, .redirect, .redirectLoop: "MISS"
      }
    }

    static func status(_ status: Int, _ error: ErrorKind, isOutage: Bool = false, retryAfter: Int? = nil) -> Case {
      var c = Case(
        .status, error, "The service answered /api/stationboard with HTTP status \(status).", isOutage: isOutage)
      c.fault.status = status
      c.fault.retryAfter = retryAfter.map { "\($0)" }
      c.retryAfter = retryAfter.map { .seconds($0) }
      if status == 429 { c.message = "Too many requests came from this address; the service asks to wait for 60s." }
      return c
    }
  }

  private static let get = "The service could not be asked. GET BASE/api/stationboard?stop_id=Parent8507000&limit=20"
  private static let asking = get + "&include_alerts=1: "
  private static let broken = "The board does not match the contract: it is "

  @Test(arguments: [
    Case(.refuse, .network, asking + "BASE closed the connection before its answer was complete.", isOutage: true),
    Case(.lostAnswer, .network, asking + "BASE closed the connection before its answer was complete.", isOutage: true),
    Case(.truncated, .network, asking + "BASE closed the connection before its answer was complete.", isOutage: true),
    Case(
      .slow, .timeout, asking + "BASE did not send a complete answer within 0.3s; try later or raise the time limit.",
      isOutage: true),
    Case(
      .oversized, .plugin, asking + "the answer is larger than 1048576 bytes; raise the limit if it should be."),
    Case(.wrongType, .plugin, "The board does not match the contract: it has no list of departures."),
    Case(.badUTF8, .plugin, broken + "not valid UTF-8."),
    Case(.html, .plugin, broken + "a web page."),
    Case(
      .redirect, .plugin,
      asking + "BASE redirects to http://elsewhere.example; only redirects to the same scheme, host and port are "
        + "followed. If the service has moved, change the URL."),
    Case(.redirectLoop, .plugin, asking + "BASE redirects more than 5 times in a row; check the URL.", times: 6),
    .status(400, .plugin), .status(401, .authentication), .status(403, .authorization), .status(404, .notFound),
    .status(405, .plugin), .status(408, .plugin), .status(429, .rateLimited, retryAfter: 60),
    .status(500, .server, isOutage: true), .status(502, .server, isOutage: true),
    .status(503, .server, isOutage: true, retryAfter: 86400), .status(504, .server, isOutage: true),
  ])
  func `is an error that says what happened, and what is held stands in for an outage`(_ c: Case) async throws {
    // Only the answer that never comes may time out early; otherwise a busy machine decides which fault occurs.
    let limits = HTTPLimits(attempt: c.fault.kind == .slow ? .milliseconds(300) : .seconds(60), maxBodyBytes: 1 << 20)
    try await withSandbox { (sandbox, calm, time) async throws in
      let client = StationboardClient(
        baseURL: sandbox.baseURL, minimumInterval: .zero, limits: limits, time: time)
      var query = BoardQuery("Parent8507000")
      query.standIn = .seconds(90)
      sandbox.server.add(c.fault)
      let error = try await failure { try await client.board(query) }
      #expect(error.message.replacing(sandbox.baseURL, with: "BASE") == c.message)
      #expect(error.actionError.kind == c.error)
      #expect(error.actionError.effect == ActionError.Effect.none)
      #expect(error.actionError.retryAfter == c.retryAfter)

      // A slow machine may need more than the time limit of the row that has one.
      let whole = StationboardClient(baseURL: sandbox.baseURL, minimumInterval: .zero, time: time)
      let patient = c.fault.kind == .slow ? whole : client
      let good = try await patient.board(query)
      #expect(short(good) == "20 departures, \(c.edge)")
      time.advance(by: .seconds(90))
      if c.fault.kind == .slow { return }
      sandbox.server.add(c.fault)
      if c.isOutage {
        let stale = try await client.board(query)
        #expect(short(stale) == "20 departures, nothing new, from cache, stale, \(c.edge)")
        #expect(stale.staleReason?.replacing(sandbox.baseURL, with: "BASE") == c.message)
        #expect(stale.receivedAt == morning && stale.age == .seconds(90))
        time.advance(by: .milliseconds(1))
        sandbox.server.add(c.fault)
      }
      #expect(try await failure { try await client.board(query) }.actionError.kind == c.error)
      // The fault has no lasting effect.
      #expect(try await client.board(query).isCurrent)
    }
  }

  @Test(arguments: [
    ("http://127.0.0.1:9", "refused the connection; check that the service runs and that the address is right."),
    ("https://no.such.host.invalid/md", "cannot be resolved; check the URL and the network."),
  ])
  func `nobody at the address is a network error`(_ baseURL: String, _ words: String) async throws {
    let client = StationboardClient(baseURL: baseURL, time: TestTime())
    for error in [
      try await failure { try await client.board(BoardQuery("8507000")) },
      try await failure { try await client.searchStops("bern") },
      try await failure { try await client.nearbyStops(latitude: 46, longitude: 7) },
      try await failure { try await client.health() },
    ] {
      #expect(error.actionError.kind == .network)
      #expect(error.message.hasPrefix("The service could not be asked. GET \(baseURL)/"), "\(error.message)")
      #expect(error.message.hasSuffix(words), "\(error.message)")
    }
  }

  @Test(arguments: [
    ("wrongType", "The list of stops does not match the contract: it has no list of stops."),
    ("badUTF8", "The list of stops does not match the contract: it is not valid UTF-8."),
    ("html", "The list of stops does not match the contract: it is a web page."),
  ])
  func `a list of stops that is none is an error`(_ kind: String, _ message: String) async throws {
    try await withSandbox { (sandbox, client, _) async throws in
      sandbox.server.add(ServiceFault(try #require(ServiceFault.Kind(rawValue: kind)), call: "/stops/", times: 2))
      let search = try await failure { try await client.searchStops("bern") }
      #expect(search.message == message && search.actionError.kind == .plugin)
      #expect(try await failure { try await client.nearbyStops(latitude: 46, longitude: 7) }.message == message)
      #expect(
        try await client.searchStops("bern").stops.map(\.id) == ["Parent8507000", "Parent8507083", "Parent8590010"])
    }
  }

  @Test(arguments: OddNumbers.texts)
  func `the sandbox answers odd numbers`(_ odd: String) async throws {
    try await withSandbox { sandbox, _, _ in
      let http = HTTPClient()
      let board = "/api/stationboard?stop_id=Parent8507000"
      for path in [
        "\(board)&limit=", "\(board)&window_minutes=", "\(board)&since_rt=", "\(board)&include_alerts=",
        "/api/stationboard?stop_id=", "/api/stops/search?q=bern&limit=", "/api/stops/search?q=",
        "/api/stops/nearby?lat=",
        "/api/stops/nearby?lat=46.9&lon=7.4&limit=", "/api/stops/nearby?lat=1e308&lon=", "/sandbox/mode?boards=",
        "/sandbox/train?line=IC61&delay=", "/sandbox/train?line=IC61&cancelled=trip&known=", "\(board)&debug=",
      ] {
        let answer = try await http.send(HTTPRequest("GET", sandbox.baseURL + path + odd))
        #expect([200, 400, 404].contains(answer.status), "\(path)\(odd)")
      }
    }
  }

  @Test(
    arguments: [
      ("-1", 1), ("-9223372036854775808", 1), ("-99999999999999999999", 1), ("1", 1), ("2", 2), ("0", nil), ("x", nil),
      ("9223372036854775807", nil), ("99999999999999999999", nil),
    ] as [(String, Int?)])
  func `the sandbox limits boards as the service does`(_ limit: String, _ count: Int?) async throws {
    try await withSandbox { sandbox, _, _ in
      func rows(_ limit: String) async throws -> Int? {
        let url = "\(sandbox.baseURL)/api/stationboard?stop_id=Parent8507000&limit=\(limit)"
        return try JSON.parse(try await HTTPClient().send(HTTPRequest("GET", url)).body)["departures"]?.list?.count
      }
      let all = try await rows("500")
      #expect(try await rows(limit) == count ?? all)
    }
  }
}
