public import ActionKit
public import HTTPClient

/// Everything that the departure boards of Switzerland can be asked.
///
/// Programs that want to be tested without the service take this protocol; `StationboardClient` is the real one.
public protocol StationboardClientProtocol: Sendable {
  /// Reads the departures of a stop.
  func board(_ query: BoardQuery) async throws(StationboardError) -> Board
  /// Looks stops up by name; small slips, accents and hyphens do not matter.
  func searchStops(_ text: String, limit: Int) async throws(StationboardError) -> StopSearch
  /// Finds stops near a place, the nearest first.
  func nearbyStops(latitude: Double, longitude: Double, limit: Int) async throws(StationboardError) -> StopSearch
  /// Asks whether the service works; an answer that says no is an answer.
  func health() async throws(StationboardError) -> Health
}

/// A client of the service behind mesdeparts.ch.
///
///     let client = StationboardClient()
///     let bern = try await client.board(BoardQuery("Parent8507000"))
///     for train in bern.departures { print(train.line ?? "", train.destination ?? "", train.delayMin ?? 0) }
///
/// It can be shared by any number of tasks. It sends one request at a time for each board, and none before the minimum
/// interval is over, because nothing is new sooner; until then it returns the held board. Errors are of type
/// `StationboardError`.
public actor StationboardClient: StationboardClientProtocol {
  /// The public service.
  public static let defaultBaseURL = "https://api.mesdeparts.ch"
  /// The public service tells nothing new sooner.
  public static let defaultMinimumInterval = TimeSpan.seconds(15)
  /// How often a board that is watched is asked for.
  static let cadence = TimeSpan.seconds(20)
  /// How long the public service may take; it gives itself five seconds.
  public static let defaultLimits = HTTPLimits(connect: .seconds(5), attempt: .seconds(8), maxBodyBytes: 4 << 20)

  /// For how long the service may say that nothing is new.
  private static let longestUnchanged = TimeSpan.seconds(600)
  /// How many boards are held.
  private static let mostHeld = 64

  /// The held answers of one board; an object, because it is large.
  fileprivate final class Held {
    /// The last answer.
    let latest: Board
    /// The last answer that was not empty for lack of time, and when the service sent it whole.
    let good: (board: Board, sentAt: Timestamp)?
    /// Both as they came, for the shelf.
    let kept: BoardShelf.Entry

    init(latest: Board, good: (board: Board, sentAt: Timestamp)?, kept: BoardShelf.Entry) {
      self.latest = latest
      self.good = good
      self.kept = kept
    }
  }

  private let baseURL: String
  private let minimumInterval: TimeSpan
  private let http: HTTPClient
  private let limits: HTTPLimits
  private let time: any TimeSource
  private let shelf: BoardShelf?
  private var held: [String: Held] = [:]
  /// The boards that are being asked for, and who waits for each.
  private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]

  /// Creates a client; nothing is sent before the first call.
  ///
  /// - Parameters:
  ///   - baseURL: The service's address; a slash at the end does not matter.
  ///   - minimumInterval: How soon the same board is asked for again.
  ///   - http: Sends the requests; share one among all clients of a process.
  ///   - limits: How long a request may take and how large an answer may be.
  ///   - time: Tells how old a board is.
  ///   - folder: Where boards are kept between programs, made when it is needed; nil keeps them in memory alone.
  public init(
    baseURL: String = defaultBaseURL, minimumInterval: TimeSpan = defaultMinimumInterval,
    http: HTTPClient = HTTPClient(), limits: HTTPLimits = defaultLimits, time: any TimeSource = SystemTime(),
    keptIn folder: String? = nil
  ) {
    shelf = folder.map { BoardShelf(folder: $0) }
    self.baseURL = baseURL.withoutSlashesAtEnd
    self.minimumInterval = minimumInterval
    self.http = http
    self.limits = limits
    self.time = time
  }
}

// MARK: - Boards

extension StationboardClient {
  public func board(_ query: BoardQuery) async throws(StationboardError) -> Board {
    var query = query
    query.stopId = query.stopId.trimmed
    if let fault = query.fault { throw StationboardError(.invalidParameter, fault) }
    let target = query.target
    await takeTurn(target)
    defer { endTurn(target) }
    if held[target] == nil, let entry = await shelf?.entry(of: baseURL + target) { held[target] = Held(entry) }
    do throws(StationboardError) {
      let board = try await current(query, target)
      // An earlier board is better than none.
      if board.isTimeout, let good = standIn(for: query, target, "The service ran out of time.", isTimeout: true) {
        return good
      }
      return board
    } catch {
      if error.kind.isOutage, let good = standIn(for: query, target, error.message, isTimeout: false) { return good }
      throw error
    }
  }

