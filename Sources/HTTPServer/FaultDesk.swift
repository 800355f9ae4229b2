import Basics
import Synchronization

// Where a sandbox whose service speaks no HTTP is told of trouble, on a loopback port, in the words of the others
// (`SandboxFrame`):
//
//   /sandbox/log                                           every call and how often it came, as JSON
//   /sandbox/fault?kind=K&call=C&skip=N&times=N&status=S   makes calls go wrong; `kind=none` takes all back
//   /sandbox/strike?call=C                                 counts a call, and says what strikes it: {"kind": …, "status": …}
//
// What kinds there are, and what a call is named, is the sandbox's own.

/// Takes down what is to go wrong in a sandbox, and what was asked of it.
package final class FaultDesk: Sendable {
  /// Something that goes wrong on demand.
  package struct Fault: Sendable {
    package var kind: String
    /// The calls that it strikes: those whose names contain this.
    fileprivate var call: String
    fileprivate var skip: Int
    fileprivate var times: Int
    /// A code that goes with it.
    package var status: Int?
  }

  fileprivate struct State {
    var faults: [Fault] = []
    /// Each call with its count, in the order in which they first came.
    var calls: [(name: String, count: Int)] = []
  }

  private final class Desk: Sendable {
    let state = Mutex(State())
    let kinds: [String]
    init(_ kinds: [String]) { self.kinds = kinds }
  }

  private let desk: Desk
  private let server: HTTPServer

  /// Listens on any port of the loopback interface that is free.
  package init(kinds: [String]) throws(HTTPServerError) {
    let desk = Desk(kinds)
    self.desk = desk
    server = try HTTPServer { request in FaultDesk.answer(request, at: desk) }
  }

  /// Where it is found, without a slash at its end.
  package var baseURL: String { server.baseURL }
  /// Every call and how often it came.
  package var calls: [(name: String, count: Int)] { desk.state.withLock(\.calls) }
  /// Ends it.
  package func stop() async { await server.stop() }

  /// Takes down a call.
  package func count(_ call: String) { desk.state.withLock { $0.count(call) } }

  /// The fault of one of some kinds that strikes something which bears some names; of several the first, and the others
  /// count it as well.
  package func strike(_ kinds: [String], _ names: [String] = []) -> Fault? {
    desk.state.withLock { $0.strike(kinds, names) }
  }

  private static func answer(_ request: HTTPServerRequest, at desk: Desk) -> HTTPServerResponse {
    let query = request.query
    switch request.path {
    case "/sandbox/log":
      let calls = desk.state.withLock(\.calls)
      return .json(
        .object([
          "requests": .int(calls.reduce(0) { $0 + $1.count }),
          "calls": .map(ValueMap(calls.map { ($0.name, .int($0.count)) })),
        ]))
    case "/sandbox/fault":
      guard let kind = query["kind"], kind != "none" else {
        desk.state.withLock { $0.faults = [] }
        return .json(.object(["faults": .string("none")]))
      }
      guard desk.kinds.contains(kind) else {
        return .text(
          "There is no fault '\(kind)'; there are \(desk.kinds.joined(separator: ", ")), none.\n", status: 400)
      }
      let fault = Fault(
        kind: kind, call: query["call"] ?? "", skip: query["skip"].flatMap { Int($0) } ?? 0,
        times: query["times"].flatMap { Int($0) } ?? 1, status: query["status"].flatMap { Int($0) })
      desk.state.withLock { $0.faults.append(fault) }
      return .json(.object(["fault": .string(kind)]))
    case "/sandbox/strike":
      let call = query["call"] ?? ""
      let fault = desk.state.withLock { state in
        state.count(call)
        return state.strike(desk.kinds, [call])
      }
      var answer = ValueMap()
      answer["kind"] = fault.map { .string($0.kind) }
      answer["status"] = fault?.status.map { .int($0) }
      return .json(.map(answer))
    default: return .page("Not found", status: 404)
    }
  }
}

extension FaultDesk.State {
  fileprivate mutating func count(_ call: String) {
    if let index = calls.firstIndex(where: { $0.name.hasSameScalars(as: call) }) {
      calls[index].count += 1
    } else {
      calls.append((call, 1))
    }
  }

  fileprivate mutating func strike(_ kinds: [String], _ names: [String]) -> FaultDesk.Fault? {
    var struck: FaultDesk.Fault?
    for index in faults.indices where kinds.contains(faults[index].kind) {
      let call = faults[index].call
      guard call.isEmpty || names.contains(where: { $0.contains(call) }) else { continue }
      if faults[index].skip > 0 {
        faults[index].skip -= 1
      } else if struck == nil {
        struck = faults[index]
        faults[index].times -= 1
      }
    }
    faults.removeAll { $0.times <= 0 }
    return struck
  }
}
