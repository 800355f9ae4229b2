// A week of slots: past ones as the ledger has them, coming ones as they will be, by the clock of the folder's zone. With
// many schedules it is a day, and so it is where `day` is in the address.
//
// A schedule with more than a few slots on a day has one entry there, with their number. A day with a clock change says
// so, because a slot may be twice in it or not at all.
import Agent
import Operations
import Basics
import Calendars
import HTTPServer
import RunState

struct WeekCalendar {
  let request: PageRequest
  let schedules: [ScheduleRecord]
  /// The first day that is shown.
  let start: CivilDate
  private let isDay: Bool
  private var days: [[Entry]]
  /// The last coming slot that is shown, if there are more.
  private var isShownUntil: Timestamp?
  /// The first past slot that is shown, if there are more.
  private var isShownFrom: Timestamp?
  /// When the calendar is another one though nothing has changed: a slot is due, or the day is over.
  private(set) var until: Timestamp?

  /// A slot, or a row of them with one outcome.
  private struct Entry {
    var schedule: String
    var slot: Timestamp
    /// Nil of a slot that is to come.
    var outcome: SlotOutcome?
    var run: String?
    var count = 1
  }

  /// The most slots of each kind that are read for a week.
  private static let mostSlots = 5000
  /// The most slots of a schedule on a day that are listed one by one.
  private static let mostOfADay = 3
  /// The most schedules whose week is shown.
  private static let mostInAWeek = 50
  /// The most rows of a day that is shown alone, and of one of a week.
  private static let mostRows = (alone: 100, inWeek: 20)

  init(
    _ request: PageRequest, _ schedules: [ScheduleRecord], _ filter: ScheduleFilter
  ) async throws(Problem) {
    self.request = request
    self.schedules = schedules
    let ids = Set(schedules.map(\.id))
    let zone = request.clock.zone
    let today = zone.localTime(at: request.clock.now).time.date
    isDay = request.given("day") != nil || request.given("week") == nil && schedules.count > Self.mostInAWeek
    let day = request.given(isDay ? "day" : "week").flatMap { CivilDate(written: $0) } ?? today
    start = isDay ? day : day.monday
    days = Array(repeating: [], count: isDay ? 1 : 7)
    guard let first = zone.instant(of: CivilTime(start)),
      let end = zone.instant(of: CivilTime(start.adding(days: days.count)))
    else { throw Problem(.refusal(.request), "the week has to be in the years 1 to 9999, such as 2026-11-23") }
    let recipes = filter.recipes(of: schedules)
    let past = try await request.slots(of: recipes, from: first, before: end, limit: Self.mostSlots)
    if past.count == Self.mostSlots { isShownFrom = past.last?.slot }
    for slot in past where !filter.isOn || ids.contains(slot.schedule) {
      add(Entry(schedule: slot.schedule, slot: slot.slot, outcome: slot.outcome, run: slot.run, count: slot.count))
    }
    let coming = try await request.upcoming(ofRecipes: recipes, from: first, before: end, limit: Self.mostSlots)
    if coming.count == Self.mostSlots { isShownUntil = coming.last?.slot }
    for slot in coming where !filter.isOn || ids.contains(slot.schedule) {
      add(Entry(schedule: slot.schedule, slot: slot.slot))
    }
    let midnight = zone.instant(of: CivilTime(today.adding(days: 1)))
    until = [coming.first?.slot, midnight].compactMap(\.self).min()
  }

  private mutating func add(_ entry: Entry) {
    let day = request.clock.zone.localTime(at: entry.slot).time.date.daysSinceEpoch - start.daysSinceEpoch
    // A row of slots may begin before the week.
    days[max(0, min(days.count - 1, day))].append(entry)
  }

  // MARK: Markup

  var markup: Markup {
    let length = days.count
    func link(_ words: String, _ day: CivilDate, _ kind: String?) -> Markup {
      let path = address(isDay ? "day" : "week", day)
      return .element("a", ["class": "button", "rel": kind, "href": path], Markup(words))
    }
    let title: Markup = isDay ? "\("\(start)")" : "From \("\(start)") to \("\(start.adding(days: 6))")"
    return Markup([
      .element("h2", ["id": "week"], title),
      .element(
        "div", ["class": "actions side"], link("Previous", start.adding(days: -length), "prev"),
        .element("a", ["class": "button", "href": address()], isDay ? "Today" : "This week"),
        link("Next", start.adding(days: length), "next")),
      .element("div", ["class": isDay ? nil : "week"], Markup(days.indices.map(day))),
      isShownFrom.map { from in
        .element(
          "p", ["class": "quiet"], "Slots that were decided before ", Part.time(from, request.clock),
          " are left out: there are too many.")
      } ?? .nothing,
      isShownUntil.map { until in
        .element(
          "p", ["class": "quiet"], "Later slots than ", Part.time(until, request.clock),
          " are left out: too many are due.")
      } ?? .nothing,
    ])
  }

