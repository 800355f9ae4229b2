package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ShowRun: Operation {
  package static let name = "show"
  package static let summary = "Shows the whole record of a run."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs/{run}")
  package static let command: String? = "runs show"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String

  package init() {}

  package var target: RunName { RunName(run) }

  /// A run, read when its record is needed.
  package struct Answer: OperationAnswer {
    private enum Content {
      case stored(StoredRun)
      case record(RunRecord)
    }

    private let content: Content
    /// Whether other runs are left out of it.
    private var isAlone = false

    init(_ run: StoredRun) { content = .stored(run) }

    package init(reading value: Value) throws(RecordError) { content = .record(try readRecord(value["run"])) }

    package func exact() async throws(RequestRefusedError) -> Value { .object(["run": recorded(try await record())]) }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      var limited = self
      limited.isAlone = true
      return limited
    }

    /// The whole record.
    package func record() async throws(RequestRefusedError) -> RunRecord {
      let run =
        switch content {
        case .stored(let run): try await run.record()
        case .record(let run): run
        }
      return isAlone ? run.alone : run
    }

    /// The run in the state, if nothing of it is left out.
    private var stored: StoredRun? { if case .stored(let run) = content, !isAlone { run } else { nil } }

    package var isLong: Bool { true }

    package func write(to writer: inout ExactWriter) async throws {
      guard let stored else { return try await writer.write(members: try await exact().map ?? ValueMap()) }
      try await writer.write(plain: "{\"run\":")
      try await stored.write(to: &writer)
      try await writer.write(plain: "}")
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer { Answer(agent.stored(run.id)) }

  package static func view(_ answer: Answer, for caller: AgentCaller) async throws(RequestRefusedError) -> RunAnswer {
    RunAnswer(try await answer.record(), withData: caller.seesData)
  }
}
