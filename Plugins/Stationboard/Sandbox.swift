public import ActionKit
import SandboxKit
import Synchronization

// The sandbox: the service on a loopback port, with a made-up timetable that repeats every hour. It behaves as the
// contract says, with the cache of the edge before it: a board serves for 15 s every request for the same stop, limit,
// window, language and alerts, with any other parameters. The edge takes 120 requests a minute and says how many are left.
// Beside what every sandbox has (`SandboxServer`):
//
//   /sandbox/train?line=IC61&delay=7m&platform=8&cancelled=trip&known=10m
//                               what happens to a line's departures, each from `known` before its time on (an hour);
//                               `cancelled` is `trip` or `stop`; with `line` alone nothing happens to it any more
//   /sandbox/mode?is=M&rt=S&boards=N
//                               the next boards come in that mode and with that state of realtime; without `boards`,
//                               all until another is set

extension StationboardPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try StationboardSandbox(options)
  }
}

/// The service on a loopback port.
final class StationboardSandbox: ServedSandbox {
  let server: SandboxServer
  private let handler: Handler

  init(_ options: SandboxOptions) throws {
    let handler = Handler()
    self.handler = handler
    server = try SandboxServer(port: options.port, time: options.time) { request, now in
      handler.answer(request, at: now)
    }
  }

  var configuration: Value { .object(["baseURL": .string(baseURL)]) }

  /// Lets something happen to the departures of a line; nil lets nothing happen to them any more.
  func strike(_ line: String, _ trouble: SandboxTrouble?) { handler.strike(line, trouble) }

  /// Lets boards come in a mode.
  func mode(_ mode: String, realtime: String = "applied", boards: Int = .max) {
    handler.mode(mode, realtime: realtime, boards: boards)
  }

  private final class Handler: Sendable {
    private struct State {
      var troubles: [String: SandboxTrouble] = [:]
      var mode = "full"
      var realtime = "applied"
      /// How many boards come so.
      var left = Int.max
      var boards = 0
      /// The start of the current minute of the edge's rate limit, and the number of requests in it.
      var minute: (start: Timestamp, requests: Int)?
      /// The answers that the edge holds, by their keys, each with its time.
      var held: [[String]: (answer: HTTPServerResponse, at: Timestamp)] = [:]
      /// The last full board of each request, with its time.
      var sent: [String: (board: ValueMap, at: Timestamp)] = [:]
    }

    private let state = Mutex(State())

    func strike(_ line: String, _ trouble: SandboxTrouble?) { state.withLock { $0.troubles[line] = trouble } }

    func mode(_ mode: String, realtime: String, boards: Int) {
      state.withLock { ($0.mode, $0.realtime, $0.left) = (mode, realtime, boards) }
    }

    func answer(_ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
      guard request.method == "GET" else { return .text("Method not allowed", status: 405) }
      // A test's command to the sandbox isn't a request to the service.
      if request.path.hasPrefix("/sandbox/") { return passed(request, at: now) }
      let left = 120 - count(at: now)
      guard left >= 0 else {
        var refusal = Self.error("rate_limited", status: 429, ["message": .string("Too many requests.")])
        refusal.headers["Retry-After"] = "60"
        return refusal
      }
      var answer = passed(request, at: now)
      answer.headers["x-md-rate-remaining"] = "\(left)"
      return answer
    }

    /// Counts a request, and tells how many have come within the minute.
    private func count(at now: Timestamp) -> Int {
      state.withLock { state in
        var minute = state.minute ?? (now, 0)
        if let age = now.span(since: minute.start), age < .zero || age >= .seconds(60) { minute = (now, 0) }
        minute.requests += 1
        state.minute = minute
        return minute.requests
      }
    }

