// A server over HTTP (the transport Streamable HTTP, see `TransportFields`): each request is a POST of its own.
//
// The answer is JSON, or a stream of events that ends with it. Before 2026-07-28 the server may give the connection a
// session by the field Mcp-Session-Id, which every later request repeats. A 404 says that the session is over and that
// nothing was done, so the request is sent again in a new session. Since 2026-07-28 closing the exchange cancels a
// request; before, a notification does. A stream that breaks off isn't resumed: the answer is lost.

import ActionKit
import Basics
import HTTPClient
import ModelContext
import Synchronization

/// A server at an address.
final class HTTPServerLink: ServerLink {
  private struct State {
    var session: String?
    var isOver = false
    var lastID = 0
    /// The version that was agreed on.
    var version: ProtocolVersion?
  }

  let name: String
  private let url: String
  private let http: HTTPClient
  private let headers: [(String, String)]
  private let secrets: [String]
  private let limit: Int
  private let patience: TimeSpan
  private let time: any TimeSource
  private let state = Mutex(State())

  private static let session = "Mcp-Session-Id"

  /// - Parameters:
  ///   - headers: Fields of every request.
  ///   - secrets: The parts of the headers that must not be shown.
  ///   - patience: How long an answer to anything but a call may take.
  init(
    _ url: String, _ http: HTTPClient, named name: String, headers: [(String, String)], secrets: [String],
    longestMessage: Int,
    patience: TimeSpan, time: any TimeSource
  ) {
    self.url = url
    self.http = http
    self.headers = headers
    self.secrets = secrets
    self.time = time
    limit = longestMessage
    self.patience = patience
    self.name = name
  }

  var isUsable: Bool { state.withLock { !$0.isOver } }

  func ask(_ request: ServerRequest) async throws(ServerFailure) -> ValueMap {
    let id = state.withLock { state in
      state.lastID += 1
      if let version = request.version { state.version = version }
      return state.lastID
    }
    let listener = AnswerListener(id, limit: limit) { [self] head in
      if request.method == "initialize" { state.withLock { $0.session = head.headers[Self.session] } }
    } hear: { [self] message in
      heard(message, during: request, id)
    }
    let response: HTTPResponse
    do throws(HTTPError) {
      response = try await post(request.message(id), as: request.version, request, into: listener)
    } catch {
      if let answer = listener.answer { return try result(answer, of: request) }
      let isSent = error.sent == .maybe
      if error.kind == .cancelled {
        if isSent { await cancelled(id, request) }
        throw ServerFailure(reason: .cancelled(mayHaveHappened: isSent), message: error.message)
      }
      let kind = error.errorKind
      throw ServerFailure(reason: isSent ? .lost(kind) : .unreachable(kind), message: error.message)
    }
    if response.status == 404, !response.followsWrite, state.withLock({ $0.session }) != nil {
      state.withLock { $0.isOver = true }
      throw ServerFailure(reason: .expired, message: "'\(name)' answered with status 404, which ends the session")
    }
    if !listener.isUsed { listener.take(response.body, isWhole: true) }
    if let answer = listener.answer { return try result(answer, of: request) }
    throw failure(response, request)
  }

  func tell(_ method: String, as version: ProtocolVersion?) async {
    state.withLock { $0.version = version }
    _ = try? await post(.notification(method: method, params: ValueMap()), as: version, nil, into: nil)
  }

  func close() {
    let session = state.withLock { state in
      state.isOver = true
      defer { state.session = nil }
      return state.session
    }
    guard let session else { return }
    var request = self.request("DELETE", as: state.withLock { $0.version })
    request.headers[Self.session] = session
    // The server forgets the session some time in any case; ends with its answer.
    Task { [http, request] in _ = try? await http.send(request) }
  }

  // MARK: Sending

  private func request(_ method: String, as version: ProtocolVersion?) -> HTTPRequest {
    var request = HTTPRequest(method, url, limits: HTTPLimits(attempt: patience, maxBodyBytes: limit), secrets: secrets)
    for (name, value) in headers { request.headers[name] = value }
    request.credentialHeaders.formUnion(headers.map { $0.0.lowercased() })
    if let version { request.headers[TransportFields.version] = version.rawValue }
    return request
  }

  private func post(
    _ message: ModelContextMessage, as version: ProtocolVersion?, _ asked: ServerRequest?, into sink: AnswerListener?
  ) async throws(HTTPError) -> HTTPResponse {
    var request = request("POST", as: version)
    request.headers["Content-Type"] = "application/json"
    request.headers["Accept"] = "application/json, text/event-stream"
    if let asked, let version {
      for (name, value) in TransportFields.fields(version, asked.method, asked.params) { request.headers[name] = value }
    }
    if let session = state.withLock({ $0.session }) { request.headers[Self.session] = session }
    request.body = message.bytes
    // A call has the time of its step.
    if asked?.context != nil { request.limits.attempt = nil }
    return try await http.send(request, into: sink)
  }

  private func cancelled(_ id: Int, _ request: ServerRequest) async {
    guard let version = request.version, !version.isStateless else { return }
    let message = ModelContextMessage.notification(
      method: "notifications/cancelled", params: ValueMap([("requestId", .int(id))]))
    // Not cancelled with the request that it is about; ends with its answer.
    await Task { [self] in _ = try? await post(message, as: version, nil, into: nil) }.value
  }

