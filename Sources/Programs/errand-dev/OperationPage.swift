import Agent
import Operations
import RunState

/// The page of the requests to an agent, from the declarations of its operations.
func operationPage() -> String {
  var lines = [
    "# Requests to an agent", "",
    "Each command, API path and page sends one of these requests to the agent of a state folder. Commands send them in "
      + "the exact form: `POST /api/v1/operations/NAME`, with the members below as a JSON object. "
      + "[`ExactForm.swift`](../Sources/Runtime/Operations/ExactForm.swift) explains it. Other programs use the paths of the API.",
    "",
    "On the socket of the folder, `api.sock`, the agent identifies the caller by the account that the kernel reports. A "
      + "client of the agent's own account can name a person with each request. At an address, the caller is the token. The "
      + "members of a request never say who sends it.", "",
    "Any request can be refused as `request` if it doesn't match this page, and as `state` if the agent can't use its state.",
  ]
  lines += operationTable()
  for (scope, heading) in headings {
    // A request that needs more than another of its kind says so.
    let operations = OperationList.all.filter { operation in
      operation.scopes == scope
        || operation.scopes.token?.contains(.edit) == true && scope == .token(.read, .edit)
    }
    if operations.isEmpty { continue }
    lines += ["", "## \(heading)", ""]
    for operation in operations {
      lines += ["### `\(operation.name)`", "", operation.summary]
      if operation.scopes != scope, let needed = operation.scopes.token {
        lines += ["", "Needs the scopes \(needed.map { "`\($0.rawValue)`" }.sorted().joined(separator: ", "))."]
      }
      if let route = operation.route { lines += ["", "Over HTTP: `\(route.method.rawValue) /api/v1\(route.path)`"] }
      if !operation.absences.isEmpty {
        lines += [""] + operation.absences.map { "* \(words(for: $0.place)): \($0.reason)" }
      }
      if !operation.parameters.isEmpty {
        lines += ["", "| Member | |", "|---|---|"]
        for parameter in operation.parameters {
          lines.append("| `\(parameter.name)`\(parameter.isRequired ? "" : ", optional") | \(parameter.summary) |")
        }
      }
      let refusals = operation.refusals.map { "`\($0.rawValue)`" }.sorted()
      if !refusals.isEmpty { lines += ["", "Refused as \(refusals.joined(separator: ", "))."] }
      lines.append("")
    }
    lines.removeLast()
  }
  return lines.joined(separator: "\n") + "\n"
}

/// Where each request is found: the command, the path of the API and the page.
private func operationTable() -> [String] {
  let rows = OperationList.all.map { operation in
    let cells = [
      operation.command.map { "errand \($0)" }, operation.route.map { "\($0.method.rawValue) \($0.path)" },
      operation.page,
    ]
    return "| [`\(operation.name)`](#\(operation.name.lowercased())) | "
      + cells.map { $0.map { "`\($0)`" } ?? "–" }.joined(separator: " | ") + " |"
  }
  return [
    "", "## Where each is found", "",
    "The paths of the API start with `/api/v1`; [From a browser, from a program, from elsewhere](api.md) explains the API "
      + "and the pages. Commands use the requests without an entry as part of their work.", "",
    "| Request | Command | API | Page |", "|---|---|---|---|",
  ] + rows
}

/// The words before the reason why a request isn't found in a place.
private func words(for place: Absence.Place) -> String {
  switch place {
  case .command: "No command"
  case .route: "Not in the API"
  case .page: "No page"
  }
}

/// The headings, by the needs of a caller.
private let headings: [(Scopes, String)] = [
  (.token(.read), "Reading"), (.token(.data), "Reading data"), (.token(.start), "Starting"),
  (.token(.steer), "Steering"), (.token(.approve), "Deciding"), (.token(.metrics), "Metrics"),
  (.token(.tokens), "Tokens"), (.token(.read, .edit), "Editing"),
  (.own, "Between programs of one account"),
]