  private func current(_ query: BoardQuery, _ target: String) async throws(StationboardError) -> Board {
    let board: Board
    if let held = held[target], let age = time.now().span(since: held.latest.receivedAt), age >= .zero,
      age < minimumInterval
    {
      var kept = held.latest
      kept.fromCache = true
      board = kept.seen(at: time.now(), sentAt: held.good?.sentAt ?? kept.receivedAt)
    } else {
      board = try await fetch(query, target)
    }
    if !query.allows(board), let maxAge = query.maxAge, let age = board.age {
      throw StationboardError(
        .tooOld, "The service sent a board of \(query.stopId) that is \(age) old, and at most \(maxAge) was wanted.")
    }
    return board
  }

  /// Returns the last good board, if it may stand in.
  ///
  /// A failure is retried by its caller's rules, and ends with the last error. An earlier board replaces the error only
  /// for callers that set its maximum age. An empty answer for lack of time is no failure, so no caller would retry it,
  /// and an earlier board tells more than it does (contract, sections 10 and 11).
  private func standIn(for query: BoardQuery, _ target: String, _ reason: String, isTimeout: Bool) -> Board? {
    let now = time.now()
    guard let good = held[target]?.good, let age = now.span(since: good.board.receivedAt) else { return nil }
    var board = good.board.seen(at: now, sentAt: good.sentAt)
    if let most = query.standIn {
      guard age <= most else { return nil }
    } else {
      guard isTimeout, !board.departures.isEmpty, query.allows(board) else { return nil }
    }
    board.isStale = true
    // The service may have said so of this board once, but not now.
    board.isUnchanged = false
    board.isCurrent = false
    board.fromCache = true
    board.staleReason = reason
    return board
  }

  private func fetch(_ query: BoardQuery, _ target: String) async throws(StationboardError) -> Board {
    let known = held[target]
    var condition = ""
    // Nothing new makes no board younger than was wanted.
    if query.onlyIfNew, let good = known?.good, let fetchedAt = good.board.meta.rtFetchedAt,
      let age = time.now().span(since: good.sentAt), age >= .zero, age < Self.longestUnchanged,
      query.allows(good.board.dated(time.now()))
    {
      condition = "&since_rt=\(PercentEncoding.encode(fetchedAt.description))&if_board=1"
    }
    var response: HTTPResponse
    do throws(StationboardError) {
      response = try await ask(target + condition, requestID: query.requestID)
      if response.status == 204, !condition.isEmpty, let good = known?.good,
        !query.allows(good.board.dated(time.now()))
      {
        response = try await ask(target, requestID: query.requestID)
      }
    } catch {
      if case .refused("invalid_since_rt") = error.kind, !condition.isEmpty {
        response = try await ask(target, requestID: query.requestID)
      } else if case .unknownStop = error.kind {
        throw await suggesting(error, for: query.stopId)
      } else {
        throw error
      }
    }
    let now = time.now()
    var board: Board
    var answer = known?.kept.good?.answer
    if response.status == 204 {
      // The service says this only to clients that hold a board. To others it says nothing, not that nothing runs.
      board = known?.good.map { $0.board.seen(at: now, sentAt: $0.sentAt) } ?? Board(nothingAt: now)
      board.isUnchanged = true
      board.receivedAt = now
    } else {
      // The service has left out what has left by its own clock.
      let value = try read(response, "The board")
      answer = value
      board = try self.board(in: value, at: now).dated(now)
    }
    board.delivery = Delivery(response, board.meta)
    guard response.status != 204 || known?.good != nil else { return board }
    if known == nil, held.count >= Self.mostHeld,
      let oldest = held.min(by: { $0.value.latest.receivedAt < $1.value.latest.receivedAt })
    {
      held[oldest.key] = nil
    }
    let sentAt = board.isUnchanged ? known?.good?.sentAt ?? now : now
    let kept = BoardShelf.Kept(
      answer: answer ?? .null, receivedAt: now, sentAt: sentAt, delivery: (try? board.delivery.encoded()) ?? .null)
    let entry = BoardShelf.Entry(latest: kept, good: board.isTimeout ? known?.kept.good : kept)
    held[target] = Held(latest: board, good: board.isTimeout ? known?.good : (board, sentAt), kept: entry)
    await shelf?.keep(entry, of: baseURL + target)
    return board
  }

