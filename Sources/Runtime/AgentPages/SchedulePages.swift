// The schedules, and one of them with its slots.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  static func schedules(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let known = try await request.ask(ListSchedules())
    let (all, words) = (known.schedules, known.words)
    if all.isEmpty {
      return request.frame(
        "Schedules", "/schedules", .element("h1", [:], "Schedules"),
        Part.rows([], orElse: "No recipe that you see has an 'on:', so there are no schedules."))
    }
    let filter = ScheduleFilter(request, late: known.late)
    let schedules = all.filter(filter.matches)
    let calendar = try await WeekCalendar(request, schedules, filter)
    let first = request.first
    var next: [String: Timestamp] = [:]
    for slot in try await request.upcoming(limit: all.count, isFirst: true) { next[slot.schedule] = slot.slot }
    let rows = schedules.dropFirst(first).prefix(PageRequest.mostRows).map { schedule in
      Markup([
        schedule.pause == nil ? .nothing : Part.status("paused"),
        known.late[schedule.id] == nil ? .nothing : Part.status("waiting", "late"),
        .element(
          "span", ["class": "grow"], Part.link(schedule.id, to: pagePath("schedules", schedule.id)),
          .element("span", ["class": "quiet"], Markup((words[schedule.id] ?? "").shortened(to: 200)))),
        .element("span", ["class": "end"], next[schedule.id].map { "next " + Part.ago($0, request.clock) } ?? .nothing),
      ])
    }
    var live = PageFrame.Live(seconds: 5, announcement: counted(schedules.count, "schedule"))
    live.until = (next.values + [calendar.until].compactMap(\.self)).min()
    let list =
      Part.heading(filter.isOn ? "Schedules that match" : "All schedules", count: schedules.count)
      + Part.rows(rows, orElse: "No schedule matches.")
      + Part.pager(first, rows.count, of: schedules.count, by: PageRequest.mostRows) {
        request.page(from: $0, "schedules")
      }
    return request.frame(
      "Schedules", "/schedules", live: live, .element("h1", [:], "Schedules"), filter.markup(all),
      schedules.isEmpty ? .nothing : calendar.markup, list)
  }

  /// How many coming slots a schedule's page shows.
  private static let mostComing = 10

  /// - Parameters:
  ///   - form: A form for a backfill that was refused, with its faults.
  ///   - trigger: A form for a start that was refused, likewise.
  static func schedule(
    _ request: PageRequest, _ id: String, _ form: BackfillForm? = nil, trigger: TriggerForm? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let shown = try await request.ask(ShowSchedule.with { $0.id = id })
    let schedule = shown.schedule
    let why = try await request.ask(
      ExplainSchedule.with {
        $0.id = schedule.id
        $0.zone = ViewerZone.name(for: request.http)
      }
    ).explanation
    let listed = try await request.ask(
      ListSlots(SlotQuery(limit: PageRequest.mostRows, schedule: schedule.id, after: request.given("cursor"))))
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
      : Part.table("Slots", ["Slot", "Outcome", "Run", "Why"], rows, kind: "list") + older(listed.next, schedule.id)
    let coming = schedule.pause == nil ? try await request.upcoming(of: schedule.id, limit: mostComing) : []
    let start = if let trigger { trigger.markup } else { await triggerForm(shown, request)?.markup ?? .nothing }
    return request.frame(
      schedule.id, "/schedules", isRefused: form != nil, Part.crumbs(("Schedules", "/schedules")),
      .element("h1", [:], "\(schedule.id) ", schedule.pause == nil ? .nothing : Part.status("paused")),
      form?.faults ?? .nothing,
      Part.facts([
        ("When", shown.words.map { Markup($0) }), ("Late since", shown.late.map { Part.timeAndAgo($0, request.clock) }),
        ("Next", coming.first.map { Part.timeAndAgo($0.slot, request.clock) }),
        ("Recipe", Part.link(schedule.recipe, to: pagePath("recipes", schedule.recipe))),
        ("Paused", schedule.pause.map { Part.timeAndAgo($0.at, request.clock) }),
        ("Note", request.seesData ? schedule.pause?.note.map { Markup($0) } : nil),
        ("Runs left", schedule.remainingRuns.map { "\($0)" }),
        (
          "Latest run",
          schedule.lastRun.map { Part.link(schedule.lastStatus?.rawValue ?? "open", to: pagePath("runs", $0)) }
        ),
      ]),
      Part.actions(actions(schedule, request)), start,
      Part.heading("Why"), Part.explanation(why, request.clock, kind: nil), inputs(shown, request),
      coming.isEmpty ? .nothing : next(coming, request),
      .element("h2", ["id": "slots"], "Slots"), ledger, backfill)
  }

  /// The inputs that the schedule gives its runs, for a visitor who sees data.
  private static func inputs(_ shown: ShowSchedule.Answer, _ request: PageRequest) -> Markup {
    guard request.seesData, !shown.inputs.isEmpty else { return .nothing }
    let rows = shown.inputs.map { input -> [Markup] in
      let value: Markup =
        if let secret = input.secret {
          "the secret " + Part.code(secret)
        } else if let computed = input.computed {
          Part.code(computed.shortened(to: 400))
        } else {
          input.value.map { Part.code(JSON.displayed($0).shortened(to: 400)) } ?? "a value that holds a secret"
        }
      return [Markup(input.name), value, input.computed == nil ? "" : "for each run"]
    }
    return Part.heading("Inputs") + Part.table("Inputs", ["Name", "Value", "Computed"], rows)
  }

  private static func next(_ slots: [UpcomingSlot], _ request: PageRequest) -> Markup {
    let rows = slots.map { slot in
      Markup.element(
        "span", ["class": "grow"], Part.time(slot.slot, request.clock))
        + .element("span", ["class": "end"], Part.ago(slot.slot, request.clock))
    }
    return Part.heading("Next slots") + Part.rows(rows, orElse: .nothing)
  }

  /// The way to the slots before those on the page.
  private static func older(_ cursor: String?, _ id: String) -> Markup {
    guard let cursor else { return .nothing }
    let path = pagePath("schedules", id, query: [("cursor", cursor)]) + "#slots"
    return .element(
      "p", ["class": "actions"], .element("a", ["class": "button", "rel": "next", "href": path], "Older slots"))
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
