// The form for past slots of a schedule that have no run: it lists them first, and then starts their runs.
import Agent
import Basics
import Calendars
import HTTPServer
import Operations
import Recipes
import RunState

struct BackfillForm {
  /// The texts that a person typed.
  var from = "", to = "", overlap = ""
  var faultOfFrom: String?
  var faultOfTo: String?
  var fault: String?

  init() {}

  init(_ form: HTTPQuery) {
    from = (form["from"] ?? "").trimmed
    to = (form["to"] ?? "").trimmed
    overlap = form["overlap"] ?? ""
  }

  /// The faults, for the top of the page; nothing if the form wasn't refused.
  var faults: Markup {
    let faults = [
      fault.map { FormFault($0) }, faultOfFrom.map { FormFault("From: \($0)", at: "from") },
      faultOfTo.map { FormFault("To: \($0)", at: "to") },
    ].compactMap(\.self)
    return faults.isEmpty
      ? .nothing : Part.faults("No run was started. Look at what is wrong, and send the form again.", faults)
  }

  func markup(_ schedule: ScheduleRecord, _ clock: WallClock) -> Markup {
    let policies = Trigger.Overlap.allCases.map(\.rawValue).map { policy -> Markup in
      .element("option", ["value": policy, "selected": policy == overlap ? "" : nil], Markup(policy))
    }
    return .element(
      "form",
      ["class": "card", "id": "backfill", "method": "post", "action": pagePath("schedules", schedule.id, "backfill")],
      .element("h2", [:], "Backfill"),
      .element("p", [:], "Starts runs for past slots that have none. It lists the slots first."),
      Part.field(
        "from", "From", from, hint: "Such as 2026-11-20 or 2026-11-20 17:30, in \(clock.zone.name).",
        fault: faultOfFrom),
      Part.field("to", "To", to, hint: "The slot at this instant doesn't count.", fault: faultOfTo),
      .element(
        "label", ["for": "overlap"], "If a run is open ", .element("span", ["class": "quiet"], "(optional)")),
      .element(
        "select", ["id": "overlap", "name": "overlap"],
        Markup([Markup.element("option", ["value": ""], "as the recipe says")] + policies)),
      // The zone of the pages may change before the form is sent.
      Part.hidden("zone", clock.zone.name),
      .element("div", ["class": "actions"], .element("button", [:], "List the slots")),
      Part.command("errand schedule backfill \(schedule.id.shellQuoted) --from FROM --to TO --dry-run"))
  }
}

extension Pages {
  /// Lists the slots of the form, or starts their runs; a form that is refused is shown again.
  static func backfill(
    _ request: PageRequest, _ id: String, _ form: HTTPQuery
  ) async throws(Problem) -> HTTPServerResponse {
    try request.admit(to: BackfillSchedule.self)
    var given = BackfillForm(form)
    let overlap = Trigger.Overlap(rawValue: given.overlap)
    if overlap == nil, !given.overlap.isEmpty {
      throw Problem(.refusal(.request), "there is no overlap policy '\(given.overlap.shortened)'")
    }
    let clock = request.clock(of: form)
    let (first, end) = (clock.instant(given.from), clock.instant(given.to))
    let fault = "This isn't a date or a time."
    given.faultOfFrom = first == nil ? fault : nil
    given.faultOfTo = end == nil ? fault : nil
    if let first, let end, first >= end { given.faultOfTo = "This has to be later than the start." }
    guard let from = first, let to = end, from < to else { return try await refused(request, id, given) }
    var asked = BackfillSchedule.with {
      $0.id = id
      $0.from = from
      $0.to = to
      $0.overlap = overlap.map { Word($0) }
    }
    asked.dryRun = form["start"] == nil
    do throws(Problem) {
      guard case .due(let slots, let hasMore) = try await request.ask(asked) else {
        return redirect(pagePath("schedules", id))
      }
      // A backfill of more than are listed is refused.
      if hasMore, let last = slots.last { asked.to = last.advanced(by: TimeSpan(nanoseconds: 1)) ?? to }
      return listed(slots, hasMore: hasMore, asked, request)
    } catch {
      guard error.kind == .refusal(.request) else { throw error }
      given.fault = error.detail
    }
    return try await refused(request, id, given)
  }

  private static func refused(
    _ request: PageRequest, _ id: String, _ form: BackfillForm
  ) async throws(Problem) -> HTTPServerResponse {
    var response = try await schedule(request, id, form)
    response.status = 422
    return response
  }

  /// The slots that a backfill would start, with the button that starts them.
  private static func listed(
    _ slots: [Timestamp], hasMore: Bool, _ asked: BackfillSchedule, _ request: PageRequest
  ) -> HTTPServerResponse {
    let path = pagePath("schedules", asked.id)
    let (from, to) = (request.clock.date(asked.from), request.clock.date(asked.to))
    var content: [Markup] = [
      Part.crumbs(("Schedules", "/schedules"), (asked.id, path)), .element("h1", [:], "Backfill"),
    ]
    let back = Markup.element("a", ["class": "button", "href": path], slots.isEmpty ? "Back" : "Don't start them")
    if slots.isEmpty {
      content.append(
        .element(
          "p", ["class": "none"],
          Markup("Every slot from \(from) until before \(to) has a run already, or there is none.")))
      content.append(.element("p", ["class": "actions"], back))
    } else {
      content.append(.element("p", [:], Markup("The slots from \(from) until before \(to) that have no run:")))
      content.append(
        Part.table(
          "Slots", ["Slot", "How long ago"], slots.map { [Part.time($0, request.clock), Part.ago($0, request.clock)] }))
      if hasMore { content.append(.element("p", [:], "There are more after these, which another backfill starts.")) }
      let overlap = asked.overlap?.word.rawValue
      let command =
        "errand schedule backfill \(asked.id.shellQuoted) --from \(asked.from) --to \(asked.to)"
        + (overlap.map { " --overlap \($0)" } ?? "")
      content.append(
        .element(
          "form", ["method": "post", "action": pagePath("schedules", asked.id, "backfill")],
          // As instants, which stay the same if the zone of the pages changes before the form is sent.
          Part.hidden("from", "\(asked.from)"), Part.hidden("to", "\(asked.to)"), Part.hidden("overlap", overlap ?? ""),
          Part.hidden("start", "true"),
          .element(
            "div", ["class": "actions"],
            .element("button", ["class": "main", "title": command], Markup("Start \(counted(slots.count, "run"))")),
            back), Part.command(command)))
    }
    return request.frame("Backfill \(asked.id)", "/schedules", Markup(content))
  }
}
