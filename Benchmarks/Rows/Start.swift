import Foundation

/// Measures whole processes, from spawning to their end.
struct Start {
  private let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  func rows() throws -> [Row] {
    let small = try folder.write(Self.recipe(steps: 2), to: "small.yaml")
    let large = try folder.write(Self.recipe(steps: 80), to: "large.yaml")
    let calls = [
      [Spawner.floors, "start"], [Spawner.errand, "--help"], [Spawner.errand, "check", small],
      [Spawner.errand, "check", large],
    ]
    let usages = try Spawner(folder).least(of: 100, calls.map { call in { _ in call } })
    guard let size = try FileManager.default.attributesOfItem(atPath: Spawner.errand)[.size] as? Int else {
      throw NotMeasured("\(Spawner.errand) has no size")
    }
    func wall(_ what: String, _ usage: Usage, _ bar: Bar?) -> Row {
      Row(
        what, usage.seconds / usages[0].seconds, "×", bar, of: displayedTime(usage.seconds),
        beside: "\(displayedTime(usages[0].seconds)): a C program's start")
    }
    return [
      wall("errand --help", usages[1], .atMost(4.5)),
      .processor("errand --help: processor", usages[1].processor, .atMost(2.2)),
      wall(
        "errand check, 20 lines", usages[2],
        .atMost(4.5).missed(at: 5.38, because: "reading and checking take as long as the start")),
      .processor(
        "errand check, 20 lines: processor", usages[2].processor,
        .atMost(3).missed(at: 3.08, because: "it is at the bar, on either side of it from run to run")),
      wall("errand check, 500 lines", usages[3], nil),
      .processor(
        "errand check, 500 lines: processor", usages[3].processor,
        .atMost(10).missed(at: 10.9, because: "each expression is compiled on its own")),
      Row(
        "size of errand", Double(size) / 1e6, "MB",
        .atMost(20).missed(
          at: 25.2,
          because: "generics of 67 operations, async functions and the standard library; see decisions/linking.md")),
    ]
  }

  /// A recipe of six lines a step and eight more.
  static func recipe(steps: Int) -> String {
    var text = """
      recipe: generated
      summary: Reads a markbook again and again.

      inputs:
        markbook: { type: int, summary: Key of the markbook. }
        into: { type: string, default: Average, summary: Name of a task. }

      steps:

      """
    for step in 0..<steps {
      text += """
          - id: book\(step)
            uses: markbook.getMarkbook
            with:
              markbookKey: ${{ inputs.markbook + \(step) }}
          - let:
              found\(step): ${{ steps.book\(step).tasks.filter(t, t.name == inputs.into && t.key > \(step)) }}

        """
    }
    return text
  }
}
