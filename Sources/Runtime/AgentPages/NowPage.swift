// The first page: questions, failures in groups, open runs, coming slots, and how the last 30 days went.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  /// The most rows of each list of the page, which has about a screen and a half however much there is.
  private static let (mostQuestions, mostUrgent, mostRunning, mostNextSlots, mostWorst) = (10, 10, 20, 8, 10)
  /// How many open runs are asked for, among which some may have no worker.
  private static let mostBusy = 50
  /// How long a group of failures is shown that needs no person any more.
  private static let recent = TimeSpan.seconds(86_400)

  static func now(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let asking = try await request.ask(ListApprovals.with { $0.limit = mostQuestions })
    let busy = try await request.ask(ListRuns(RunListQuery(limit: mostBusy, isPaged: true, needsPerson: false)))
    // A run that no worker can claim needs a person.
    let (unclaimable, running) = busy.openWithReasons.reversed().reduce(into: ([RunRecord](), [RunRecord]())) {
      if busy.unclaimable?[$1.id] != nil { $0.0.append($1) } else { $0.1.append($1) }
    }
    let urgent = try await urgent(request, unclaimable)
    let coming = try await next(request)
    let worst = try await statistics(request)
    let lists: [Markup] =
      questions(asking, request) + urgent.markup + [
        Part.heading("Running", count: busy.openCount - unclaimable.count),
        Part.rows(
          running.prefix(mostRunning).map { lowRow($0, request) }, orElse: "No run is open.", isDense: true),
        busy.openCount - unclaimable.count > mostRunning
          ? .element("p", [:], "The latest \(mostRunning) are shown. ", Part.link("All open runs", to: "/runs"))
          : .nothing,
      ]
    let start: Markup =
      request.may(.start)
      ? .element("a", ["class": "button main", "href": "/recipes"], "Start a recipe") : .nothing
    let content: [Markup] = [
      .element(
        "div", ["class": "head"], .element("h1", [:], "Now"), start,
        .element("a", ["class": "button", "href": "/runs"], "All runs")),
      .element(
        "div", ["class": "now"], .element("div", [:], Markup(lists)),
        .element("div", [:], Part.heading("Next"), Markup(coming.markup), worst)),
    ]
    let announcement =
      "\(counted(urgent.count, "matter")) to look at, \(counted(asking.openCount, "run")) with questions."
    var live = PageFrame.Live(seconds: 5, announcement: announcement)
    let midnight = RunSum.start(ofDay: RunSum.day(of: request.clock.now) &+ 1)
    live.until = ([coming.first, midnight] + urgent.ends).compactMap(\.self).min()
    return request.frame("Now", "/", live: live, Markup(content))
  }

  // MARK: Questions

  private static func questions(_ asking: RunList, _ request: PageRequest) -> [Markup] {
    let all = asking.open.flatMap { run in
      run.steps.select { $0.pointee.asksPerson }.map { (run: run, step: $0) }
    }
    let rows = all.prefix(mostQuestions).map { run, step -> Markup in
      let prompt = request.seesData ? step.wait?.prompt : nil
      let act = request.may(.approve) && request.seesData && step.asks(request.caller.name) ? step.callToAct : "Show"
      return Markup([
        .element(
          "span", ["class": "grow line"], Part.link(run.recipe, to: pagePath("runs", run.id)),
          .element("span", ["class": "quiet"], Markup(prompt?.firstLine.shortened(to: 80) ?? "Step \(step.path)"))),
        .element("span", ["class": "end"], "asked ", Part.ago(step.startedAt, request.clock)),
        .element(
          "a", ["class": "button main", "href": pagePath("approvals", run.id, step.path)], Markup(act),
          Part.unseen(" step \(step.path) of \(run.recipe), \(Part.short(run: run.id))")),
      ])
    }
    let count = max(asking.openCount, all.count)
    return [
      Part.heading("Questions", count: count),
      Part.rows(rows, orElse: "No run asks a person.", isDense: true),
      count > rows.count ? .element("p", [:], Part.link("All questions", to: "/approvals")) : .nothing,
    ]
  }

  // MARK: Needs attention

  /// The part about runs and failures that a person has to look at.
  private struct Urgent {
    var markup: [Markup]
    /// How many there are, shown or not.
    var count: Int
    /// When groups that are shown in grey go.
    var ends: [Timestamp]
  }

  private static func urgent(_ request: PageRequest, _ unclaimable: [RunRecord]) async throws(Problem) -> Urgent {
    let stopped = try await request.ask(
      ListRuns(
        RunListQuery(limit: mostUrgent, statuses: [.uncertain, .paused], isPaged: true, needsPerson: true)))
    let failures = try await request.ask(ListFailures.with { $0.limit = 2 * mostUrgent })
    let now = request.clock.now
    // A group that is settled says so for a day.
    let settled = failures.groups.filter(\.isSettled).filter { failures in
      now.span(since: failures.group.latest.endedAt).map { $0 < recent } ?? false
    }
    let groups = failures.groups.filter { !$0.isSettled } + settled
    let open = (stopped.openWithReasons.reversed() + unclaimable).prefix(mostUrgent)
    let shown = groups.prefix(mostUrgent - open.count)
    let rows = open.map { openRow($0, request) } + shown.map { row(of: $0, request) }
    let count = stopped.openCount + unclaimable.count + failures.openCount
    let more: Markup =
      count > rows.count
      ? .element(
        "p", [:], Part.link("All open runs", to: "/runs"), ", ", Part.link("all that failed", to: "/runs?status=failed")
      )
      : .nothing
    let sentence: Markup = "Nothing: no run needs a person, and none has failed."
    return Urgent(
      markup: [
        Part.heading("Needs attention", count: count), Part.rows(rows, orElse: sentence, isDense: true), more,
      ],
      count: count, ends: shown.filter(\.isSettled).compactMap { $0.group.latest.endedAt.advanced(by: recent) })
  }

  /// A group of failures: its description, its count, and the buttons for it.
  private static func row(of failures: ListedFailures, _ request: PageRequest) -> Markup {
    let group = failures.group
    let status =
      group.hasSucceeded
      ? Part.status("over", "succeeded since")
      : failures.isRetried
        ? Part.status("over", "being retried")
        : Part.status(group.latest.status.rawValue)
    let step = group.latest.failure?.step.map { " at \($0)" } ?? ""
    let kind = group.latest.failure.map { Part.words($0.kind.rawValue) } ?? "failure"
    let message = request.seesData ? group.message.map { ": \($0.shortened(to: 90))" } ?? "" : ""
    let about = "the failures of \(group.recipe)\(step), \(Part.short(run: group.latest.id))"
    var actions = [
      Markup.element(
        "a", ["class": "button", "href": pagePath("runs", query: [("failure", group.id)])], "Show",
        Part.unseen(" \(about)"))
    ]
    if request.may(.steer) {
      if !failures.isSettled {
        var retry = Part.Action(
          label: group.count == 1 ? "Retry" : "Retry all", path: pagePath("failures", group.id, "retry"),
          command: "errand runs retry \(group.latest.id)")
        retry.about = about
        retry.isOnce = true
        retry.warning =
          "\(group.count == 1 ? "A run is" : "Up to \(group.count) runs are") started, to repeat what didn't succeed."
        retry.fields = [("expected", "\(group.count)")]
        actions.insert(Part.button(retry), at: 0)
      }
      var dismiss = Part.Action(
        label: "Dismiss", path: pagePath("failures", group.id, "dismiss"), command: "errand runs dismiss \(group.id)")
      dismiss.about = about
      dismiss.fields = [("seen", "\(group.latest.endedAt)")]
      actions.append(Part.button(dismiss))
    }
    // The status beside it says that it failed, unless the group is settled.
    let often = (failures.isSettled ? "failed " : "") + (group.count == 1 ? "once" : "\(group.count) times")
    return Markup([
      status,
      .element(
        "span", ["class": failures.isSettled ? "grow quiet" : "grow"],
        Part.link(group.recipe, to: pagePath("runs", group.latest.id)),
        Markup(" \(often), "),
        .element("span", ["class": "small"], "latest ", Part.ago(group.latest.endedAt, request.clock)),
        .element("span", ["class": "quiet"], Markup("\(kind)\(step)\(message)"))),
      .element("span", ["class": "do"], Markup(actions)),
    ])
  }

  /// An open run in one line.
  private static func lowRow(_ run: RunRecord, _ request: PageRequest) -> Markup {
    let reason = request.seesData ? run.reason?.firstLine.shortened(to: 120) ?? "" : ""
    return Markup([
      Part.status(of: run),
      .element(
        "span", ["class": "grow line"], Part.link(run.recipe, to: pagePath("runs", run.id)),
        .element("span", ["class": "quiet"], Markup(reason))),
      .element("span", ["class": "end"], "began ", Part.ago(run.createdAt, request.clock)),
    ])
  }

  /// The most runs of a group that are retried at once.
  private static let mostRetried = 1_000

  /// Retries the failures of a group that no run retries yet; refused if there are more than were shown.
  static func retryAll(
    _ request: PageRequest, _ group: String, _ form: HTTPQuery
  ) async throws(Problem) -> HTTPServerResponse {
    var asked = RunListQuery(limit: mostRetried + 1)
    asked.failure = group
    asked.endedSince = request.clock.now.advanced(by: TimeSpan(nanoseconds: -FailureGroup.reach.nanoseconds))
    let found = try await request.runs(asked).finished
    guard let expected = form["expected"].flatMap({ Int($0) }), found.count <= expected, found.count <= mostRetried
    else {
      throw Problem(
        .refusal(.conflict), "\(found.count) runs have failed so by now; nothing was retried. Look at the page again")
    }
    let key = form["key"].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed }
    var (count, refusal): (Int, Problem?) = (0, nil)
    for run in try await notRetried(found, request) {
      // The same form sent twice retries each run once.
      let digest = key.flatMap { SHA256.digest(of: Array("\($0)\n\(run.id)".utf8)) }
      do throws(Problem) {
        _ = try await request.ask(
          RetryRun.with {
            $0.run = run.id
            $0.key = digest.map { "form-\($0)" }
          })
        count += 1
      } catch {
        // One that can't be retried doesn't keep the others from it.
        refusal = refusal ?? error
      }
    }
    if count == 0, let refusal { throw refusal }
    return redirect("/")
  }

  /// The runs that no other run retries.
  private static func notRetried(
    _ ended: [RunSummary], _ request: PageRequest
  ) async throws(Problem) -> [RunSummary] {
    if ended.isEmpty { return [] }
    var asked = RunListQuery(limit: mostRetried)
    asked.retriesOf = Set(ended.map(\.id))
    asked.endedSince = ended.map(\.endedAt).min()
    let retries = try await request.runs(asked)
    let retried = Set(retries.open.compactMap(\.retryOf) + retries.finished.compactMap(\.retryOf))
    return ended.filter { !retried.contains($0.id) }
  }

  // MARK: Next, and the last 30 days

  /// The coming slots, and the first of them.
  private static func next(_ request: PageRequest) async throws(Problem) -> (markup: [Markup], first: Timestamp?) {
    let report = try await request.ask(ShowStatus())
    guard report.isServing else {
      return ([.element("p", ["class": "none"], "This agent fires no schedules; errand serve does.")], nil)
    }
    let coming = try await request.upcoming(limit: mostNextSlots, isFirst: true)
    var rows: [Markup] = []
    for next in coming {
      rows.append(
        .element("span", ["class": "grow"], Part.link(next.schedule, to: pagePath("schedules", next.schedule)))
          + .element("span", ["class": "end"], Part.timeAndAgo(next.slot, request.clock)))
    }
    if let served = report.served, !served.faults.isEmpty {
      rows.append(
        Part.status("error", "fault")
          + .element(
            "span", ["class": "grow"],
            Part.link("\(counted(served.faults.count, "fault")) in recipes", to: "/state#faults")))
    }
    return (
      [Part.rows(rows, orElse: "No slot is planned: no schedule has a time.", isDense: true)], coming.first?.slot
    )
  }

  /// The recipes that succeeded least in the last 30 days.
  private static func statistics(_ request: PageRequest) async throws(Problem) -> Markup {
    let all = try await request.ask(ShowStatistics()).recipes
    let rows = RecipeStatistics.worst(all, most: mostWorst).map { statistics in
      [
        Part.link(statistics.recipe, to: pagePath("recipes", statistics.recipe)),
        Markup(statistics.totals.successInWords ?? ""), Markup(statistics.totals.average?.inShort ?? ""),
      ]
    }
    if rows.isEmpty { return .nothing }
    return Part.heading("Last 30 days") + Part.table("Last 30 days", ["Recipe", "Succeeded", "Took"], rows)
      + .element("p", ["class": "quiet small"], "The least successful first; the time is the average of successes.")
  }
}
