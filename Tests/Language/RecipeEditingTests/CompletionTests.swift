import Basics
import Foundation
import RecipeEditing
import Recipes
import Testing

@Suite struct CompletionTests {
  /// A recipe with `¦` where the cursor is, and the labels that are offered first.
  struct Case: CustomTestStringConvertible, Sendable {
    var text: String
    var first: [String]
    var absent: [String]
    var present: [String]
    var testDescription: String { text }

    init(_ text: String, _ first: [String], with present: [String] = [], without absent: [String] = []) {
      (self.text, self.first, self.present, self.absent) = (text, first, present, absent)
    }
  }

  private func offered(_ text: String, path: String = "recipes/a.yaml") -> [Completion] {
    let parts = text.split(separator: "¦", omittingEmptySubsequences: false).map(String.init)
    var folder = RecipesFolder.all
    folder.texts["recipes/faulty.yaml"] = """
      inputs: { sure: bool, colour: { type: string, choices: [red, green] } }
      steps:
        - id: ask
          approve: { prompt: "Go on?" }
        - uses: no.such

      """
    folder.texts[path] = parts[0] + parts[1]
    return folder.service.completions(in: folder.source(path), at: parts[0].utf8.count)
  }

  private static let book = """
    inputs: { markbook: int }
    steps:
      - id: book
        uses: markbook.getMarkbook
        with: { markbookKey: "${{ inputs.markbook }}" }

    """

