import Basics
import Calendars
import Testing

/// Holds `next` against a search of every minute, which knows nothing of periods, bits or horizons.
@Suite struct CronOracleTests {
  static let zones = [
    "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Apia", "America/St_Johns", "America/Sao_Paulo", "Asia/Kathmandu",
    "Australia/Sydney", "Europe/Bucharest", "America/New_York", "Africa/Casablanca", "Europe/Dublin", "Asia/Gaza",
    "America/Santiago", "Antarctica/Troll", "Africa/Cairo", "America/Nuuk",
  ]

  @Test(arguments: zones)
  func `agrees with a search of every minute around clock changes`(_ zone: String) throws {
    var random = SeededGenerator(seed: UInt64(zone.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }))
    let rules = try TimeZoneDatabase.system.rules(named: zone)
    var starts = [1_600_000_000]
    // 2011 (Apia's missing day), 2018 (São Paulo's missing midnight), 2026, and beyond any file's table.
    for second in [1_320_000_000, 1_514_764_800, 1_767_225_600, 4_070_908_800] {
      if let first = rules.nextTransition(after: second) {
        starts.append(first - 24 * 3600)
        if let next = rules.nextTransition(after: first) { starts.append(next - 24 * 3600) }
      }
    }
    for start in starts {
      let minutes = WallMinutes(rules, from: start, days: 2)
      for _ in 0..<6 {
        let text = Spec.random(&random)
        let cron = try #require(CronExpression.parse(text).expression, "\(text)")
        let gap = CronExpression.DSTGap.allCases.randomElement(using: &random) ?? .shift
        let fold = CronExpression.DSTFold.allCases.randomElement(using: &random) ?? .first
        let expected = Spec(text).due(in: minutes, gap: gap, fold: fold)
        var found: [Int] = []
        var instant = try #require(Timestamp(seconds: minutes.inner.lowerBound - 1))
        while let next = cron.next(after: instant, in: rules, gap: gap, fold: fold),
          next.seconds < minutes.inner.upperBound
        {
          found.append(next.seconds)
          instant = next
        }
        #expect(found == expected, "'\(text)' in \(zone) from \(start), gap \(gap), fold \(fold)")
        // From an instant in the middle too, with seconds.
        let middle = Int.random(in: minutes.inner, using: &random)
        let after = try #require(Timestamp(seconds: middle, nanoseconds: 1))
        let next = cron.next(after: after, in: rules, gap: gap, fold: fold)
        if let first = expected.first(where: { $0 > middle }) {
          #expect(next?.seconds == first, "'\(text)' in \(zone) after \(middle), gap \(gap), fold \(fold)")
        } else {
          #expect(next.map { $0.seconds >= minutes.inner.upperBound } ?? true, "'\(text)' in \(zone) after \(middle)")
        }
      }
    }
  }
}

/// Every minute of some days: the instants in order, and the local time of each.
private struct WallMinutes {
  var instants: [(seconds: Int, local: Int)] = []
  var byLocal: [Int: [Int]] = [:]
  /// The part far enough from both ends that nothing outside matters.
  var inner: Range<Int>

  init(_ rules: TimeZoneRules, from start: Int, days: Int) {
    let start = start - start % 60
    inner = start..<start + days * 86_400
    for seconds in stride(from: start - 30 * 3600, to: inner.upperBound + 30 * 3600, by: 60) {
      guard let instant = Timestamp(seconds: seconds) else { continue }
      let local = seconds + rules.offset(at: instant)
      instants.append((seconds, local))
      byLocal[local, default: []].append(seconds)
    }
  }
}

/// An expression read by splitting its text, matched field by field.
private struct Spec {
  /// For each field, whether a value is in it.
  var sets: [[Bool]] = []
  var stars: [Bool] = []

  init(_ text: String) {
    for (word, range) in zip(text.split(separator: " "), [0...59, 0...23, 1...31, 1...12, 0...6]) {
      var set = [Bool](repeating: false, count: 60)
      for item in word.split(separator: ",") {
        let parts = item.split(separator: "/")
        let step = parts.count > 1 ? Int(parts[1]) ?? 1 : 1
        let ends =
          parts[0] == "*"
          ? [range.lowerBound, range.upperBound] : parts[0].split(separator: "-").compactMap { Int($0) }
        let last = ends.count == 2 ? ends[1] : parts.count > 1 ? range.upperBound : ends[0]
        var value = ends[0]
        while value <= last {
          set[value] = true
          value += step
        }
      }
      sets.append(set)
      stars.append(word.hasPrefix("*"))
    }
  }

  func matches(_ local: Int) -> Bool {
    let minute = local.flooredDivision(by: 60).flooredRemainder(by: 1440)
    guard sets[0][minute % 60], sets[1][minute / 60] else { return false }
    let date = CivilTime(secondsSinceEpoch: local).date
    let day = sets[2][date.day]
    let weekday = sets[4][date.weekday]
    return sets[3][date.month] && (stars[2] || stars[4] ? day && weekday : day || weekday)
  }

  func due(in minutes: WallMinutes, gap: CronExpression.DSTGap, fold: CronExpression.DSTFold) -> [Int] {
    var due: Set<Int> = []
    if stars[0] || stars[1] {
      due = Set(minutes.instants.filter { matches($0.local) }.map(\.seconds))
    } else {
      for (before, after) in zip(minutes.instants, minutes.instants.dropFirst()) {
        let jump = after.local - before.local - 60
        guard gap == .shift, jump > 0, jump <= 3 * 3600 else { continue }
        if stride(from: before.local + 60, to: after.local, by: 60).contains(where: matches) {
          due.insert(after.seconds)
        }
      }
      for (local, instants) in minutes.byLocal where matches(local) {
        switch fold {
        case .first: due.formUnion(instants.prefix(1))
        case .last: due.formUnion(instants.suffix(1))
        case .both: due.formUnion(instants)
        }
      }
    }
    return due.filter(minutes.inner.contains).sorted()
  }

  static func random(_ random: inout SeededGenerator) -> String {
    func pick(_ options: [String]) -> String { options.randomElement(using: &random) ?? "*" }
    func value(_ range: ClosedRange<Int>) -> String { String(Int.random(in: range, using: &random)) }
    let minute = pick([
      "*", "*/7", "0", "30", "1", "0-59/15", "10/20", value(0...59), "\(value(0...29))-\(value(30...59))", "0,30,45",
    ])
    let hour = pick(["*", "*/2", "0", "1", "2", "3", "0-4", "2,3", "1/6", value(0...23), "22,23,0,1"])
    let day = pick(["*", "*", "*", "*/2", "1-15", "16-31", "29,30,31", value(1...28)])
    let month = pick(["*", "*", "*", "1-12/2", "3,4,10,11"])
    let weekday = pick(["*", "*", "0", "6", "1-5", "*/3", "0,6"])
    let text = "\(minute) \(hour) \(day) \(month) \(weekday)"
    // The parser rejects an expression that is never due, so one that is due replaces it.
    return CronExpression.parse(text).expression == nil ? "0 2 * * *" : text
  }
}
