import Basics
import Calendars
import Foundation
import Recipes
import RunState
import Scheduler

/// When schedules are due next.
struct Schedules {
  /// The known part of why rows are missed.
  private let builtForSize = "Calendars and Scheduler are built for size; how much that costs isn't measured"

  func rows() throws -> [Row] {
    let common = try ["*/5 * * * *", "30 17 * * FRI", "0 2 * * *", "0 9 1 * *"].map(time).max() ?? 0
    let worst = try ["0 0 29 2 *", "30 2 29 2 1", "0 0 31 12 *"].map(time).max() ?? 0
    return [
      .processor(
        "1,000,000 next fire times, common", common * 1_000_000,
        .atMost(95).missed(at: 109, because: builtForSize)),
      .processor(
        "1,000,000 next fire times, worst", worst * 1_000_000,
        .atMost(400).missed(at: 463, because: "rules of zones are searched for each year between two times")),
    ] + (try million())
  }

  /// The processor time of one answer, asked for from instants all over ten years.
  private func time(_ text: String) throws -> Double {
    guard let expression = CronExpression.parse(text).expression else { throw NotMeasured("'\(text)' is no schedule") }
    let zone = try TimeZoneDatabase.system.rules(named: "Australia/Sydney")
    let instants = (0..<5000).compactMap { Timestamp(seconds: 1_700_000_000 + $0 * 63_113) }
    var sum = 0
    let time = processorSeconds(within: 0.3) {
      for instant in instants { sum &+= expression.next(after: instant, in: zone)?.seconds ?? 1 }
    }
    if sum == 0 { throw NotMeasured("'\(text)' is never due") }
    return time / Double(instants.count)
  }

  // MARK: A million of them

  /// The argument that makes this program hold a million schedules and print what that takes.
  static let millionWord = "million"

  static func holdAMillion() throws -> Never {
    let count = 1_000_000
    // As many rules as there are recipes in a large house; every schedule has an id of its own.
    let plans = try (0..<1000).map { number in
      guard let cron = CronExpression.parse("\(number % 60) \(number % 24) * * *").expression else {
        throw NotMeasured("there is no schedule \(number)")
      }
      return SchedulePlan(
        recipe: "r", file: "r.yaml", texts: .inline(.null), inputs: .null, program: "benchmark",
        trigger: Trigger(kind: .timed(Recurrence(.cron(cron)))))
    }
    let start = Timestamp(seconds: 1_795_165_200) ?? .epoch
    let entries = (0..<count).lazy.map { ScheduleEntry(id: "s/\($0)", plan: plans[$0 % plans.count]) }
    var scheduler = Scheduler { _ in "run" }
    let begin = processorSeconds()
    scheduler.adopt(entries, mark: start)
    let insertion = processorSeconds() - begin
    let megabytes = try residentBytes() / 1_048_576
    // The schedules that are due in the first minute that has any.
    guard let next = scheduler.nextDue else { throw NotMeasured("nothing is due") }
    let tick = processorSeconds()
    let decided = scheduler.due(at: next).count
    print(insertion, megabytes, (processorSeconds() - tick) / Double(max(1, decided)))
    exit(0)
  }

  private func million() throws -> [Row] {
    let figures = try ownOutput(Self.millionWord).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard figures.count == 3 else { throw NotMeasured("a million schedules were not held") }
    return [
      .processor(
        "1,000,000 schedules, insert", figures[0],
        .atMost(1600).missed(at: 2055, because: builtForSize)),
      Row("1,000,000 schedules, memory", figures[1], "MB", .atMost(186)),
      // The logarithm of a million fits within this bar; a walk through a million doesn't.
      .processor("1,000,000 schedules, 1,000 decisions", figures[2] * 1000, .atMost(7)),
    ]
  }
}
