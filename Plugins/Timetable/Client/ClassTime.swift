import ActionKit

/// The time of a class as minutes after midnight at the university, read from the text that is published for display.
///
/// The text is like `8–10` or `08:00–10:00`, with an en dash or a hyphen, and blanks around it are allowed. Sorted as
/// texts, `10–12` would come before `8–10`.
struct ClassTime: Hashable {
  var start: Int
  var end: Int

  /// Reads a time; nil if it is not of that form, or ends before it starts.
  init?(_ text: String) {
    let sides = text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\u{2013}" || $0 == "-" }
    guard sides.count == 2, let start = Self.minutes(String(sides[0]).trimmed),
      let end = Self.minutes(String(sides[1]).trimmed), start < end
    else { return nil }
    self.start = start
    self.end = end
  }

  private static func minutes(_ text: String) -> Int? {
    let parts = text.utf8.split(separator: ASCII.colon, omittingEmptySubsequences: false)
    guard parts.count <= 2, (1...2).contains(parts[0].count), parts.count == 1 || parts[1].count == 2,
      parts.allSatisfy({ $0.allSatisfy { ASCII.digits.contains($0) } }), let hour = Int(Substring(parts[0])),
      let minute = parts.count == 1 ? 0 : Int(Substring(parts[1])), minute < 60, hour * 60 + minute <= 24 * 60
    else { return nil }
    return hour * 60 + minute
  }

  /// Minutes after midnight as `HH:MM`.
  static func text(_ minutes: Int) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(two(minutes / 60)):\(two(minutes % 60))"
  }
}

extension GroupTimetable {
  /// The timetable without duplicate classes, in the order of their starts, with start and end written out, and with
  /// the legend's details of rooms.
  ///
  /// Classes whose time cannot be read come last, in their original order.
  func arranged(with legend: RoomLegend?) -> GroupTimetable {
    var timetable = self
    let rooms = legend.map { RoomIndex($0) }
    for index in timetable.days.indices {
      var seen: Set<TimetableEntry> = []
      var rows: [(order: Int, start: Int, entry: TimetableEntry)] = []
      for (order, entry) in days[index].entries.enumerated() where seen.insert(entry).inserted {
        var entry = entry
        let time = ClassTime(entry.time)
        entry.start = time.map { ClassTime.text($0.start) }
        entry.end = time.map { ClassTime.text($0.end) }
        if (entry.roomAddress ?? "").isEmpty { entry.roomAddress = rooms?.address(of: entry.room) }
        rows.append((order, time?.start ?? .max, entry))
      }
      rows.sort { ($0.start, $0.order) < ($1.start, $1.order) }
      timetable.days[index].entries = rows.map(\.entry)
    }
    timetable.days.sort { $0.day.number < $1.day.number }
    return timetable
  }

  /// Whether a room is named whose address is not.
  var lacksAddresses: Bool {
    days.contains { $0.entries.contains { !$0.room.isEmpty && ($0.roomAddress ?? "").isEmpty } }
  }
}

extension RoomLegend {
  /// Where a room is; nil if the legend does not know it or has no address.
  public func address(of room: String) -> String? { RoomIndex(self).address(of: room) }
}

/// The legend, ready to be looked through many times.
///
/// Codes are compared without white space and case. If a whole text isn't a code, each run of letters, digits and
/// `_./-` in it is tried, in order. If several rooms have one code, the first counts.
struct RoomIndex {
  private var addresses: [String: String] = [:]

  init(_ legend: RoomLegend) {
    for room in legend.rooms {
      let key = Self.key(room.code)
      if addresses[key] == nil { addresses[key] = room.address }
    }
  }

  func address(of room: String) -> String? {
    let parts = room.utf8.split { byte in
      switch byte {
      case ASCII.uppercase, ASCII.lowercase, 0x2D...0x39, ASCII.underscore: false
      default: true
      }
    }
    for candidate in [room] + parts.map({ String(Substring($0)) }) {
      if let address = addresses[Self.key(candidate)] { return address.isEmpty ? nil : address }
    }
    return nil
  }

  private static func key(_ code: String) -> String {
    String(String.UnicodeScalarView(code.unicodeScalars.filter { !$0.properties.isWhitespace })).uppercased()
  }
}
