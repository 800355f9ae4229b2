package import ActionKit
package import Basics
import Synchronization

// What every sandbox has around the service that it plays. Beside the service's own paths, for tests from outside:
//
//   /sandbox/log                                  every call and how often it came, as JSON
//   /sandbox/fault?kind=K&call=C&skip=N&times=N   makes calls go wrong (`SandboxFault`); `kind=none` takes all back
//   /sandbox/clock?advance=25h                    lets the service's time pass; `set=2026-03-10T09:00:00Z` sets it
//
// A call is named by its method and path, `GET /catalog.json`. A fault strikes the calls whose names contain its text.

/// What can go wrong with any service that speaks HTTP.
package enum ServiceFaultKind: String, SandboxFaultKind {
  /// The connection is dropped before anything is done.
  case refuse
  /// It is done, and the connection is dropped before the answer.
  case lostAnswer
  /// It is done, and the answer breaks off half-way.
  case truncated
  /// It is done, and the answer comes late.
  case slow
  /// It is done, and the answer is too large.
  case oversized
  /// It is done, and the answer is a JSON document that is not of the contract: a list in a list.
  case wrongType
  /// It is done, and the answer has bytes in its texts that aren't valid UTF-8.
  case badUTF8
  /// Nothing is done, and the answer is a web page with status 200.
  case html
  /// Nothing is done, and the answer is a web page with the fault's status.
  case status
  /// Nothing is done, and the answer leads to another host.
  case redirect
  /// Nothing is done, and the answer leads to itself.
  case redirectLoop

  package var keys: Set<SandboxFaultKey> {
    switch self {
    case .status: [.status, .retryAfter]
    case .slow: [.delay]
    case .oversized: [.size]
    default: []
    }
  }

  package var standardStatus: Int { 503 }
  package static let statuses = 200...599
}

package typealias ServiceFault = SandboxFault<ServiceFaultKind>

/// A loopback port with a service behind it whose faults, log and clock can be reached from outside.
package final class SandboxServer: Sendable {
  /// Plays the service: answers a request at an instant of the service's own time.
  package typealias Service = @Sendable (HTTPServerRequest, Timestamp) async -> HTTPServerResponse

  fileprivate struct State {
    var faults = SandboxFaults<ServiceFaultKind>()
    var log = CallLog()
    /// How far the service's time is ahead.
    var ahead = TimeSpan.zero
  }

  fileprivate final class Content: Sendable {
    let state = Mutex(State())
    let time: any TimeSource
    let service: Service

    init(_ time: any TimeSource, _ service: @escaping Service) {
      self.time = time
      self.service = service
    }
  }

  private let content: Content
  private let server: HTTPServer

  /// Listens on a port of the loopback interface; 0 for any that is free.
  package init(port: Int, time: any TimeSource, service: @escaping Service) throws(HTTPServerError) {
    let content = Content(time, service)
    self.content = content
    server = try HTTPServer(port: port) { request in await content.answer(request) }
  }

  /// Where it is found, without a slash at its end.
  package var baseURL: String { server.baseURL }
  /// Every call and how often it came.
  package var log: CallLog { content.state.withLock(\.log) }
  /// The service's own time.
  package var now: Timestamp { content.now }

  /// How often calls came whose names contain a text.
  package func count(_ call: String) -> Int { log.calls.filter { $0.name.contains(call) }.reduce(0) { $0 + $1.count } }
  /// Makes calls go wrong.
  package func add(_ fault: ServiceFault) { content.state.withLock { $0.faults.add(fault) } }
  /// Lets the service's time pass.
  package func advance(by span: TimeSpan) { content.state.withLock { $0.ahead = $0.ahead + span } }
  /// Ends it.
  package func stop() async { await server.stop() }
}

