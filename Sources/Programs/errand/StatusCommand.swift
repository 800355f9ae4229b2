import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations
import RunState

/// `errand status`: shows whether an agent is running, and its workload.
struct StatusCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let (report, isAgent) = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      (try await requests.ask(ShowStatus.with { $0.size = true }), requests.connection.isAgent)
    }
    if asJSON {
      try await show(report, to: ShowStatus.self)
      return .done
    }
    let clock = session.workspace.wallClock(session.time.now())
    // An agent elsewhere keeps its process and folder from a token that is limited to recipes.
    let process = report.pid == 0 ? "" : ", process \(report.pid)"
    if isAgent {
      console.out("agent      none is running here")
    } else {
      let work = report.isServing ? "serves" : "runs one command"
      console.out("agent      \(report.program.safe)\(process), \(work) since \(clock.date(report.since))")
    }
    if let state = report.database ?? (report.folder.isEmpty ? nil : report.folder) {
      console.out("state      \(state.safe)\(report.size.map { ", \($0)" } ?? "")")
    }
    let runs = RunStatus.allCases.compactMap { status in
      report.runs[status.rawValue].flatMap { $0 > 0 ? "\($0) \(status.rawValue)" : nil }
    }
    console.out("open runs  \(runs.isEmpty ? "none" : joined(runs))")
    if let served = report.served {
      console.out("recipes    \(served.recipes)")
      let next = served.nextSlot.map { "; the next slot is on \(clock.dateFromNow($0))" } ?? ""
      console.out("schedules  \(served.schedules)\(next)")
      for fault in served.faults { console.error(fault) }
    }
    if report.hasLeader == false {
      console.say("No worker leads the schedules, so none of them starts. Start one that does with: errand serve")
    } else if isAgent, report.hasLeader == nil {
      console.say("Nothing wakes waiting runs or starts schedules. Start an agent with: errand serve")
    }
    return .done
  }
}
