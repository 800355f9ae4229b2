public import ActionKit
import SandboxKit
import Synchronization

// The sandbox: a publisher on a loopback port that behaves as the contract says, with data for the current academic
// year, so that there are classes today if the real faculty would have some.
//
// Files lie under /ubborarservice. Beside what every sandbox has (`SandboxServer`):
//
//   /sandbox/publish                puts the next edition online, in which some classes of group 511 have changed
//   /sandbox/withdraw?path=P        takes a file offline; without a path, all that was taken is online again

extension TimetablePlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try TimetableSandbox(options)
  }
}

/// A publisher that answers on a loopback port.
final class TimetableSandbox: ServedSandbox {
  private static let root = "/ubborarservice"

  let server: SandboxServer

  init(_ options: SandboxOptions) throws {
    let handler = Handler()
    server = try SandboxServer(port: options.port, time: options.time) { request, now in
      handler.answer(request, at: now)
    }
  }

  var baseURL: String { server.baseURL + Self.root }
  var configuration: Value { .object(["baseURL": .string(baseURL)]) }

  private final class Handler: Sendable {
    private struct State {
      var edition = 0
      var withdrawn: Set<String> = []
    }

    private let state = Mutex(State())

    func answer(_ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
      guard request.method == "GET" else { return .page("Method not allowed", status: 405) }
      switch request.path {
      case "/sandbox/publish":
        let edition = state.withLock { state in
          state.edition += 1
          return state.edition
        }
        return .json(.object(["edition": .int(edition)]))
      case "/sandbox/withdraw":
        state.withLock { if let path = request.query["path"] { $0.withdrawn.insert(path) } else { $0.withdrawn = [] } }
        return .json(.object(["withdrawn": .list(state.withLock(\.withdrawn).sorted().map { .string($0) })]))
      default: break
      }
      let (edition, withdrawn) = state.withLock { ($0.edition, $0.withdrawn) }
      let path = request.path.hasPrefix(root) ? String(request.path.dropFirst(root.count)) : ""
      guard !withdrawn.contains(path), let file = SandboxFaculty(at: now, edition: edition).file(path),
        let text = try? JSON.text(file, .pretty)
      else { return .page("404: File not found", status: 404) }
      let tag = "\"\(fingerprint(text))\""
      let headers: HTTPHeaders = [
        "Content-Type": "application/json; charset=utf-8", "Cache-Control": "max-age=600", "ETag": tag,
        "Last-Modified": HTTPDate.text(SandboxFaculty.published(before: now)),
      ]
      if request.headers["If-None-Match"] == tag { return HTTPServerResponse(status: 304, headers: headers) }
      return HTTPServerResponse(headers: headers, body: .bytes(Array("\(text)\n".utf8)))
    }
  }
}
