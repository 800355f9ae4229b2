// How instants and lengths of time are shown to people, and how people write them.
//
// An instant is shown with its weekday and the zone's abbreviation, so that the same words never mean two instants, not
// even in the hour that a clock shows twice: `Fri 2026-11-20 17:30 AEDT`. Seconds are shown unless they are zero. A
// length of time has its two largest units: `2 days 3 h`, `8 h 59 min`, `4 min 5 s`, `45 s`.
package import Basics
package import Calendars

/// The local time in a zone, at an instant.
package struct WallClock: Sendable {
  package var zone: TimeZoneRules
  package var now: Timestamp
  /// Whether texts say how far an instant is from now; without that they stay the same.
  package var tellsDistance = true

  package init(_ zone: TimeZoneRules, now: Timestamp) {
    self.zone = zone
    self.now = now
  }

  /// `Fri 2026-11-20 17:30 AEDT`.
  package func date(_ instant: Timestamp) -> String {
    let (time, kind) = zone.localTime(at: instant)
    return "\(WallClock.weekdays[time.date.weekday]) \(WallClock.text(time)) \(kind.abbreviation)"
  }

  /// `Fri 2026-11-20 17:30 +11:00`, for lists with changing offsets.
  package func dateWithOffset(_ instant: Timestamp) -> String {
    let (time, kind) = zone.localTime(at: instant)
    return "\(WallClock.weekdays[time.date.weekday]) \(WallClock.text(time)) \(WallClock.text(offset: kind.offset))"
  }

  /// `Fri 2026-11-20 17:30 AEDT`, also if it isn't a whole minute.
  package func minute(_ instant: Timestamp) -> String {
    date(Timestamp(seconds: instant.seconds - ((instant.seconds % 60) + 60) % 60) ?? instant)
  }

  /// `2026-11-20T17:30:05+11:00`, for logs: RFC 3339 in local time, without a fraction.
  package func stamp(_ instant: Timestamp) -> String {
    let (time, kind) = zone.localTime(at: instant)
    let clock = [time.hour, time.minute, time.second].map(twoDigits).joined(separator: ":")
    return "\(time.date)T\(clock)\(WallClock.text(offset: kind.offset))"
  }

  /// `17:30:05`, for texts below a date.
  package func time(_ instant: Timestamp) -> String {
    let time = zone.localTime(at: instant).time
    return "\(twoDigits(time.hour)):\(twoDigits(time.minute)):\(twoDigits(time.second))"
  }

  /// `in 8 h 59 min`, `3 days ago` or `now`.
  package func fromNow(_ instant: Timestamp) -> String {
    guard tellsDistance else { return "on \(date(instant))" }
    let seconds = instant.seconds - now.seconds
    if seconds == 0 { return "now" }
    let span = TimeSpan.seconds(abs(seconds)).inWords
    return seconds > 0 ? "in \(span)" : "\(span) ago"
  }

  /// `Fri 2026-11-20 17:30 AEDT (in 8 h 59 min)`.
  package func dateFromNow(_ instant: Timestamp) -> String {
    tellsDistance ? "\(date(instant)) (\(fromNow(instant)))" : date(instant)
  }

  /// A sentence of the agent with its instants in words: `2026-11-20T06:30:00Z` is written as `date` writes it.
  ///
  /// Only whole words count, so that an address or a name stays what it is.
  package func told(_ text: String) -> String {
    // No text without a date has an instant.
    guard text.utf8.contains(UInt8(ascii: "Z")), text.utf8.contains(ASCII.colon) else { return text }
    return text.split(separator: " ", omittingEmptySubsequences: false).map { word in
      let start = word.drop { "('".contains($0) }
      let end = start.lastIndex(of: "Z").map { start.index(after: $0) } ?? start.startIndex
      guard start[end...].allSatisfy({ ".,;:)'?!".contains($0) }), let instant = Timestamp(String(start[..<end])) else {
        return String(word)
      }
      return "\(word[..<start.startIndex])\(date(instant))\(start[end...])"
    }.joined(separator: " ")
  }

  /// Reads an instant: RFC 3339, or a date, a time of today, or both as this clock shows them.
  ///
  /// A time that the clock shows twice means the first; a time that it skips means the first instant after the gap.
  package func instant(_ text: String) -> Timestamp? {
    if let instant = Timestamp(text) { return instant }
    let words = text.split { $0 == " " || $0 == "T" }
    guard (1...2).contains(words.count) else { return nil }
    let day = WallClock.day(words[0])
    let clock = words.count == 2 || day == nil ? words.last.flatMap { CivilTime.secondOfDay(String($0)) } : 0
    guard let clock, words.count == 1 || day != nil else { return nil }
    return zone.instant(of: CivilTime(day ?? zone.localTime(at: now).time.date, secondOfDay: clock))
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

  private static func text(_ time: CivilTime) -> String {
    let seconds = time.second == 0 ? "" : ":\(twoDigits(time.second))"
    return "\(time.date) \(twoDigits(time.hour)):\(twoDigits(time.minute))\(seconds)"
  }

  private static func text(offset: some BinaryInteger) -> String {
    let minutes = Int(offset.magnitude / 60)
    return "\(offset < 0 ? "-" : "+")\(twoDigits(minutes / 60)):\(twoDigits(minutes % 60))"
  }

  private static func day(_ text: Substring) -> CivilDate? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [4, 2, 2], let year = Int(parts[0]), let month = Int(parts[1]),
      let day = Int(parts[2])
    else { return nil }
    return CivilDate(year: year, month: month, day: day)
  }
}

extension TimeSpan {
  /// The same, and less than a second in milliseconds: `6 ms`.
  package var inShort: String {
    (0..<1_000_000_000).contains(nanoseconds) ? "\(nanoseconds / 1_000_000) ms" : inWords
  }

  /// The length with its two largest units: `2 days 3 h`, `8 h 59 min`, `4 min 5 s`, `45 s`.
  package var inWords: String {
    let seconds = nanoseconds / 1_000_000_000
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400)
    let parts: [(count: Int, unit: String)] =
      if days > 0 {
        [(days, days == 1 ? "day" : "days"), (hours % 24, "h")]
      } else if hours > 0 {
        [(hours, "h"), (minutes % 60, "min")]
      } else if minutes > 0 {
        [(minutes, "min"), (seconds % 60, "s")]
      } else {
        [(seconds, "s")]
      }
    let words = parts.filter { $0.count > 0 }.map { "\($0.count) \($0.unit)" }
    return words.isEmpty ? "less than a second" : words.joined(separator: " ")
  }
}
