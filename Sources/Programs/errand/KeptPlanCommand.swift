import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations
import Runs

/// `errand plan --show DIGEST`: shows a plan that an agent made and keeps.
struct KeptPlanCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    if parsed["recipe"].isGiven {
      throw RuntimeError(.usage, "--show names the plan; leave out the recipe")
    }
    if let other = ["input", "inputs", "sandbox", "set", "out"].first(where: { parsed[$0].isGiven }) {
      throw RuntimeError(.usage, "--show shows a plan that was made before; leave out --\(other)")
    }
    let session = try await dispatch.session()
    let digest = parsed["show"].text ?? ""
    let answer = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.refuseUnlessServed("keeps plans", otherwise: "errand plan FILE")
      return try await requests.ask(ShowPlan.with { $0.digest = digest })
    }
    let plan = Plan(document: answer.plan.document)
    if asJSON {
      try await show(answer, to: ShowPlan.self)
    } else {
      let clock = session.workspace.wallClock(session.time.now())
      console.out("made on \(clock.date(answer.plan.madeAt))")
      PlanReport(plan: plan, recipe: answer.plan.recipe, console: console, clock: clock).show()
    }
    if answer.plan.wouldFail { return .failed }
    return parsed["detailed-exitcode"].isGiven && plan.tally.changes > 0 ? .hasChanges : .done
  }
}
