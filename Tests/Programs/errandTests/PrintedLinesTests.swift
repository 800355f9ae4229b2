import ActionKit
import Foundation
import ProcessTestKit
import Glibc
import Testing

/// The output of commands: live, in the log, and after a crash.
@Suite(.timeLimit(.minutes(20))) struct PrintedLinesTests {
  /// A program with a recipe `try.yaml` whose one step runs a script.
  private static func program(
    _ script: String, effect: String = "write", more: String = ""
  ) async throws -> Program {
    let program = try await Program()
    let indented = script.replacing("\n", with: "\n        ")
    try program.write(
      """
      steps:
        - id: work
          uses: shell.run
          with:
            effect: \(effect)
            script: |
              \(indented)
      \(more)
      """, to: "try.yaml")
    return program
  }

  /// The lines that a run has printed, without their times.
  private static func printed(_ program: Program, _ run: String, _ step: String? = nil) async throws -> [String] {
    let outcome = try await program.start(["runs", "logs", run] + (step.map { [$0] } ?? []) + ["--json"]).outcome()
    #expect(outcome.code == 0, "\(outcome.error)")
    return (outcome.json.list ?? []).flatMap { step in
      (step["printed"]?.list ?? []).map { line in
        "\(line["step"]?.string ?? "") \(line["attempt"]?.int ?? 0) \(line["stream"]?.string ?? "") \(line["text"]?.string ?? "")"
      }
    }
  }

  private static func id(_ program: Program) async throws -> String {
    let list = try await program.call("runs", "list", "--json")
    return list.json["open"]?.list?.first?["id"]?.string ?? list.json["finished"]?.list?.first?["id"]?.string ?? ""
  }

  @Test func `what a command prints is displayed with its step, and kept in the log with the attempt`() async throws {
    let program = try await Self.program("echo one; printf 'two \\033[2J\\n' >&2; printf 'half'")
    let run = try await program.call("run", "try.yaml")
    #expect(run.code == 0, "\(run.error)")
    for line in ["  work | one", "  work | two ␛[2J", "  work | half"] {
      #expect(run.error.contains("\(line)\n"), "\(run.error)")
    }
    let id = try await Self.id(program)
    let printed = try await Self.printed(program, id)
    #expect(Set(printed) == ["work 1 output one", "work 1 errors two \u{1B}[2J", "work 1 output half"])
    let logs = try await program.call("runs", "logs", id, environment: ["TZ": "UTC"])
    let lines = logs.out.split(separator: "\n").map(String.init)
    let heading = lines.first ?? ""
    #expect(
      heading.wholeMatch(of: #/work  shell\.run  attempt 1  succeeded  \w{3} [\d-]+ [\d:]+ UTC  [\d.]+s/#) != nil)
    #expect(lines.contains { $0.hasPrefix("  RUN  sh -c ") })
    #expect(lines.contains { $0.wholeMatch(of: #/  \d\d:\d\d:\d\d  │ one/#) != nil }, "\(logs.out)")
    #expect(lines.contains { $0.wholeMatch(of: #/  \d\d:\d\d:\d\d  ! two ␛\[2J/#) != nil }, "\(logs.out)")
    let quiet = try await program.call("run", "try.yaml", "-q")
    #expect(quiet.error == "")
    let json = try await program.call("run", "try.yaml", "--log-format", "json")
    #expect(json.error.contains(#""progress":"printed","step":"work","attempt":1,"stream":"output""#), "\(json.error)")
    #expect(json.error.contains(#""text":"one"}"#))
    // Only the owner may read them.
    let modes = try await program.shell("stat -c %a .errand/logs .errand/logs/* .errand/logs/*/* | sort -u")
    #expect(modes.out == "600\n700\n")
    await program.remove()
  }

  @Test func `a log is asked for by its step, and an unknown step gets a guess`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - id: all
          forEach: "${{ [0, 1, 2, 3, 4, 5] }}"
          as: n
          maxParallel: 3
          steps:
            - id: say
              uses: shell.run
              with: { effect: read, script: 'echo "item $1"; echo "more $1"', arguments: ["${{ string(n) }}"] }
      """, to: "try.yaml")
    let run = try await program.call("run", "try.yaml")
    #expect(run.code == 0, "\(run.error)")
    for item in 0..<6 { #expect(run.error.contains("  all[\(item)]/say | item \(item)\n"), "\(run.error)") }
    let id = try await Self.id(program)
    #expect(try await Self.printed(program, id).count == 12)
    #expect(try await Self.printed(program, id, "all").count == 12)
    #expect(
      try await Self.printed(program, id, "all[4]") == [
        "all[4]/say 1 output item 4", "all[4]/say 1 output more 4",
      ])
    let unknown = try await program.call("runs", "logs", id, "al")
    #expect(unknown.code == 66)
    #expect(
      unknown.error == "error: nothing is logged of a step 'al' in the run \(id); did you mean 'all'?\n")
    await program.remove()
  }

  @Test func `a secret that is printed in pieces is nowhere`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - id: work
          uses: shell.run
          with:
            effect: write
            secretEnvironment: { T: "${{ secrets.SESAME }}" }
            script: |
              printf 'the token is '; printf %.7s "$T"; sleep 0.05; echo "${T#???????} ."
              printf %s "$T" | base64 -w 4
      """, to: "try.yaml")
    let run = try await program.call("run", "try.yaml", environment: ["SESAME": "sesame-open-1"])
    #expect(run.code == 0, "\(run.error)")
    #expect(run.error.contains("  work | the token is ••• .\n"), "\(run.error)")
    let id = try await Self.id(program)
    let printed = try await Self.printed(program, id).joined(separator: "\n")
    let kept = try await program.shell("cat .errand/logs/*/* .errand/journal* .errand/state.json 2>/dev/null")
    for text in [run.error, printed, kept.out] {
      // `c2VzYW1lLW9wZW4tMQ==` in lines of four.
      for piece in ["sesame-o", "open-1", "c2Vz", "YW1l", "LW9w", "ZW4t"] { #expect(!text.contains(piece), "\(text)") }
    }
    await program.remove()
  }

  @Test func `all that a command prints is in the log, by its text and not by the JSON around it`() async throws {
    let program = try await Self.program(
      "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo the end", effect: "read",
      more: "outputs: { last: \"${{ steps.work.output.size() }}\" }")
    try program.write("connections: { shell: { maxOutputBytes: 10000000 } }\n", to: "errand.yaml")
    let run = try await program.call("run", "try.yaml")
    #expect(run.code == 0, "\(run.error.suffix(500))")
    #expect(run.error.contains("  work | the end\n"))
    let id = try await Self.id(program)
    let printed = try await Self.printed(program, id)
    #expect(printed.last == "work 1 output the end")
    #expect(printed.count > 30_000)
    let size = try await program.shell("stat -c %s .errand/logs/*/*.jsonl")
    // Lines that come at once share what is said of them.
    #expect((Int(size.out.trimmed) ?? .max) <= 3_500_000, "\(size.out)")
    await program.remove()
  }

  @Test func `what a killed agent's command printed is in the log, and the run goes on`() async throws {
    let program = try await Self.program(
      """
      if [ -e again ]; then echo second; exit 0; fi
      echo > again
      echo first
      while :; do echo more; sleep 0.01; done
      """, effect: "read")
    let call = try program.start(["run", "try.yaml"])
    var text = ""
    while text.split(separator: "more").count < 4 {
      text = try await program.shell("cat .errand/logs/*/*.jsonl 2>/dev/null").out
    }
    call.signal(SIGKILL)
    _ = await aside { call.process.awaitEnd() }
    // Half a line, as a crash may leave it.
    _ = try await program.shell("f=$(echo .errand/logs/*/*.jsonl); truncate -s -7 $f")
    let id = try await Self.id(program)
    #expect(try await Self.printed(program, id).prefix(2) == ["work 1 output first", "work 1 output more"])
    let resumed = try await program.call("runs", "resume", id)
    #expect(resumed.code == 0, "\(resumed.error)")
    let printed = try await Self.printed(program, id)
    #expect(printed.first == "work 1 output first")
    #expect(printed.last == "work 2 output second")
    #expect(Set(printed) == ["work 1 output first", "work 1 output more", "work 2 output second"])
    await program.remove()
  }

  @Test func `a command that takes too long leaves what it printed, in the log and in the error`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - id: work
          uses: shell.run
          timeout: 1s
          with: { effect: write, script: "echo here; echo there >&2; exec sleep 1000" }
      """, to: "try.yaml")
    let run = try await program.call("run", "try.yaml")
    #expect(run.code == 4, "\(run.error)")
    let id = try await Self.id(program)
    #expect(Set(try await Self.printed(program, id)) == ["work 1 output here", "work 1 errors there"])
    let displayed = try await program.call("runs", "show", id, "--json")
    let detail = displayed.json["steps"]?.list?.first?["error"]?["cause"]?["detail"]?.string ?? ""
    #expect(
      detail == "'sh' was ended before it was done\nstandard error: there\nstandard output: here", "\(displayed.out)")
    await program.remove()
  }

  @Test func `logs are followed while an agent runs two runs, until each ends`() async throws {
    let program = try await Self.program(
      """
      echo begun
      while [ ! -e go ]; do sleep 0.02; done
      echo ended
      """, effect: "read")
    let agent = try program.serve("serve")
    _ = await agent.line(with: "serves")
    var ids: [String] = []
    for _ in 0..<2 {
      let run = try await program.call("run", "try.yaml", "--detach")
      #expect(run.code == 0, "\(run.error)")
      ids.append(run.out.trimmed)
    }
    let calls = try ids.map { try program.start(["runs", "logs", $0, "work", "--follow", "--json"]) }
    let follower = try program.start(["runs", "follow", ids[0]])
    for id in ids {
      while try await !program.call("runs", "logs", id).out.contains("│ begun") {}
    }
    try program.write("", to: "go")
    for call in calls {
      let outcome = await call.outcome()
      #expect(outcome.code == 0, "\(outcome.error)")
      let texts = outcome.out.split(separator: "\n").compactMap { try? JSON.parse(String($0))["text"]?.string }
      #expect(texts == ["begun", "ended"], "\(outcome.out)")
      #expect(outcome.error == "the run is over: succeeded\n")
    }
    let followed = await follower.outcome()
    #expect(followed.code == 0, "\(followed.error)")
    // Following a finished run gives its whole log.
    let over = try await program.call("runs", "logs", ids[1], "--follow")
    #expect(over.out.contains("│ begun\n") && over.out.contains("│ ended\n"), "\(over.out)")
    agent.signal(SIGTERM)
    _ = await agent.end()
    await program.remove()
  }

  @Test func `an open run that nothing runs is displayed as far as it is`() async throws {
    let program = try await Self.program("echo said", effect: "read", more: "  - wait: { event: never }")
    let run = try program.start(["run", "try.yaml"])
    while try await !program.call("runs", "list").out.contains("waiting") {}
    run.signal(SIGTERM)
    _ = await run.outcome()
    let id = try await Self.id(program)
    let logs = try await program.call("runs", "logs", id, "--follow")
    #expect(logs.code == 4)
    #expect(logs.out.contains("│ said\n"), "\(logs.out)")
    #expect(logs.error == "error: nothing is running that run; resume it: errand runs resume \(id)\n")
    await program.remove()
  }

  @Test func `on a terminal the last lines are below the step, and stay if it fails`() async throws {
    let program = try await Self.program(
      "for n in 1 2 3 4 5; do echo line $n; done; while [ ! -e go ]; do sleep 0.02; done; exit 1")
    let run = try await program.shell(
      """
      TERM=xterm script -qefc "stty cols 80; '\(Program.binary.path)' run try.yaml --no-color" shown </dev/null >/dev/null 2>&1 &
      until grep -q 'line 5' shown; do sleep 0.01; done
      echo > go
      wait $!
      cat shown
      """)
    let end = run.out.split(separator: "✗").last.map(String.init) ?? ""
    #expect(end.contains("work | line 5"), "\(run.out)")
    #expect(!end.contains("work | line 2"), "\(run.out)")
    await program.remove()
  }

  @Test func `failed items of a loop that goes on are counted and told, and so is a failure of onFailure`() async throws
  {
    let program = try await Program()
    try program.write(
      """
      steps:
        - id: put
          forEach: "${{ [0, 1, 2, 3, 4] }}"
          as: n
          onItemError: continue
          uses: shell.run
          with: { effect: read, script: 'test "$1" -gt 1', arguments: ["${{ string(n) }}"] }
          retry: { maxAttempts: 1 }
        - fail: That was all.
      onFailure:
        - { id: notify, uses: shell.run, with: { effect: write, script: "echo no line >&2; exit 9" } }
      """, to: "try.yaml")
    let run = try await program.call("run", "try.yaml")
    #expect(run.code == 1, "\(run.error)")
    #expect(run.error.contains("  ✓ put                                         3/5, 2 failed  "), "\(run.error)")
    #expect(run.error.contains("\n    'sh' exited with code 9\n"), "\(run.error)")
    #expect(
      run.error.contains("note: 2 items of 'put' failed; put[0]: 'sh' exited with code 1\n"), "\(run.error)")
    #expect(run.error.contains("note: the step '#onFailure/notify' failed: 'sh' exited with code 9\n"), "\(run.error)")
    let displayed = try await program.call("runs", "show", try await Self.id(program))
    #expect(displayed.out.contains("succeeded, 2 failed\n"), "\(displayed.out)")
    let json = try await program.call("runs", "show", try await Self.id(program), "--json")
    let notify = json.json["steps"]?.list?.first { $0["path"]?.string == "#onFailure/notify" }
    #expect(notify?["error"]?["message"]?.string == "'sh' exited with code 9")
    await program.remove()
  }
}
