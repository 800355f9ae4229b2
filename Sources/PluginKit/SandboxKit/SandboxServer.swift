package import ActionKit
package import Basics
import Synchronization

// The frame of every sandbox around its made-up service. Beside the service's own paths it serves, for tests from
// outside:
//
//   /sandbox/log                                  the calls and their counts, as JSON
//   /sandbox/fault?kind=K&call=C&skip=N&times=N   makes calls fail (`SandboxFault`); `kind=none` removes all faults
//   /sandbox/clock?advance=25h                    advances the service's clock; `set=2026-03-10T09:00:00Z` sets it
//
// A call's name is its method and path, `GET /catalog.json`. A fault matches the calls whose names contain its text.

/// The faults of any service that speaks HTTP.
package enum ServiceFaultKind: String, SandboxFaultKind {
  /// The connection is dropped before the request is handled.
  case refuse
  /// The request is handled, and the connection is dropped before the response.
  case lostAnswer
  /// The request is handled, and the response breaks off half-way.
  case truncated
  /// The request is handled, and the response is late.
  case slow
  /// The request is handled, and the response is too large.
  case oversized
  /// The request is handled, and the response is a JSON document that breaks the contract: a list in a list.
  case wrongType
  /// The request is handled, and texts in the response contain bytes that aren't valid UTF-8.
  case badUTF8
  /// The request isn't handled, and the response is a web page with status 200.
  case html
  /// The request isn't handled, and the response is a web page with the fault's status.
  case status
  /// The request isn't handled, and the response redirects to another host.
  case redirect
  /// The request isn't handled, and the response redirects to its own address.
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

/// A service on a loopback port whose faults, log and clock are reachable from outside.
package final class SandboxServer: Sendable {
  /// Implements the service: answers a request at an instant of the service's clock.
  package typealias Service = @Sendable (HTTPServerRequest, Timestamp) async -> HTTPServerResponse

  fileprivate struct State {
    var faults = SandboxFaults<ServiceFaultKind>()
    var log = CallLog()
    /// The lead of the service's clock over real time.
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

  /// Listens on a port of the loopback interface; 0 means any free port.
  package init(port: Int, time: any TimeSource, service: @escaping Service) throws(HTTPServerError) {
    let content = Content(time, service)
    self.content = content
    server = try HTTPServer(port: port) { request in await content.answer(request) }
  }

  /// Its address, without a slash at the end.
  package var baseURL: String { server.baseURL }
  /// The calls and their counts.
  package var log: CallLog { content.state.withLock(\.log) }
  /// The time of the service's clock.
  package var now: Timestamp { content.now }

  /// The number of calls whose names contain a text.
  package func count(_ call: String) -> Int { log.calls.filter { $0.name.contains(call) }.reduce(0) { $0 + $1.count } }
  /// Adds a fault.
  package func add(_ fault: ServiceFault) { content.state.withLock { $0.faults.add(fault) } }
  /// Advances the service's clock.
  package func advance(by span: TimeSpan) { content.state.withLock { $0.ahead = $0.ahead + span } }
  /// Stops the sandbox.
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
    // A fault needs a whole response, not a 304.
    request.headers.fields.removeAll { $0.name.lowercasedASCII.hasPrefix("if-") }
    return await spoilt(await service(request, now), by: fault)
  }

  /// Applies a fault after the request was handled.
  private func spoilt(_ answer: HTTPServerResponse, by fault: ServiceFault) async -> HTTPServerResponse {
    var answer = answer
    guard case .bytes(let bytes) = answer.body else { return answer }
    switch fault.kind {
    case .lostAnswer: return .dropped
    case .truncated: answer.body = .truncated(bytes, after: bytes.count / 2)
    case .slow:
      // The client may already have disconnected.
      try? await time.sleep(for: fault.delay)
    case .oversized:
      answer.body = .stream { writer in
        let blank = [UInt8](repeating: ASCII.space, count: 1 << 16)
        for _ in 0...max(0, fault.size) / blank.count { try await writer.write(blank) }
        try await writer.write(bytes)
      }
    case .wrongType: return .json(.list([.list([])]))
    case .badUTF8:
      // A quote, which may begin a text, is followed by a byte that is invalid in UTF-8.
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

/// A sandbox whose service runs in a `SandboxServer`.
package protocol ServedSandbox: RunningSandbox {
  var server: SandboxServer { get }
}

extension ServedSandbox {
  package var baseURL: String { server.baseURL }
  package func summaryLines() -> [String] { server.log.lines }
  package func stop() async { await server.stop() }
}

extension HTTPServerResponse {
  /// A JSON response.
  package static func json(_ value: Value, status: Int = 200) -> HTTPServerResponse {
    .text(JSON.displayed(value), status: status, type: "application/json; charset=utf-8")
  }

  /// A web page with one heading.
  package static func page(_ title: String, status: Int = 200) -> HTTPServerResponse {
    .text("<!DOCTYPE html>\n<title>\(title)</title>\n<h1>\(title)</h1>\n", status: status, type: "text/html")
  }
}
