package import Basics

// When something is due, as a pure function: the same recurrence is due at the same instants for every caller at any
// time.
//
// A rule names instants:
//
//     cron      the fields of `CronExpression`, in a zone
//     calendar  the same fields; all of them must match
//     every     from + n × interval for whole n, counted in elapsed time; from is `from`, else `start`, else the epoch;
//               before a `from` nothing is due
//     at        one instant
//
// The instants from `start` (inclusive) to `end` (exclusive) count, unless the zone's clock then shows a day that is
// left out. Nothing is made up for on the next day.
//
// Every answer is bounded: a cron rule is followed for eight years and a day (see `CronExpression.next`), and so are
// days that are left out, a run of them at a time.

/// A set of instants, such as "every Friday at 17:30 in Sydney but for the holidays".
package struct Recurrence: Hashable, Sendable {
  /// The rule that names the instants.
  package enum Rule: Hashable, Sendable {
    case cron(CronExpression)
    case every(TimeSpan, from: Timestamp? = nil)
    case at(Timestamp)
    case calendar(CronExpression)
  }

  package var rule: Rule
  package var zone: TimeZoneRules
  package var gap: CronExpression.DSTGap
  package var fold: CronExpression.DSTFold
  /// The first instant that may count.
  package var start: Timestamp?
  /// The first instant that no longer counts.
  package var end: Timestamp?
  /// The days that are left out.
  package var except: DaySet

  package init(
    _ rule: Rule, zone: TimeZoneRules = .utc, gap: CronExpression.DSTGap = .shift,
    fold: CronExpression.DSTFold = .first, start: Timestamp? = nil, end: Timestamp? = nil, except: DaySet = .none
  ) {
    self.rule = rule
    self.zone = zone
    self.gap = gap
    self.fold = fold
    self.start = start
    self.end = end
    self.except = except
  }

  /// How far days that are left out are followed.
  private static let horizon = (8 * 366 + 1) * 86_400
}

// MARK: Single instants

extension Recurrence {
  /// The first instant strictly after one; nil if there is none, or none near enough.
  package func next(after instant: Timestamp) -> Timestamp? {
    var after = instant
    // Not before `start`, and at it.
    if let start, after < start {
      guard let before = start.justBefore else { return nil }
      after = before
    }
    let limit = after.seconds + Recurrence.horizon
    while let slot = named(after: after) {
      if let end, slot >= end { return nil }
      guard let resumed = endOfLeftOut(slot) else { return slot }
      guard resumed <= limit, let before = Timestamp(seconds: resumed)?.justBefore else { return nil }
      after = before
    }
    return nil
  }

  /// The last instant at or before one that is after another; nil if there is none between them.
  ///
  /// Halves the time between, so that a year of seconds costs no more than some dozens of `next`.
  package func last(notAfter latest: Timestamp, after earliest: Timestamp) -> Timestamp? {
    guard var found = next(after: earliest), found <= latest else { return nil }
    // After `high` there is nothing more.
    var high = latest.seconds
    while let following = next(after: found), following <= latest {
      found = following
      guard let middle = Timestamp(seconds: found.seconds + (high - found.seconds) / 2), middle > found else {
        continue
      }
      if let later = next(after: middle), later <= latest { found = later } else { high = middle.seconds }
    }
    return found
  }

  /// How many instants come after one and not after another.
  ///
  /// They are counted a day at a time, or for `every` at once between days that are left out.
  package func count(after earliest: Timestamp, through latest: Timestamp) -> Int {
    var count = 0
    var after = earliest
    while let slot = next(after: after), slot <= latest {
      let (number, last) = plainRow(from: slot, through: latest)
      count += number
      after = last
    }
    return count
  }

  /// The instants from a slot on that can be counted without a search, and the instant where the search continues.
  private func plainRow(from slot: Timestamp, through latest: Timestamp) -> (count: Int, last: Timestamp) {
    let local = slot.seconds + zone.offset(at: slot)
    let day = local.flooredDivision(by: 86_400)
    switch rule {
    case .at: return (1, slot)
    case .every(let interval, from: _):
      var limit = latest
      if let end, let before = end.justBefore { limit = min(limit, before) }
      if let run = except.run(after: day) {
        let begin =
          switch zone.resolve(local: run.lowerBound * 86_400) {
          case .unique(let seconds), .gap(at: let seconds, before: _, after: _), .fold(first: let seconds, last: _):
            seconds
          }
        limit = min(limit, Timestamp(seconds: begin)?.justBefore ?? limit)
      }
      guard limit > slot else { return (1, slot) }
      let steps = (limit.nanosecondsSinceEpoch - slot.nanosecondsSinceEpoch) / Int128(interval.nanoseconds)
      let last = slot.nanosecondsSinceEpoch + steps * Int128(interval.nanoseconds)
      let (seconds, rest) = last.quotientAndRemainder(dividingBy: 1_000_000_000)
      let whole = Int(rest < 0 ? seconds - 1 : seconds)
      let end = Timestamp(seconds: whole, nanoseconds: Int(rest < 0 ? rest + 1_000_000_000 : rest))
      return (Int(clamping: steps + 1), end ?? latest)
    case .cron(let expression), .calendar(let expression):
      // A day far from any change of the clock has one instant for each time; this must be the first of them.
      let period = zone.period(atSeconds: slot.seconds)
      let midnight = day * 86_400 - period.offset
      let reach = 2 * 86_400
      guard local - day * 86_400 == expression.firstSecondOfDay,
        midnight > (period.start == .min ? .min : period.start + reach),
        midnight < (period.end == .max ? .max : period.end - reach),
        let last = Timestamp(seconds: midnight + 86_399), last <= latest, end.map({ last < $0 }) ?? true
      else { return (1, slot) }
      return (expression.timesOfDay, last)
    }
  }