    /// Answers what the edge lets through.
    private func passed(_ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
      let query = request.query
      switch request.path {
      case "/api/stationboard": return cached(query, request, at: now)
      case "/api/stops/search": return search(query)
      case "/api/stops/nearby": return nearby(query)
      case "/health":
        return .json(
          .object([
            "ok": .bool(true), "port": .int(8080), "db": .bool(true), "ENABLE_RT": .bool(true), "hasToken": .bool(true),
          ]))
      case "/sandbox/train":
        guard let line = query["line"], SandboxNetwork.lines.contains(where: { $0.line == line }) else {
          return .text("Say which line, as in /sandbox/train?line=IC61&delay=7m.\n", status: 400)
        }
        let trouble = SandboxTrouble(query)
        strike(line, trouble)
        return .json(.object(["line": .string(line), "trouble": .bool(trouble != nil)]))
      case "/sandbox/mode":
        let (mode, realtime) = (query["is"] ?? "full", query["rt"] ?? "applied")
        self.mode(mode, realtime: realtime, boards: query.number("boards", in: 0...Int.max) ?? .max)
        return .json(.object(["mode": .string(mode), "realtime": .string(realtime)]))
      default: return Self.error("not_found", status: 404)
      }
    }

    private static func error(_ code: String, status: Int, _ more: KeyValuePairs<String, Value> = [:])
      -> HTTPServerResponse
    {
      var body = ValueMap()
      body["error"] = .string(code)
      for (name, value) in more { body[name] = value }
      return .json(.map(body), status: status)
    }

    // MARK: Boards

    /// Answers like the edge, from its cache if possible; the cache keys omit some parameters.
    private func cached(_ query: HTTPQuery, _ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
      guard query["debug"] != "1" else { return board(query, request, at: now) }
      let stop = query["stop_id"] ?? query["stationId"] ?? query["station_id"] ?? ""
      let key = [stop] + ["limit", "window_minutes", "lang", "include_alerts"].map { query[$0] ?? "" }
      if let held = state.withLock({ $0.held[key] }), let age = now.span(since: held.at), age >= .zero,
        age < .seconds(15)
      {
        var answer = held.answer
        answer.headers["x-md-cache"] = "HIT"
        answer.headers["x-md-request-id"] = request.headers["x-md-request-id"] ?? answer.headers["x-md-request-id"]
        return answer
      }
      var answer = board(query, request, at: now)
      guard answer.status == 200 else { return answer }
      answer.headers["x-md-cache"] = "MISS"
      state.withLock { $0.held[key] = (answer, now) }
      return answer
    }

    /// A number as boards read it: 0 is the default (contract, section 4.1).
    private static func number(_ name: String, in range: ClosedRange<Int>, _ query: HTTPQuery) -> Int? {
      query[name].flatMap { Int($0) } == 0 ? nil : query.number(name, in: range)
    }