  private func board(in value: Value, at now: Timestamp) throws(StationboardError) -> Board {
    let board: Board?
    do throws(ValueError) { board = try Board(answer: value, receivedAt: now) } catch {
      throw StationboardError(.decoding, "The board does not match the contract: \(error.list.first?.message ?? "").")
    }
    guard let board else {
      throw StationboardError(.decoding, "The board does not match the contract: it has no list of departures.")
    }
    return board
  }

  /// Adds the names of stops that may have been meant, if a name was given where an id belongs.
  private func suggesting(_ error: StationboardError, for text: String) async -> StationboardError {
    var error = error
    let isID = text.hasPrefix("Parent") || text.utf8.allSatisfy { (0x30...0x3A).contains($0) }
    guard !isID, text.unicodeScalars.count >= 2,
      let found = try? await searchStops(text, limit: 3), !found.stops.isEmpty
    else { return error }
    let names = found.stops.map { stop in stop.name.map { "\(stop.id) (\($0))" } ?? stop.id }
    error.message += " Did you mean \(names.joined(separator: ", "))?"
    return error
  }

  // MARK: One request a board

  /// Waits until no other call asks for the board, which lasts no longer than a request may.
  private func takeTurn(_ target: String) async {
    while waiting[target] != nil {
      await withCheckedContinuation { waiting[target, default: []].append($0) }
    }
    waiting[target] = []
  }

  private func endTurn(_ target: String) {
    let others = waiting.removeValue(forKey: target) ?? []
    for other in others { other.resume() }
  }
}

extension StationboardClient.Held {
  /// The answers that an earlier program held; nil if they can no longer be read.
  fileprivate convenience init?(_ entry: BoardShelf.Entry) {
    func board(_ kept: BoardShelf.Kept) -> Board? {
      guard var board = try? Board(answer: kept.answer, receivedAt: kept.receivedAt) else { return nil }
      if let delivery = try? Delivery(reading: kept.delivery) { board.delivery = delivery }
      return board
    }
    guard let latest = board(entry.latest) else { return nil }
    self.init(
      latest: latest, good: entry.good.flatMap { kept in board(kept).map { ($0, kept.sentAt) } }, kept: entry)
  }
}

extension Delivery {
  fileprivate init(_ response: HTTPResponse, _ meta: BoardMeta) {
    self.init()
    edgeCache = response.headers["x-md-cache"]
    // A body from the edge's cache holds the id of the first request.
    requestId = response.headers["x-md-request-id"] ?? (edgeCache == "HIT" ? nil : meta.requestId)
    staleReason = response.headers["x-md-stale-reason"]
    rateRemaining = response.headers["x-md-rate-remaining"].flatMap { Int($0) }
  }
}

// MARK: - Stops and health

extension StationboardClient {
  public func searchStops(_ text: String, limit: Int = 20) async throws(StationboardError) -> StopSearch {
    let text = text.trimmed
    guard StopSearch.lengths.contains(text.unicodeScalars.count) else {
      throw StationboardError(
        .invalidParameter, "A search for stops takes \(StopSearch.lengths.words) characters.")
    }
    return try await stops("/api/stops/search", ["q": text], limit)
  }