  /// The wall times that one of the instants stands for: one, or more where a jump of the clock left some out.
  ///
  /// Such times are due as one at the end of the jump; all but one of them count as coalesced.
  package func wallTimes(at instant: Timestamp) -> [CivilTime] {
    switch rule {
    case .cron(let expression), .calendar(let expression): expression.wallTimes(at: instant, in: zone, gap: gap)
    case .every, .at: [zone.localTime(at: instant).time]
    }
  }

  /// Whether anything is due at all; with a `start`, within eight years of it.
  ///
  /// Without a `start`, fields are followed through 28 years: in these, every day of the year falls on every day of the
  /// week.
  package var isEverDue: Bool {
    if start != nil { return next(after: .earliest) != nil }
    return stride(from: 946_684_800, to: 946_684_800 + 4 * Recurrence.horizon, by: Recurrence.horizon)
      .contains { Timestamp(seconds: $0).flatMap(next) != nil } || next(after: .earliest) != nil
  }

  /// The first instant after one that the rule names.
  private func named(after instant: Timestamp) -> Timestamp? {
    switch rule {
    case .cron(let expression), .calendar(let expression):
      return expression.next(after: instant, in: zone, gap: gap, fold: fold)
    case .at(let only):
      return only > instant ? only : nil
    case .every(let interval, let from):
      if let from, instant < from { return from }
      guard interval.nanoseconds > 0 else { return nil }
      let anchor = from ?? start ?? Timestamp.epoch
      // The time since the last instant; the remainder takes the sign of the dividend.
      let passed = (instant.nanosecondsSinceEpoch - anchor.nanosecondsSinceEpoch) % Int128(interval.nanoseconds)
      let left = Int(passed >= 0 ? Int128(interval.nanoseconds) - passed : -passed)
      return instant.advanced(by: TimeSpan(nanoseconds: left))
    }
  }

  /// If an instant is on a day that is left out, the first second after that run of days; always after the instant.
  private func endOfLeftOut(_ instant: Timestamp) -> Int? {
    guard !except.runs.isEmpty else { return nil }
    let local = instant.seconds + zone.offset(at: instant)
    guard let run = except.run(containing: local.flooredDivision(by: 86_400)) else { return nil }
    let midnight =
      switch zone.resolve(local: (run.upperBound + 1) * 86_400) {
      case .unique(let seconds), .gap(at: let seconds, before: _, after: _): seconds
      // A clock set back over midnight shows the day before once more.
      case .fold(let first, let last): first > instant.seconds ? first : last
      }
    return max(midnight, instant.seconds + 1)
  }
}

extension Timestamp {
  /// 1970-01-01T00:00:00Z.
  package static var epoch: Timestamp { Timestamp(seconds: 0) ?? .earliest }

  /// The last instant before this one; nil before the earliest.
  package var justBefore: Timestamp? {
    nanoseconds > 0
      ? Timestamp(seconds: seconds, nanoseconds: Int(nanoseconds) - 1)
      : Timestamp(seconds: seconds - 1, nanoseconds: 999_999_999)
  }

  /// Nanoseconds after the epoch, which are too many for 64 bits.
  package var nanosecondsSinceEpoch: Int128 { Int128(seconds) * 1_000_000_000 + Int128(nanoseconds) }
}

// MARK: Identity

extension TimeZoneRules: Hashable {
  /// Two zones are one if they have the same name and the same rules.
  package static func == (left: TimeZoneRules, right: TimeZoneRules) -> Bool {
    left === right || left.name.hasSameScalars(as: right.name) && left.hasSameRules(as: right)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Recurrence {
  /// A text that is the same for the same instants, today and in the next version: what a schedule that was edited is
  /// told by.
  package var fingerprint: String {
    var hash = FowlerNollVo()
    switch rule {
    case .cron(let expression), .calendar(let expression): expression.add(to: &hash)
    case .every(let interval, let from): hash.add("every \(interval.nanoseconds) \(from?.description ?? "")")
    case .at(let instant): hash.add("at \(instant)")
    }
    let span = "\(start?.description ?? "") \(end?.description ?? "")"
    hash.add("\(zone.name) \(gap.rawValue) \(fold.rawValue) \(span)")
    for run in except.runs { hash.add("\(run.lowerBound) \(run.upperBound)") }
    let digits = String(hash.value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

extension CronExpression {
  fileprivate func add(to hash: inout FowlerNollVo) {
    hash.add("cron \(minutes) \(hours) \(days) \(daysFromEnd) \(months) \(weekdays) \(isWild) \(needsBothDays)")
  }
}

/// The hash FNV-1a of 64 bits: the same in every process, as Swift's own is not.
package struct FowlerNollVo {
  package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  package init() {}

  /// Adds a text with an end, so that two texts are not taken for another two.
  package mutating func add(_ text: String) {
    for byte in text.utf8 { add(byte) }
    add(0xFF)
  }

  private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
}
