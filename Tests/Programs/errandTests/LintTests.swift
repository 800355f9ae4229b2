import Basics
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct LintTests {
  private static let doubtful = """
    recipe: doubtful
    summary: Waits.
    steps:
      - wait: { event: paid }
    """

  @Test func `our own recipes are free of hints`() async throws {
    let process = Process()
    process.executableURL = Program.binary
    process.arguments = ["lint", "--strict"]
    process.currentDirectoryURL = Program.root
    let outcome = try await Call(process).outcome()
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.error.hasSuffix(" recipes checked, no hints\n"))
  }

  @Test func `hints aren't errors unless requested`() async throws {
    let program = try await Program()
    try program.write(LintTests.doubtful, to: "doubtful.yaml")
    try program.write("steps:\n  - fail: ${{ nothing }}\n", to: "faulty.yaml")
    let hint = """
      doubtful.yaml:4:5: hint: the run waits for ever if no event 'paid' comes; say how long at most, such as timeout: 7d
          - wait: { event: paid }
            ^~~~
      1 recipe checked: 1 hint

      """
    let loose = try await program.call("lint", "doubtful.yaml")
    #expect(loose.code == 0)
    #expect(loose.error == hint)
    let strict = try await program.call("lint", "--strict", "doubtful.yaml")
    #expect(strict.code == 1)
    #expect(strict.error == hint)
    let faulty = try await program.call("lint", "faulty.yaml")
    #expect(faulty.code == 3)
    #expect(faulty.error.contains("faulty.yaml:2:15: error: "))
    #expect(try await program.call("lint", "missing.yaml").code == 66)
    await program.remove()
  }

  /// A command, and whether a hint says that its time-out is only the default.
  @Test(arguments: [
    ("on: [{ cron: '0 2 * * *', zone: UTC }]\nsteps: [{ uses: shell.run, with: { effect: write, script: x } }]", true),
    ("on: [{ every: 6h }]\nsteps: [{ steps: [{ uses: shell.run, with: { effect: write, script: x } }] }]", true),
    (
      "on: [{ event: go }]\nfinally: [{ uses: shell.run, with: { effect: write, script: x } }]\nsteps: [{ wait: 1s }]",
      true
    ),
    ("on: [{ every: 6h }]\nsteps: [{ call: called.yaml }]", true),
    ("on: [{ every: 6h }]\nsteps: [{ uses: shell.run, timeout: 5m, with: { effect: write, script: x } }]", false),
    (
      "on: [{ every: 6h }]\nsteps: [{ uses: shell.run, timeout: { attempt: 1h }, with: { effect: write, script: x } }]",
      false
    ),
    (
      "on: [{ every: 6h }]\ndefaults: { timeout: 1h }\nsteps: [{ uses: shell.run, with: { effect: write, script: x } }]",
      false
    ),
    ("steps: [{ uses: shell.run, with: { effect: write, script: x } }]", false),
    ("steps: [{ call: called.yaml }]", false),
    ("on: [{ every: 6h }]\nsteps: [{ uses: store.put, with: { name: a, value: 1 } }]", false),
  ])
  func `a scheduled command without a time-out gets a hint`(_ text: String, _ isHinted: Bool) async throws {
    let program = try await Program()
    try program.write("summary: Works.\n\(text)\n", to: "try.yaml")
    try program.write(
      "summary: Works.\nsteps: [{ uses: shell.run, with: { effect: write, script: x } }]\n", to: "called.yaml")
    let lint = try await program.call("lint", "try.yaml")
    #expect(lint.code == 0, "\(lint.error)")
    #expect(lint.error.contains(" is ended after 5m, the default") == isHinted, "\(lint.error)")
    await program.remove()
  }

  @Test func `lint also shows what check refuses because of the connections here`() async throws {
    let program = try await Program()
    try program.write("steps:\n  - uses: http.get\n    with: { url: /items }\n", to: "items.yaml")
    let (check, lint) = (try await program.call("check", "items.yaml"), try await program.call("lint", "items.yaml"))
    #expect(check.code == 3 && lint.code == 3)
    #expect(lint.error.contains("items.yaml:2:11: error: ") && lint.error == check.error, "\(lint.error)\(check.error)")
    await program.remove()
  }

  @Test func `hints are notes for scanners and notices for GitHub`() async throws {
    let program = try await Program()
    try program.write(LintTests.doubtful, to: "doubtful.yaml")
    let message = "the run waits for ever if no event 'paid' comes; say how long at most, such as timeout: 7d"
    let github = try await program.call("lint", "doubtful.yaml", "--format", "github")
    #expect(github.out == "::notice file=doubtful.yaml,line=4,col=5::\(message)\n")
    let sarif = try await program.call("lint", "doubtful.yaml", "--format", "sarif")
    let result = sarif.json["runs"]?.list?.first?["results"]?.list?.first
    #expect(result?["level"] == .string("note"))
    #expect(result?["message"]?["text"] == .string(message))
    let json = try await program.call("lint", "doubtful.yaml", "--format", "json")
    #expect(json.json.list?.first?["severity"] == .string("hint"))
    await program.remove()
  }
}
