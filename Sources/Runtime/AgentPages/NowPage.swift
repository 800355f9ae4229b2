// The first page: runs that need a person, open runs, and coming slots.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  /// The most rows of each list of the page.
  private static let mostRows = 50
  /// How many seconds a failed run is shown.
  private static let recent = TimeSpan.seconds(86_400)

  static func now(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    func listed(needsPerson: Bool) async throws(Problem) -> RunList {
      try await request.ask(ListRuns(RunListQuery(limit: mostRows, isPaged: true, needsPerson: needsPerson)))
    }
    let urgent = try await listed(needsPerson: true)
    let busy = try await listed(needsPerson: false)
    // Asked for apart, so that many runs that succeeded since don't hide them.
    var recently = RunListQuery(limit: mostRows, statuses: [.failed, .timedOut])
    recently.endedSince = request.clock.now.advanced(by: TimeSpan(nanoseconds: -recent.nanoseconds))
    let ended = try await request.runs(recently).finished
    let failed = try await notRetried(ended, request)
    // A run that no worker can claim needs a person.
    let (unclaimable, running) = busy.openWithReasons.reversed().reduce(into: ([RunRecord](), [RunRecord]())) {
      if busy.unclaimable?[$1.id] != nil { $0.0.append($1) } else { $0.1.append($1) }
    }
    var needs = (urgent.open.reversed() + unclaimable).prefix(mostRows).map { openRow($0, request) }
    needs += failed.prefix(mostRows - needs.count).map { finishedRow($0, request) }
    let urgentCount = urgent.openCount + unclaimable.count + failed.count
    let more: Markup =
      urgentCount > mostRows
      ? .element(
        "p", [:], Part.link("All open runs", to: "/runs"), ", ", Part.link("all that failed", to: "/runs?status=failed")
      )
      : .nothing
    let sentence: Markup = "Nothing: no run needs a person, and none failed in the last day."
    var content: [Markup] = [
      .element("h1", [:], "Now"),
      Part.heading("Needs attention", count: urgentCount), Part.rows(needs, orElse: sentence),
      more, Part.heading("Running", count: busy.openCount - unclaimable.count),
      Part.rows(running.map { openRow($0, request) }, orElse: "No run is open."),
      busy.openCount > mostRows
        ? .element("p", [:], "The latest \(mostRows) are shown. ", Part.link("All open runs", to: "/runs")) : .nothing,
      Part.heading("Next"),
    ]
    let coming = try await next(request)
    content += coming.markup
    if request.may(.start) {
      content.append(
        .element(
          "p", ["class": "actions"], .element("a", ["class": "button main", "href": "/recipes"], "Start a recipe"),
          .element("a", ["class": "button", "href": "/runs"], "All runs")))
    }
    let announcement = needs.isEmpty ? "Nothing needs attention." : "\(counted(urgentCount, "run")) to look at."
    var live = PageFrame.Live(seconds: 5, announcement: announcement)
    live.until = ([coming.first] + failed.map { $0.endedAt.advanced(by: recent) }).compactMap(\.self).min()
    return request.frame("Now", "/", live: live, Markup(content))
  }

  /// The runs that no other run retries, which would be that run's matter.
  private static func notRetried(
    _ ended: [RunSummary], _ request: PageRequest
  ) async throws(Problem) -> [RunSummary] {
    if ended.isEmpty { return [] }
    var asked = RunListQuery(limit: ended.count)
    asked.retriesOf = Set(ended.map(\.id))
    asked.endedSince = ended.map(\.endedAt).min()
    let retries = try await request.runs(asked)
    let retried = Set(retries.open.compactMap(\.retryOf) + retries.finished.compactMap(\.retryOf))
    return ended.filter { !retried.contains($0.id) }
  }

  /// The most schedules whose next slot is shown.
  private static let mostNextSlots = 8

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
        .element(
          "span", ["class": "grow"], Part.link(next.schedule, to: pagePath("schedules", next.schedule)),
          .element("span", ["class": "quiet"], Part.time(next.slot, request.clock)))
          + .element("span", ["class": "end"], Part.ago(next.slot, request.clock)))
    }
    if let served = report.served, !served.faults.isEmpty {
      rows.append(
        Part.status("error", "fault")
          + .element(
            "span", ["class": "grow"],
            Part.link("\(counted(served.faults.count, "fault")) in recipes", to: "/state#faults")))
    }
    return ([Part.rows(rows, orElse: "No slot is planned: no schedule has a time.")], coming.first?.slot)
  }
}
