import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import RunState

/// `errand workers`: lists, drains and evicts the programs that share a state.
struct WorkersCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let workers = try await session.access.asking { requests throws(RuntimeError) in try await ask(requests) }
    switch parsed.command.last {
    case "drain":
      for worker in workers { tellDrained(worker, isUndone: parsed["undo"].isGiven) }
    case "evict":
      for worker in workers {
        console.say(
          "the worker '\(worker.name.safe)' is evicted; \(counted(worker.runs, "run")) can be claimed by other workers")
      }
    default: list(workers, session)
    }
    return .done
  }

  private func ask(_ requests: AgentRequests) async throws(RuntimeError) -> [WorkerRecord] {
    switch parsed.command.last {
    case "drain":
      let drain = DrainWorker.with {
        $0.name = parsed["worker"].text ?? ""
        $0.undo = parsed["undo"].isGiven
      }
      return [try await requests.ask(drain)]
    case "evict":
      let evict = EvictWorker.with {
        $0.name = parsed["worker"].text ?? ""
        $0.force = parsed["force"].isGiven
      }
      return [try await requests.ask(evict)]
    default: return try await requests.ask(ListWorkers()).workers
    }
  }

  private func tellDrained(_ worker: WorkerRecord, isUndone: Bool) {
    if isUndone { return console.say("the worker '\(worker.name.safe)' claims runs again") }
    console.say(
      "the worker '\(worker.name.safe)' claims no more runs, and holds \(worker.runs); to see when it has finished: "
        + "errand workers")
  }

  private func list(_ workers: [WorkerRecord], _ session: RunSession) {
    if asJSON { return console.out(json: .list(workers.map { $0.encoded() })) }
    guard !workers.isEmpty else {
      return console.say(
        "no workers on \(session.workspace.stateName); open runs wait for one; start it with: errand serve")
    }
    let clock = session.workspace.wallClock(session.time.now())
    let rows = workers.map { worker in
      [
        worker.name.safe, "\(worker.id)", worker.host.safe, "\(worker.pid)", worker.program.safe,
        worker.queues.map(\.safe).joined(separator: ", "), "\(worker.runs)/\(worker.capacity)",
        clock.date(worker.since), worker.isOver ? "over since \(clock.date(worker.until))" : clock.date(worker.until),
        worker.clockOffset?.spoken ?? "", worker.state,
      ]
    }
    console.out(
      console.table(
        ["WORKER", "ID", "HOST", "PID", "PROGRAM", "QUEUES", "RUNS", "SINCE", "LEASE UNTIL", "CLOCK", "STATE"], rows,
        cutFirst: ["PROGRAM", "PID", "CLOCK", "SINCE", "ID", "HOST", "QUEUES"]))
  }
}

extension WorkerRecord {
  /// Its state, in a word or two.
  fileprivate var state: String {
    if isOver { return "gone" }
    let words = [isDraining ? "draining" : nil, isLeading ? "leads the schedules" : nil].compactMap(\.self)
    return words.isEmpty ? "working" : words.joined(separator: ", ")
  }
}