    private func board(_ query: HTTPQuery, _ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
      let asked = query["stop_id"] ?? query["stationId"] ?? query["station_id"] ?? ""
      guard !asked.isEmpty else {
        return Self.error(
          "missing_stop_id", status: 400, ["expected": .list([.string("stop_id"), .string("stationId")])])
      }
      guard let station = SandboxNetwork.station(id: asked) else {
        let parent = asked.hasPrefix("Parent") ? "parent_stop_id" : "stop_id"
        return Self.error(
          "stop_not_found", status: 404,
          ["detail": .string("\(parent)_not_found_in_static_db"), "tried": .list([.string(asked)])])
      }
      if let other = query["stationId"], SandboxNetwork.station(id: other)?.id != station.id {
        return Self.error("conflicting_stop_id", status: 400, ["precedence": .string("stop_id")])
      }
      let fetchedAt = SandboxNetwork.realtimeFetched(before: now)
      if let text = query["since_rt"] {
        guard let since = Timestamp(text) else {
          return .json(
            .object([
              "error": .object([
                "code": .string("invalid_since_rt"),
                "message": .string("since_rt is neither an ISO instant nor epoch milliseconds"),
              ])
            ]), status: 400)
        }
        if ["1", "true", "yes", "on"].contains(query["if_board"] ?? ""), fetchedAt <= since {
          return HTTPServerResponse(
            status: 204,
            headers: ["x-md-rt-reason": "unchanged_since_rt", "x-md-rt-fetched-at": SandboxNetwork.text(fetchedAt)])
        }
      }
      let limit = Self.number("limit", in: 1...500, query) ?? 300
      let window = Self.number("window_minutes", in: 30...720, query) ?? 210
      let isWithAlerts = !["0", "false", "no", "off"].contains(query["include_alerts"] ?? "1")
      return state.withLock { state in
        state.boards += 1
        if state.left <= 0 { (state.mode, state.realtime) = ("full", "applied") } else { state.left -= 1 }
        let id = request.headers["x-md-request-id"] ?? "sb-sandbox-\(state.boards)"
        let network = SandboxNetwork(troubles: state.troubles, hasRealtime: state.realtime == "applied")
        var board = network.board(
          of: station, at: now, limit: limit, minutes: window, isWithAlerts: isWithAlerts,
          language: query["lang"] ?? "de")
        var meta = board["meta"]?.map ?? ValueMap()
        var headers: HTTPHeaders = ["x-md-cache": "BYPASS", "x-md-request-id": id]
        var mode = state.mode
        if mode == "stale_cache_fallback" {
          if let old = state.sent[request.target], now.span(since: old.at) ?? .zero <= .seconds(90) {
            board = old.board
            meta = old.board["meta"]?.map ?? meta
            headers["x-md-stale"] = "1"
            headers["x-md-stale-reason"] = "stationboard_timeout"
          } else {
            mode = "static_timeout_fallback"
          }
        }
        if mode == "static_timeout_fallback" {
          board["departures"] = .list([])
          board["noService"] = .object(["reason": .string("backend_timeout_fallback")])
          board["resolved"] = nil
          board["banners"] = nil
          meta["rtStatus"] = .string("skipped_budget")
          meta["alertsStatus"] = .string("skipped_budget")
          headers["x-md-stale"] = "1"
          headers["x-md-stale-reason"] = "stationboard_timeout_no_cache_static"
        } else if mode != "stale_cache_fallback" {
          meta["rtStatus"] = .string(state.realtime)
        }
        meta["responseMode"] = .string(mode)
        meta["requestId"] = .string(id)
        board["meta"] = .map(meta)
        if mode == "full" { state.sent[request.target] = (board, now) }
        var answer = HTTPServerResponse.json(.map(board))
        answer.headers.fields += headers.fields
        return answer
      }
    }

    // MARK: Stops

    private static func limit(_ query: HTTPQuery) -> Int {
      query.number("limit", in: 1...50) ?? 20
    }

    private func search(_ query: HTTPQuery) -> HTTPServerResponse {
      let text = (query["q"] ?? query["query"] ?? "").trimmed.lowercased()
      guard text.unicodeScalars.count >= 2 else {
        return Self.error(
          "query_too_short", status: 400,
          ["message": .string("Type two characters or more."), "minLength": .int(2)])
      }
      var found = SandboxNetwork.stations.filter { $0.name.lowercased().contains(text) }
      if found.isEmpty, let near = text.nearest(among: SandboxNetwork.stations.map(\.name)) {
        found = SandboxNetwork.stations.filter { $0.name == near }
      }
      return .json(.object(["stops": .list(found.prefix(Self.limit(query)).map(\.searched))]))
    }

    private func nearby(_ query: HTTPQuery) -> HTTPServerResponse {
      func number(_ name: String, _ other: String) -> Double? { (query[name] ?? query[other]).flatMap { Double($0) } }
      guard let latitude = number("lat", "latitude"), let longitude = number("lon", "longitude"),
        latitude.isFinite, longitude.isFinite
      else { return Self.error("invalid_coordinates", status: 400) }
      let stops = SandboxNetwork.stations.map { ($0, $0.distance(latitude: latitude, longitude: longitude)) }
        .sorted { $0.1 < $1.1 }
      return .json(.object(["stops": .list(stops.prefix(Self.limit(query)).map { $0.0.nearby(at: $0.1) })]))
    }
  }
}
