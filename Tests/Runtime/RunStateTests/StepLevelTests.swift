import Basics
import Testing

@testable import RunState

/// The levels of a run's steps, page by page.
@Suite struct StepLevelTests {
  private static func records(_ steps: [(path: String, status: StepStatus)]) -> StepRecords {
    var records = StepRecords()
    for (number, step) in steps.enumerated() {
      records.put(
        StepRecord(
          path: step.path, ordinal: number, status: step.status, now: instant(number), startedAt: instant(number)))
    }
    return records
  }

  private static let some = records([
    ("a", .succeeded), ("each", .running), ("each[0]", .succeeded), ("each[0]/b", .succeeded), ("each[1]", .running),
    ("each[1]/in", .running), ("each[1]/in[0]", .failed), ("each[1]/in[1]", .succeeded), ("each[2]", .failed),
    ("block", .running), ("block/each", .running), ("block/each[0]", .skipped), ("poll", .waiting),
    ("poll/#round", .waiting), ("each[3]", .uncertain), ("each2", .running), ("each2[0]", .running),
  ])

  @Test(arguments: [
    ("", ["a", "each", "block", "block/each", "poll", "each2"]),
    ("each", ["each[2]", "each[3]", "each[0]", "each[1]"]),
    ("each[1]", ["each[1]/in"]), ("each[1]/in", ["each[1]/in[0]", "each[1]/in[1]"]),
    ("each[0]", ["each[0]/b"]), ("block/each", ["block/each[0]"]), ("none", []), ("each[", []), ("]", []),
  ])
  func `a level has its own steps, and of a loop those that failed first`(_ place: String, _ paths: [String]) {
    let level = StepLevelTests.some.level(in: place, limit: 100)
    #expect(level.steps.map(\.path) == paths)
    #expect(level.count == paths.count)
  }

  @Test func `the items of the loops of a level are counted, and those with steps are known`() {
    let top = StepLevelTests.some.level(in: "", limit: 2)
    #expect(top.steps.map(\.path) == ["a", "each"] && top.count == 6)
    #expect(
      top.tallies == [
        "each": [.succeeded: 1, .running: 1, .failed: 1, .uncertain: 1], "block/each": [.skipped: 1],
        "each2": [.running: 1],
      ])
    #expect(StepLevelTests.some.level(in: "each[1]", limit: 9).tallies == ["each[1]/in": [.failed: 1, .succeeded: 1]])
    #expect(StepLevelTests.some.level(in: "each", limit: 9).filled == ["each[0]", "each[1]"])
    #expect(StepLevelTests.some.level(in: "each", from: 3, limit: 9).filled == ["each[1]"])
  }

  @Test(arguments: [0, 1, 99, 100, 101, 250], [1, 100])
  func `the pages of a level have each of its steps once`(count: Int, size: Int) {
    let steps = [("each", StepStatus.running)] + (0..<count).map { ("each[\($0)]", $0 % 9 == 4 ? .failed : .succeeded) }
    let records = StepLevelTests.records(steps)
    var found: [StepRecord] = []
    while true {
      let level = records.level(in: "each", from: found.count, limit: size)
      #expect(level.count == count && level.steps.count == min(size, count - found.count))
      if level.steps.isEmpty { break }
      found += level.steps
    }
    #expect(Set(found.map(\.path)).count == count)
    let failed = found.prefix { $0.status == .failed }
    #expect(failed.count == records.level(in: "each", statuses: [.failed], limit: 0).count)
    #expect(failed.map(\.ordinal) == failed.map(\.ordinal).sorted())
    #expect(records.level(in: "each", from: .max, limit: .max).steps == [])
  }
}
