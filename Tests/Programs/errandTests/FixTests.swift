import Basics
import Foundation
import Testing

/// `errand check --fix` with the real binary, on the recipes of the package.
@Suite struct CheckFixTests {
  /// A mistake in a recipe: the file, what is written there, and what is written by mistake.
  private static let seeds: [(file: String, right: String, wrong: String)] = [
    ("markbook-averages.yaml", "summary: Puts", "sumary: Puts"),
    ("hello.yaml", "forEach: ", "foreach: "),
    ("markbook-averages.yaml", "uses: markbook.getMarkbook", "uses: markbook.getMarkbok"),
    ("markbook-averages.yaml", "markbookKey: ${{ inputs.markbook }}\n\n", "markbookkey: ${{ inputs.markbook }}\n\n"),
    ("markbook-averages.yaml", "forEach: ${{ steps.book.students }}", "forEach: ${{ steps.bok.students }}"),
    ("markbook-averages.yaml", "student.familyName", "student.lastName"),
    ("markbook-averages.yaml", "student.givenName", "student.givnName"),
    ("weekly-report.yaml", "stats.median(marks)", "stats.medain(marks)"),
    ("markbook-averages.yaml", "has(r.percent) && r", "has(r.percent) and r"),
    ("markbook-averages.yaml", "if: average != ''", "if: average !== ''"),
    ("markbook-averages.yaml", "if: found.size() != 1", "if: found.length != 1"),
    (
      "markbook-averages.yaml", "\"${{ marks.size() > 0 ? '%.1f'.format([stats.round(stats.mean(marks), 1)]) : '' }}\"",
      "${{ marks.size() > 0 ? '%.1f'.format([stats.round(stats.mean(marks), 1)]) : '' }}"
    ),
    ("markbook-backup.yaml", "timeout: 20h", "timeout: 20 hours"),
    ("markbook-backup.yaml", "every: 1h", "every: 1"),
    ("nearest-exits.yaml", "type: bool, default: true", "type: bool, default: yes"),
    ("hello.yaml", "    forEach:", "\tforEach:"),
    ("markbook-averages.yaml", "taskName: ${{ target.name }}", "taskName: {{ target.name }}"),
    ("markbook-backup.yaml", "jitter: none", "jitter: non"),
    (
      "markbook-averages.yaml", "      markbookKey: ${{ inputs.markbook }}\n\n",
      "    markbookKey: ${{ inputs.markbook }}\n\n"
    ),
    ("tests/hello.test.yaml", "times: 3", "time: 3"),
  ]

  @Test func `most of twenty mistakes are mended`() async throws {
    let program = try await Program()
    try await program.copyRecipes()
    var left: [String] = []
    for (file, right, wrong) in Self.seeds {
      let path = "recipes/\(file)"
      let text = try program.read(path)
      let seeded = text.replacingOccurrences(of: right, with: wrong)
      #expect(seeded != text, "\(file) has no \(right)")
      try program.write(seeded, to: path)
      let before = try await program.call("check", path)
      #expect(before.code == 3, "\(wrong): \(before.error)")
      let outcome = try await program.call("check", "--fix", path)
      if outcome.code != 0 { left.append("\(wrong): \(outcome.error)") }
      print("SEED \(outcome.code) \(wrong)\n\(outcome.out)\n\(outcome.error)")
      try program.write(text, to: path)
    }
    #expect(left.count <= 5, "\(left.joined(separator: "\n"))")
    await program.remove()
  }
}

extension Program {
  fileprivate func copyRecipes() async throws {
    try FileManager.default.copyItem(at: Program.root.appending(path: "recipes"), to: folder.appending(path: "recipes"))
  }
}
