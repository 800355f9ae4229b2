import Basics
import Foundation
import Testing

/// Recipes of the repository that end at once, run as users try them: in the sandboxes of their services.
@Suite(.timeLimit(.minutes(10))) struct SandboxRecipeTests {
  @Test(arguments: [
    ("nearest-exits", "nearest", "LANTERN QUAY, exit A"),
    ("rail-data-update", "headline", "Station data 20260401 are installed."),
    ("interview-pack", "subjects", "Data structures, Backend Engineer, Behavioural"),
    ("interview-reroll", "sections", "dailyTasks, resources"),
    ("marks-report", "mean", "84.3"), ("stock-list", "files", "fetched.json, items.csv"),
  ])
  func `a recipe ends in the sandbox with what it says`(
    _ recipe: String, _ output: String, _ text: String
  ) async throws {
    let program = try await Program()
    let path = Program.root.appending(path: "recipes/\(recipe).yaml").path
    let outcome = try await program.call("run", path, "--sandbox", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.json["outputs"]?[output]?.string == text)
    await program.remove()
  }

  @Test func `columns that a step names are checked, and files of a sandbox are its own`() async throws {
    let program = try await Program()
    func recipe(_ column: String) -> String {
      """
      steps:
        - id: table
          uses: csv.read
          with: { path: marks.csv, columns: { student: string, mark: double? } }
        - id: first
          uses: text.table
          with: { style: plain, rows: "${{ steps.table.rows.filter(r, has(r.mark) && r.mark > 90.0) }}" }
        - uses: file.write
          with: { path: marks.csv, text: "${{ steps.table.rows[0].\(column) }}" }
      outputs:
        table: ${{ steps.first.text }}
      """
    }
    try program.write(recipe("student"), to: "right.yaml")
    try program.write(recipe("studnet"), to: "wrong.yaml")
    try program.write("mine", to: "marks.csv")
    let wrong = try await program.call("check", "wrong.yaml")
    #expect(wrong.code == 3)
    #expect((wrong.out + wrong.error).contains("studnet"), "\(wrong.out)\(wrong.error)")
    #expect((wrong.out + wrong.error).contains("did you mean `student`?"), "\(wrong.out)\(wrong.error)")
    let right = try await program.call("run", "right.yaml", "--sandbox", "--json")
    #expect(right.code == 0, "\(right.error)")
    #expect(right.json["outputs"]?["table"]?.string == "student       mark\n------------  ----\nAda Lovelace  93.5\n")
    #expect(try String(contentsOf: program.folder.appending(path: "marks.csv"), encoding: .utf8) == "mine")
    await program.remove()
  }

  @Test func `a report is shown line by line`() async throws {
    let program = try await Program()
    let path = Program.root.appending(path: "recipes/weekly-report.yaml").path
    let outcome = try await program.call("run", path, "--sandbox", "-i", "markbook=1207742")
    #expect(outcome.code == 0, "\(outcome.error)")
    let lines = outcome.out.split(separator: "\n").map(String.init)
    #expect(lines.first?.hasPrefix("title: 2026 Y10 History Elective, week of ") == true)
    #expect(
      lines.dropFirst() == [
        "table:",
        "  Class                             marked    mean  median",
        "  10HIS-1                                4    79.4    77.9",
        "  Task                              marked    mean  median",
        "  Source Analysis                        4    79.0    78.0",
        "  Research Essay                         3    82.3    83.8",
        "csv:",
        "  name,marked,mean,median",
        "  10HIS-1,4,79.4,77.9",
        "  Source Analysis,4,79.0,78.0",
        "  Research Essay,3,82.3,83.8",
        "behind: []",
        "unmarked: []",
      ])
    await program.remove()
  }
}
