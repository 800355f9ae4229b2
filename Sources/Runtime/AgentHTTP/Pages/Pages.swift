/// The pages for people: the same requests as the API's, shown as HTML and made by forms.
///
/// A page shows nothing and does nothing that its visitor's token doesn't allow, because everything goes through
/// `APIServer.reply`. Every change is a form that is posted (`PageForms.swift`), whose `Origin` has to be this agent.
/// Each page has a file of its own.
import Agent
import Operations
import Basics
import HTTPServer
import RunState
import Runs

/// One request for a page, from a person who is logged in.
struct PageRequest: Sendable {
  let http: HTTPServerRequest
  let caller: APICaller
  /// The parts of the path, decoded.
  let parts: [String]
  let ask: @Sendable (AgentRequest) async throws(Problem) -> AgentReply
  /// The input of a step of a run that the visitor sees; nil where it can't be computed again.
  let input: @Sendable (RunRecord, StepPath) async throws(Problem) -> StepReplay.Input?
  let clock: WallClock
  let isSandbox: Bool

  /// Sends a request, and reads the part that the page needs from the answer with `read`; nil is for the wrong kind.
  func ask<Answer>(_ request: AgentRequest, _ read: (AgentReply) -> Answer?) async throws(Problem) -> Answer {
    guard let answer = read(try await ask(request)) else { throw Problem(.fault, "the agent answered something else") }
    return answer
  }

  func may(_ scope: TokenScope) -> Bool { caller.scopes.contains(scope) }
  var seesData: Bool { caller.seesData }

  /// The value of a name in the query; nil if it is missing or blank.
  func given(_ name: String) -> String? { http.query[name].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed } }

  func frame(
    _ title: String, _ section: String, live: PageFrame.Live? = nil, _ content: Markup...
  ) -> HTTPServerResponse {
    PageFrame(
      title: title, section: section, visitor: caller.caller.name, live: live, isSandbox: isSandbox,
      content: Markup(content)
    ).response(to: http)
  }
}

enum Pages {
  /// The answer to a request; nil if there is no such page.
  static func answer(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse? {
    let parts = request.parts
    guard request.http.method == "GET" || request.http.method == "HEAD" else {
      return request.http.method == "POST" && parts.count == 3 ? try await act(request) : nil
    }
    switch (parts[0], parts.count) {
    case ("", 1): return try await now(request)
    case ("runs", 1): return try await runs(request)
    case ("runs", 2): return try await run(request, parts[1])
    case ("runs", 3) where parts[2] == "logs": return try await logs(request, parts[1])
    case ("runs", 4) where parts[2] == "steps": return try await step(request, parts[1], parts[3])
    case ("approvals", 1): return try await approvals(request)
    case ("approvals", 3): return try await approval(request, parts[1], parts[2])
    case ("recipes", 1): return try await recipes(request)
    case ("recipes", 2): return try await recipe(request, parts[1])
    case ("plans", 2): return try await plan(request, parts[1])
    case ("schedules", 1): return try await schedules(request)
    case ("schedules", 2): return try await schedule(request, parts[1])
    case ("connections", 1): return try await connections(request)
    case ("state", 1): return try await state(request)
    case ("help", 1): return help(request)
    default: return nil
    }
  }

  static func redirect(_ path: String) -> HTTPServerResponse {
    HTTPServerResponse(status: 303, headers: ["Location": path])
  }
}
