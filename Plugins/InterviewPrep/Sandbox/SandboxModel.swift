import ActionKit

// The sandbox's language model. Its answers differ from request to request, and are the same in each run of a test.

/// One answer of the language model, or the backend's substitute for it.
struct SandboxModel {
  let generation: SandboxBackend.Generation
  /// Which answer it is.
  let number: Int
  let now: Timestamp

  private func pick(_ texts: [String], _ index: Int) -> String {
    texts.isEmpty ? "" : texts[(number * 3 + index).flooredRemainder(by: texts.count)]
  }

  private static let topics = [
    "Hash maps and two pointers", "Binary trees", "SQL joins and indexes", "Graph search", "Heaps", "HTTP caching",
    "Sliding windows", "Transactions",
  ]
  private static let works = [
    "Write a small HTTP server", "Tidy the portfolio page", "Add tests to the server", "Read somebody's code",
  ]
  private static let tasks = [
    "Solve three problems", "Explain one solution aloud", "Apply to two roles", "Message a former colleague",
    "Write five queries", "Fix one broken link", "Note two things to improve",
  ]

  // MARK: Plans

  func plan(for profile: Profile) -> Value {
    let days = Weekday.allCases.map { ($0, profile.availableDays.contains($0)) }
    let blocks = days.enumerated().map { index, day -> (String, Value) in
      (day.0.rawValue, .list(day.1 ? self.blocks(profile.timeBudgetHoursPerDay, index) : []))
    }
    let tasks = days.enumerated().map { index, day -> (String, Value) in
      let texts = (0..<2).map { Value.string(pick(Self.tasks, index * 2 + $0)) }
      return (day.0.rawValue, .list(day.1 ? texts : []))
    }
    return .object([
      "weekOf": .string(monday.description), "timeBlocks": .map(ValueMap(blocks)), "dailyTasks": .map(ValueMap(tasks)),
      "milestones": .list([
        .string("Ten problems solved by Friday"), .string("One step nearer to \(profile.targetRole)"),
        .string("Six applications sent"),
      ]),
      "resources": resources, "version": .int(1),
    ])
  }

  /// The Monday of the week; on a Sunday, the next day.
  private var monday: CivilDate {
    CivilDate(daysSinceEpoch: now.seconds.flooredDivision(by: 86_400)).adding(days: 1).monday
  }

  private func blocks(_ budget: Double, _ day: Int) -> [Value] {
    let shares = [0.5, 0.4, 0.1]
    let labels = [pick(Self.topics, day), pick(Self.works, day), "Review the day"]
    var minute = 10 * 60
    return zip(labels, shares).map { label, share in
      // To two decimals, and less than a quarter of an hour of a short day: the newer backend's own check refuses that.
      let hours = (budget * share * 100).rounded() / 100
      if generation == .newer { return .object(["label": .string(label), "durationHours": .double(hours)]) }
      let start = minute
      minute += max(1, Int(hours * 60))
      return .object(["start": clock(start), "end": clock(minute), "label": .string(label)])
    }
  }

