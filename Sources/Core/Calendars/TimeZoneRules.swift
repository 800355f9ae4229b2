package import Basics

// From UTC to a wall clock and back.
//
// A zone is a sequence of periods of constant offset. The periods of a file's table come first. Then come its footer's,
// expanded for four hundred years: the Gregorian calendar repeats after 146,097 days, which are whole weeks, so any
// later instant has the offset of the one some cycles earlier. One binary search finds any period.

/// A time zone: which offset from UTC holds when.
package final class TimeZoneRules: Sendable {
  /// The IANA name, or the offset as `+01:00`.
  package let name: String

  private let types: [LocalTime]
  private let transitions: [Int]
  private let typeIndexes: [UInt16]
  /// Instants after this are looked up some cycles earlier; nil if the clocks no longer change.
  private let cycleStart: Int?

  private static let cycle = 146_097 * 86_400

  /// A kind of local time, such as summer time.
  package struct LocalTime: Sendable {
    /// Seconds to add to UTC.
    package var offset: Int
    /// Whether the zone calls it daylight time.
    package var isDaylight: Bool
    /// The abbreviation that clocks show, such as `AEDT` or `+03`.
    package var abbreviation: String
  }

  /// A span of time with a constant offset.
  package struct Period: Sendable {
    /// The first instant in seconds since the epoch, or `Int.min`.
    package var start: Int
    /// The first instant after it, or `Int.max`.
    package var end: Int
    /// Seconds to add to UTC.
    package var offset: Int
    /// The offset before `start`, which is `offset` if there is no earlier period.
    package var previousOffset: Int
    /// The offset from `end` on, which is `offset` if there is no later period.
    package var nextOffset: Int
    fileprivate var type: Int
  }

  /// The instants when a wall clock shows one time.
  package enum Resolution: Hashable, Sendable {
    /// Once, as nearly always.
    case unique(Int)
    /// Never: the clock jumps over it at an instant, from one offset to a larger one.
    case gap(at: Int, before: Int, after: Int)
    /// Twice or more: the first and the last instant.
    case fold(first: Int, last: Int)
  }

  /// A zone whose clock is always the same number of seconds ahead of UTC.
  package init(name: String, offset: Int) {
    self.name = name
    types = [LocalTime(offset: offset, isDaylight: false, abbreviation: name)]
    transitions = []
    typeIndexes = []
    cycleStart = nil
  }

  /// One change of the clocks.
  struct Change {
    /// When, in seconds since the epoch.
    var at: Int
    /// Seconds to add to UTC before it, and from then on.
    var from: Int
    var to: Int
  }

  /// A zone whose clocks change at some instants, which are in order.
  convenience init(name: String, changes: [Change]) { self.init(name, TimeZoneFile(changes, abbreviation: name)) }

  /// Coordinated Universal Time.
  package static let utc = TimeZoneRules(name: "UTC", offset: 0)

  /// Reads the bytes of a TZif file.
  package convenience init(name: String, file bytes: [UInt8]) throws(TimeZoneError) {
    self.init(name, try TimeZoneFile(bytes, name: name))
  }

  /// The zone of a POSIX rule, such as `CET-1CEST,M3.5.0,M10.5.0/3`; nil if the text isn't one.
  convenience init?(rule: String) {
    guard let footer = TimeZoneFooter(Array(rule.utf8)[...]) else { return nil }
    self.init(rule, TimeZoneFile(footer))
  }

  private init(_ name: String, _ file: TimeZoneFile) {
    self.name = name
    var types = file.types
    var transitions: [Int] = []
    var typeIndexes: [UInt16] = []

    func append(_ at: Int, _ type: UInt16) {
      if transitions.last == at {
        transitions.removeLast()
        typeIndexes.removeLast()
      }
      guard (typeIndexes.last ?? 0) != type else { return }
      transitions.append(at)
      typeIndexes.append(type)
    }
    for (at, type) in zip(file.transitions, file.typeIndexes) { append(at, type) }

    var cycleStart: Int?
    if let footer = file.footer {
      func index(of type: TimeZoneFile.LocalTimeType) -> UInt16 {
        if let index = types.firstIndex(of: type) { return UInt16(index) }
        types.append(type)
        return UInt16(types.count - 1)
      }
      // A file without transitions is all footer.
      let last = file.transitions.last ?? Timestamp.earliest.seconds
      let standard = index(of: footer.standard)
      if let daylight = footer.daylight {
        let daylight = index(of: daylight.type)
        let year = CivilTime(secondsSinceEpoch: last).date.year
        // Two years of the footer come before the cycle, so that each period in it has its true neighbours.
        cycleStart = last + 2 * 366 * 86_400
        for year in year - 1...year + 405 {
          for change in footer.changes(in: year) where change.at > last {
            append(change.at, change.isDaylight ? daylight : standard)
          }
        }
      } else if file.transitions.isEmpty {
        append(.min, standard)
      }
    }
    self.types = types.map {
      LocalTime(offset: $0.offset, isDaylight: $0.isDaylight, abbreviation: $0.abbreviation)
    }
    self.transitions = transitions
    self.typeIndexes = typeIndexes
    self.cycleStart = cycleStart
  }

  /// Whether every instant has the same offset here and there.
  func hasSameRules(as other: TimeZoneRules) -> Bool {
    transitions == other.transitions && typeIndexes == other.typeIndexes && cycleStart == other.cycleStart
      && types.elementsEqual(other.types) { $0.offset == $1.offset }
  }

  /// The period that holds an instant given in seconds since the epoch.
  package func period(atSeconds seconds: Int) -> Period {
    var shift = 0
    if let cycleStart, seconds > cycleStart {
      shift = (seconds - cycleStart - 1) / TimeZoneRules.cycle * TimeZoneRules.cycle
    }
    let sought = seconds - shift
    // The number of transitions at or before the instant.
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= sought { low = middle + 1 } else { high = middle }
    }
    let type = type(after: low)
    let offset = types[type].offset
    // Int.min is the start of a zone that is all footer.
    let start = low == 0 || transitions[low - 1] == .min ? Int.min : transitions[low - 1] + shift
    return Period(
      start: start, end: low == transitions.count ? .max : transitions[low] + shift, offset: offset,
      previousOffset: low == 0 ? offset : types[self.type(after: low - 1)].offset,
      nextOffset: low == transitions.count ? offset : types[Int(typeIndexes[low])].offset, type: type)
  }

  /// The index of the type that holds after that many transitions.
  private func type(after count: Int) -> Int { count == 0 ? 0 : Int(typeIndexes[count - 1]) }

  /// Seconds to add to UTC at an instant.
  package func offset(at instant: Timestamp) -> Int { period(atSeconds: instant.seconds).offset }

  /// The local time at an instant, and its kind.
  package func localTime(at instant: Timestamp) -> (time: CivilTime, kind: LocalTime) {
    let period = period(atSeconds: instant.seconds)
    return (CivilTime(secondsSinceEpoch: instant.seconds + period.offset), types[period.type])
  }

  /// The first change of the offset after an instant, in seconds since the epoch.
  package func nextTransition(after seconds: Int) -> Int? {
    let end = period(atSeconds: seconds).end
    return end == .max ? nil : end
  }

  /// The instants when the clocks show a time, both in seconds since the epoch.
  package func resolve(local: Int) -> Resolution {
    // No offset is larger than a day and two hours, so the instant is at most that far from the local seconds.
    var period = period(atSeconds: local - TimeZoneFile.largestOffset)
    var first: Int?
    var last: Int?
    var gap: Resolution?
    while true {
      let candidate = local - period.offset
      if candidate >= period.start, candidate < period.end {
        if first == nil { first = candidate }
        last = candidate
      }
      guard period.end <= local + TimeZoneFile.largestOffset else { break }
      if gap == nil, local >= period.end + period.offset, local < period.end + period.nextOffset {
        gap = .gap(at: period.end, before: period.offset, after: period.nextOffset)
      }
      period = self.period(atSeconds: period.end)
    }
    if let first, let last { return first == last ? .unique(first) : .fold(first: first, last: last) }
    // Every local time is in some period or jumped over at the end of one.
    return gap ?? .unique(local - period.offset)
  }

  /// The instants when the clocks show a time.
  package func resolve(_ time: CivilTime) -> Resolution { resolve(local: time.secondsSinceEpoch) }

  /// The one instant that people mean by a time: the first of several, and after a jump the first instant; nil outside
  /// the years 1 to 9999.
  package func instant(of time: CivilTime, nanoseconds: Int32 = 0) -> Timestamp? {
    switch resolve(time) {
    case .unique(let seconds), .fold(first: let seconds, last: _):
      Timestamp(seconds: seconds, nanoseconds: Int(nanoseconds))
    case .gap(at: let seconds, before: _, after: _): Timestamp(seconds: seconds)
    }
  }
}
