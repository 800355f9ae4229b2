import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations

/// `errand reload`: tells the agent to read errand.yaml, the secrets and the recipes again.
struct ReloadCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let answer = try await session.access.asking { requests throws(RuntimeError) in
      try await requests.ask(ReloadConfiguration())
    }
    let faults = answer.faults == 0 ? "" : "; \(counted(answer.faults, "error")) in recipes, see: errand recipes list"
    console.say(
      "errand.yaml is read again: \(counted(answer.recipes, "recipe")), \(counted(answer.schedules, "schedule"))\(faults)"
    )
    return .done
  }
}
