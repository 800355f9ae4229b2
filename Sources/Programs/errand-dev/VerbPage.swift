import Agent
import RunState

/// The page of what an agent can be asked, from the declarations of its verbs.
func verbPage() -> String {
  var lines = [
    "# What an agent can be asked", "",
    "A program asks the agent of a state folder over `agent.sock`; commands do it for you. "
      + "[`AgentProtocol.swift`](../Sources/Runtime/Agent/AgentProtocol.swift) explains the lines, "
      + "[`AgentReplyCoding.swift`](../Sources/Runtime/Agent/AgentReplyCoding.swift) the answers. "
      + "A request is a JSON object whose member `ask` names the verb.", "",
    "The connection identifies the caller: by the account that the kernel reports, or, for a client of the agent's own "
      + "account, by the person it names when it connects. A request cannot.", "",
    "Any request may be refused as `request` if it doesn't match this page, and as `state` if the state can't be used.",
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
    "Paths of the API are below `/api/v1`; [From a browser, from a program, from elsewhere](api.md) explains it and the "
      + "pages. Requests that have none of these are made by commands on the way to something else.", "",
    "| Request | Command | API | Page |", "|---|---|---|---|",
  ] + rows
}

private func heading(_ scope: AgentVerb.Scope) -> String {
  switch scope {
  case .token(.read): "Looking"
  case .token(.data): "Looking at data"
  case .token(.start): "Starting"
  case .token(.steer): "Steering"
  case .token(.approve): "Deciding"
  case .token(.metrics): "Measuring"
  case .own: "Between programs of one account"
  }
}
