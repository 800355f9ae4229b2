import Basics
import Synchronization

// Where a sandbox whose service speaks no HTTP is told of trouble, on a loopback port, in the words of the others
// (`SandboxServer`):
//
//   /sandbox/log                                  every call and how often it came, as JSON
//   /sandbox/fault?kind=K&call=C&skip=N&times=N   makes calls go wrong (`SandboxFault`); `kind=none` takes all back
//   /sandbox/strike?call=C                        counts a call, and says what strikes it: {"kind": …, "status": …}
//
// What kinds there are, and what a call is named, is the sandbox's own.

/// Takes down what is to go wrong in a sandbox, and what was asked of it.
package final class ControlEndpoint<Kind: SandboxFaultKind>: Sendable {
  fileprivate struct State {
    var faults = SandboxFaults<Kind>()
    var log = CallLog()
  }

  private final class Content: Sendable {
    let state = Mutex(State())
  }

  private let content: Content
  private let server: HTTPServer

  /// Listens on any port of the loopback interface that is free.
  package init() throws(HTTPServerError) {
    let content = Content()
    self.content = content
    server = try HTTPServer { request in ControlEndpoint.answer(request, at: content) }
  }

  /// Where it is found, without a slash at its end.
  package var baseURL: String { server.baseURL }
  /// Every call and how often it came.
  package var log: CallLog { content.state.withLock(\.log) }
  /// Ends it.
  package func stop() async { await server.stop() }

  /// Takes down a call.
  package func count(_ call: String) { content.state.withLock { $0.log.count(call) } }

  /// The fault of one of some kinds that strikes something which bears some names; of several the first, and the others
  /// count it as well.
  package func strike(_ kinds: Set<Kind>, _ names: [String] = []) -> SandboxFault<Kind>? {
    content.state.withLock { $0.faults.strike(names, of: kinds) }
  }

  private static func answer(_ request: HTTPServerRequest, at content: Content) -> HTTPServerResponse {
    let query = request.query
    switch request.path {
    case "/sandbox/log": return content.state.withLock(\.log).answer
    case "/sandbox/fault": return content.state.withLock { $0.faults.order(query) }
    case "/sandbox/strike":
      let call = query["call"] ?? ""
      let fault = content.state.withLock { state in
        state.log.count(call)
        return state.faults.strike([call])
      }
      var answer = ValueMap()
      answer["kind"] = fault.map { .string($0.kind.rawValue) }
      answer["status"] = fault.map { .int($0.status) }
      return .json(.map(answer))
    default: return .page("Not found", status: 404)
    }
  }
}
