import Basics
import Calendars
import Testing

@Suite struct RecurrenceTests {
  /// The next instants after one, as texts.
  private func following(_ recurrence: Recurrence, _ after: String, count: Int = 3) throws -> [String] {
    var instant = try #require(Timestamp(after))
    var found: [String] = []
    while found.count < count, let next = recurrence.next(after: instant) {
      found.append(next.description)
      instant = next
    }
    return found
  }

  private func at(_ text: String) throws -> Timestamp { try #require(Timestamp(text)) }

  private func days(_ texts: String...) throws -> DaySet {
    DaySet(try texts.map { CivilDate(daysSinceEpoch: try at("\($0)T00:00:00Z").seconds.flooredDivision(by: 86_400)) })
  }

  private func cron(_ text: String, as form: CronExpression.Form = .cron) throws -> CronExpression {
    let (expression, faults) = CronExpression.parse(text, as: form)
    return try #require(expression, "\(faults)")
  }

  @Test(
    arguments: [
      // Counted from `from`, before which nothing is due.
      ("90m", "2026-01-01T00:10:00Z", nil, "2026-01-01T00:00:00Z", ["2026-01-01T00:10:00Z", "2026-01-01T01:40:00Z"]),
      ("90m", "2026-01-01T00:10:00Z", nil, "2026-01-01T00:10:00Z", ["2026-01-01T01:40:00Z", "2026-01-01T03:10:00Z"]),
      ("1h", "2030-01-01T00:30:00Z", nil, "2026-01-01T00:00:00Z", ["2030-01-01T00:30:00Z", "2030-01-01T01:30:00Z"]),
      // Else from the start, which counts itself.
      ("1d", nil, "2026-01-01T09:00:00Z", "2025-01-01T00:00:00Z", ["2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z"]),
      // Else from the epoch.
      ("1h", nil, nil, "2026-01-01T00:00:00.5Z", ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"]),
      ("7m", nil, nil, "1969-12-31T23:50:00Z", ["1969-12-31T23:53:00Z", "1970-01-01T00:00:00Z"]),
      ("1.5s", nil, nil, "1970-01-01T00:00:00Z", ["1970-01-01T00:00:01.5Z", "1970-01-01T00:00:03Z"]),
      ("15250w", nil, nil, "9990-01-01T00:00:00Z", []),
    ] as [(String, String?, String?, String, [String])])
  func `counts intervals in elapsed time`(
    _ every: String, _ from: String?, _ start: String?, _ after: String, _ expected: [String]
  ) throws {
    let interval = try #require(TimeSpan(every))
    let recurrence = Recurrence(.every(interval, from: try from.map(at)), start: try start.map(at))
    #expect(try following(recurrence, after, count: 2) == expected)
  }

  @Test func `is due from the start on and before the end`() throws {
    let daily = Recurrence(
      .cron(try cron("0 9 * * *")), start: try at("2026-05-01T09:00:00Z"), end: try at("2026-05-03T09:00:00Z"))
    #expect(try following(daily, "2020-01-01T00:00:00Z") == ["2026-05-01T09:00:00Z", "2026-05-02T09:00:00Z"])
    #expect(try following(daily, "2026-05-02T09:00:00Z") == [])
    let once = Recurrence(.at(try at("2026-05-01T09:00:00Z")))
    #expect(try following(once, "2026-05-01T08:59:59.9Z") == ["2026-05-01T09:00:00Z"])
    #expect(try following(once, "2026-05-01T09:00:00Z") == [])
  }

  @Test(arguments: [
    // Friday the 13th: both must match.
    ("0 9 13 * FRI", "2026-01-01T00:00:00Z", ["2026-02-13T09:00:00Z", "2026-03-13T09:00:00Z", "2026-11-13T09:00:00Z"]),
    // The first Monday.
    (
      "0 9 1-7 * MON", "2026-01-01T00:00:00Z", ["2026-01-05T09:00:00Z", "2026-02-02T09:00:00Z", "2026-03-02T09:00:00Z"]
    ),
    // The last day, and the last but one.
    ("0 9 L * *", "2028-01-31T09:00:00Z", ["2028-02-29T09:00:00Z", "2028-03-31T09:00:00Z", "2028-04-30T09:00:00Z"]),
    (
      "0 9 L-1,15 2 *", "2027-02-01T00:00:00Z",
      ["2027-02-15T09:00:00Z", "2027-02-27T09:00:00Z", "2028-02-15T09:00:00Z"]
    ),
    // The last Friday.
    (
      "0 9 L-6,L-5,L-4,L-3,L-2,L-1,L * FRI", "2026-01-01T00:00:00Z",
      ["2026-01-30T09:00:00Z", "2026-02-27T09:00:00Z", "2026-03-27T09:00:00Z"]
    ),
    ("0 9 L-30 * *", "2026-01-01T00:00:00Z", ["2026-01-01T09:00:00Z", "2026-03-01T09:00:00Z", "2026-05-01T09:00:00Z"]),
  ])
  func `a calendar's fields must all match`(_ text: String, _ after: String, _ expected: [String]) throws {
    #expect(try following(Recurrence(.calendar(try cron(text, as: .calendar))), after) == expected)
  }

  @Test(arguments: [
    ("0 0 30 2 *", "none of these months has such a day, so the schedule would never be due"),
    ("0 0 L-30 4,6 *", "none of these months has such a day, so the schedule would never be due"),
    (
      "0 0 L-31 * *",
      "'L' isn't a day of the month; 'L' is not supported; write 'L' for the last day, 'L-1' for the one before"
    ),
    ("0 0 31 * *", "day 31 does not exist in every month; write 'L' for the last day"),
  ])
  func `says what is wrong with a calendar's fields`(_ text: String, _ message: String) {
    #expect(CronExpression.parse(text, as: .calendar).faults.map(\.message) == [message])
  }

  @Test func `leaves days out as the zone's clock shows them`() throws {
    let sydney = try TimeZoneDatabase.system.rules(named: "Australia/Sydney")
    // 25 December begins at 13:00 UTC on the 24th.
    let hourly = Recurrence(.every(.seconds(3600)), zone: sydney, except: try days("2026-12-25", "2026-12-26"))
    #expect(
      try following(hourly, "2026-12-24T11:30:00Z") == [
        "2026-12-24T12:00:00Z", "2026-12-26T13:00:00Z", "2026-12-26T14:00:00Z",
      ])
    let never = Recurrence(.cron(try cron("0 0 25 12 *")), except: DaySet(runs: [0...40_000]))
    #expect(try following(never, "2026-01-01T00:00:00Z") == [])
    #expect(never.isEverDue)
    let gone = Recurrence(.at(try at("2026-12-25T00:00:00Z")), except: try days("2026-12-25"))
    #expect(!gone.isEverDue)
  }

  @Test func `follows fields through all days of the week`() throws {
    #expect(Recurrence(.calendar(try cron("0 0 29 2 MON", as: .calendar))).isEverDue)
    let ended = Recurrence(.cron(try cron("0 0 1 1 *")), end: try at("1995-01-01T00:00:00Z"))
    #expect(ended.isEverDue)
    let between = Recurrence(
      .cron(try cron("0 0 1 1 *")), start: try at("2026-01-02T00:00:00Z"), end: try at("2027-01-01T00:00:00Z"))
    #expect(!between.isEverDue)
  }

  @Test(arguments: [
    ("10,40 2 * * *", "2026-03-08T07:00:00Z", ["02:10", "02:40"]),
    ("10,40 2,3 * * *", "2026-03-08T07:10:00Z", ["03:10"]),
    ("0,30 2,3 * * *", "2026-03-08T07:00:00Z", ["02:00", "02:30", "03:00"]),
    ("0 3 * * *", "2026-03-08T07:00:00Z", ["03:00"]),
    ("0 * * * *", "2026-03-08T07:00:00Z", ["03:00"]),
  ])
  func `knows which wall times an instant stands for`(_ text: String, _ slot: String, _ times: [String]) throws {
    let zone = try TimeZoneDatabase.system.rules(named: "America/New_York")
    let recurrence = Recurrence(.cron(try cron(text)), zone: zone)
    #expect(
      try recurrence.wallTimes(at: at(slot)).map {
        "\($0.hour < 10 ? "0" : "")\($0.hour):\($0.minute < 10 ? "0" : "")\($0.minute)"
      } == times)
  }

