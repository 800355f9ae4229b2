package import ActionKit
package import Agent
package import RunState

package struct DeleteRun: Operation {
  package static let name = "delete"
  package static let summary = "Deletes an ended run, with its values and its commands' output."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .delete("/runs/{run}")
  package static let command: String? = "runs delete"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.conflict])

  @Field(RunName.summary) package var run: String

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The run's id.
    package var deleted: String

    package init(_ run: String) { deleted = run }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      deleted = try member("deleted", record?.deleted)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    guard run.status.isEnded, await agent.store.openRun(run.id) == nil else {
      throw RequestRefusedError(
        .conflict, "the run \(run.id) is open (\(run.status.rawValue)); cancel it first: errand runs cancel \(run.id)")
    }
    guard try await agent.kept({ () async throws(StateError) in try await agent.store.deleteRun(run.id) }) else {
      throw RequestRefusedError(.notFound, "the run \(run.id) was deleted at this moment")
    }
    return Answer(run.id)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
