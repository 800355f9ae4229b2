import Basics
import Foundation
import Testing

/// Recipes of a few lines whose values hold the same part more often than can be counted, and runs that compute without a break.
@Suite(.timeLimit(.minutes(20))) struct RunawayTests {
  /// `v0` to `v40`, each twice the one before.
  private static func doubled(_ expression: (String) -> String, then rest: String) -> String {
    "steps:\n  - let:\n      v0: [1]\n"
      + (0..<40).map { "      v\($0 + 1): \(expression("v\($0)"))\n" }.joined() + rest
  }

  private static let bombs: [(name: String, text: String, says: String)] = [
    (
      "as an expression", doubled({ "${{ [\($0), \($0)] }}" }, then: "outputs: { n: \"${{ v40 }}\" }\n"),
      "  in step '#1' (expression)"
    ),
    (
      "as a list of YAML",
      doubled({ "[\"${{ \($0) }}\", \"${{ \($0) }}\"]" }, then: "outputs: { n: \"${{ v40 }}\" }\n"),
      "  in step '#1' (expression)"
    ),
    (
      "in one expression",
      "steps:\n  - let:\n      x: ${{ "
        + (0..<30).map { "cel.bind(v\($0 + 1), [\($0 == 0 ? "[1]" : "v\($0)"), \($0 == 0 ? "[1]" : "v\($0)")], " }
        .joined()
        + "json.format(v30)" + String(repeating: ")", count: 30) + ".size() }}\n", "  in step '#1' (expression)"
    ),
    (
      "through a loop's outcomes",
      """
      inputs: { line: { type: string, default: "\(String(repeating: "x", count: 1000))" } }
      steps:
        - let: { long: "${{ lists.range(1000).map(i, inputs.line) }}" }
        - id: all
          forEach: ${{ lists.range(100) }}
          as: n
          steps: [{ let: { m: "${{ n }}" } }]
          outputs: { long: "${{ long }}" }
        - let: { n: "${{ steps.all.size() }}" }

      """, "  in step 'all' (validation)"
    ),
  ]

  @Test(arguments: bombs.indices)
  func `a value that is larger than any disk when written out ends its run with an error`(_ index: Int) async throws {
    let bomb = RunawayTests.bombs[index]
    let program = try await ServeTests.program(["bomb.yaml": bomb.text])
    let check = try await program.call("check", "recipes/bomb.yaml")
    #expect(check.code == 0, "\(check.error)")
    let run = try await program.call("run", "recipes/bomb.yaml")
    #expect(run.code == 1, "\(run.error)")
    #expect(run.error.contains("at most 64 MiB and 4 million parts are allowed"), "\(bomb.name): \(run.error)")
    #expect(run.error.contains(bomb.says), "\(bomb.name): \(run.error)")
    await program.remove()
  }

  @Test func `runs that compute without a break make no schedule late`() async throws {
    // A million numbers, written repeatedly: each time takes longer than any slot may be late.
    let busy =
      "steps:\n  - let:\n      v0: [1, 2]\n"
      + (0..<19).map { "      v\($0 + 1): ${{ [v\($0), v\($0)] }}\n" }.joined() + """
          - forEach: ${{ lists.range(10000) }}
            as: n
            steps: [{ let: { m: "${{ json.format(v19).size() + n }}" } }]

        """
    let program = try await ServeTests.program([
      "busy.yaml": busy,
      "each.yaml": """
      on: [{ every: 1s, overlap: allowAll }]
      steps:
        - if: has(run.slot)
          uses: file.append
          with: { path: late.txt, text: "${{ (now - run.slot).getMilliseconds() + 1000 * (now - run.slot).getSeconds() }}\\n" }

      """,
    ])
    let serve = try program.serve("serve")
    await serve.line(with: "serves")
    for _ in 0..<2 {
      let run = try await program.call("run", "recipes/busy.yaml", "--detach")
      #expect(run.code == 0, "\(run.error)")
    }
    for _ in 0..<2 { await serve.line(with: "busy") }
    for _ in 0..<6 { await serve.line(with: " succeeded") }
    let late = try String(contentsOf: program.folder.appending(path: "late.txt"), encoding: .utf8)
    // A machine that does other work may hold one slot up; if the runs did, every slot would be late.
    let spans = late.split(separator: "\n").map { Int($0) ?? .max }.sorted()
    #expect(spans.count >= 6 && spans[spans.count / 2] < 250, "\(late)")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    await program.remove()
  }
}
