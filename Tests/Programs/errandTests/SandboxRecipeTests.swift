import Basics
import Foundation
import Testing

/// Recipes of the repository that end at once, run as users try them: in the sandboxes of their services.
@Suite(.timeLimit(.minutes(20))) struct SandboxRecipeTests {
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

  @Test func `columns that a step names are checked, and made-up files stand in where there are none`() async throws {
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
    let wrong = try await program.call("check", "wrong.yaml")
    #expect(wrong.code == 3)
    #expect((wrong.out + wrong.error).contains("studnet"), "\(wrong.out)\(wrong.error)")
    #expect((wrong.out + wrong.error).contains("did you mean `student`?"), "\(wrong.out)\(wrong.error)")
    let right = try await program.call("run", "right.yaml", "--sandbox", "--json")
    #expect(right.code == 0, "\(right.error)")
    #expect(right.json["outputs"]?["table"]?.string == "student       mark\n------------  ----\nAda Lovelace  93.5\n")
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "marks.csv").path))
    // The user's own file counts, and stays as it is.
    try program.write("student,mark\nAnn,91\n", to: "marks.csv")
    let own = try await program.call("run", "right.yaml", "--sandbox", "--json")
    #expect(own.json["outputs"]?["table"]?.string == "student  mark\n-------  ----\nAnn        91\n", "\(own.error)")
    #expect(try program.read("marks.csv") == "student,mark\nAnn,91\n")
    await program.remove()
  }

  /// A recipe that works on the folder's own files, its outputs, and the files it writes.
  struct OwnFiles: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var connection = "{}"
    var steps: String
    var output: String
    var written: [String] = []
  }

  static let ownFiles = [
    OwnFiles(
      testDescription: "a table", steps: "{ id: a, uses: csv.read, with: { path: own.csv } }",
      output: "steps.a.rows[0].name"),
    OwnFiles(
      testDescription: "a file deep in folders", steps: "{ id: a, uses: file.read, with: { path: deep/er/text.txt } }",
      output: "steps.a.text"),
    OwnFiles(
      testDescription: "a list of files", steps: "{ id: a, uses: file.list, with: { pattern: '*', recursive: true } }",
      output: "steps.a.entries.map(e, e.path).join(' ')"),
    OwnFiles(
      testDescription: "the connection's folder", connection: "{ folder: deep }",
      steps: "{ id: a, uses: file.read, with: { path: er/text.txt } }", output: "steps.a.text"),
    OwnFiles(
      testDescription: "another folder of the connection", connection: "{ others: [OTHER] }",
      steps: "{ id: a, uses: file.read, with: { path: OTHER/there.txt } }, "
        + "{ uses: file.write, with: { path: OTHER/new.txt, text: x } }", output: "steps.a.text",
      written: ["OTHER/new.txt"]),
    OwnFiles(
      testDescription: "a command",
      steps: "{ id: a, uses: shell.run, with: { effect: read, script: cat deep/er/*.txt } }",
      output: "steps.a.output"),
    OwnFiles(
      testDescription: "a file that is added to",
      steps: "{ uses: file.append, with: { path: own.csv, text: \"Bo\\n\" } }, "
        + "{ id: a, uses: csv.read, with: { path: own.csv } }",
      output: "steps.a.rows.map(r, r.name).join(' ')", written: ["own.csv"]),
    OwnFiles(
      testDescription: "a folder that is moved",
      steps: "{ uses: file.move, with: { from: deep, to: up } }, "
        + "{ id: a, uses: file.list, with: { pattern: '*', recursive: true } }",
      output: "steps.a.entries.map(e, e.path).join(' ')", written: ["up/er/text.txt"]),
    OwnFiles(
      testDescription: "a file that is removed",
      steps: "{ uses: file.delete, with: { path: own.csv } }, "
        + "{ id: a, uses: file.exists, with: { path: own.csv } }", output: "string(steps.a.exists)"),
  ]

  @Test(
    arguments: zip(
      ownFiles,
      [
        "Ada", "deep", "deep deep/er deep/er/text.txt own.csv recipes", "deep", "there", "deep", "Ada Bo",
        "own.csv recipes up up/er up/er/text.txt",
        "false",
      ]))
  func `the sandbox reads the folder's files, and changes none`(_ own: OwnFiles, _ output: String) async throws {
    let program = try await Program()
    let other = FileManager.default.temporaryDirectory.appending(path: "errand-other-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "deep/er"), withIntermediateDirectories: true)
    func here(_ text: String) -> String { text.replacingOccurrences(of: "OTHER", with: other) }
    try program.write("connections: { file: \(here(own.connection)) }\n", to: "errand.yaml")
    try program.write("name\nAda\n", to: "own.csv")
    try program.write("deep", to: "deep/er/text.txt")
    try "there".write(toFile: "\(other)/there.txt", atomically: true, encoding: .utf8)
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      "steps: [\(here(own.steps))]\noutputs: { it: \"${{ \(own.output) }}\" }\n", to: "recipes/try.yaml")
    let before = try await program.shell("find . '\(other)' -type f -exec cksum {} + | sort")
    let run = try await program.call("run", "recipes/try.yaml", "--sandbox", "--json")
    #expect(run.code == 0, "\(run.error)")
    #expect(run.json["outputs"]?["it"]?.string == output, "\(run.out)")
    #expect(try await program.shell("find . '\(other)' -type f -exec cksum {} + | sort").out == before.out)
    // The message names the folder with the written files.
    let displayed = try await program.call("run", "recipes/try.yaml", "--sandbox")
    let copy = displayed.error.components(separatedBy: "files were written to a copy of the folder: ").dropFirst()
      .first?
      .split(separator: "\n").first.map(String.init)
    #expect((copy == nil) == own.written.isEmpty, "\(displayed.error)")
    if let copy {
      for path in own.written {
        let path = path.hasPrefix("OTHER") ? "\(copy)/../others\(here(path))" : "\(copy)/\(path)"
        #expect(FileManager.default.fileExists(atPath: path), "\(path)")
      }
      try FileManager.default.removeItem(at: URL(filePath: copy).deletingLastPathComponent())
    }
    try FileManager.default.removeItem(atPath: other)
    await program.remove()
  }

  @Test func `a large file is read, moved and listed like any other, and its folder may hold the copy`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    #expect(
      try await program.shell("head -c 9000000 /dev/zero | tr '\\0' x > large.txt; cp large.txt other.txt").code == 0)
    try program.write(
      """
      steps:
        - { id: all, uses: file.list, with: { pattern: "*.txt" } }
        - { uses: file.move, with: { from: large.txt, to: moved/large.txt } }
        - { id: whole, uses: file.read, with: { path: moved/large.txt } }
        - { id: sum, uses: shell.run, with: { effect: read, script: tr -d x < other.txt | wc -c } }
      outputs:
        bytes: ${{ steps.all.entries.map(e, e.bytes) }}
        isWhole: ${{ steps.whole.text.startsWith('xxx') && steps.whole.text.size() == 9000000 && steps.sum.output == '0' }}
      """, to: "recipes/try.yaml")
    let run = try await program.shell("TMPDIR=$PWD '\(Program.binary.path)' run recipes/try.yaml --sandbox --json")
    #expect(run.code == 0, "\(run.error)")
    #expect(run.json["outputs"]?["bytes"] == .list([.int(9_000_000), .int(9_000_000)]), "\(run.out)")
    #expect(run.json["outputs"]?["isWhole"]?.bool == true)
    #expect(try await program.shell("TMPDIR=$PWD '\(Program.binary.path)' run recipes/try.yaml --sandbox").code == 0)
    let left = try await program.shell("ls large.txt other.txt && ls -d errand-sandbox-*/files/* | xargs -n 1 basename")
    #expect(left.out == "large.txt\nother.txt\nmoved\n")
    await program.remove()
  }

  @Test func `a new test has the folder's files that the recipe names`() async throws {
    let program = try await Program()
    try program.write("connections: { file: { folder: data } }\n", to: "errand.yaml")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "data"), withIntermediateDirectories: true)
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write("name;mark\nÁda;1,5\n", to: "noten.csv")
    try program.write("deep", to: "data/own.txt")
    try program.write(
      """
      inputs: { table: { type: string, default: noten.csv } }
      steps:
        - uses: csv.read
          with: { path: "${{ inputs.table }}", separator: ";", decimal: ",", columns: { name: string, mark: double } }
        - { uses: file.read, with: { path: own.txt } }
      """, to: "recipes/try.yaml")
    let made = try await program.call("new", "test", "recipes/try.yaml")
    #expect(made.code == 0, "\(made.error)")
    let text = try program.read("recipes/tests/try.test.yaml")
    let files = #"""
      files:
        "noten.csv": "name;mark\nÁda;1,5\n"
        "own.txt": "deep"

      """#
    #expect(text.contains("\n\(files)"), "\(text)")
    #expect(text.contains("        status: succeeded\n"), "\(text)")
    let test = try await program.call("test")
    #expect(test.code == 0, "\(test.out)\(test.error)")
    await program.remove()
  }

  @Test func `what belongs to errand stays out of the copy`() async throws {
    let program = try await Program()
    try program.write("secrets: { files: [own.env] }\n", to: "errand.yaml")
    try program.write("A=hush-hush-hush\n", to: "own.env")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    let steps = """
      steps:
        - { id: seen, uses: shell.run, with: { effect: read, script: "find . -type f; cat own.env errand.yaml || true" } }
        - { id: all, uses: file.list, with: { pattern: '*', recursive: true } }
      outputs: { seen: "${{ steps.seen.output }}", all: "${{ steps.all.entries.map(e, e.path).join(' ') }}" }
      """
    try program.write(steps, to: "recipes/try.yaml")
    _ = try await program.call("runs")
    let run = try await program.call("run", "recipes/try.yaml", "--sandbox", "--json")
    #expect(run.json["outputs"]?["seen"]?.string == "./recipes/try.yaml", "\(run.out)\(run.error)")
    #expect(run.json["outputs"]?["all"]?.string == "recipes")
    for path in ["own.env", "errand.yaml", "recipes/try.yaml"] {
      try program.write("steps: [{ uses: file.write, with: { path: \(path), text: x } }]\n", to: "recipes/bad.yaml")
      let refused = try await program.call("run", "recipes/bad.yaml", "--sandbox")
      #expect(refused.code != 0)
      #expect((refused.out + refused.error).contains("is among errand's own files"), "\(refused.error)")
    }
    await program.remove()
  }

  @Test func `a report is displayed line by line`() async throws {
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
