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
    let times = try Spawner(folder).least(of: 100, calls.map { call in { _ in call } }).map(\.milliseconds)
    guard let size = try FileManager.default.attributesOfItem(atPath: Spawner.errand)[.size] as? Int else {
      throw NotMeasured("\(Spawner.errand) has no size")
    }
    let bar = Row.Bar.atMost(max(3, 3 * times[0] + 1))
    let baseline = "\(shown(times[0])) ms: a C program's start"
    return [
      Row("errand --help", times[1], "ms", bar, beside: baseline),
      Row("errand check, 20 lines", times[2], "ms", bar, beside: baseline),
      Row("errand check, 500 lines", times[3], "ms", .atMost(10), beside: baseline),
      Row("size of errand", Double(size) / 1e6, "MB", .atMost(20)),
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