  /// The address of another day or week, with the same filter.
  private func address(_ name: String = "", _ day: CivilDate? = nil) -> String {
    let others = request.http.query.items.filter { !["day", "week", "from"].contains($0.name) }.map {
      ($0.name, $0.value)
    }
    return pagePath("schedules", query: others + [(name, day.map { "\($0)" } ?? "")])
  }

  private func day(_ index: Int) -> Markup {
    let date = start.adding(days: index)
    let today = request.clock.zone.localTime(at: request.clock.now).time.date
    var rows: [(slot: Timestamp, markup: Markup)] = []
    let bySchedule = Dictionary(grouping: days[index], by: \.schedule)
    for (schedule, entries) in bySchedule {
      let entries = entries.sorted { $0.slot < $1.slot }
      if entries.count <= Self.mostOfADay {
        rows += entries.map { ($0.slot, row([$0], schedule)) }
      } else if let first = entries.first {
        rows.append((first.slot, row(entries, schedule)))
      }
    }
    rows.sort { $0.slot == $1.slot ? $0.markup.text < $1.markup.text : $0.slot < $1.slot }
    let most = isDay ? Self.mostRows.alone : Self.mostRows.inWeek
    let rest = rows.count - most
    if rest > 0 {
      rows.removeLast(rest)
      let more = isDay ? "and \(rest.withCommas) more" : "\(rest.withCommas) more"
      let link: Markup = isDay ? Markup(more) : Part.link(more, to: address("day", date))
      rows.append((.latest, .element("li", ["class": "quiet"], link)))
    }
    let name = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][date.weekday]
    return .element(
      "section", ["class": date == today ? "day today" : "day"],
      .element(
        "h3", [:], .element("time", ["datetime": "\(date)"], "\(name) \(date.day)"),
        date == today ? ", today" : .nothing),
      change(on: date),
      rows.isEmpty
        ? .element("p", ["class": "quiet small"], "No slots") : .element("ul", [:], Markup(rows.map(\.markup))))
  }

  /// A note about the clock change on a day; none without a change.
  private func change(on date: CivilDate) -> Markup {
    let zone = request.clock.zone
    guard let first = zone.instant(of: CivilTime(date)), let end = zone.instant(of: CivilTime(date.adding(days: 1))),
      let at = zone.nextTransition(after: first.seconds - 1), at < end.seconds
    else { return .nothing }
    let period = zone.period(atSeconds: at)
    guard period.offset != period.previousOffset else { return .nothing }
    func time(_ offset: Int) -> String {
      let time = CivilTime(secondsSinceEpoch: at + offset)
      return "\(twoDigits(time.hour)):\(twoDigits(time.minute))"
    }
    return .element(
      "p", ["class": "change small"],
      "The clock goes \(period.offset > period.previousOffset ? "forward" : "back"): \(time(period.previousOffset)) is \(time(period.offset))."
    )
  }

  private func row(_ entries: [Entry], _ schedule: String) -> Markup {
    guard let first = entries.first, let last = entries.last else { return .nothing }
    func clock(_ instant: Timestamp) -> String {
      let time = request.clock.time(instant)
      return time.hasSuffix(":00") ? String(time.prefix(5)) : time
    }
    var tallies: [(outcome: SlotOutcome?, count: Int, run: String?)] = []
    for entry in entries {
      if let index = tallies.firstIndex(where: { $0.outcome == entry.outcome }) {
        tallies[index].count += entry.count
      } else {
        tallies.append((entry.outcome, entry.count, entry.run))
      }
    }
    let statuses = tallies.map { outcome, count, run -> Markup in
      let words = outcome.map { Part.words($0.rawValue) } ?? "to come"
      let text = count == 1 ? words : "\(count) \(words)"
      guard count == 1, let run else { return Part.status(outcome?.rawValue ?? "upcoming", text) }
      return .element(
        "a", ["class": "status s-\(outcome?.rawValue ?? "")", "href": pagePath("runs", run)], Markup(text),
        Part.unseen(": \(schedule), \(Part.short(run: run))"))
    }
    return .element(
      "li", [:],
      .element(
        "time", ["datetime": "\(first.slot)"],
        Markup(entries.count == 1 ? clock(first.slot) : "\(clock(first.slot)) to \(clock(last.slot))")),
      Markup(statuses), Part.link(schedule, to: pagePath("schedules", schedule)))
  }
}

extension PageRequest {
  /// The slots of the ledger, latest first.
  func slots(
    of recipes: [String], from: Timestamp?, before: Timestamp?, limit: Int
  ) async throws(Problem) -> [SlotRecord] {
    var query = SlotQuery(limit: limit, from: from, before: before)
    query.recipes = recipes
    return try await ask(ListSlots(query)).slots
  }

  /// The coming slots, earliest first.
  func upcoming(
    of schedule: String? = nil, ofRecipes recipes: [String] = [], from: Timestamp? = nil, before: Timestamp? = nil,
    limit: Int, isFirst: Bool = false
  ) async throws(Problem) -> [UpcomingSlot] {
    try await ask(
      ListUpcoming.with {
        $0.limit = limit
        $0.schedule = schedule
        $0.recipes = recipes
        $0.from = from
        $0.before = before
        $0.first = isFirst
      }
    ).slots
  }
}
