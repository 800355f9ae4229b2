import Agent
import Operations
import RunState

/// The page of the requests to an agent, from the declarations of its verbs.
func verbPage() -> String {
  var lines = [
    "# Requests to an agent", "",
    "Each command, API path and page sends one of these requests to the agent of a state folder. On the socket `agent.sock`, a request is a JSON object whose member `ask` names the request. "
      + "[`AgentProtocol.swift`](../Sources/Runtime/Agent/AgentProtocol.swift) explains the lines, and "
      + "[`AgentReplyCoding.swift`](../Sources/Runtime/Operations/AgentReplyCoding.swift) the answers.", "",
    "On the socket, the agent identifies the caller by the account that the kernel reports. A client of the agent's own "
      + "account can name a person when it connects. A request never says who sends it.", "",
    "Any request can be refused as `request` if it doesn't match this page, and as `state` if the agent can't use its state.",
  ]
  lines += verbTable()
  for scope in AgentVerb.Scope.allCases where AgentVerb.all.contains(where: { $0.scope == scope }) {
    lines += ["", "## \(heading(scope))", ""]
    for verb in AgentVerb.all where verb.scope == scope {
      lines += ["### `\(verb.name)`", "", verb.summary]
      if let route = verb.route { lines += ["", "Over HTTP: `\(route.method.rawValue) /api/v1\(route.path)`"] }
      if !verb.parameters.isEmpty {
        lines += ["", "| Member | |", "|---|---|"]
        for parameter in verb.parameters {
          lines.append("| `\(parameter.name)`\(parameter.isRequired ? "" : ", optional") | \(parameter.summary) |")
        }
      }
      let refusals = verb.refusals.map { "`\($0.rawValue)`" }.sorted()
      if !refusals.isEmpty { lines += ["", "Refused as \(refusals.joined(separator: ", "))."] }
      lines.append("")
    }
    lines.removeLast()
  }
  return lines.joined(separator: "\n") + "\n"
}

/// Where each request is found: the command, the path of the API and the page.
private func verbTable() -> [String] {
  let rows = AgentVerb.all.map { verb in
    let cells = [
      verb.command.map { "errand \($0)" }, verb.route.map { "\($0.method.rawValue) \($0.path)" }, verb.page,
    ]
    return "| [`\(verb.name)`](#\(verb.name.lowercased())) | "
      + cells.map { $0.map { "`\($0)`" } ?? "–" }.joined(separator: " | ") + " |"
  }
  return [
    "", "## Where each is found", "",
    "The paths of the API start with `/api/v1`; [From a browser, from a program, from elsewhere](api.md) explains the API "
      + "and the pages. Commands use the requests without an entry as part of their work.", "",
    "| Request | Command | API | Page |", "|---|---|---|---|",
  ] + rows
}

private func heading(_ scope: AgentVerb.Scope) -> String {
  switch scope {
  case .token(.read): "Reading"
  case .token(.data): "Reading data"
  case .token(.start): "Starting"
  case .token(.steer): "Steering"
  case .token(.approve): "Deciding"
  case .token(.metrics): "Metrics"
  case .own: "Between programs of one account"
  }
}