extension SandboxServer.Content {
  var now: Timestamp {
    let ahead = state.withLock(\.ahead)
    return time.now().advanced(by: ahead) ?? time.now()
  }

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    switch request.path {
    case "/sandbox/log": return state.withLock(\.log).answer
    case "/sandbox/fault": return state.withLock { $0.faults.order(request.query) }
    case "/sandbox/clock": return setClock(request.query)
    default: break
    }
    let call = "\(request.method) \(request.path)"
    let fault = state.withLock { state in
      state.log.count(call)
      return state.faults.strike([call])
    }
    switch fault?.kind {
    case .refuse: return .dropped
    case .html: return .page("Down for maintenance")
    case .status:
      var answer = HTTPServerResponse.page("Not today", status: fault?.status ?? 503)
      answer.headers["Retry-After"] = fault?.retryAfter
      return answer
    case .redirect:
      return HTTPServerResponse(status: 302, headers: ["Location": "http://elsewhere.example\(request.target)"])
    case .redirectLoop: return HTTPServerResponse(status: 302, headers: ["Location": request.target])
    default: break
    }
    guard let fault else { return await service(request, now) }
    var request = request
    // Only a whole answer can be spoilt.
    request.headers.fields.removeAll { $0.name.lowercasedASCII.hasPrefix("if-") }
    return await spoilt(await service(request, now), by: fault)
  }

  /// What goes wrong after it was done.
  private func spoilt(_ answer: HTTPServerResponse, by fault: ServiceFault) async -> HTTPServerResponse {
    var answer = answer
    guard case .bytes(let bytes) = answer.body else { return answer }
    switch fault.kind {
    case .lostAnswer: return .dropped
    case .truncated: answer.body = .truncated(bytes, after: bytes.count / 2)
    case .slow:
      // The client may have left already.
      try? await time.sleep(for: fault.delay)
    case .oversized:
      answer.body = .stream { writer in
        let blank = [UInt8](repeating: ASCII.space, count: 1 << 16)
        for _ in 0...max(0, fault.size) / blank.count { try await writer.write(blank) }
        try await writer.write(bytes)
      }
    case .wrongType: return .json(.list([.list([])]))
    case .badUTF8:
      // A quote that begins a text is followed by a byte that begins nothing.
      let quote = ASCII.quote
      answer.body = .bytes(bytes.flatMap { $0 == quote ? [quote, 0xFF] : [$0] })
    case .refuse, .html, .status, .redirect, .redirectLoop: break
    }
    answer.headers["ETag"] = nil
    return answer
  }

  // MARK: From outside

  private func setClock(_ query: HTTPQuery) -> HTTPServerResponse {
    if let instant = query["set"].flatMap({ Timestamp($0) }), let ahead = instant.span(since: time.now()) {
      state.withLock { $0.ahead = ahead }
    } else if let span = query["advance"].flatMap({ TimeSpan($0) }) {
      state.withLock { $0.ahead = $0.ahead + span }
    } else {
      return .text(
        "Say by how much, as in /sandbox/clock?advance=25h, or what it is, as in "
          + "/sandbox/clock?set=2026-03-10T09:00:00Z.\n", status: 400)
    }
    return .json(.object(["now": .string(now.description)]))
  }
}

/// A sandbox whose service is behind a `SandboxServer`.
package protocol ServedSandbox: RunningSandbox {
  var server: SandboxServer { get }
}

extension ServedSandbox {
  package var baseURL: String { server.baseURL }
  package func summaryLines() -> [String] { server.log.lines }
  package func stop() async { await server.stop() }
}

extension HTTPServerResponse {
  /// An answer that is JSON.
  package static func json(_ value: Value, status: Int = 200) -> HTTPServerResponse {
    .text(JSON.shown(value), status: status, type: "application/json; charset=utf-8")
  }

  /// A web page that says one thing.
  package static func page(_ title: String, status: Int = 200) -> HTTPServerResponse {
    .text("<!DOCTYPE html>\n<title>\(title)</title>\n<h1>\(title)</h1>\n", status: status, type: "text/html")
  }
}
