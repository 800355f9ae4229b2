public import ActionKit

// The backend's answers as Swift types that recipes use too: the sentence of each field is its documentation.
//
// The answers of both generations of the backend are read in the same way, and less strictly than they are specified:
// limits on lengths aren't enforced, since the answer is already paid for. All limits are enforced on a plan that is
// sent for a reroll (`PlanForReroll.swift`).

/// A plan for one week.
public struct WeekPlan: FieldSet, Equatable {
  @Field("The date of the week's Monday; a ready-made plan may have any day of the week.") public var weekOf: String
  @Field("Each day's blocks of time, by the day's name, Mon to Sun; a free day has none.")
  public var timeBlocks: [String: [TimeBlock]]
  @Field("Each day's tasks, by the day's name, Mon to Sun.") public var dailyTasks: [String: [String]] = [:]
  @Field("The goals to reach by the end of the week.") public var milestones: [String]
  @Field("Things to read and places to practise.") public var resources: [Resource]
  @Field("How often the plan was generated, from 1.", .min(1)) public var version: Int = 1

  public init() {}

  /// The plans of the seven days, Monday first.
  public var days: [PlanDay] {
    // As the backend counts weeks, a Sunday belongs to the coming one.
    let monday = CivilDate(weekOf).map { $0.weekday == 0 ? $0.adding(days: 1) : $0.monday }
    return Weekday.allCases.enumerated().map { index, weekday in
      var day = PlanDay()
      day.day = weekday
      day.date = monday.map { $0.adding(days: index).description } ?? weekOf
      day.blocks = timeBlocks[weekday.rawValue] ?? []
      day.tasks = dailyTasks[weekday.rawValue] ?? []
      day.hours = day.blocks.reduce(0) { $0 + $1.hours }
      return day
    }
  }

  /// Whether the backend made it up without its language model.
  ///
  /// Judged by its shape as it came: the texts may be any.
  public var isCanned: Bool { dailyTasks.isEmpty || timeBlocks.values.allSatisfy(\.isEmpty) }

  /// Whether no day has a task.
  ///
  /// That is all that is left of the missing `dailyTasks` of a canned plan once it has its seven days.
  var hasNoTasks: Bool { dailyTasks.values.allSatisfy(\.isEmpty) }

  /// The plan with a date, seven days under their short names, and nothing on unknown days; nil if its week is
  /// none.
  func arranged() -> WeekPlan? {
    var plan = self
    // A date, never an instant; of an instant the date counts.
    guard let date = CivilDate(String(weekOf.prefix(10))) else { return nil }
    plan.weekOf = date.description
    plan.timeBlocks = timeBlocks.arranged()
    plan.dailyTasks = dailyTasks.arranged()
    return plan
  }
}

extension [String: [TimeBlock]] {
  func arranged() -> Self { sevenDays(self) }
}

extension [String: [String]] {
  func arranged() -> Self { sevenDays(self) }
}

private func sevenDays<Item>(_ map: [String: [Item]]) -> [String: [Item]] {
  var days: [String: [Item]] = [:]
  for day in Weekday.allCases { days[day.rawValue] = map[day.rawValue] ?? map[day.fullName] ?? [] }
  return days
}

/// A stretch of work, by hours or by the clock.
public struct TimeBlock: ValidatedFieldSet, Equatable {
  @Field("The purpose of the block.") public var label: String
  @Field("The block's length in hours; newer backends give it.", .range(0...24)) public var durationHours: Double?
  @Field("When it starts, as 09:30; older backends give it.", .pattern(.clockTime)) public var start: String?
  @Field("When it ends, as 10:30; older backends give it.", .pattern(.clockTime)) public var end: String?

  public init() {}

  public func conflicts() -> [Conflict] {
    if durationHours != nil || start != nil && end != nil { return [] }
    return [Conflict("needs 'durationHours', or 'start' and 'end'")]
  }

  /// How many hours it takes; one that ends before it starts ends on the next day.
  public var hours: Double {
    if let durationHours { return durationHours }
    guard let start = start.flatMap(minutes), let end = end.flatMap(minutes) else { return 0 }
    return Double((end - start).flooredRemainder(by: 24 * 60)) / 60
  }
}

/// Minutes since midnight of a time such as 09:30.
private func minutes(_ text: String) -> Int? {
  let parts = text.split(separator: ":")
  guard parts.count == 2, let hour = Int(parts[0]), let minute = Int(parts[1]), (0...24).contains(hour),
    (0...59).contains(minute)
  else { return nil }
  return hour * 60 + minute
}

/// Something to read, or a place to practise.
public struct Resource: FieldSet, Equatable {
  @Field("The resource's title.") public var title: String
  @Field("Its address; absent if the backend distrusts it.") public var url: String?
  @Field("A description; only canned answers have one.") public var description: String?

  public init() {}
}

/// One day of a plan.
public struct PlanDay: FieldSet, Equatable {
  @Field("The day of the week.") public var day: Weekday
  @Field("Its date.") public var date: String
  @Field("The blocks of time, in order.") public var blocks: [TimeBlock]
  @Field("The day's tasks.") public var tasks: [String]
  @Field("The total length of the blocks in hours.") public var hours: Double

  public init() {}
}

/// The sections of a plan that can be regenerated.
public enum PlanSection: String, Choice {
  case timeBlocks, resources, dailyTasks
}

/// Everything to prepare for interviews with.
public struct PrepPack: FieldSet, Equatable {
  @Field("The topics to prepare, by subject.") public var prepOutline: [OutlineSection]
  @Field("The drills for each day.") public var weeklyDrillPlan: [DrillDay]
  @Field("Questions to begin with.") public var starterQuestions: [String]
  @Field("Things to read and places to practise.") public var resources: [Resource]

  public init() {}

  /// Whether the backend made it up without its language model, which names the days in full.
  public var isCanned: Bool {
    weeklyDrillPlan.contains { drill in Weekday.allCases.contains { $0.fullName == drill.day } }
  }

  /// The pack with the days under their short names.
  func arranged() -> PrepPack {
    var pack = self
    for (index, drill) in weeklyDrillPlan.enumerated() {
      pack.weeklyDrillPlan[index].day = Weekday(named: drill.day)?.rawValue ?? drill.day
    }
    return pack
  }
}

/// A subject with its items.
public struct OutlineSection: FieldSet, Equatable {
  @Field("The subject.") public var section: String
  @Field("The subject's topics.") public var items: [String]

  public init() {}
}

/// A day with its exercises.
public struct DrillDay: FieldSet, Equatable {
  @Field("The day, Mon to Fri.") public var day: String
  @Field("The day's drills.") public var drills: [String]

  public init() {}
}

extension TextPattern {
  /// A time of day by the clock.
  static let clockTime = TextPattern(
    "a time such as 09:30", regex: "^([01][0-9]|2[0-3]):[0-5][0-9]$", accepted: ["09:30", "00:00", "23:59"],
    refused: ["24:00", "29:10", "9:30", "09:60", "0930", ""]
  ) { text in
    let bytes = Array(text.utf8)
    guard bytes.count == 5, bytes[2] == ASCII.colon else { return false }
    let digits = [bytes[0], bytes[1], bytes[3], bytes[4]].map { Int($0) - 48 }
    guard digits.allSatisfy({ (0...9).contains($0) }) else { return false }
    return digits[0] * 10 + digits[1] < 24 && digits[2] < 6
  }
}
