package import Basics

// The days that the events of an iCalendar file cover (RFC 5545).
//
// An event has a begin (DTSTART) and a length: from DTEND, which is the first day or instant that no longer belongs to
// it, or from DURATION; without either, a day lasts a day and an instant is on its day. It takes place at its begin and
// at the begins that RRULE and RDATE give, except those in EXDATE. An event with a RECURRENCE-ID replaces the
// occurrence of the same UID that would begin then. Events with STATUS:CANCELLED do not take place.
//
// An event of days covers those days, in any zone; an event of times covers each day that it touches in the zone of the
// schedule. Times may have a zone of their own: `Z` for UTC, or TZID for an IANA zone or one that the file defines.
// Other times are in the zone of the schedule.
//
// The answer does not depend on the current date: it always covers the years 1970 to 2099.

/// The days of the events in a calendar file.
package enum HolidayCalendar {
  /// The years that repeated events are followed through.
  static let years = 1970...2099
  /// More occurrences than this in one file are refused: every day of these years for twenty events.
  static let mostOccurrences = 1_000_000

  /// Reads a file.
  ///
  /// - Parameter zone: The zone whose days are returned.
  package static func days(
    in source: Source, zone: TimeZoneRules, database: TimeZoneDatabase = .system
  ) throws(Diagnostic) -> DaySet {
    let file = ICalendarFile(source)
    var events: [HolidayEvent] = []
    let found = try file.components()
    var reader = HolidayEventReader(file: file, zone: zone, database: database)
    var zoneBudget = 10 * mostOccurrences
    // Only zones that are used can have faults.
    let wanted = Set(found.events.joined().compactMap { $0.parameter("TZID") })
    for defined in found.zones where wanted.contains(defined.name) && reader.zones[defined.name] == nil {
      do throws(TimeZoneError) { _ = try database.rules(named: defined.name) } catch {
        reader.zones[defined.name] = try defined.rules(in: file, reader, budget: &zoneBudget)
      }
    }
    for properties in found.events { events.append(try reader.read(properties)) }
    // By UID, the begins of occurrences that other events replace.
    var replaced: [String: [CalendarMoment]] = [:]
    for event in events {
      if let moment = event.replaces, let uid = event.uid { replaced[uid, default: []].append(moment) }
    }
    var budget = mostOccurrences
    var runs: [ClosedRange<Int>] = []
    for event in events where !event.isCancelled {
      let others = event.replaces == nil ? event.uid.flatMap { replaced[$0] } ?? [] : []
      guard event.occurrences(without: others, budget: &budget, { runs.append(event.days(at: $0, in: zone)) }) else {
        throw file.fault("the calendar's events are repeated more than \(mostOccurrences) times", event.range)
      }
      // As often as not, the same days again.
      if runs.count > 100_000 { runs = DaySet(runs: runs).runs }
    }
    return DaySet(runs: runs)
  }
}

/// A date, or a date and time in a zone.
struct CalendarMoment: Hashable {
  var time: CivilTime
  /// Nil for a date.
  var zone: TimeZoneRules?

  var isDate: Bool { zone == nil }

  /// The same instant on another zone's clock; dates stay as they are.
  func local(in other: TimeZoneRules?) -> CivilTime {
    guard let zone, let other, zone != other, let instant = zone.instant(of: time) else { return time }
    return other.localTime(at: instant).time
  }
}

/// An event, as far as days are concerned.
struct HolidayEvent {
  var uid: String?
  var begin: CalendarMoment
  /// How much later it ends, in seconds on the clock of its zone.
  var length: Int
  var rule: ICalendarRule?
  var additional: [CalendarMoment] = []
  var excluded: [CalendarMoment] = []
  /// The begin of the occurrence that it replaces.
  var replaces: CalendarMoment?
  var isCancelled = false
  /// Its first line, for faults.
  var range: Range<Int>

  /// Hands on each begin, on the clock of the event's zone; false once the budget is used up.
  func occurrences(
    without others: [CalendarMoment], budget: inout Int, _ body: (CivilTime) -> Void
  ) -> Bool {
    // Dates leave out everything that begins on them.
    var times: Set<CivilTime> = []
    var dates: Set<CivilDate> = []
    for moment in excluded + others {
      if moment.isDate { dates.insert(moment.time.date) } else { times.insert(moment.local(in: begin.zone)) }
    }
    func add(_ time: CivilTime) {
      if !times.contains(time), !dates.contains(time.date) { body(time) }
    }
    add(begin.time)
    for moment in additional { add(moment.local(in: begin.zone)) }
    budget -= 1 + additional.count
    guard let rule else { return budget >= 0 }
    return rule.dates(from: begin.time.date, through: HolidayCalendar.years.upperBound, budget: &budget) { date in
      let time = CivilTime(date, secondOfDay: begin.time.secondOfDay)
      if let until = rule.until {
        // A date stands for all of its day.
        let isPast = until.isDate || begin.isDate ? date > until.time.date : time > until.local(in: begin.zone)
        if isPast { return false }
      }
      add(time)
      return true
    }
  }

  /// The days that one occurrence covers, in days after 1970-01-01.
  func days(at time: CivilTime, in zone: TimeZoneRules) -> ClosedRange<Int> {
    // The last second that belongs to it.
    let last = CivilTime(secondsSinceEpoch: time.secondsSinceEpoch + max(0, length - 1))
    let first = CalendarMoment(time: time, zone: begin.zone).local(in: begin.isDate ? nil : zone).date.daysSinceEpoch
    let end = CalendarMoment(time: last, zone: begin.zone).local(in: begin.isDate ? nil : zone).date.daysSinceEpoch
    return first...max(first, end)
  }
}
