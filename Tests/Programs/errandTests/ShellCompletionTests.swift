import Basics
import Foundation
import Testing

/// Completions of bash, zsh and fish on the Tab key, with the real binary, on a terminal that `script` creates.
@Suite(.timeLimit(.minutes(20))) struct ShellCompletionTests {
  /// Names that would do something if a shell evaluated them.
  private static let hostile = "it's $(touch pwned) `touch pwned`;a:b!"

  private static func isInstalled(_ shell: String) -> Bool {
    ["/bin", "/usr/bin", "/usr/local/bin"].contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(shell)") }
  }

  /// A folder with recipes, a schedule, and a run that asks.
  private static func folder() async throws -> (program: Program, run: String) {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write("zone: UTC\nsecrets: { commands: { SHOP_KEY: [echo, k] } }\n", to: "errand.yaml")
    try program.write(
      """
      summary: "Asks; $(touch pwned) `touch pwned`"
      inputs:
        month: { type: "choice(october, november)", summary: "Which: one" }
        loud: { type: bool, default: false }
      on: [{ cron: '30 17 * * FRI', inputs: { month: october } }]
      steps:
        - { id: sure, approve: { prompt: "Really, $(touch pwned)?" } }
      """, to: "recipes/ask.yaml")
    try program.write("recipe: other\nsteps: [{ let: { x: 1 } }]\n", to: "recipes/\(hostile).yaml")
    let agent = try program.serve("serve")
    _ = await agent.line(with: " serves ")
    let started = try await program.call("run", "recipes/ask.yaml", "-i", "month=october", "--detach")
    #expect(started.code == 0, "\(started.error)")
    var isAsking = false
    while !isAsking { isAsking = try await program.call("runs", "list").out.contains("asks 'Really") }
    agent.signal(SIGTERM)
    _ = await agent.end()
    return (program, started.out.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// The words that shells run when a line is typed, where `\t` is the Tab key: the command is put behind `printf`.
  private static func words(_ shell: String, _ lines: [String], in program: Program) async throws -> [String] {
    let (call, start) =
      switch shell {
      case "bash": ("bash --norc --noprofile -i", "source <(errand completions bash)")
      case "zsh":
        ("zsh -f -i", "autoload -Uz compinit; compinit -D -u; bindkey -e; source <(errand completions zsh)")
      default: ("fish --no-config -i", "errand completions fish | source")
      }
    // Ctrl-A goes to the beginning of the line.
    let keys = ([start] + lines.map { "\($0)\u{01}printf '<%s>' '|' " } + ["printf '<%s>\\n' '|'", "exit"])
      .joined(separator: "\n")
    try program.write(keys + "\n", to: "keys")
    let outcome = try await program.shell(
      """
      PATH='\(Program.binary.deletingLastPathComponent().path)':$PATH TERM=xterm HOME=$PWD HISTFILE= \
      script -qec "stty cols 400; \(call)" /dev/null < keys
      """)
    let printed = outcome.out.matches(of: /(?:<[^>\r\n%]*>)+/).map { String($0.0) }.joined()
    return printed.split(separator: "<|>").map(String.init)
  }

  @Test(arguments: ["bash", "zsh", "fish"].filter(isInstalled))
  func `completes names of the folder and the state, and evaluates none`(_ shell: String) async throws {
    let (program, run) = try await ShellCompletionTests.folder()
    let tail = String(run.suffix(6))
    let path = "recipes/\(ShellCompletionTests.hostile).yaml"
    let lines = [
      ("errand che\t", ["errand", "check"]),
      ("errand run recipes/a\t", ["errand", "run", "recipes/ask.yaml"]),
      ("errand run recipes/it\t", ["errand", "run", path]),
      ("errand run 'recipes/it\t", ["errand", "run", path]),
      ("errand run recipes/ask.yaml -i mo\tnov\t", ["errand", "run", "recipes/ask.yaml", "-i", "month=november"]),
      (
        "errand run recipes/ask.yaml -i month=october -i l\tt\t",
        ["errand", "run", "recipes/ask.yaml", "-i", "month=october", "-i", "loud=true"]
      ),
      ("errand run recipes/ask.yaml --log-f\tj\t", ["errand", "run", "recipes/ask.yaml", "--log-format", "json"]),
      ("errand runs approve \t\t", ["errand", "runs", "approve", tail, "sure"]),
      ("errand runs show \(run.prefix(9))\t", ["errand", "runs", "show", run]),
      ("errand schedule pause \t", ["errand", "schedule", "pause", "ask"]),
      ("errand runs start ot\t", ["errand", "runs", "start", "other"]),
      ("errand run recipes/ask.yaml -i 'mo\tnov\t", ["errand", "run", "recipes/ask.yaml", "-i", "month=november"]),
      ("errand test key\t", ["errand", "test", "keys"]),
      ("errand --config=err\t", ["errand", "--config=errand.yaml"]),
    ]
    let found = try await ShellCompletionTests.words(shell, lines.map(\.0), in: program)
    #expect(found == lines.map { words in words.1.map { "<\($0)>" }.joined() })
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "pwned").path))
    await program.remove()
  }

  @Test func `offers older runs by the beginning of a whole id`() async throws {
    let program = try await Program()
    try program.write("steps: [{ let: { x: 1 } }]\n", to: "one.yaml")
    _ = try await program.shell("for i in $(seq 52); do '\(Program.binary.path)' run one.yaml; done")
    let runs = try await program.call("runs", "list", "-n", "100", "--json").json["finished"]?.list ?? []
    let oldest = runs.compactMap { $0["id"]?.string }.min() ?? ""
    for (typed, words) in [(String(oldest.prefix(23)), "words\n\(oldest)\n"), ("0000", "words\n")] {
      let answer = try await program.call("completions", "bash", "--", " ", "errand runs show \(typed)")
      #expect(answer.out == words)
    }
    #expect(runs.count == 52)
    await program.remove()
  }

  @Test func `an answer has what fits, changes nothing, and is empty where nothing can be read`() async throws {
    let (program, run) = try await ShellCompletionTests.folder()
    let tail = String(run.suffix(6))
    let state = program.folder.appending(path: ".errand")
    func entries() throws -> [String] {
      try FileManager.default.subpathsOfDirectory(atPath: state.path).sorted().map { path in
        let attributes = try FileManager.default.attributesOfItem(atPath: state.appending(path: path).path)
        return "\(path) \(attributes[.size] ?? "") \(attributes[.modificationDate] ?? "")"
      }
    }
    let before = try entries()
    for (line, words) in [
      ("runs approve ", [tail]), ("runs cancel ", [tail]), ("runs retry ", []), ("runs resolve ", []),
      ("runs show \(tail) ", ["sure"]), ("runs approve \(tail) ", ["sure"]), ("runs resolve \(tail) ", []),
      ("schedule resume ", []), ("schedule trigger ", ["ask"]), ("schedule trigger ask -i ", ["month=", "loud="]),
      ("runs start ask -i loud=", ["loud=true", "loud=false"]), ("runs start nothing -i ", []),
      ("why ", ["ask", tail]), ("recipes show as", ["ask"]), ("recipes s", ["show"]),
      ("runs approvals --after ", [tail]), ("plan --show ", []),
      ("graph --format dot ", ["recipes/ask.yaml", "recipes/\(ShellCompletionTests.hostile).yaml", tail]),
      ("runs show nothing ", []), ("--config nothing.yaml runs show ", []),
      ("--remote http://127.0.0.1:1 runs show ", []),
      ("--state nothing runs show ", []), ("actions timetable.tod", ["timetable.today"]),
      ("sandbox markb", ["markbook"]), ("plugin add --env ", ["SHOP_KEY"]), ("plugin add --token ", ["SHOP_KEY"]),
    ] as [(String, [String])] {
      let typed = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      let answer = try await program.call(["completions", "fish", "--"] + typed)
      #expect(answer.code == 0 && answer.error.isEmpty, "\(line): \(answer.error)")
      let found = answer.out.split(separator: "\n").dropFirst().map { String($0.prefix { $0 != "\t" }) }
        .filter { $0.hasPrefix(typed.last ?? "") }
      #expect(found.sorted() == words.sorted(), "\(line)")
    }
    #expect(try entries() == before)
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "nothing").path))
    let described = try await program.call("completions", "fish", "--", "runs", "approve", "")
    #expect(described.out.hasPrefix("words\n\(tail)\task waiting, "), "\(described.out)")
    let agent = try program.serve("serve")
    _ = await agent.line(with: " serves ")
    let answer = try await program.call("completions", "fish", "--", "runs", "approve", "")
    #expect(answer.out == described.out)
    agent.signal(SIGTERM)
    _ = await agent.end()
    await program.remove()
  }
}