  private func clock(_ minute: Int) -> Value {
    let digits = [minute / 60 % 24, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return .string(digits.joined(separator: ":"))
  }

  private var resources: Value {
    let all = [
      ("The Swift Programming Language", "https://docs.swift.org/swift-book/"),
      ("PostgreSQL tutorial", "https://www.postgresql.org/docs/current/tutorial.html"),
      ("Graph visualiser", "https://visualgo.net/en"), ("HTTP semantics", "https://www.rfc-editor.org/rfc/rfc9110"),
      ("Exercism Swift track", "https://exercism.org/tracks/swift"),
    ]
    let links = (0..<3).map { index -> Value in
      let (title, url) = all[(number + index).flooredRemainder(by: all.count)]
      return .object(["title": .string(title), "url": .string(url)])
    }
    // The newer backend distrusts some good addresses.
    let forum: Value =
      generation == .newer ? .null : .string("https://www.reddit.com/r/cscareerquestions/")
    return .list(links + [.object(["title": .string("A forum for careers"), "url": forum])])
  }

  // MARK: Packs

  func prep(for profile: Profile) -> Value {
    func texts(_ texts: [String]) -> Value { .list(texts.map { .string($0) }) }
    return .object([
      "prepOutline": .list([
        .object([
          "section": .string("Data structures"), "items": texts((0..<3).map { pick(Self.topics, $0) }),
        ]),
        .object([
          "section": .string(profile.targetRole), "items": texts((0..<2).map { pick(Self.works, $0) }),
        ]),
        .object(["section": .string("Behavioural"), "items": texts(["A conflict you settled", "A deadline missed"])]),
      ]),
      "weeklyDrillPlan": .list(
        Weekday.allCases.prefix(5).enumerated().map { index, day in
          .object(["day": .string(day.rawValue), "drills": texts((0..<2).map { pick(Self.tasks, index * 2 + $0) })])
        }),
      "starterQuestions": texts([
        "Find the first repeated word in a text", "When does an index make a query slower?",
        "Tell of a bug that took you days",
      ]),
      "resources": resources,
    ])
  }

  // MARK: Canned answers

  private var cannedResources: Value {
    .list([
      .object([
        "title": .string("LeetCode"), "url": .string("https://leetcode.com"),
        "description": .string("Problems to practise on"),
      ])
    ])
  }

  var cannedRoutine: Value {
    let date = CivilDate(daysSinceEpoch: now.seconds.flooredDivision(by: 86_400))
    return .object([
      "plan": .object([
        "version": .int(1), "weekOf": .string(date.description),
        "timeBlocks": .map(ValueMap(Weekday.allCases.prefix(5).map { ($0.rawValue, .list([])) })),
        "milestones": .list([.string("Ask for the plan again later"), .string("Revise the basic data structures")]),
        "resources": cannedResources,
      ])
    ])
  }

  var cannedPrep: Value {
    let drills = zip(Weekday.allCases, ["Arrays", "Trees", "Graphs", "Dynamic programming", "Mock interview"])
    return .object([
      "prep": .object([
        "prepOutline": .list([
          .object(["section": .string("Algorithms"), "items": .list([.string("Arrays"), .string("Trees")])])
        ]),
        "weeklyDrillPlan": .list(
          drills.map { .object(["day": .string($0.fullName), "drills": .list([.string($1)])]) }),
        "starterQuestions": .list([.string("Turn a list around"), .string("Search a list"), .string("Sort a list")]),
        "resources": cannedResources,
      ])
    ])
  }

  // MARK: The check of a plan that comes back

  /// The faults that the backend's own check finds in a plan, as a validator's entries.
  func faults(in plan: Value) -> [Value] {
    var faults: [Value] = []
    func fault(_ path: String, _ message: String) {
      faults.append(.object(["instancePath": .string(path), "message": .string(message)]))
    }
    func check(_ value: Value?, _ path: String, keys: [String]) -> Bool {
      let names = (value?.map?.members ?? []).compactMap(\.name)
      guard names.sorted() == keys.sorted() else {
        fault(path, "must have \(keys.joined(separator: ", ")) and nothing else")
        return false
      }
      return true
    }
    func check(_ value: Value?, _ path: String, characters most: Int) {
      guard let text = value?.string, (1...most).contains(text.unicodeScalars.count) else {
        return fault(path, "must be a text of 1 to \(most) characters")
      }
    }
    let keys = ["weekOf", "timeBlocks", "dailyTasks", "milestones", "resources", "version"]
    guard check(plan, "", keys: keys) else { return faults }
    if !TextPattern.date.matches(plan["weekOf"]?.string ?? "") { fault("/weekOf", "must be a date") }
    if (plan["version"]?.int ?? 0) < 1 { fault("/version", "must be at least 1") }
    let days = Weekday.allCases.map(\.rawValue)
    if check(plan["timeBlocks"], "/timeBlocks", keys: days), check(plan["dailyTasks"], "/dailyTasks", keys: days) {
      for day in days {
        for (index, block) in (plan["timeBlocks"]?[day]?.list ?? []).enumerated() {
          let path = "/timeBlocks/\(day)/\(index)"
          let keys = generation == .newer ? ["label", "durationHours"] : ["start", "end", "label"]
          guard check(block, path, keys: keys) else { continue }
          check(block["label"], "\(path)/label", characters: 80)
          let hours = block["durationHours"].flatMap { try? Double(reading: $0) }
          if generation == .newer, hours.map({ (0.25...8).contains($0) }) != true {
            fault("\(path)/durationHours", "must be 0.25 to 8")
          }
        }
        for (index, task) in (plan["dailyTasks"]?[day]?.list ?? []).enumerated() {
          check(task, "/dailyTasks/\(day)/\(index)", characters: 120)
        }
      }
    }
    for (index, resource) in (plan["resources"]?.list ?? []).enumerated() {
      let path = "/resources/\(index)"
      guard check(resource, path, keys: ["title", "url"]) else { continue }
      check(resource["title"], "\(path)/title", characters: 120)
      check(resource["url"], "\(path)/url", characters: 500)
    }
    return faults
  }
}
