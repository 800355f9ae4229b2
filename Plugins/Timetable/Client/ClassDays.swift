import ActionKit
import Calendars

/// One date with its classes.
struct ClassDay: Sendable {
  var date: CivilDate
  var week: TeachingWeek
  var entries: [TimetableEntry] = []
}

extension GroupTimetable {
  /// The dates of a range, each with the classes that are held then.
  ///
  /// - Parameter subgroup: Leaves out what is for another subgroup; classes whose file does not say for whom they are stay.
  func days(_ dates: ClosedRange<CivilDate>, _ weeks: TeachingWeeks, subgroup: String?) -> [ClassDay] {
    (dates.lowerBound.daysSinceEpoch...dates.upperBound.daysSinceEpoch).map { number in
      let date = CivilDate(daysSinceEpoch: number)
      var day = ClassDay(date: date, week: weeks.week(of: date))
      for own in days where own.day.number == date.weekday {
        day.entries += own.entries.filter { day.week.holds($0.frequency) && $0.isFor(subgroup) }
      }
      return day
    }
  }

  /// The timetable with only the classes that concern a subgroup.
  func narrowed(to subgroup: String?) -> GroupTimetable {
    var timetable = self
    for index in timetable.days.indices { timetable.days[index].entries.removeAll { !$0.isFor(subgroup) } }
    return timetable
  }
}

extension TimetableEntry {
  func isFor(_ subgroup: String?) -> Bool {
    guard let subgroup, let audience, audience.scope == .subgroup else { return true }
    return audience.formation?.hasSameScalars(as: subgroup) ?? false
  }

  /// The instants of the class on a date; nil if its time cannot be read.
  ///
  /// A time that the clocks jump over is taken for the first instant after it.
  func instants(on date: CivilDate, in zone: TimeZoneRules) -> (start: Timestamp, end: Timestamp)? {
    guard let time = ClassTime(self.time),
      let start = zone.instant(of: CivilTime(date, secondOfDay: time.start * 60)),
      let end = zone.instant(of: CivilTime(date, secondOfDay: time.end * 60)), start < end
    else { return nil }
    return (start, end)
  }
}

extension ICalendar {
  /// Creates the calendar of a group's classes.
  ///
  /// An event's UID is derived from the group, the date, and the start, course, kind and formation of the class, but
  /// not from room or teacher. So an event keeps its UID when its room changes. If several events are equal in all of
  /// these, the second and later ones are numbered.
  init(
    name: String, of days: [ClassDay], _ selection: TimetableSelection, stamp: Timestamp, zone: TimeZoneRules
  ) {
    self.init(name: name, product: "-//Errand//Timetable//EN")
    var known: [String: Int] = [:]
    for day in days {
      for entry in day.entries {
        guard let instants = entry.instants(on: day.date, in: zone) else { continue }
        let identity = [
          selection.title, "\(day.date)", entry.start ?? "", entry.course, entry.type.rawValue,
          entry.audience?.formation ?? "",
        ].joined(separator: "\n")
        let digest = fingerprint(identity)
        let count = known[digest, default: 0] + 1
        known[digest] = count
        var event = Event(
          uid: "\(day.date)-\(digest)\(count > 1 ? "-\(count)" : "")@errand.timetable", stamp: stamp,
          start: instants.start, end: instants.end, summary: "\(entry.course) (\(entry.type.rawValue))")
        event.location = [entry.room, entry.roomAddress ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
        // With an unknown week the event may not be one.
        let week: String? =
          day.week == .unknown && entry.frequency != .weekly ? "only in \(entry.frequency.rawValue)" : nil
        event.details = [entry.instructor.isEmpty ? nil : entry.instructor, entry.audience?.formation, week]
          .compactMap { $0 }.joined(separator: "\n")
        event.category = entry.type.rawValue
        events.append(event)
      }
    }
  }
}

/// A text as 16 hexadecimal digits, the same in every program (FNV-1a, 64 bits).
func fingerprint(_ text: String) -> String {
  let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  let digits = String(hash, radix: 16)
  return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}
