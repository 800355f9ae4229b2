import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations
import RunState

/// `errand runs watch`: prints a line for each change of a run, until it is interrupted or the agent ends.
struct RunWatchCommand: DispatchedCommand {
  let dispatch: Dispatch
  let session: RunSession

  func run() async throws(RuntimeError) -> ExitCode {
    let connection = try await session.access.connection()
    let result: Result<ExitCode, RuntimeError>
    do throws(RuntimeError) { result = .success(try await watch(connection)) } catch { result = .failure(error) }
    await connection.leave()
    return try result.get()
  }

  private func watch(_ connection: AgentConnection) async throws(RuntimeError) -> ExitCode {
    guard !connection.isAgent else {
      throw RuntimeError(.unavailable, "no agent is running, so no run changes; start one with: errand serve")
    }
    let lines = ChangeLines(session: session, asJSON: asJSON)
    // Ends with the agent, and is cancelled by a key press at the terminal.
    let watching = Task { () -> RuntimeError? in
      do throws(RuntimeError) {
        try await RunWatchCommand.read(connection) { lines.show($0) }
        return nil
      } catch {
        return error
      }
    }
    // Ends with the program.
    let interruption = Task {
      _ = await Signals.shared.next()
      watching.cancel()
    }
    defer { interruption.cancel() }
    let failure = await watching.value
    if let code = Signals.shared.received { return code }
    throw failure ?? RuntimeError(.unavailable, "the agent ended; watch the next one with: errand runs watch")
  }

  // MARK: The stream of changes

  /// Passes each change on, until the agent ends or the task is cancelled.
  private static func read(
    _ connection: AgentConnection, _ take: (RunNotice) -> Void
  ) async throws(RuntimeError) {
    do {
      for try await event in try connection.events(of: WatchRuns()) {
        if case .notice(let notice) = event { take(notice) }
      }
    } catch {
      if let failure = RuntimeError(unanswered: error, isStateElsewhere: connection.isStateElsewhere) { throw failure }
    }
  }
}

/// Prints changes of runs, each on a line.
private struct ChangeLines: Sendable {
  let session: RunSession
  let asJSON: Bool

  private var console: Console { session.console }

  func show(_ notice: RunNotice) {
    let now = session.time.now()
    if asJSON { return showJSON(notice, now) }
    guard let run = notice.run else {
      console.say(
        notice.kind == .missed
          ? "changes were missed; to see all runs: errand runs"
          : "watching the runs \(session.access.remote.map { "at \($0.url)" } ?? "in \(session.workspace.stateName)"); Ctrl-C ends it"
      )
      return
    }
    let clock = session.workspace.wallClock(now)
    let reason = run.status.isEnded ? (run.error?.message ?? run.reason ?? "").safe : run.summary(clock)
    let words = [clock.stamp(run.now), run.recipe.safe, run.id, run.status.rawValue, reason]
    console.out(words.filter { !$0.isEmpty }.joined(separator: "  "))
  }

  /// The event's name and data are those of `GET /api/v1/events`.
  private func showJSON(_ notice: RunNotice, _ now: Timestamp) {
    var line = ValueMap([("event", .string(notice.kind.rawValue)), ("at", .string("\(notice.run?.now ?? now)"))])
    if let run = notice.run { line["run"] = try? RunAnswer(listed: run, withData: true).encoded() }
    console.out(json: .map(line), .compact)
  }
}
