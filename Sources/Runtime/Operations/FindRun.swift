package import ActionKit
package import Agent
package import RunState

package struct FindRun: Operation {
  package static let name = "find"
  package static let summary = "Finds a run by its name."
  package static let scopes = Scopes.token(.read)
  package static let absences: [Absence] = [
    .command("It is a part of the commands of runs, which find out first which run is meant."),
    .route("Each path below `/runs/{run}` takes the same names of a run."),
    .page("Pages lead to a run by its id."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: Record, OperationAnswer {
    package var run: RunReference
    /// The record as lists show it, while the run is open.
    package var open: RunRecord?

    package init(_ run: RunReference, open: RunRecord?) {
      self.run = run
      self.open = open
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      run = try member("run", record?.run)
      open = try member("open", record?.open)
    }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      // The run itself is one that the caller sees.
      Answer(run, open: open?.alone)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    Answer(run, open: await agent.store.openRun(run.id)?.listed)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
