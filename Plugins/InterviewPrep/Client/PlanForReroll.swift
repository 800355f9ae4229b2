import ActionKit

// How a plan has to be for a reroll. Both backends check it strictly, and the newer one sends plans that its own check
// refuses, so a plan is prepared before it goes back:
//
//   1. Both maps have all seven days and no others, empty where there is nothing.
//   2. `weekOf` is a date without a time.
//   3. A block has a label and the form that it came in, hours or clock times, and nothing else; hours are brought to
//      0.25 up to 8.
//   4. A resource has a title and an address and nothing else; those without an address are left out.
//   5. `version` is at least 1.
//
// Faults that this preparation cannot correct, such as a label of 90 characters, are all refused together.

extension WeekPlan {
  /// The plan as it goes back, the same as a plan, and the plan that it was made of, on seven days.
  func preparedForReroll() throws(InterviewPrepError) -> (wire: Value, sent: WeekPlan, kept: WeekPlan) {
    guard !isCanned, !hasNoTasks else {
      throw InterviewPrepError(
        .invalidInput,
        "A plan without tasks or without blocks of time, as a backend gives that could not make one, cannot be made "
          + "anew in part; have a routine made first.")
    }
    guard let kept = arranged() else {
      throw InterviewPrepError(.invalidInput, "'weekOf' of the plan isn't a date, but '\(weekOf.excerpt(40))'.")
    }
    var plan = kept
    plan.resources = resources.compactMap { resource in
      guard let url = resource.url, !url.isEmpty else { return nil }
      var plain = Resource()
      plain.title = resource.title
      plain.url = url
      return plain
    }
    plan.version = max(version, 1)
    for (day, blocks) in plan.timeBlocks { plan.timeBlocks[day] = blocks.map(\.prepared) }
    let faults = plan.faults
    guard faults.isEmpty else {
      throw InterviewPrepError(
        .invalidInput, "The plan is not one that the backend takes: \(faults.joined(separator: "; ")).")
    }
    return (plan.wire, plan, kept)
  }

  private var faults: [String] {
    var faults: [String] = []
    func check(_ text: String, _ most: Int, _ place: @autoclosure () -> String) {
      let count = text.unicodeScalars.count
      if !(1...most).contains(count) { faults.append("\(place()) must have 1 to \(most) characters, but has \(count)") }
    }
    for day in Weekday.allCases.map(\.rawValue) {
      for (index, block) in (timeBlocks[day] ?? []).enumerated() {
        check(block.label, 80, "'timeBlocks.\(day)[\(index)].label'")
      }
      for (index, task) in (dailyTasks[day] ?? []).enumerated() { check(task, 120, "'dailyTasks.\(day)[\(index)]'") }
    }
    for (index, milestone) in milestones.enumerated() { check(milestone, 120, "'milestones[\(index)]'") }
    for (index, resource) in resources.enumerated() {
      check(resource.title, 120, "'resources[\(index)].title'")
      check(resource.url ?? "", 500, "'resources[\(index)].url'")
    }
    return faults
  }

  private var wire: Value {
    func texts(_ list: [String]) -> Value { .list(list.map { .string($0) }) }
    func days(_ items: (String) -> Value) -> Value {
      .map(ValueMap(Weekday.allCases.map { ($0.rawValue, items($0.rawValue)) }))
    }
    return .object([
      "weekOf": .string(weekOf),
      "timeBlocks": days { day in .list((timeBlocks[day] ?? []).map(\.wire)) },
      "dailyTasks": days { day in texts(dailyTasks[day] ?? []) },
      "milestones": texts(milestones),
      "resources": .list(
        resources.map { .object(["title": .string($0.title), "url": .string($0.url ?? "")]) }),
      "version": .int(version),
    ])
  }
}

extension TimeBlock {
  /// The block in one form.
  fileprivate var prepared: TimeBlock {
    var block = self
    if let durationHours {
      block.durationHours = min(max(durationHours, 0.25), 8)
      block.start = nil
      block.end = nil
    }
    return block
  }

  fileprivate var wire: Value {
    if let durationHours { return .object(["label": .string(label), "durationHours": .double(durationHours)]) }
    return .object(["start": .string(start ?? ""), "end": .string(end ?? ""), "label": .string(label)])
  }
}
