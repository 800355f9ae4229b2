// The schedules, and one of them with its slots.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  static func schedules(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let (schedules, words) = try await known(request)
    if schedules.isEmpty {
      return request.frame(
        "Schedules", "/schedules", .element("h1", [:], "Schedules"),
        Part.rows([], orElse: "No recipe that you see has an 'on:', so there are no schedules."))
    }
    let calendar = try await WeekCalendar(request, schedules)
    let first = request.first
    var next: [String: Timestamp] = [:]
    for slot in try await request.upcoming(limit: schedules.count, isFirst: true) {
      next[slot.schedule] = slot.slot
    }
    let rows = schedules.dropFirst(first).prefix(PageRequest.mostRows).map { schedule in
      Markup([
        schedule.pause == nil ? .nothing : Part.status("paused"),
        .element(
          "span", ["class": "grow"], Part.link(schedule.id, to: pagePath("schedules", schedule.id)),
          .element("span", ["class": "quiet"], Markup((words[schedule.id] ?? "").shortened(to: 200)))),
        .element("span", ["class": "end"], next[schedule.id].map { "next " + Part.ago($0, request.clock) } ?? .nothing),
      ])
    }
    var live = PageFrame.Live(seconds: 5, announcement: counted(schedules.count, "schedule"))
    live.until = (next.values + [calendar.until].compactMap(\.self)).min()
    return request.frame(
      "Schedules", "/schedules", live: live, .element("h1", [:], "Schedules"), calendar.markup,
      Part.heading("All schedules", count: schedules.count), Part.rows(rows, orElse: .nothing),
      Part.pager(first, rows.count, of: schedules.count, by: PageRequest.mostRows) {
        request.page(from: $0, "schedules")
      })
  }

  /// The schedules, and when each is due, in words.
  static func known(
    _ request: PageRequest
  ) async throws(Problem) -> (schedules: [ScheduleRecord], words: [String: String]) {
    let known = try await request.ask(ListSchedules())
    return (known.schedules, known.words)
  }

  /// - Parameter form: A form for a backfill that was refused, with its faults.
  static func schedule(
    _ request: PageRequest, _ id: String, _ form: BackfillForm? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let (schedules, words) = try await known(request)
    guard let schedule = schedules.first(where: { $0.id.hasSameScalars(as: id) }) else {
      throw Problem(.refusal(.notFound), "there is no schedule '\(id.shortened)'")
    }
    let why = try await request.ask(ExplainSchedule.with { $0.id = schedule.id }).explanation
    let listed = try await request.ask(ListSlots(SlotQuery(limit: 50, schedule: schedule.id)))
    let rows = listed.slots.map { slot in
      [
        Part.time(slot.slot, request.clock), Part.status(slot.outcome.rawValue),
        slot.run.map { Part.link(Part.short(run: $0), to: pagePath("runs", $0)) } ?? .nothing,
        Markup(request.seesData ? slot.reason.map { request.clock.told($0.shortened(to: 400)) } ?? "" : ""),
      ]
    }
    let backfill: Markup =
      request.may(.steer) ? (form ?? BackfillForm()).markup(schedule, request.clock) : .nothing
    let ledger: Markup =
      rows.isEmpty
      ? .element("p", ["class": "none"], "No slots yet.")
      : Part.table("Slots", ["Slot", "Outcome", "Run", "Why"], rows, kind: "list")
    return request.frame(
      schedule.id, "/schedules", isRefused: form != nil, Part.crumbs(("Schedules", "/schedules")),
      .element("h1", [:], "\(schedule.id) ", schedule.pause == nil ? .nothing : Part.status("paused")),
      form?.faults ?? .nothing,
      Part.facts([
        ("When", words[schedule.id].map { Markup($0) }),
        (
          "Next",
          schedule.pause == nil
            ? try await request.upcoming(of: schedule.id, limit: 1).first.map {
              Part.timeAndAgo($0.slot, request.clock)
            } : nil
        ),
        ("Recipe", Part.link(schedule.recipe, to: pagePath("recipes", schedule.recipe))),
        ("Paused", schedule.pause.map { Part.timeAndAgo($0.at, request.clock) }),
        ("Note", request.seesData ? schedule.pause?.note.map { Markup($0) } : nil),
        ("Runs left", schedule.remainingRuns.map { "\($0)" }),
        (
          "Latest run",
          schedule.lastRun.map { Part.link(schedule.lastStatus?.rawValue ?? "open", to: pagePath("runs", $0)) }
        ),
      ]),
      Part.actions(actions(schedule, request)),
      Part.heading("Why"), Part.explanation(why, request.clock, kind: nil), Part.heading("Slots"), ledger, backfill)
  }

  private static func actions(_ schedule: ScheduleRecord, _ request: PageRequest) -> [Part.Action] {
    func action(_ label: String, _ verb: String, kind: String? = nil, text: (label: String, name: String)? = nil)
      -> Part.Action
    {
      Part.Action(
        label: label, path: pagePath("schedules", schedule.id, verb),
        command: "errand schedule \(verb) \(schedule.id.shellQuoted)", kind: kind, text: text)
    }
    var actions: [Part.Action] = []
    if request.may(.steer) {
      actions.append(
        schedule.pause == nil
          ? action("Pause", "pause", text: ("Why", "note")) : action("Resume", "resume", kind: "main"))
      var trigger = action("Start a run now", "trigger")
      trigger.isOnce = true
      actions.append(trigger)
      if let until = schedule.decidedAhead(of: request.clock.now) {
        var reset = action("Reset", "reset", kind: "risky")
        reset.warning =
          "The clock was ahead, and the slots until \(request.clock.date(until)) were decided then. They are decided again; a slot that has a run starts no second one."
        actions.append(reset)
      }
    }
    return actions
  }
}