  @Test(arguments: [
    Case("¦", ["recipe", "summary", "inputs", "on"], with: ["steps"]),
    Case("recipe: a\n¦", ["summary"], with: ["steps"], without: ["recipe"]),
    Case("recipe: ¦", ["a"]),
    // Where an editor has indented too far.
    Case("recipe: a\n  ¦", ["summary"], with: ["steps"], without: ["recipe"]),
    Case("recipe: a\n  st¦", ["summary"], with: ["steps"]),
    Case("recipe: a\nsummary: What it does\n  a¦", []),
    Case("on:\n  - cron: \"0 7 * * *\"\n      zo¦", [], with: ["zone"]),
    Case("steps:\n  - uses: \"http.get\"¦", [], without: ["http.get"]),
    Case("steps:\n  - f¦", [], with: ["forEach"]),
    Case("steps:\n  - a¦", [], with: ["approve", "ask"]),
    Case("steps:\n  - ask: { ¦ }", [], with: ["prompt", "fields", "by", "timeout", "onTimeout"]),
    Case("steps:\n  - ask:\n      fields:\n        room: { ¦ }", [], with: ["type", "pattern"], without: ["secret"]),
    Case(
      "steps:\n  - uses: file.read\n      ¦", ["with", "id", "name", "if", "forEach", "onError"],
      without: ["let", "uses"]),
    Case("steps:\n  - ¦", ["id", "name", "if"], without: ["as", "where", "else", "cases", "connection"]),
    Case(
      "steps:\n  - uses: file.read\n    ¦", ["with", "id", "name", "if", "forEach", "onError"],
      without: ["let", "else", "uses"]),
    Case("steps:\n  ¦", ["id", "name", "if"], without: ["as", "where", "else", "cases", "connection"]),
    Case("inputs:\n  into:\n    ¦", ["type", "summary"]),
    Case("steps:\n  - wait: 1s\n    onError:\n      ¦", [], with: ["id", "steps", "value"]),
    Case("steps:\n  - wait: ¦", ["30s", "5m"]),
    Case("on:\n  - cron: ¦", ["0 7 * * *"]),
    Case("steps:\n  - uses: markbook.getMarkbook\n    with:\n      ¦", ["markbookKey"]),
    Case("steps:\n  - uses: mark¦", ["markbook.markbookList"], with: ["file.read", "markbook.getMarkbook"]),
    Case("steps:\n  - uses: file.read\n    onError: ¦", ["continue"]),
    Case("on:\n  - ¦", ["cron", "every", "at"]),
    Case("on:\n  - cron: '0 7 * * 1'\n    overlap: ¦", ["skip"]),
    Case("inputs:\n  n: { type: ¦ }", ["string", "int"]),
    Case("steps:\n  - uses: markbook.getMarkbook\n    connection: ¦", ["markbook", "school"], without: ["files"]),
    Case(book + "  - let: { a: \"${{ ¦ }}\" }", ["inputs.markbook", "steps.book"]),
    Case(book + "  - let: { a: \"${{ steps.¦ }}\" }", ["book"]),
    Case(book + "  - let: { a: \"${{ steps.book.¦\" }", ["markbookKey"]),
    Case(book + "  - let:\n      a: ${{ steps.book.tasks.filter(t, t.¦", ["key"]),
    Case(book + "  - let:\n      a: ${{ steps.book.tasks.filter(t, ¦", ["t", "inputs.markbook"]),
    Case(
      book + "  - forEach: ${{ steps.book.students }}\n    as: student\n    let: { a: \"${{ ¦ }}\" }",
      ["student", "inputs.markbook"]),
    Case(book + "  - if: steps.book.tasks.¦", ["map", "filter"]),
    Case(book + "  - if: stats.¦\n    fail: no", ["mean"]),
    Case(book + "  - if: ¦\n    fail: no", ["inputs.markbook"]),
    Case(book + "  - wait: 1s\n  - fail: x ${{ inputs.¦ }} y", ["markbook"]),
    Case(
      book
        + "  - uses: shell.run\n    with: { script: x, arguments: [\"${{ inputs.¦ }}\", \"${{ inputs.markbook }}\"] }\n",
      ["markbook"]),
    Case(book + "  - uses: http.get\n    with: { url: a, headers: { x: \"${{ secrets.¦ }}\" } }", ["MARKBOOK_TOKEN"]),
    Case(
      "on:\n  - webhook:\n      verify:\n        hmac: { header: X-S, secret: \"${{ secrets.¦ }}\" }",
      ["MARKBOOK_TOKEN"]),
    Case(book + "  - let: { a: '${{ run.¦ }}' }\n  - let: { b: '${{ broken }}' }\n   - bad", ["id", "recipe"]),
    Case("steps:\n  - call: ¦", ["approve-averages.yaml", "approved-command.yaml"]),
    Case("steps:\n  - call: markbook-averages.yaml\n    with:\n      ¦", ["markbook", "into"]),
    Case("# ¦", []),
    Case("steps:\n  ¦- uses: http.get", [], without: ["id", "- id"]),
    Case("steps:\n  - uses: http.get\n   ¦ with: {}", [], without: ["id"]),
    Case("{ steps: [{ ¦ }] }", ["id", "name", "if"]),
    Case(book + "  - fail: |\n      x ${{ ¦", ["inputs.markbook"]),
    Case(book + "  - if: steps.book.tasks.size() > 0\n    fail: \"¦", ["${{ }}"]),
    Case("steps:\n  - wait: 1s\n    retry: { on: [¦] }", ["configuration"]),
    Case("inputs: { a: ¦ }", ["string", "int"]),
    Case("inputs: { a: { type: bool, default: ¦ } }", ["true", "false"], without: ["${{ }}"]),
    Case("inputs: { a: { type: string, choices: [x, y], default: ¦ } }", ["x", "y"]),
    Case(
      "inputs: { a: { type: string, choices: [x, y] } }\nsteps:\n  - switch: inputs.a\n    cases:\n      ¦", ["x", "y"]),
  ])
  func `offers what may stand at a place`(_ sample: Case) {
    let labels = offered(sample.text).map(\.label)
    #expect(Array(labels.prefix(sample.first.count)) == sample.first, "\(labels.prefix(12))")
    for label in sample.absent { #expect(!labels.contains(label), "\(label)") }
    for label in sample.present { #expect(labels.contains(label), "\(label)") }
  }

  /// The whole line after an entry was chosen.
  @Test(arguments: [
    ("inputs: { a: { type: ¦ } }", "choice(a, b)", "inputs: { a: { type: \"choice(a, b)\" } }"),
    ("steps:\n  - { let: { a: ¦ } }", "${{ }}", "  - { let: { a: \"${{  }}\" } }"),
    ("steps:\n  - let:\n      a: ¦", "${{ }}", "      a: ${{  }}"),
    ("steps:\n  - let:\n      a:¦", "${{ }}", "      a: ${{  }}"),
    ("inputs: { n: int }\nsteps:\n  - if:¦", "inputs.n", "  - if: inputs.n"),
    ("steps:\n  - uses: file.read\n    wi¦", "with", "      "),
    ("steps:\n  - us¦es: file.read", "uses", "  - uses: file.read"),
    ("steps:\n  -¦", "uses", "  - uses: "),
    ("recipe: a\n    ¦", "steps", "  - "),
    ("recipe: a\n    su¦", "summary", "summary: "),
    ("steps:\n  - id: a\n        ¦", "name", "    name: "),
    ("inputs: { a: list(¦) }", "string", "inputs: { a: list(string) }"),
    ("inputs:\n  a: map(string, in¦t)", "bool", "  a: map(string, bool)"),
    ("steps:\n  - let: { a: { \"b-c\": 1 } }\n  - if: a.¦ > 1", "b-c", "  - if: a['b-c'] > 1"),
    (
      "steps:\n  - let: { a: { \"b-c\": 1 } }\n  - let: { x: '${{ a.¦ }}' }", "b-c",
      "  - let: { x: '${{ a[''b-c''] }}' }"
    ),
    ("inputs: { n: { type:¦ } }", "string", "inputs: { n: { type: string } }"),
    ("on:\n  - cron: ¦\"30 6 * * *\"", "0 7 * * *", "  - cron: 0 7 * * *"),
    ("inputs: { n: int, m: int }\nsteps:\n  - if: input¦s.n > 1", "inputs.m", "  - if: inputs.m > 1"),
    ("steps:\n  - if: sta¦.mean([1.0]) > 1.0", "stats", "  - if: stats.mean([1.0]) > 1.0"),
    ("steps:\n  - let:\n      a: $¦", "${{ }}", "      a: ${{  }}"),
    ("steps:\n  - uses: file.re¦ad # why", "file.write", "  - uses: file.write # why"),
    ("steps:\n  - uses: 'file.re¦ad'", "file.write", "  - uses: 'file.write'"),
    ("steps:\n  - { uses: file.re¦ad }", "file.write", "  - { uses: file.write }"),
    ("inputs: { n: int }\nsteps:\n  - if: inputs.n¦ame > 1", "n", "  - if: inputs.n > 1"),
    ("inputs: { n: int }\nsteps:\n  - if: stats.me¦dian([1.0]) > 1.0", "mean", "  - if: stats.mean([1.0]) > 1.0"),
    ("inputs: { n: int }\nsteps:\n  - if: inputs.¦ > 1", "n", "  - if: inputs.n > 1"),
  ])
  func `puts in what is whole where it stands`(_ text: String, _ label: String, _ line: String) throws {
    let entry = try #require(offered(text).first { $0.label == label })
    let bytes = Array(text.replacing("¦", with: "").utf8)
    let range = entry.edit.range
    let edit = Diagnostic.Edit(range.lowerBound..<range.upperBound + (entry.rest ?? 0), entry.edit.text)
    let edited = String(decoding: [edit].applied(to: bytes), as: UTF8.self)
    #expect(edited.split(separator: "\n").last.map(String.init) == line)
  }

  @Test(arguments: [
    Case("recipe: ../markbook-averages.yaml\n¦", ["cases", "start", "inputs"]),
    Case("recipe: ../markbook-averages.yaml\ninputs: { ¦ }", ["markbook", "into"]),
    Case("recipe: ../markbook-averages.yaml\ncases:\n  - case: a\n    do:\n      - ¦", ["run", "serve"]),
    Case(
      "recipe: ../markbook-averages.yaml\ncases:\n  - case: a\n    do:\n      - expect:\n          steps: { ¦ }",
      ["book", "put", "write"]),
    Case(
      "recipe: ../markbook-averages.yaml\ncases:\n  - case: a\n    do:\n      - expect:\n          that: outputs.¦",
      ["averages", "written"]),
    Case("recipe: ¦", ["../approve-averages.yaml"]),
    Case("recipe: ../markbook-averages.yaml\ncases:\n  - case: a\n    do:\n      - run: {}\n        ¦", ["expect"]),
    Case(
      "recipe: ../markbook-averages.yaml\ncases:\n  - case: a\n    do:\n      - adv¦", ["advance"],
      with: ["advance", "expect"]),
    Case("recipe: ../faulty.yaml\ncases:\n  - case: a\n    do:\n      - run: { ¦ }", ["sure", "colour"]),
    Case("recipe: ../faulty.yaml\ninputs: { sure: ¦ }", ["true", "false"]),
    Case("recipe: ../faulty.yaml\ninputs: { colour: ¦ }", ["red", "green"]),
    Case("recipe: ../faulty.yaml\ncases:\n  - case: a\n    do:\n      - approve: ¦", ["ask"]),
  ])
  func `offers what may stand in a test`(_ sample: Case) {
    let labels = offered(sample.text, path: "recipes/tests/a.test.yaml").map(\.label)
    #expect(Array(labels.prefix(sample.first.count)) == sample.first, "\(labels.prefix(12))")
    for label in sample.present { #expect(labels.contains(label)) }
  }

  @Test(arguments: [
    Case("¦", ["state", "postgres"]),
    Case("connections:\n  ¦", ["interviewPrep", "markbook"]),
    Case("connections:\n  markbook:\n    ¦", ["apiKey", "username"]),
    Case("connections:\n  markbook:\n    token: ${{ secrets.¦ }}", ["MARKBOOK_TOKEN"]),
  ])
  func `offers what may stand in errand.yaml`(_ sample: Case) {
    let labels = offered(sample.text, path: "errand.yaml").map(\.label)
    #expect(Array(labels.prefix(sample.first.count)) == sample.first, "\(labels.prefix(12))")
  }

  /// Each third `a.b` of each expression (all with EVERY_PLACE), cut behind its dot, with the rest of its line gone.
  @Test func `offers each member where its dot is`() async {
    let folder = RecipesFolder.all
    let service = folder.service
    var (count, missed) = (0, [String]())
    for path in folder.paths {
      let source = folder.source(path)
      for access in service.memberAccesses(in: source) {
        count += 1
        guard Self.isThorough || count.isMultiple(of: 3) else { continue }
        // Lets other tests run during this long loop.
        await Task.yield()
        let lineEnd = source.bytes[access.lowerBound...].firstIndex(of: ASCII.newline) ?? source.bytes.count
        let cut = Source(name: path, bytes: Array(source.bytes[..<access.lowerBound]) + source.bytes[lineEnd...])
        let name = String(decoding: source.bytes[access], as: UTF8.self)
        let found = service.completions(in: cut, at: access.lowerBound)
        if !found.contains(where: { $0.label == name }) {
          missed.append("\(path):\(source.position(at: access.lowerBound)) \(name)")
        }
      }
    }
    #expect(count > 300)
    #expect(missed.isEmpty, "\(missed.count) of \(count): \(missed.prefix(40).joined(separator: "\n"))")
  }

  private static let isThorough = ProcessInfo.processInfo.environment["EVERY_PLACE"] != nil

  @Test func `answers at every byte of every recipe`() async {
    let folder = RecipesFolder.all
    let service = folder.service
    for (number, path) in folder.paths.enumerated() {
      let bytes = folder.source(path).bytes
      // A part of the places of each file, others in each.
      for offset in 0...bytes.count where Self.isThorough || offset % 200 == number % 200 || offset == bytes.count {
        await Task.yield()
        let cut = Source(name: path, bytes: Array(bytes[..<offset]))
        _ = service.completions(in: cut, at: offset)
      }
    }
  }
}