  public func nearbyStops(
    latitude: Double, longitude: Double, limit: Int = 20
  ) async throws(StationboardError) -> StopSearch {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
      throw StationboardError(.invalidParameter, "\(latitude), \(longitude) isn't a place on Earth.")
    }
    return try await stops("/api/stops/nearby", ["lat": "\(latitude)", "lon": "\(longitude)"], limit)
  }

  private func stops(_ path: String, _ query: HTTPQuery, _ limit: Int) async throws(StationboardError) -> StopSearch {
    guard StopSearch.limits.contains(limit) else {
      throw StationboardError(
        .invalidParameter, "A search gives \(StopSearch.limits.words) stops, not \(limit).")
    }
    let response = try await ask("\(path)?\(query.encoded)&limit=\(limit)")
    let value = try read(response, "The list of stops")
    guard var search = try? StopSearch(answer: value) else {
      throw StationboardError(.decoding, "The list of stops does not match the contract: it has no list of stops.")
    }
    search.isFallback = response.headers["x-md-search-fallback"] == "1"
    search.fallbackReason = response.headers["x-md-search-fallback-reason"]
    return search
  }

  public func health() async throws(StationboardError) -> Health {
    let response = try await send("/health")
    // A service that isn't healthy says so in its answer, with an error status.
    guard response.status == 200 || response.status == 500, let value = try? response.json(), value["ok"]?.bool != nil
    else {
      if response.status != 200 { throw failure(response, "/health") }
      _ = try read(response, "The word about health")
      throw StationboardError(.decoding, "The word about health does not match the contract: it does not say 'ok'.")
    }
    guard let health = try? Health(answer: value, status: response.status) else {
      throw StationboardError(.decoding, "The word about health does not match the contract.")
    }
    return health
  }
}

// MARK: - Requests

extension StationboardClient {
  /// Sends a request; an answer of any status is an answer.
  private func send(_ target: String, requestID: String? = nil) async throws(StationboardError) -> HTTPResponse {
    var headers: HTTPHeaders = [
      "Accept": "application/json", "Cache-Control": "no-store, no-cache, max-age=0", "Pragma": "no-cache",
    ]
    headers["x-md-request-id"] = requestID?.headerText
    let request = HTTPRequest(
      "GET", baseURL + target, headers: headers, limits: limits, redirects: .sameOrigin, acceptsCompression: true)
    do throws(HTTPError) { return try await http.send(request) } catch {
      throw StationboardError(.network(error), "The service could not be asked. \(error.message)")
    }
  }

  /// Sends a request whose answer has to be a good one.
  private func ask(_ target: String, requestID: String? = nil) async throws(StationboardError) -> HTTPResponse {
    let response = try await send(target, requestID: requestID)
    if response.status == 200 || response.status == 204 { return response }
    throw failure(response, String(Substring(target.utf8.prefix { $0 != ASCII.question })))
  }

  /// The error for an answer with an error status.
  private func failure(_ response: HTTPResponse, _ path: String) -> StationboardError {
    let body = try? response.json()
    // The code is a text, or in an object with more.
    let code = (body?["error"]?.string ?? body?["error"]?["code"]?.string)?.shortened
    let words = (body?["message"] ?? body?["error"]?["message"] ?? body?["detail"])?.string?.shortened
    let retryAfter = response.retryAfter(now: time.now())
    let reason = [code, words].compactMap(\.self).joined(separator: ", ")
    let answer = reason.isEmpty ? "" : ": \(reason)"
    switch (response.status, code) {
    case (404, "stop_not_found"?), (400, "unknown_stop"?):
      return StationboardError(
        .unknownStop, "The service knows no such stop (\(reason)); its id can be found with a search for stops.")
    case (400, let code?): return StationboardError(.refused(code: code), "The service refuses the request\(answer).")
    case (429, _):
      let wait = retryAfter.map { " for \($0)" } ?? ""
      return StationboardError(
        .rateLimited, "Too many requests came from this address; the service asks to wait\(wait).",
        retryAfter: retryAfter)
    case (let status, _):
      return StationboardError(
        .httpStatus(status), "The service answered \(path) with HTTP status \(status)\(answer).",
        retryAfter: retryAfter)
    }
  }

  private func read(_ response: HTTPResponse, _ name: String) throws(StationboardError) -> Value {
    do throws(JSONBodyError) { return try response.json() } catch {
      throw StationboardError(.decoding, "\(name) does not match the contract: it is \(error).")
    }
  }
}

extension String {
  /// The text as far as a message needs it, on one line and without the full stop at its end.
  fileprivate var shortened: String {
    var text = String(String.UnicodeScalarView(unicodeScalars.map { $0.value < 32 ? " " : $0 })).trimmed
    while text.hasSuffix(".") { text.removeLast() }
    return text.excerpt(200)
  }

  /// The text as a header may hold it.
  fileprivate var headerText: String {
    String(String.UnicodeScalarView(unicodeScalars.map { (0x21...0x7E).contains($0.value) ? $0 : "-" }.prefix(100)))
  }
}
