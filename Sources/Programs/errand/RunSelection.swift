import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations
import RunState

/// The runs that the options of a command choose: `errand runs list`, `count` and `steer`.
struct RunSelection: DispatchedCommand {
  let dispatch: Dispatch
  let session: RunSession

  /// The options that choose runs.
  static let options = ["recipe", "name", "status", "since", "until", "text", "input", "cause", "failure"]

  var isFiltered: Bool { RunSelection.options.contains { parsed[$0].isGiven } }

  /// The query that the options make.
  func query() throws(RuntimeError) -> RunListQuery {
    let clock = session.workspace.wallClock(session.time.now())
    var query = RunListQuery(recipe: parsed["recipe"].text)
    query.statuses = parsed["status"].texts.compactMap(RunStatus.init(rawValue:))
    query.since = try instant("since", clock)
    query.until = try instant("until", clock)
    query.failure = parsed["failure"].text
    query.filter.recipePart = parsed["name"].text
    query.filter.text = parsed["text"].text
    query.filter.causes = Set(parsed["cause"].texts.compactMap(RunCause.Kind.init(rawValue:)))
    for text in parsed["input"].texts {
      guard let input = RunFilter.Input(text) else {
        throw RuntimeError(.usage, "-i takes NAME=VALUE, but found '\(text)'")
      }
      query.filter.inputs.append(input)
    }
    return query
  }

  /// The instant of an option: a time on the folder's clock, or a length of time before now.
  private func instant(_ option: String, _ clock: WallClock) throws(RuntimeError) -> Timestamp? {
    guard let text = parsed[option].text else { return nil }
    if let instant = clock.instant(text) { return instant }
    if let span = TimeSpan(text), span > .zero,
      let instant = clock.now.advanced(by: TimeSpan(nanoseconds: -span.nanoseconds))
    {
      return instant
    }
    throw RuntimeError(
      .usage,
      "--\(option) takes a time such as 2026-11-20, '2026-11-20 17:30' or 17:30, or 7d for seven days ago, not '\(text)'"
    )
  }

  // MARK: Counting

  func count() async throws(RuntimeError) -> ExitCode {
    let query = try query()
    let counts = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.ask(CountRuns.with { $0.fill(from: query) }).counts
    }
    let shown = RunStatus.allCases.filter { counts[$0] > 0 }
    let count = counts.count(of: shown)
    if asJSON {
      console.out(
        json: .map(
          ValueMap([
            ("count", .int(count)), ("isWhole", .bool(counts.isWhole)),
            ("statuses", .map(ValueMap(shown.map { ($0.rawValue, .int(counts[$0])) }))),
          ])))
      return .done
    }
    let rows = shown.map { [$0.rawValue, "\(counts[$0])"] } + [["all", "\(count)"]]
    console.out(console.table(["STATUS", "RUNS"], rows))
    if !counts.isWhole { console.say("There are more finished runs; only the latest are counted.") }
    return .done
  }

  // MARK: Changing

  /// Retries or cancels the runs that are named, or all that match.
  func steer() async throws(RuntimeError) -> ExitCode {
    guard let verb = parsed["verb"].text.flatMap(SteerRuns.Verb.init(rawValue:)) else {
      throw RuntimeError(.usage, "say what to do: retry or cancel")
    }
    let (names, query) = (parsed["runs"].texts, try query())
    guard names.isEmpty == isFiltered else {
      throw RuntimeError(
        .usage, "name the runs, or choose them with options such as --recipe NAME --status failed, and not both")
    }
    let key = try dispatch.runKey()
    let reason = parsed["reason"].text
    let (answer, isAgent) = try await session.access.asking { requests throws(RuntimeError) in
      var request = SteerRuns.with {
        $0.verb = Word(verb)
        $0.runs = names
        $0.reason = reason
        $0.key = key
      }
      if isFiltered { request = try await meant(request, query, requests) }
      return (try await requests.ask(request), requests.connection.isAgent)
    }
    if asJSON {
      console.out(
        json: .list(
          answer.outcomes.map { outcome in
            var value = ValueMap([("run", .string(outcome.run))])
            value["accepted"] = outcome.accepted.map { .string($0) }
            value["refusal"] = outcome.refusal.map { .string($0) }
            return .map(value)
          }))
    } else {
      for outcome in answer.outcomes {
        let news = outcome.refusal ?? outcome.accepted.map { "retried as \($0)" } ?? "is being cancelled"
        console.out("\(outcome.run.safe)  \(news.safe)")
      }
    }
    let (done, all) = (answer.changedCount, answer.outcomes.count)
    console.say("\(done) of \(counted(all, "run")) \(verb == .retry ? "retried" : "cancelled")")
    if isAgent, done > 0 {
      console.say("No agent is running, so nothing happens yet. Start one with: errand serve; or: errand runs resume")
    }
    return done == all ? .done : .failed
  }

  /// The request for all runs that match, after a person has confirmed how many these are.
  private func meant(
    _ request: SteerRuns, _ query: RunListQuery, _ requests: AgentRequests
  ) async throws(RuntimeError) -> SteerRuns {
    var request = request
    var filter = RunFilterInput()
    filter.fill(from: query)
    request.filter = filter
    if let expected = parsed["expected"].int {
      request.expected = expected
      return request
    }
    let counts = try await requests.ask(CountRuns.with { $0.fill(from: query) }).counts
    let statuses = request.verb.word.statuses.filter { query.statuses.isEmpty || query.statuses.contains($0) }
    let count = counts.count(of: statuses)
    request.expected = count
    let word = request.verb.word == .retry ? "Retry" : "Cancel"
    guard count == 0 || parsed["yes"].isGiven || console.confirms("\(word) \(counted(count, "run"))?") else {
      throw RuntimeError(.usage, "nothing was changed; say --yes to change \(counted(count, "run"))")
    }
    return request
  }
}
