/// The pages for people: the same requests as the API's, shown as HTML and made by forms.
///
/// A page shows nothing and does nothing that its visitor's token doesn't allow, because everything goes through
/// `AgentParts.perform`. Every change is a form that is posted (`PageForms.swift`), whose `Origin` has to be this agent.
/// Each page has a file of its own.
package import Agent
package import Operations
import Basics
package import HTTPServer
import RunState

/// One request for a page, from a person who is logged in.
package struct PageRequest: Sendable {
  let http: HTTPServerRequest
  let caller: AgentCaller
  /// The parts of the path, decoded.
  let parts: [String]
  /// Runs the operations of the page.
  let agent: AgentParts
  let clock: WallClock
  let isSandbox: Bool
  let version: PageVersion

  package init(
    http: HTTPServerRequest, caller: AgentCaller, parts: [String], agent: AgentParts, clock: WallClock, isSandbox: Bool,
    version: PageVersion
  ) {
    self.http = http
    self.caller = caller
    self.parts = parts
    self.agent = agent
    self.clock = clock
    self.isSandbox = isSandbox
    self.version = version
  }

  /// Runs an operation for the visitor.
  func ask<Asked: Operation>(_ operation: Asked) async throws(Problem) -> Asked.Answer {
    do throws(RequestRefusedError) { return try await agent.perform(operation, for: caller) } catch {
      throw Problem(error, withData: seesData)
    }
  }

  /// Refuses a visitor who may not ask an operation, before its form is shown.
  func admit<Asked: Operation>(to operation: Asked.Type) throws(Problem) {
    do throws(RequestRefusedError) { try Asked.admit(caller) } catch { throw Problem(error, withData: seesData) }
  }

  /// Lists runs, also by the members of a query that aren't inputs of `ListRuns`.
  func runs(_ query: RunListQuery) async throws(Problem) -> RunList {
    do throws(RequestRefusedError) { return try await agent.runs(query, for: caller) } catch {
      throw Problem(error, withData: seesData)
    }
  }

  /// Reads the content of an answer that is read when it is needed.
  func read<Content>(_ content: () async throws(RequestRefusedError) -> Content) async throws(Problem) -> Content {
    do throws(RequestRefusedError) { return try await content() } catch { throw Problem(error, withData: seesData) }
  }

  func may(_ scope: TokenScope) -> Bool { caller.scopes.contains(scope) }
  var seesData: Bool { caller.seesData }

  /// The value of a name in the query; nil if it is missing or blank.
  func given(_ name: String) -> String? { http.query[name].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed } }

  /// The most rows of a list on a page.
  static let mostRows = 50

  /// How many rows of a list come before the page.
  var first: Int { max(0, given("from").flatMap { Int($0) } ?? 0) }

  /// The address of the same list from another row on.
  func page(from first: Int, _ page: String, _ name: String? = nil) -> String {
    let others = http.query.items.filter { $0.name != "from" }.map { ($0.name, $0.value) }
    let query = others + [("from", first > 0 ? "\(first)" : "")]
    return name.map { pagePath(page, $0, query: query) } ?? pagePath(page, query: query)
  }

  /// - Parameter isRefused: Whether the page shows a form that was refused.
  func frame(
    _ title: String, _ section: String, live: PageFrame.Live? = nil, isRefused: Bool = false, _ content: Markup...
  ) -> HTTPServerResponse {
    var frame = PageFrame(
      title: title, section: section, visitor: caller.name, live: live, isSandbox: isSandbox, version: version,
      content: Markup(content))
    frame.isRefused = isRefused
    frame.zone = clock.zoneSentence
    return frame.response(to: http)
  }
}

package enum Pages {
  /// The answer to a request; nil if there is no such page.
  package static func answer(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse? {
    let parts = request.parts
    if parts[0] == "edit" { return try await edit(request) }
    guard request.http.method == "GET" || request.http.method == "HEAD" else {
      return request.http.method == "POST" && [1, 3].contains(parts.count) ? try await act(request) : nil
    }
    switch (parts[0], parts.count) {
    case ("", 1): return try await now(request)
    case ("runs", 1): return try await runs(request)
    case ("runs", 2): return try await run(request, parts[1])
    case ("runs", 3) where parts[2] == "logs": return try await logs(request, parts[1])
    case ("runs", 3) where parts[2] == "outputs": return try await outputs(request, parts[1])
    case ("runs", 4) where parts[2] == "steps": return try await step(request, parts[1], parts[3])
    case ("runs", 3...4): return try await download(request)
    case ("approvals", 1): return try await approvals(request)
    case ("approvals", 3): return try await approval(request, parts[1], parts[2])
    case ("recipes", 1): return try await recipes(request)
    case ("recipes", 2): return try await recipe(request, parts[1])
    case ("check", 1): return try check(request)
    case ("actions", 1): return try await actions(request)
    case ("actions", 2): return try await action(request, parts[1])
    case ("plans", 2): return try await plan(request, parts[1])
    case ("schedules", 1): return try await schedules(request)
    case ("schedules", 2): return try await schedule(request, parts[1])
    case ("connections", 1): return try await connections(request)
    case ("workers", 1): return try await workers(request)
    case ("tokens", 1): return try await tokens(request)
    case ("state", 1): return try await state(request)
    case ("help", 1): return try await help(request)
    case ("help", 2) where parts[1] == "functions": return functions(request)
    default: return nil
    }
  }

  /// The addresses besides pages that a page links to.
  private static func download(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse? {
    let (run, what, last) = (request.parts[1], request.parts[2], request.parts.count > 3 ? request.parts[3] : nil)
    switch (what, last) {
    case ("logs.txt", nil):
      return try await request.media(
        DownloadLog.with {
          $0.run = run
          $0.step = request.given("step")
          $0.attempt = request.given("attempt").flatMap { Int($0) }
        })
    case ("outputs.json", nil): return try await request.media(ReadOutputs.with { $0.run = run })
    case ("outputs", let file?) where file.hasSuffix(".csv"):
      return try await request.media(
        DownloadTable.with {
          $0.run = run
          $0.name = String(file.dropLast(4))
        })
    case ("files", let number?):
      return try await request.media(
        DownloadFile.with {
          $0.run = run
          $0.number = number
        })
    default: return nil
    }
  }

  package static func redirect(_ path: String) -> HTTPServerResponse {
    HTTPServerResponse(status: 303, headers: ["Location": path])
  }
}
