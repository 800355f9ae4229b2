import ActionKit
import ActionTestKit
import Basics
import Foundation
import PluginList
import Recipes
import Testing

@testable import errand

@Suite(.timeLimit(.minutes(20))) struct GraphTests {
  private static func drawing(_ text: String, files: [String: String] = [:]) throws -> GraphDrawing {
    let environment = RecipeEnvironment(catalog: ActionCatalog(everyPlugin), zone: "UTC") { path throws(FileError) in
      guard let text = files[path] else { throw FileError(.read, path, .system(2)) }
      return Source(name: path, text: text)
    }
    let checked = Recipe.check(Source(name: "recipe.yaml", text: text), in: environment)
    #expect(Diagnostics(checked.diagnostics).rendered() == "")
    let recipe = try #require(checked.recipe)
    return GraphDrawing(graph: RecipeGraph(recipe), title: recipe.name)
  }

  private static let everything = """
    recipe: everything
    inputs: { markbook: int }
    steps:
      - id: book
        uses: markbook.getMarkbook
        with: { markbookKey: "${{ inputs.markbook }}" }
      - let: { first: "${{ steps.book.tasks[0] }}", count: "${{ steps.book.tasks.size() }}" }
      - if: count < 1
        fail: There is no task.
      - id: put
        forEach: steps.book.students
        as: student
        where: student.key > inputs.markbook
        maxParallel: 4
        steps:
          - id: write
            uses: markbook.putStudentResult
            with:
              markbookKey: ${{ inputs.markbook }}
              studentKey: ${{ student.key }}
              sid: ${{ student.sid }}
              taskKey: ${{ first.key }}
              taskName: Average
              result: "80"
            onError:
              - let: { said: "${{ error.message }}" }
        outputs: { sid: "${{ student.sid }}" }
      - parallel:
          left:
            - wait: 90m
          right:
            - id: ask
              approve: { prompt: "Send ${{ steps.put.size() }}?", by: [ann, bob] }
    outputs:
      written: ${{ steps.put }}
    finally:
      - let: { last: "${{ steps.?book.?markbookName }}" }
    """

  @Test func `text is an outline with what each step reads of which type`() throws {
    expectSnapshot("everything.txt", try GraphTests.drawing(GraphTests.everything).text(colour: false) + "\n")
  }

  @Test func `dot has a cluster for each block and an arrow for each value`() throws {
    expectSnapshot("everything.dot", try GraphTests.drawing(GraphTests.everything).dot + "\n")
  }

  @Test func `Mermaid has a subgraph for each block and an arrow for each value`() throws {
    expectSnapshot("everything.mmd", try GraphTests.drawing(GraphTests.everything).mermaid + "\n")
  }

  @Test func `a called recipe is drawn inside the step that calls it`() throws {
    let called = """
      recipe: called
      inputs: { sid: string }
      steps:
        - id: book
          uses: markbook.getMarkbook
          with: { markbookKey: 1207731 }
        - let: { found: "${{ steps.book.students.filter(s, s.sid == inputs.sid) }}" }
      outputs: { count: "${{ found.size() }}" }
      """
    let drawing = try GraphTests.drawing(
      """
      recipe: calling
      inputs: { sid: string }
      steps:
        - id: looked
          call: called.yaml
          with: { sid: "${{ inputs.sid }}" }
      outputs: { count: "${{ steps.looked.count }}" }
      """, files: ["called.yaml": called])
    #expect(drawing.graph.nodes.map(\.path) == ["", "looked", "looked/book", "looked/#2", ""])
    #expect(
      drawing.text(colour: false) == """
        calling
        inputs
            sid: string
        looked  called.yaml  → {count}
            ← inputs  sid: string
            ← let  found: list({key, sid, familyName, …})
          │ book  markbook.getMarkbook  → {markbookKey, markbookName, markbookYear, …}
          │ let  → found: list({key, sid, familyName, …})
          │     ← book  students: list({key, sid, familyName, …})
          │     ← looked  sid: string
        outputs
            count: int
            ← looked  count: int
        """)
  }

  private static let started = """
    recipe: started
    inputs: { n: { type: int, default: 1 } }
    on:
      - { id: morning, cron: "30 6 * * 1-5", zone: Europe/Zurich }
      - { id: often, every: 2h, paused: true }
      - { id: paid, event: { name: payment, type: { amount: int }, match: "event.data.amount > 1" } }
      - { id: next, afterRecipe: { recipe: other, status: [failed, timedOut] } }
    steps:
      - let: { m: "${{ inputs.n }}" }
    """

  @Test func `the triggers of a recipe come first`() throws {
    let drawing = try GraphTests.drawing(GraphTests.started)
    #expect(
      drawing.text(colour: false) == """
        started
        on
            morning: every weekday at 06:30, Europe/Zurich
            often: every 2 hours, UTC (paused)
            paid: on the event 'payment' if event.data.amount > 1
            next: after other (failed or timedOut)
        inputs
            n: int
        let  → m: int
            ← inputs  n: int
        """)
    expectSnapshot("started.dot", drawing.dot + "\n")
    expectSnapshot("started.mmd", drawing.mermaid + "\n")
  }

  // MARK: Quoting

  private static let hostile = #"""
    recipe: hostile
    summary: "\"]; end --> <script>"
    inputs: { a: string }
    steps:
      - name: "\"] ; } \\\" \\n end `x` <b> #quot; &lt; %% \u202e {{x}}"
        let: { b: "${{ inputs.a + '\"]|}\\\\ --> ' }}" }
      - if: "b == '\"]\\\\N-->|x|'"
        fail: stop
    """#

  @Test func `texts from the recipe only ever become labels`() throws {
    let drawing = try GraphTests.drawing(GraphTests.hostile)
    expectSnapshot("hostile.mmd", drawing.mermaid + "\n")
    expectSnapshot("hostile.dot", drawing.dot + "\n")
  }

  @Test(arguments: [everything, hostile, started]) func `Graphviz draws every label as it was written`(text: String)
    async throws
  {
    let drawing = try GraphTests.drawing(text)
    let folder = FileManager.default.temporaryDirectory.appending(path: "graph-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try text.write(to: folder.appending(path: "recipe.yaml"), atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = Program.binary
    process.arguments = ["graph", "recipe.yaml", "--format", "svg"]
    process.currentDirectoryURL = folder
    let outcome = try await Call(process).outcome()
    if outcome.code == 69 {
      let printed =
        "needs Graphviz's 'dot', which isn't installed: apt install graphviz, or use --format dot or mermaid\n"
      #expect(outcome.error == "error: drawing SVG \(printed)")
      return print("The test that Graphviz draws graphs is skipped: there is no 'dot' here")
    }
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.error == "")
    let drawn = try XMLTexts.all(in: outcome.out)
    for node in drawing.graph.nodes {
      #expect(drawn.contains(node.title.safe), "\(node.title) is not among \(drawn)")
    }
    let arrows = outcome.out.components(separatedBy: "class=\"edge\"").count - 1
    #expect(arrows >= drawing.graph.arrows.count)
  }

  @Test func `without Graphviz the message names its package`() async throws {
    let process = Process()
    process.executableURL = Program.binary
    process.arguments = ["graph", "recipes/streak.yaml", "--format", "svg"]
    process.currentDirectoryURL = Program.root
    process.environment = ProcessInfo.processInfo.environment.merging(["PATH": "/nowhere"]) { $1 }
    let outcome = try await Call(process).outcome()
    #expect(outcome.code == 69)
    #expect(
      outcome.error
        == "error: drawing SVG needs Graphviz's 'dot', which isn't installed: apt install graphviz, or use --format dot or "
        + "mermaid\n")
  }

  @Test func `every recipe has a graph`() throws {
    let folder = Program.root.appending(path: "recipes")
    let environment = RecipeEnvironment(catalog: ActionCatalog(everyPlugin), zone: "UTC") { path throws(FileError) in
      Source(name: path, bytes: try Files.read(path, limit: 1 << 20))
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".yaml") {
      let source = try environment.read(folder.appending(path: name).path)
      let recipe = try #require(Recipe.check(source, in: environment).recipe)
      let graph = RecipeGraph(recipe)
      #expect(graph.nodes.count >= recipe.allSteps.count, "\(name)")
      #expect(graph.arrows.allSatisfy { graph.nodes.indices.contains($0.from) && $0.from != $0.to }, "\(name)")
    }
  }

  // MARK: Runs

  @Test func `a run's graph shows the status of each step`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: shown
      inputs: { n: int }
      steps:
        - id: book
          uses: markbook.getMarkbook
          with: { markbookKey: 1207731 }
        - id: each
          forEach: "[1, 2, 3]"
          as: number
          steps:
            - id: some
              if: number > inputs.n
              uses: markbook.getMarkbook
              with: { markbookKey: 1207731 }
        - if: inputs.n > 1
          fail: Too many.
        - id: later
          uses: markbook.getMarkbook
          with: { markbookKey: 1207731 }
      """, to: "shown.yaml")
    let run = try await program.call("run", "shown.yaml", "-i", "n=2", "--json")
    let id = try #require(run.json["run"]?.string)
    let graph = try await program.call("graph", id)
    // The times depend on the machine.
    var text = graph.out.replacing(id, with: "RUN")
    text = text.replacing(/[0-9]+\.[0-9]s/, with: "TIME")
    #expect(
      text == #"""
        shown, run RUN: failed in TIME
        inputs
            n: int
        book  markbook.getMarkbook  → {markbookKey, markbookName, markbookYear, …}  [succeeded, TIME]
        each  for each number in [1, 2, 3]  → list({some?})  [3 succeeded, TIME]
          │ some  if number > inputs.n, markbook.getMarkbook  → {markbookKey, markbookName, markbookYear, …}  [1 succeeded, 2 skipped, TIME]
          │     ← each  number: int
          │     ← inputs  n: int
        fail  if inputs.n > 1  [failed, TIME]
            ← inputs  n: int
        later  markbook.getMarkbook  → {markbookKey, markbookName, markbookYear, …}  [not reached]

        """#)
    let dot = try await program.call("graph", id, "--format", "dot")
    #expect(dot.out.contains("fillcolor = \"#f6d0d0\""))
    #expect(dot.out.contains("fillcolor = \"#d8f0d8\""))
    await program.remove()
  }
}

/// The texts of an SVG.
private final class XMLTexts {
  static func all(in text: String) throws -> [String] {
    text.components(separatedBy: "<text ").dropFirst().compactMap { piece in
      guard let start = piece.firstIndex(of: ">"), let end = piece.range(of: "</text>") else { return nil }
      var text = String(piece[piece.index(after: start)..<end.lowerBound])
      for (code, character) in [
        ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#45;", "-"), ("&#160;", " "), ("&amp;", "&"),
      ] {
        text = text.replacing(code, with: character)
      }
      return text
    }
  }
}
