// The schedules, and one of them with its slots.
import Agent
import Basics
import HTTPServer
import RunState

extension Pages {
  static func schedules(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let schedules = try await known(request)
    let rows = schedules.map { schedule -> Markup in
      let counts = schedule.counts.filter { $0.value > 0 }.sorted { $0.key.precedesByScalars($1.key) }
        .map { "\($0.value) \(Part.words($0.key))" }.joined(separator: ", ")
      return Markup([
        schedule.pause == nil ? .nothing : Part.status("paused"),
        .element("span", ["class": "grow"], Part.link(schedule.id, to: pagePath("schedules", schedule.id))),
        .element("span", ["class": "end"], Markup(counts)),
      ])
    }
    return request.frame(
      "Schedules", "/schedules", .element("h1", [:], "Schedules"),
      Part.rows(rows, orElse: "No recipe has an 'on:', so nothing starts by itself."))
  }

  private static func known(_ request: PageRequest) async throws(Problem) -> [ScheduleRecord] {
    let schedules = try await request.ask(.schedules) {
      if case .schedules(let schedules) = $0 { schedules } else { nil }
    }
    return schedules.filter { request.caller.sees(recipe: $0.recipe) }
  }

  static func schedule(_ request: PageRequest, _ id: String) async throws(Problem) -> HTTPServerResponse {
    guard let schedule = try await known(request).first(where: { $0.id.hasSameScalars(as: id) }) else {
      throw Problem(.refusal(.notFound), "there is no schedule '\(id.brief)'")
    }
    let slots = try await request.ask(.slots(SlotQuery(limit: 50, schedule: schedule.id))) {
      if case .slots(let slots) = $0 { slots } else { nil }
    }
    let rows = slots.map { slot in
      [
        Part.time(slot.slot, request.clock), Part.status(slot.outcome.rawValue),
        slot.run.map { Part.link("run", to: pagePath("runs", $0)) } ?? .nothing,
        Markup(request.seesData ? slot.reason ?? "" : ""),
      ]
    }
    return request.frame(
      schedule.id, "/schedules", Part.crumbs(("Schedules", "/schedules")),
      .element("h1", [:], "\(schedule.id) ", schedule.pause == nil ? .nothing : Part.status("paused")),
      Part.facts([
        ("Recipe", Part.link(schedule.recipe, to: pagePath("recipes", schedule.recipe))),
        ("Paused", schedule.pause.map { Part.timeAndAgo($0.at, request.clock) }),
        ("Note", request.seesData ? schedule.pause?.note.map { Markup($0) } : nil),
        ("Runs left", schedule.remainingRuns.map { "\($0)" }),
        (
          "Latest run",
          schedule.lastRun.map { Part.link(schedule.lastStatus?.rawValue ?? "open", to: pagePath("runs", $0)) }
        ),
      ]),
      Part.actions(actions(schedule, request)), Part.heading("Slots"),
      rows.isEmpty
        ? .element("p", ["class": "none"], "None has come yet.")
        : Part.table("Slots", ["Slot", "Outcome", "Run", "Why"], rows, kind: "list"))
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
      actions.append(action("Start a run now", "trigger"))
    }
    return actions
  }
}
