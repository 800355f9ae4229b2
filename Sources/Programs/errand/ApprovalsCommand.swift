import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations
import RunState

/// `errand runs approvals`: lists the questions that wait for a decision or an answer.
struct ApprovalsCommand: DispatchedCommand {
  let dispatch: Dispatch
  let session: RunSession

  func run() async throws(RuntimeError) -> ExitCode {
    let list = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      let after = parsed["after"].isGiven ? try await requests.run(parsed["after"].text).id : nil
      return try await requests.ask(
        ListApprovals.with {
          if let limit = parsed["limit"].int { $0.limit = limit }
          $0.cursor = after
        })
    }
    if asJSON {
      try await show(list, to: ListApprovals.self)
      return .done
    }
    guard !list.open.isEmpty else {
      let place = session.access.remote.map { "at \($0.url)" } ?? "in \(session.workspace.stateName)"
      console.say("no \(parsed["after"].isGiven ? "more " : "")runs wait for a decision \(place)")
      return .done
    }
    let clock = session.workspace.wallClock(session.time.now())
    let tails = RunTails(of: list.open.map(\.id))
    let rows = list.open.flatMap { run in
      run.askingSteps.map { step -> [String] in
        let until = step.wait?.wakeAt.map(clock.dateFromNow) ?? ""
        let people = joined(step.wait?.by.map(\.safe) ?? [], by: "or")
        let prompt = (step.wait?.prompt ?? "").safe
        return [
          tails[run.id], run.recipe.safe, step.path.safe, clock.date(step.startedAt), until, people, prompt,
        ]
      }
    }
    console.out(
      console.table(
        ["RUN", "RECIPE", "STEP", "ASKED", "UNTIL", "WHO MAY DECIDE", "QUESTION"], rows,
        cutFirst: ["QUESTION", "ASKED", "UNTIL", "WHO MAY DECIDE", "RECIPE"]))
    let command = session.access.remote?.command ?? "errand"
    let kinds = Set(list.open.flatMap(\.askingSteps).compactMap(\.wait?.kind))
    if kinds.contains(.approval) {
      console.say("\nDecide with: \(command) runs approve RUN STEP; or: \(command) runs reject RUN STEP")
    }
    if kinds.contains(.ask) {
      console.say("\nAnswer with: \(command) runs answer RUN STEP -f NAME=VALUE; 'runs show' lists the fields")
    }
    if let next = list.next { console.say("There are more; continue with: --after \(tails[next])") }
    return .done
  }
}
