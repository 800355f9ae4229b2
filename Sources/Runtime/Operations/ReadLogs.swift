package import ActionKit
package import Agent
package import RunState

package struct ReadLogs: Operation {
  package static let name = "logs"
  package static let summary = "Reads the lines that the commands of a run printed, a page at a time."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/logs")
  package static let command: String? = "runs logs"
  package static let page: String? = "/runs/{run}/logs"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String
  @Field("Only lines of this step and the steps inside it.") package var step: String?
  @Field(
    "Where to continue: 'next' of the answer before. In the exact form, a negative number counts lines from the end.")
  package var from = 0

  package init() {}

  package var target: RunName { RunName(run) }

  /// Some lines, if there are any from the position on.
  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> PrintedPiece {
    var position = from
    while true {
      var piece = try await agent.kept { [position] () async throws(StateError) in
        try await agent.store.printed(ofRun: run.id, from: position)
      }
      if let step { piece.lines.removeAll { !$0.belongs(to: step) } }
      if !piece.lines.isEmpty || piece.isLast || Task.isCancelled { return piece }
      position = piece.next
    }
  }

  package static func view(_ piece: PrintedPiece, for caller: AgentCaller) -> LogAnswer {
    filled(LogAnswer()) {
      $0.items = piece.lines.map { line in
        filled(LineAnswer()) {
          $0.at = line.at
          $0.step = line.step
          $0.attempt = line.attempt
          $0.text = line.text
        }
      }
      $0.next = piece.next
      $0.isLast = piece.isLast
    }
  }
}

extension PrintedPiece: UnlimitedAnswer {}
