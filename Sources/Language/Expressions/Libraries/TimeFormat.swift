import Basics
import Calendars

// Dates and times as text, by the clauses of C's strftime, in English.
//
//     %Y year   %y its last two digits   %m month   %B %b its name   %d day   %j day of the year
//     %A %a weekday   %u 1 (Monday) to 7   %w 0 (Sunday) to 6   %G-W%V ISO 8601's year and week
//     %H hour   %I hour to 12   %p AM or PM   %M minute   %S second
//     %Z the zone's abbreviation   %z +1100   %:z +11:00   %s seconds since 1970   %%
//     %F = %Y-%m-%d   %T = %H:%M:%S   %R = %H:%M
//
// `-` after the percent sign leaves out leading zeros. Parsing accepts numbers with or without them and names in upper
// or lower case. It doesn't accept %j %u %w %G %V %Z, which are redundant or ambiguous. A weekday must match the date.

struct TimeFormat {
  private enum Part {
    case text([UInt8])
    case clause(UInt8, isPadded: Bool)
  }

  private let format: String
  private var parts: [Part] = []

  static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
  ]

  /// The name of a weekday from 0 for Sunday.
  static func name(ofWeekday weekday: Int) -> String { weekdays[(weekday + 6) % 7] }

  /// `%:z`, under a character that C's strftime doesn't use.
  private static let colonZone = ASCII.colon

  init(_ format: String) throws(EvaluationError) {
    self.format = format
    // A shorthand doesn't contain other shorthands.
    let shorthands: [UInt8: String] = [
      UInt8(ascii: "F"): "%Y-%m-%d", UInt8(ascii: "T"): "%H:%M:%S", UInt8(ascii: "R"): "%H:%M",
    ]
    var bytes = Array(format.utf8)[...]
    while let byte = bytes.popFirst() {
      guard byte == ASCII.percent else {
        append(byte)
        continue
      }
      let isPadded = bytes.first != ASCII.minus
      if !isPadded { bytes.removeFirst() }
      var clause = bytes.popFirst()
      if clause == TimeFormat.colonZone { clause = bytes.popFirst() == UInt8(ascii: "z") ? TimeFormat.colonZone : nil }
      switch clause {
      case ASCII.percent: append(ASCII.percent)
      case .some(let clause) where shorthands[clause] != nil:
        parts += try TimeFormat(shorthands[clause] ?? "").parts
      case .some(let clause) where clause == TimeFormat.colonZone || "YymBbdjAauwGVHIpMSZzs".utf8.contains(clause):
        parts.append(.clause(clause, isPadded: isPadded))
      default:
        throw EvaluationError(
          "\(written(.string(format))) has a clause that is unknown; there are "
            + "%Y %m %d %H %M %S, %A %a %B %b %-d and the like of strftime, and %% for a percent sign"
        )
      }
    }
  }

  private mutating func append(_ byte: UInt8) {
    if case .text(let before) = parts.last {
      parts[parts.count - 1] = .text(before + [byte])
    } else {
      parts.append(.text([byte]))
    }
  }

  // MARK: Writing

  func text(of instant: Timestamp, in zone: TimeZoneRules) -> String {
    let (time, kind) = zone.localTime(at: instant)
    var result: [UInt8] = []
    for part in parts {
      switch part {
      case .text(let bytes): result += bytes
      case .clause(let clause, let isPadded):
        result += TimeFormat.text(clause, isPadded, instant, time, kind).utf8
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func text(
    _ clause: UInt8, _ isPadded: Bool, _ instant: Timestamp, _ time: CivilTime, _ kind: TimeZoneRules.LocalTime
  ) -> String {
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number)
      return isPadded ? String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits : digits
    }
    let date = time.date
    switch clause {
    case UInt8(ascii: "Y"): return padded(date.year, 4)
    case UInt8(ascii: "y"): return padded(date.year % 100, 2)
    case UInt8(ascii: "m"): return padded(date.month, 2)
    case UInt8(ascii: "B"): return months[date.month - 1]
    case UInt8(ascii: "b"): return String(months[date.month - 1].prefix(3))
    case UInt8(ascii: "d"): return padded(date.day, 2)
    case UInt8(ascii: "j"): return padded(date.dayOfYear, 3)
    case UInt8(ascii: "A"): return name(ofWeekday: date.weekday)
    case UInt8(ascii: "a"): return String(name(ofWeekday: date.weekday).prefix(3))
    case UInt8(ascii: "u"): return String(date.weekday == 0 ? 7 : date.weekday)
    case UInt8(ascii: "w"): return String(date.weekday)
    case UInt8(ascii: "G"): return padded(isoWeek(date).year, 4)
    case UInt8(ascii: "V"): return padded(isoWeek(date).week, 2)
    case UInt8(ascii: "H"): return padded(time.hour, 2)
    case UInt8(ascii: "I"): return padded((time.hour + 11) % 12 + 1, 2)
    case UInt8(ascii: "p"): return time.hour < 12 ? "AM" : "PM"
    case UInt8(ascii: "M"): return padded(time.minute, 2)
    case UInt8(ascii: "S"): return padded(time.second, 2)
    case UInt8(ascii: "Z"): return kind.abbreviation
    case UInt8(ascii: "s"): return String(instant.seconds)
    default:
      let minutes = abs(kind.offset) / 60
      let digits = String(10_000 + minutes / 60 * 100 + minutes % 60).dropFirst()
      return (kind.offset < 0 ? "-" : "+") + (clause == colonZone ? "\(digits.prefix(2)):\(digits.suffix(2))" : digits)
    }
  }

  /// ISO 8601's week, which belongs to the year of its Thursday.
  private static func isoWeek(_ date: CivilDate) -> (year: Int, week: Int) {
    let thursday = CivilDate(daysSinceEpoch: date.daysSinceEpoch + 3 - (date.weekday + 6) % 7)
    return (thursday.year, (thursday.dayOfYear - 1) / 7 + 1)
  }

  // MARK: Reading

  /// Rejects a format in the notation of other languages, which would be output unchanged.
  func checkClauses() throws(EvaluationError) {
    let hasClause = parts.contains { if case .clause = $0 { true } else { false } }
    guard !hasClause, ["yy", "YY", "dd", "DD", "MM", "HH", "hh"].contains(where: { format.contains($0) }) else {
      return
    }
    throw EvaluationError(
      "\(written(.string(format))) has no clauses; a date is written '%Y-%m-%d', and a time '%H:%M:%S'")
  }

  /// Rejects a format that can't be used to parse a date.
  func checkReadable() throws(EvaluationError) {
    var clauses: Set<UInt8> = []
    for case .clause(let clause, _) in parts { clauses.insert(clause) }
    if let unreadable = "juwGVZ".utf8.first(where: clauses.contains) {
      throw EvaluationError(
        "%\(Character(UnicodeScalar(unreadable))) is for time.format() only; read the date by %Y, %m and %d")
    }
    let isComplete =
      clauses.contains(UInt8(ascii: "s"))
      || ["Yy", "mBb", "d"].allSatisfy { $0.utf8.contains(where: clauses.contains) }
    guard isComplete else {
      throw EvaluationError(
        "\(written(.string(format))) reads no whole date; "
          + "it needs a year (%Y), a month (%m) and a day (%d)")
    }
    guard clauses.contains(UInt8(ascii: "I")) == clauses.contains(UInt8(ascii: "p")) else {
      throw EvaluationError("%I and %p are of use together only; the hour to 23 is %H")
    }
  }

  func instant(of text: String, in zone: TimeZoneRules) throws(EvaluationError) -> Timestamp {
    func misfit(_ why: String) -> EvaluationError {
      EvaluationError("\(written(.string(text))) does not fit '\(format)': \(why)")
    }
    var fields = Fields()
    var rest = Array(text.utf8)[...]
    for part in parts {
      switch part {
      case .text(let bytes):
        guard rest.starts(with: bytes) else {
          throw misfit("'\(String(decoding: bytes, as: UTF8.self))' is missing \(TimeFormat.place(rest))")
        }
        rest = rest.dropFirst(bytes.count)
      case .clause(let clause, _):
        guard fields.read(clause, &rest) else {
          throw misfit(
            "%\(clause == TimeFormat.colonZone ? ":z" : String(UnicodeScalar(clause))) finds nothing it can read \(TimeFormat.place(rest))"
          )
        }
      }
    }
    guard rest.isEmpty else { throw misfit("'\(String(decoding: rest, as: UTF8.self))' is left over") }
    if let seconds = fields.seconds {
      guard let instant = Timestamp(seconds: seconds) else { throw misfit("it is outside the years 1 to 9999") }
      return instant
    }
    guard let date = CivilDate(year: fields.year, month: fields.month, day: fields.day), date.year > 0 else {
      throw misfit("there is no day \(fields.day) in month \(fields.month) of \(fields.year)")
    }
    if let weekday = fields.weekday, weekday != (date.weekday + 6) % 7 {
      throw misfit("\(date) is a \(TimeFormat.name(ofWeekday: date.weekday))")
    }
    var hour = fields.hour
    if let isAfternoon = fields.isAfternoon { hour = hour % 12 + (isAfternoon ? 12 : 0) }
    let time = CivilTime(date, secondOfDay: hour * 3600 + fields.minute * 60 + fields.second)
    return try Expressions.instant(
      of: time, in: fields.offset.map { TimeZoneRules(name: "offset", offset: $0) } ?? zone)
  }

  /// The place where parsing stopped, for messages.
  private static func place(_ rest: ArraySlice<UInt8>) -> String {
    rest.isEmpty ? "at the end" : "at \(written(.string(String(decoding: rest, as: UTF8.self))))"
  }

  private struct Fields {
    var year = 1970
    var month = 1
    var day = 1
    var hour = 0
    var minute = 0
    var second = 0
    /// From 0 for Monday.
    var weekday: Int?
    var isAfternoon: Bool?
    var offset: Int?
    var seconds: Int?

    mutating func read(_ clause: UInt8, _ rest: inout ArraySlice<UInt8>) -> Bool {
      switch clause {
      case UInt8(ascii: "Y"): number(&year, &rest, 4, 1...9999)
      case UInt8(ascii: "y"):
        // POSIX: 69 to 99 are in the last century.
        number(&year, &rest, 2, 0...99)
          && {
            year += year < 69 ? 2000 : 1900; return true
          }()
      case UInt8(ascii: "m"): number(&month, &rest, 2, 1...12)
      case UInt8(ascii: "d"): number(&day, &rest, 2, 1...31)
      case UInt8(ascii: "H"): number(&hour, &rest, 2, 0...23)
      case UInt8(ascii: "I"): number(&hour, &rest, 2, 1...12)
      case UInt8(ascii: "M"): number(&minute, &rest, 2, 0...59)
      case UInt8(ascii: "S"): number(&second, &rest, 2, 0...59)
      case UInt8(ascii: "B"), UInt8(ascii: "b"):
        name(TimeFormat.months, &rest).map { month = $0 + 1 } != nil
      case UInt8(ascii: "A"), UInt8(ascii: "a"): name(TimeFormat.weekdays, &rest).map { weekday = $0 } != nil
      case UInt8(ascii: "p"): name(["AM", "PM"], &rest).map { isAfternoon = $0 == 1 } != nil
      case UInt8(ascii: "s"):
        {
          let isNegative = rest.first == ASCII.minus
          if isNegative { rest.removeFirst() }
          var number = 0
          guard self.number(&number, &rest, 12, 0...999_999_999_999) else { return false }
          seconds = isNegative ? -number : number
          return true
        }()
      default: readOffset(&rest)
      }
    }

    private func number(
      _ field: inout Int, _ rest: inout ArraySlice<UInt8>, _ width: Int, _ range: ClosedRange<Int>
    ) -> Bool {
      let digits = rest.prefix(width).prefix { ASCII.digits.contains($0) }
      // A year must have four digits, so that 26 is never read as 2026.
      guard !digits.isEmpty, width != 4 || digits.count == 4 else { return false }
      field = digits.reduce(0) { $0 * 10 + Int($1 - ASCII.zero) }
      rest = rest.dropFirst(digits.count)
      return range.contains(field)
    }

    /// The index of the name at the start of the rest, in full or as its first three letters.
    private func name(_ names: [String], _ rest: inout ArraySlice<UInt8>) -> Int? {
      func lower(_ byte: UInt8) -> UInt8 { ASCII.uppercase.contains(byte) ? byte | 0x20 : byte }
      for length in [Int.max, 3] {
        for (index, name) in names.enumerated() {
          let name = Array(name.utf8.prefix(length)).map(lower)
          if rest.prefix(name.count).map(lower) == name {
            rest = rest.dropFirst(name.count)
            return index
          }
        }
      }
      return nil
    }

    private mutating func readOffset(_ rest: inout ArraySlice<UInt8>) -> Bool {
      if rest.first == UInt8(ascii: "Z") {
        rest.removeFirst()
        offset = 0
        return true
      }
      // Both `+1100` and `+11:00` are accepted.
      for length in [6, 5] where rest.count >= length {
        var text = String(decoding: rest.prefix(length), as: UTF8.self)
        if length == 5 { text = "\(text.prefix(3)):\(text.suffix(2))" }
        guard let seconds = TimeZoneDatabase.offset(text) else { continue }
        offset = seconds
        rest = rest.dropFirst(length)
        return true
      }
      return false
    }
  }
}
