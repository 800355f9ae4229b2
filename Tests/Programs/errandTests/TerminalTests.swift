import Basics
import Foundation
import Testing

/// The program's output on a terminal, which `script` creates, and elsewhere.
@Suite(.timeLimit(.minutes(20))) struct TerminalTests {
  private static let recipe = #"""
    steps:
      - let:
          rows: "${{ lists.range(30).map(n, {'name': 'student number ' + string(n), 'mark': n, 'remark': 'none so far'}) }}"
    outputs:
      rows: ${{ rows }}
      text: "${{ lists.range(30).map(n, 'line ' + string(n)).join('\\n') }}"
      nested: "${{ {'status': 200, 'items': lists.range(3).map(n, {'name': 'a name that is long', 'sizes': [n, n]})} }}"
      short: "${{ [1, 2, 3] }}"
    """#

  /// The standard output of a command at a terminal of some columns, without the program's ids.
  private static func displayed(_ command: String, columns: Int, in program: Program) async throws -> [String] {
    let outcome = try await program.shell(
      """
      TERM=xterm script -qec "stty cols \(columns); '\(Program.binary.path)' \(command) --no-color 2>/dev/null" \
      /dev/null </dev/null
      """)
    #expect(outcome.code == 0, "\(outcome.out)")
    let text = outcome.out.replacing("\r\n", with: "\n").replacing(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "ID")
    return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  @Test func `outputs are summarised on a terminal, and whole elsewhere`() async throws {
    let program = try await Program()
    try program.write(TerminalTests.recipe, to: "a.yaml")
    let lines = try await TerminalTests.displayed("run a.yaml", columns: 40, in: program)
    #expect(
      lines.prefix(4) == ["", "rows", "name               mark  remark", "student number 0      0  none so far"])
    #expect(
      lines.dropFirst(23).joined(separator: "\n") == """
        … 10 more rows; errand runs show ID --json shows all
        text:
          line 0
          line 1
          line 2
          line 3
          line 4
          line 5
          line 6
          line 7
          line 8
          line 9
          line 10
          line 11
          … 18 more lines, 229 bytes in all; errand runs show ID --json shows all
        nested:
          status: 200
          items:
            - name: a name that is long
              sizes: [0,0]
            - name: a name that is long
              sizes: [1,1]
            - name: a name that is long
              sizes: [2,2]
        short: [1,2,3]

        """)
    let narrow = try await TerminalTests.displayed("run a.yaml", columns: 30, in: program)
    #expect(narrow.prefix(4) == ["", "rows", "name         mark  remark", "student nu…     0  none so far"])
    let whole = try await program.call("run", "a.yaml", "--quiet")
    #expect(whole.out.contains("\nstudent number 29    29  none so far\n"), "\(whole.out)")
    #expect(whole.out.contains("\n  line 29\n"))
    #expect(whole.out.contains(#"nested: {"status":200,"items":[{"name":"a name that is long","sizes":[0,0]},"#))
    await program.remove()
  }

  @Test(arguments: [40, 80, 120]) func `no row of a table is wider than the terminal`(_ columns: Int) async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      "on: [{ cron: '30 17 * * FRI', zone: Australia/Sydney }]\nsteps: [{ let: { x: 1 } }]\n",
      to: "recipes/a-recipe-with-a-rather-long-name.yaml")
    _ = try await program.call("run", "recipes/a-recipe-with-a-rather-long-name.yaml")
    for command in [
      "runs", "schedule", "schedule next", "actions",
      "graph recipes/a-recipe-with-a-rather-long-name.yaml",
    ] {
      let lines = try await TerminalTests.displayed(command, columns: columns, in: program)
      #expect(lines.count > 1, "\(command)")
      // An id was longer before it was replaced.
      for line in lines where !line.contains("ID") {
        #expect(line.displayWidth <= columns, "\(command): \(line)")
      }
    }
    await program.remove()
  }
}
