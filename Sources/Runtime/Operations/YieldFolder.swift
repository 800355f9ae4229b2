import ActionKit
package import Agent
package import RunState

/// Hands the folder over to `errand serve`; an agent that already serves refuses.
package struct YieldFolder: Operation {
  package static let name = "yield"
  package static let summary =
    "Hands the state folder over to another process: the agent finishes the actions in flight and stops."
  package static let scopes = Scopes.own
  package static let absences: [Absence] = [
    .command("`errand serve` asks it of the process that holds the folder."),
    .route("The process that asks takes the lock of the folder next, so it is on the agent's machine."),
    .page("An agent that serves pages keeps the folder."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.serving]

  package init() {}

  package var target: Void { () }

  /// The folder is free once the actions in flight have finished.
  package struct Answer: Record, UnlimitedAnswer {
    package var yielded = true

    package init() {}

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      yielded = try member("yielded", record?.yielded)
    }
  }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let status = agent.agent
    guard !status.isServing else {
      let stop = ServiceUnit.own?.stop ?? "kill \(status.pid)"
      throw RequestRefusedError(
        .serving,
        "process \(status.pid) serves '\(status.folder)' already; see what it does with: errand runs; stop it with: \(stop)"
      )
    }
    // Ends when everything in flight has finished; the caller is answered before. Where the end of the host ends the
    // process, the answer is sent nevertheless: `AgentSocket.stop` waits for it.
    Task { await agent.host.handOver() }
    return Answer()
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
