import Basics
import Synchronization

// The control endpoint of a sandbox whose service doesn't speak HTTP. Tests order faults there, on a loopback port, in
// the same way as for other sandboxes (`SandboxServer`):
//
//   /sandbox/log                                  the calls and their counts, as JSON
//   /sandbox/fault?kind=K&call=C&skip=N&times=N   makes calls fail (`SandboxFault`); `kind=none` removes all faults
//   /sandbox/strike?call=C                        counts a call, and returns its fault: {"kind": …, "status": …}
//
// Each sandbox defines its kinds of faults and the names of its calls.

/// Keeps the faults that a sandbox was ordered, and counts its calls.
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

  /// Listens on any free port of the loopback interface.
  package init() throws(HTTPServerError) {
    let content = Content()
    self.content = content
    server = try HTTPServer { request in ControlEndpoint.answer(request, at: content) }
  }

  /// Its address, without a slash at the end.
  package var baseURL: String { server.baseURL }
  /// The calls and their counts.
  package var log: CallLog { content.state.withLock(\.log) }
  /// Stops the endpoint.
  package func stop() async { await server.stop() }

  /// Counts a call.
  package func count(_ call: String) { content.state.withLock { $0.log.count(call) } }

  /// The fault, of one of the given kinds, for a call with the given names.
  ///
  /// If several faults match, the first one applies, and the call counts towards the others' `skip`.
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