  @Test func `finds the last of very many without going through them`() throws {
    let month = try at("2026-02-01T00:00:00.25Z")
    let everySecond = Recurrence(.every(.seconds(1), from: try at("2025-01-01T00:00:00.75Z")))
    #expect(
      everySecond.last(notAfter: month, after: try at("2026-01-01T00:00:00Z"))?.description
        == "2026-01-31T23:59:59.75Z")
    #expect(everySecond.count(after: try at("2026-01-01T00:00:00Z"), through: month) == 31 * 86_400)
    let minutely = Recurrence(.cron(try cron("* 9-16 * * MON-FRI")))
    #expect(
      minutely.last(notAfter: try at("2026-11-22T12:00:00Z"), after: try at("2020-01-01T00:00:00Z"))?.description
        == "2026-11-20T16:59:00Z")
    #expect(
      minutely.count(after: try at("2026-11-20T00:00:00Z"), through: try at("2026-11-22T00:00:00Z")) == 480)
    #expect(minutely.last(notAfter: try at("2026-11-22T12:00:00Z"), after: try at("2026-11-21T00:00:00Z")) == nil)
  }

  @Test(arguments: CronOracleTests.zones)
  func `agrees with a search of every minute`(_ name: String) throws {
    var random = SeededGenerator(seed: UInt64(name.utf8.reduce(3) { $0 &* 31 &+ UInt64($1) }))
    let zone = try TimeZoneDatabase.system.rules(named: name)
    let start = try at("2026-01-01T00:00:00Z").seconds
    let texts = [
      "0 0 13 * FRI", "*/20 * 1-7 * MON", "30 1 L * *", "0 0,12 L-2,L-1 * 1-5", "0 2 * 3,4,10 0", "15 * * * *",
    ]
    for _ in 0..<4 {
      let text = texts.randomElement(using: &random) ?? ""
      let matches = matcher(text.split(separator: " ").map(String.init))
      let from = start + Int.random(in: 0..<300 * 86_400, using: &random) / 60 * 60
      let left = (0..<20).map { _ in from / 86_400 + Int.random(in: 0..<45, using: &random) }
      let end = from + 38 * 86_400
      let recurrence = Recurrence(
        .calendar(try cron(text, as: .calendar)), zone: zone, gap: .skip, fold: .both,
        start: Timestamp(seconds: from), end: Timestamp(seconds: end),
        except: DaySet(runs: left.map { $0...$0 }))
      var expected: [Int] = []
      for seconds in stride(from: from, to: end, by: 60) {
        let instant = try #require(Timestamp(seconds: seconds))
        let local = zone.localTime(at: instant).time
        if matches(local), !left.contains(local.date.daysSinceEpoch) { expected.append(seconds) }
      }
      var found: [Int] = []
      var last = Timestamp.epoch
      while let next = recurrence.next(after: last) {
        found.append(next.seconds)
        last = next
      }
      #expect(found == expected, "\(text) in \(name) from \(from)")
      if let latest = Timestamp(seconds: end), let final = expected.last {
        #expect(recurrence.last(notAfter: latest, after: .epoch)?.seconds == final)
        #expect(recurrence.count(after: .epoch, through: latest) == expected.count)
        let middle = Int.random(in: from..<end, using: &random)
        let count = Timestamp(seconds: middle).map { recurrence.count(after: $0, through: latest) }
        #expect(count == expected.count { $0 > middle }, "\(text) in \(name) from \(from), after \(middle)")
        let hourly = Recurrence(
          .every(.seconds(3601)), zone: zone, end: recurrence.end, except: recurrence.except)
        var number = 0
        var instant = Timestamp(seconds: middle) ?? .epoch
        while let next = hourly.next(after: instant) { (number, instant) = (number + 1, next) }
        #expect(Timestamp(seconds: middle).map { hourly.count(after: $0, through: latest) } == number)
      }
    }
  }

  /// Whether a wall time matches fields, which hold numbers, ranges, lists, steps of all, and days from the end.
  private func matcher(_ words: [String]) -> (CivilTime) -> Bool {
    func fits(_ word: String, _ value: Int, _ length: Int) -> Bool {
      word.split(separator: ",").contains { item in
        if item == "*" { return true }
        if item.hasPrefix("*/") { return value % (Int(item.dropFirst(2)) ?? 1) == 0 }
        if item.hasPrefix("L") { return value == length - (Int(item.dropFirst(2)) ?? 0) }
        if let name = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"].firstIndex(of: String(item)) {
          return value == name
        }
        let ends = item.split(separator: "-").compactMap { Int($0) }
        return ends[0]...ends[ends.count - 1] ~= value
      }
    }
    // By the length of the month, the field and the value, because there are many minutes.
    let tables = (28...31).map { length in words.map { word in (0..<60).map { fits(word, $0, length) } } }
    return { time in
      let date = time.date
      let fields = tables[CivilDate.days(inMonth: date.month, of: date.year) - 28]
      return time.second == 0 && fields[0][time.minute] && fields[1][time.hour] && fields[2][date.day]
        && fields[3][date.month] && fields[4][date.weekday]
    }
  }

  @Test func `tells schedules apart that differ`() throws {
    let base = Recurrence(.cron(try cron("0 9 * * *")))
    var others = [base]
    others.append(Recurrence(.cron(try cron("1 9 * * *"))))
    others.append(Recurrence(.calendar(try cron("0 9 * * *", as: .calendar)), gap: .skip))
    others.append(Recurrence(.every(.seconds(60))))
    others.append(Recurrence(.every(.seconds(60), from: .epoch)))
    others.append(Recurrence(.at(.epoch)))
    others.append(Recurrence(base.rule, zone: try TimeZoneDatabase.system.rules(named: "Asia/Tokyo")))
    others.append(Recurrence(base.rule, start: .epoch))
    others.append(Recurrence(base.rule, end: .epoch))
    others.append(Recurrence(base.rule, except: try days("2026-12-25")))
    #expect(Set(others.map(\.fingerprint)).count == others.count)
    // Kept in states, and so the same in every version.
    #expect(base.fingerprint == "0287d70a0682c523")
  }
}
