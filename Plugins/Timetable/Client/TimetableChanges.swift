import ActionKit

/// A difference between two timetables.
enum EntryChange: Hashable {
  case added(Weekday, TimetableEntry)
  case removed(Weekday, TimetableEntry)
  /// The same class, with another day, time, week, room or teacher.
  case changed(from: (Weekday, TimetableEntry), to: (Weekday, TimetableEntry))

  static func == (left: EntryChange, right: EntryChange) -> Bool { left.text == right.text }
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension EntryChange {
  /// Returns the changes from one timetable to another, in the order of the week.
  ///
  /// Equal classes are paired first, then classes with the same course, kind and formation, the most alike first.
  /// Classes without a partner were added or removed.
  static func between(_ old: [TimetableDay], _ new: [TimetableDay]) -> [EntryChange] {
    var before = rows(old)
    var after = rows(new)
    var changes: [(at: (Int, String), change: EntryChange)] = []
    // From the strictest likeness to the loosest.
    for likeness in 0...3 {
      for (index, row) in before.enumerated().reversed() {
        guard let partner = after.firstIndex(where: { alike(row, $0, likeness) }) else { continue }
        if likeness > 0 { changes.append((place(after[partner]), .changed(from: row, to: after[partner]))) }
        before.remove(at: index)
        after.remove(at: partner)
      }
    }
    changes += before.map { (place($0), .removed($0.0, $0.1)) }
    changes += after.map { (place($0), .added($0.0, $0.1)) }
    return changes.sorted { ($0.at.0, $0.at.1, $0.change.text) < ($1.at.0, $1.at.1, $1.change.text) }.map(\.change)
  }

  private static func rows(_ days: [TimetableDay]) -> [(Weekday, TimetableEntry)] {
    days.flatMap { day in day.entries.map { (day.day, $0) } }
  }

  private static func place(_ row: (Weekday, TimetableEntry)) -> (Int, String) { (row.0.number, row.1.start ?? "~") }

  private static func alike(
    _ left: (day: Weekday, entry: TimetableEntry), _ right: (day: Weekday, entry: TimetableEntry), _ likeness: Int
  ) -> Bool {
    guard left.entry.course.hasSameScalars(as: right.entry.course), left.entry.type == right.entry.type,
      left.entry.audience?.formation == right.entry.audience?.formation
    else { return false }
    let isSameTime =
      left.day == right.day && left.entry.start == right.entry.start && left.entry.end == right.entry.end
      && left.entry.time.hasSameScalars(as: right.entry.time) && left.entry.frequency == right.entry.frequency
    let isSamePlace =
      left.entry.room.hasSameScalars(as: right.entry.room)
      && left.entry.instructor.hasSameScalars(as: right.entry.instructor)
    switch likeness {
    case 0: return isSameTime && isSamePlace
    case 1: return isSameTime
    case 2: return isSamePlace
    default: return true
    }
  }

  /// The change as a line for people.
  var text: String {
    switch self {
    case .added(let day, let entry): return "new: \(Self.words(day, entry))\(entry.place)"
    case .removed(let day, let entry): return "gone: \(Self.words(day, entry))\(entry.place)"
    case .changed(let old, let new):
      var parts: [String] = []
      let times = (Self.time(old.0, old.1), Self.time(new.0, new.1))
      if times.0 != times.1 { parts.append("now \(times.1)") }
      if !old.1.room.hasSameScalars(as: new.1.room) {
        parts.append("room \(old.1.room.orNone) → \(new.1.room.orNone)")
      }
      if !old.1.instructor.hasSameScalars(as: new.1.instructor) {
        parts.append("\(old.1.instructor.orNone) → \(new.1.instructor.orNone)")
      }
      return "changed: \(Self.words(old.0, old.1)): \(parts.joined(separator: "; "))"
    }
  }

  private static func words(_ day: Weekday, _ entry: TimetableEntry) -> String {
    "\(time(day, entry)) \(entry.course) (\(entry.type.rawValue))"
  }

  private static func time(_ day: Weekday, _ entry: TimetableEntry) -> String {
    "\(day.title) \(entry.time)\(entry.frequency == .weekly ? "" : " \(entry.frequency.rawValue)")"
  }
}

extension TimetableEntry {
  fileprivate var place: String { room.isEmpty ? "" : ", \(room)" }
}

extension String {
  fileprivate var orNone: String { isEmpty ? "none" : self }
}
