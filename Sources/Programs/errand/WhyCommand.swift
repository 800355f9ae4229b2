import Agent
import Operations
import AgentRuntime
import Basics
import Calendars
import CommandLineParser
import Recipes
import RunState
import Runs

/// `errand why`: explains a run, or a schedule around an instant.
struct WhyCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let subject = parsed["subject"].text ?? ""
    let stories = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      let now = session.time.now()
      let (all, broken) = try await KnownSchedule.all(requests, session.workspace)
      let named = all.filter {
        $0.record.id.hasSameScalars(as: subject) || $0.record.recipe.hasSameScalars(as: subject)
      }
      var stories: [Story] = []
      for schedule in named { stories.append(try await story(of: schedule, requests, session.workspace, now)) }
      if named.isEmpty, let recipe = broken.first(where: { $0.stem.hasSameScalars(as: subject) }) {
        let place = session.workspace.database == nil ? "" : " in this folder"
        throw RuntimeError(
          .invalid,
          "'\(recipe.file)' is broken, so nothing\(place) starts it: \(recipe.fault); see: errand check "
            + "\(recipe.file.shellQuoted), and of its runs: errand runs --recipe \(subject.shellQuoted)")
      }
      if stories.isEmpty {
        stories.append(try await story(ofRun: subject, among: all, requests, session.workspace, now))
      }
      return stories
    }
    if asJSON {
      console.out(json: .list(stories.map(\.value)))
      return .done
    }
    for (index, story) in stories.enumerated() {
      if index > 0 { console.out("") }
      let (first, rest) = story.explanation.text.cutAfterFirstLine
      console.out(Style.bold.applied(to: first, console.colourOut) + rest)
    }
    return .done
  }

  private struct Story: Sendable {
    var kind: String
    var id: String
    var explanation: Explanation

    var value: Value {
      .object([kind: .string(id), "text": .string(explanation.text), "sentences": explanation.value])
    }
  }

  // MARK: Runs

  private func story(
    ofRun subject: String, among schedules: [KnownSchedule], _ requests: AgentRequests, _ workspace: Workspace,
    _ now: Timestamp
  ) async throws(RuntimeError) -> Story {
    if parsed["at"].isGiven { throw unknown(subject, schedules, "has a schedule, which --at needs") }
    let record: RunRecord
    do throws(RuntimeError) { record = try await requests.displayed(subject) } catch {
      guard error.kind == .noInput, !subject.couldBeRunID else { throw error }
      throw unknown(subject, schedules, "has a schedule or ever ran")
    }
    if workspace.isElsewhere {
      return Story(
        kind: "run", id: record.id, explanation: try await requests.explanation(of: record.id))
    }
    let (facts, holder) = try await requests.facts(about: record)
    let zone = schedules.first { $0.record.id == facts.run.origin.cause.schedule }?.zone
    let explanation = await workspace.explanation(
      of: facts, in: zone, isServed: try await requests.isServed(), holder: holder)
    return Story(kind: "run", id: facts.run.id, explanation: explanation)
  }

  private func unknown(_ subject: String, _ schedules: [KnownSchedule], _ what: String) -> RuntimeError {
    let names = schedules.flatMap { [$0.record.id, $0.record.recipe] }
    let guess = subject.nearest(among: names).map { "did you mean '\($0)'?" }
    return RuntimeError(
      .noInput,
      "nothing called '\(subject)' \(what); \(guess ?? "'errand schedule list' and 'errand runs list' show what there is")"
    )
  }

  // MARK: Schedules

  private func story(
    of schedule: KnownSchedule, _ requests: AgentRequests, _ workspace: Workspace, _ now: Timestamp
  ) async throws(RuntimeError) -> Story {
    let clock = schedule.clock(workspace.wallClock(now))
    var at = now
    if let text = parsed["at"].text {
      guard let instant = clock.instant(text) else {
        throw RuntimeError(
          .usage, "--at takes '2026-11-20 17:30', '17:30' or RFC 3339, but is '\(text)'")
      }
      at = instant
    }
    let id = schedule.record.id
    let isNamed = parsed["at"].isGiven
    if workspace.isElsewhere {
      let answer = try await requests.ask(
        ExplainSchedule.with {
          $0.id = id
          $0.at = isNamed ? at : nil
        })
      return Story(kind: "schedule", id: id, explanation: answer.explanation)
    }
    var facts = try await schedule.facts(around: at, isNamed: isNamed, now) { query async throws(RuntimeError) in
      try await requests.ask(ListSlots(query)).slots
    } run: {
      try? await requests.run($0)
    }
    facts.fault = workspace.recipe(schedule.record.file, among: .null).fault
    return Story(
      kind: "schedule", id: id,
      explanation: Explanation(of: facts, clock: clock, isServed: try await requests.isDeciding()))
  }
}

extension String {
  fileprivate var cutAfterFirstLine: (first: String, rest: String) {
    guard let end = firstIndex(of: "\n") else { return (self, "") }
    return (String(self[..<end]), String(self[end...]))
  }
}
