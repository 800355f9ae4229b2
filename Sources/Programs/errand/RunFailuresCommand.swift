import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations
import RunState

/// `errand runs failures`, `dismiss` and `statistics`: how runs ended, without looking at each.
struct RunFailuresCommand: DispatchedCommand {
  let dispatch: Dispatch
  let session: RunSession

  func run() async throws(RuntimeError) -> ExitCode {
    switch parsed.command.last {
    case "dismiss": return try await dismiss()
    case "statistics": return try await statistics()
    default: return try await failures()
    }
  }

  private var place: String { session.access.remote.map { "at \($0.url)" } ?? "in \(session.workspace.stateName)" }

  // MARK: Failures

  private func failures() async throws(RuntimeError) -> ExitCode {
    let answer = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.ask(
        ListFailures.with {
          $0.recipe = parsed["recipe"].text
          $0.all = parsed["all"].isGiven
          if let limit = parsed["limit"].int { $0.limit = limit }
        })
    }
    if asJSON {
      try await show(answer, to: ListFailures.self)
      return .done
    }
    guard !answer.groups.isEmpty else {
      console.say("no run failed in the last 30 days \(place)")
      return .done
    }
    let clock = session.workspace.wallClock(session.time.now())
    let rows = answer.groups.map { failures -> [String] in
      let group = failures.group
      let mark = group.latest.failure
      return [
        group.id, group.recipe.safe, "\(group.count)", clock.date(group.latest.endedAt), note(of: failures),
        mark?.step?.safe ?? "", mark?.kind.rawValue ?? "", (group.message ?? "").safe,
      ]
    }
    console.out(
      console.table(
        ["FAILURES", "RECIPE", "COUNT", "LATEST", "NOTE", "STEP", "KIND", "MESSAGE"], rows,
        cutFirst: ["MESSAGE", "STEP", "NOTE", "RECIPE"]))
    let command = session.access.remote?.command ?? "errand"
    console.say("\nDismiss failures with: \(command) runs dismiss FAILURES")
    return .done
  }

  private func note(of failures: ListedFailures) -> String {
    if failures.isDismissed { return "dismissed\(failures.dismissal?.by.map { " by \($0.safe)" } ?? "")" }
    if failures.group.hasSucceeded { return "succeeded since" }
    return failures.isRetried ? "being retried" : ""
  }

  private func dismiss() async throws(RuntimeError) -> ExitCode {
    let request = DismissFailure.with {
      $0.group = parsed["failures"].text ?? ""
      $0.note = parsed["note"].text
    }
    let answer = try await session.access.asking { requests throws(RuntimeError) in try await requests.ask(request) }
    if let group = answer.groups.first?.group {
      console.say(
        "dismissed \(counted(group.count, "failure")) of \(group.recipe.safe); they are listed again if a run fails so again"
      )
    }
    return .done
  }

  // MARK: Statistics

  private func statistics() async throws(RuntimeError) -> ExitCode {
    let answer = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.ask(
        ShowStatistics.with {
          $0.recipe = parsed["recipe"].text
          $0.daily = parsed["daily"].isGiven
          if let days = parsed["days"].int { $0.days = days }
        })
    }
    if asJSON {
      try await show(answer, to: ShowStatistics.self)
      return .done
    }
    let all = answer.recipes
    guard !all.isEmpty else {
      console.say("no run has ended since \(CivilDate(daysSinceEpoch: answer.firstDay)) \(place)")
      return .done
    }
    let isByDay = parsed["daily"].isGiven
    func row(_ recipe: String, _ day: String, _ totals: RunTotals) -> [String] {
      let others = totals.count - totals.succeeded - totals.failed
      let start = isByDay ? [recipe.safe, day] : [recipe.safe]
      return start + [
        "\(totals.succeeded)", "\(totals.failed)", "\(others)", totals.successInWords ?? "",
        totals.average?.inShort ?? "",
      ]
    }
    let rows = all.flatMap { statistics in
      isByDay
        ? statistics.days.map { row(statistics.recipe, CivilDate(daysSinceEpoch: $0.day).description, $0.totals) }
        : [row(statistics.recipe, "", statistics.totals)]
    }
    console.out(
      console.table(
        (isByDay ? ["RECIPE", "DAY"] : ["RECIPE"]) + ["SUCCEEDED", "FAILED", "OTHER", "SUCCESS", "AVERAGE"], rows,
        cutFirst: ["RECIPE"]))
    return .done
  }
}
