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
  @Field("Only lines of this attempt.") package var attempt: Int?
  @Field(
    "How many lines of the log to skip, such as 'next' of the answer before. In the exact form, a negative number counts lines from the end."
  )
  package var from = 0
  @Field(
    "Only the last lines of the first so many, such as 'earlier' of the answer before; a number beyond the end means the end."
  )
  package var before: Int?
  @Field(
    "Only lines that show this text, each with two lines before and after it. Letters of ASCII match in either case, and colours are left out."
  )
  package var find: String?
  @Field("How many lines to give at most; fewer come if they are long.") package var lines = 1000

  package init() {}

  package var target: RunName { RunName(run) }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> PrintedPiece {
    if find?.isEmpty == false, before != nil {
      throw RequestRefusedError(.request, "'find' searches forwards: give 'from' with it, and not 'before'")
    }
    var query = PrintedQuery()
    (query.step, query.attempt, query.find) = (step, attempt, find)
    (query.from, query.before, query.most) = (from, before, min(max(1, lines), ReadLogs.mostLines))
    return try await agent.kept { [query] () async throws(StateError) in
      try await agent.store.printed(ofRun: run.id, query)
    }
  }

  /// The most lines of an answer.
  package static let mostLines = 10_000

  package static func view(_ piece: PrintedPiece, for caller: AgentCaller) -> LogAnswer {
    let matches = Set(piece.matches)
    return filled(LogAnswer()) {
      $0.items = zip(piece.lines, piece.numbers).map { line, number in
        filled(LineAnswer()) {
          $0.number = number
          $0.at = line.at
          $0.step = line.step
          $0.attempt = line.attempt
          $0.stream = line.stream.rawValue
          $0.text = line.text
          if !matches.isEmpty { $0.isMatch = matches.contains(number) }
        }
      }
      $0.next = piece.next
      $0.earlier = piece.earlier
      $0.isLast = piece.isLast
    }
  }
}

extension PrintedPiece: UnlimitedAnswer {}