  // MARK: Hearing

  private func heard(_ message: ModelContextMessage, during request: ServerRequest, _ id: Int) {
    switch message {
    case .notification("notifications/progress", let params):
      guard params[RequestEnvelope.Key.progressToken]?.int == id else { return }
      request.context?.report(params, of: request.params["name"]?.string ?? name)
    case .request(let id, let method, _):
      let answer: ModelContextMessage =
        method == "ping" ? .result(id, ValueMap()) : .failure(id, .refused(method))
      // Ends with its answer.
      Task { [self] in _ = try? await post(answer, as: request.version, nil, into: nil) }
    case .notification, .result, .failure: return
    }
  }

  private func result(
    _ answer: Result<ValueMap, ModelContextError>, of request: ServerRequest
  ) throws(ServerFailure) -> ValueMap {
    switch answer {
    case .success(let result): return result
    case .failure(let error): throw request.failure(error, of: name)
    }
  }

  /// Why an answer over HTTP isn't one to the request.
  private func failure(_ response: HTTPResponse, _ request: ServerRequest) -> ServerFailure {
    let status = response.status
    if response.isSuccess {
      return ServerFailure(
        reason: .lost(.plugin, status: status),
        message: "'\(name)' answered \(request.what) with what isn't a message of MCP: ", quoted: response.body)
    }
    let isTold = !response.body.isEmpty && !response.isPage
    let message =
      "'\(name)' answered \(request.what) with status \(status)"
      + (response.followsWrite ? " at another address, to which it redirects" : "") + (isTold ? ": " : "")
    let quoted = isTold ? response.body : nil
    let kind = ErrorKind(httpStatus: status)
    guard status < 500, !response.followsWrite else {
      return ServerFailure(reason: .lost(kind, status: status), message: message, quoted: quoted)
    }
    return ServerFailure(
      reason: .refused(kind, status: status, retryAfter: response.retryAfter(now: time.now())), message: message,
      quoted: quoted)
  }
}

/// Collects the messages of one answer, and stops reading after the response.
private final class AnswerListener: HTTPBodySink {
  private struct State {
    var lines: LineReader
    /// The data of the event so far; nil before its first line.
    var data: [UInt8]?
    var answer: Result<ValueMap, ModelContextError>?
    var isUsed = false

    /// Takes a line; gives the data of an event that it ends.
    mutating func take(_ line: [UInt8]) -> [UInt8]? {
      var line = line[...]
      if line.last == ASCII.carriageReturn { line = line.dropLast() }
      if line.isEmpty {
        defer { data = nil }
        return data
      }
      guard line.starts(with: "data:".utf8) else { return nil }
      line = line.dropFirst(5)
      if line.first == ASCII.space { line = line.dropFirst() }
      data = data.map { $0 + [ASCII.newline] + line } ?? Array(line)
      return nil
    }
  }

  private let id: Int
  private let limit: Int
  private let meet: @Sendable (HTTPResponse) -> Void
  private let hear: @Sendable (ModelContextMessage) -> Void
  private let state: Mutex<State>

  init(
    _ id: Int, limit: Int, meet: @escaping @Sendable (HTTPResponse) -> Void,
    hear: @escaping @Sendable (ModelContextMessage) -> Void
  ) {
    self.id = id
    self.limit = limit
    state = Mutex(State(lines: LineReader(limit: limit)))
    self.meet = meet
    self.hear = hear
  }

  var answer: Result<ValueMap, ModelContextError>? { state.withLock { $0.answer } }
  /// Whether the answer was a stream.
  var isUsed: Bool { state.withLock { $0.isUsed } }

  func accepts(_ head: HTTPResponse) -> Bool {
    meet(head)
    guard head.isSuccess, head.headers["Content-Type"]?.lowercased().hasPrefix("text/event-stream") == true else {
      return false
    }
    state.withLock { $0.isUsed = true }
    return true
  }

  func receive(_ bytes: RawSpan) throws(HTTPError) {
    var events: [[UInt8]] = []
    let isTooLong = bytes.withUnsafeBytes { bytes in
      state.withLock { state in
        for line in state.lines.take(bytes) {
          guard case .line(let line) = line else { return true }
          if let event = state.take(line) { events.append(event) }
        }
        return (state.data?.count ?? 0) > limit
      }
    }
    for event in events { take(event) }
    // The response is complete; a stream that the server keeps open isn't read further.
    if answer != nil { throw HTTPError(.interrupted, "the answer is complete", sent: .maybe) }
    if isTooLong { throw HTTPError(.tooLarge, "an event is longer than \(limit) bytes", sent: .maybe) }
  }

  /// Reads an answer that is a message, or an event of a stream; anything else is ignored.
  ///
  /// - Parameter isWhole: Whether `bytes` are the whole answer: an error then belongs to the request with any id.
  func take(_ bytes: [UInt8], isWhole: Bool = false) {
    // Messages after the answer are ignored.
    guard answer == nil, let message = try? ModelContextMessage(reading: bytes, limits: JSON.Limits(bytes: limit))
    else {
      return
    }
    switch message {
    case .result(let other, let result) where other.number == id: state.withLock { $0.answer = .success(result) }
    case .failure(let other, let error) where other?.number == id || isWhole:
      state.withLock { $0.answer = .failure(error) }
    default: hear(message)
    }
  }
}
