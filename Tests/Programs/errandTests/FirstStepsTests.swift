import Basics
import Foundation
import Testing

/// The mistakes of a beginner's first hour, and the messages about them.
@Suite(.timeLimit(.minutes(20))) struct FirstStepsTests {
  /// Calls of the program in a folder with some files, which is removed afterwards.
  private static func with(_ files: [String: String], _ body: (Program) async throws -> Void) async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    for (name, text) in files { try program.write(text, to: name) }
    try await body(program)
    await program.remove()
  }

  @Test func `an export replaces no device, and an archive only on request`() async throws {
    try await Self.with([:]) { program in
      _ = try await program.call("runs")
      _ = try await program.shell("mkfifo pipe")
      let device = try await program.call("state", "export", "pipe")
      #expect(device.code == 73)
      #expect(device.error == "error: 'pipe' isn't a regular file; - writes to standard output\n")
      #expect(try await program.shell("test -p pipe").code == 0)
      #expect(try await program.call("state", "export", "a.archive").code == 0)
      let again = try await program.call("state", "export", "a.archive")
      #expect(again.code == 73)
      #expect(again.error == "error: 'a.archive' already exists; --force replaces it\n")
      #expect(try await program.call("state", "export", "a.archive", "--force").code == 0)
    }
  }

  @Test func `output that cannot be written is a failure, and a reader that leaves isn't`() async throws {
    try await Self.with(["recipes/a.yaml": "steps: [{ wait: 1s }]\n"]) { program in
      let binary = Program.binary.path
      for command in ["schema recipe", "actions", "graph recipes/a.yaml", "--version", "check --format json"] {
        let full = try await program.shell("'\(binary)' \(command) >/dev/full")
        #expect(full.code == 73, "\(command)")
        #expect(full.error == "error: cannot write standard output: no space left on device (ENOSPC)\n")
      }
      let closed = try await program.shell("'\(binary)' schema recipe >&-")
      #expect(closed.code == 73)
      #expect(closed.error == "error: cannot write standard output: the file is not open for that (EBADF)\n")
      let head = try await program.shell("{ '\(binary)' schema recipe; echo $? >code; } | head -n 1; cat code")
      #expect(head.out == "{\n0\n")
      #expect(head.error == "")
    }
  }

  @Test func `a recording that cannot be kept is refused before anything runs`() async throws {
    try await Self.with(["recipes/a.yaml": "steps: [{ let: { x: 1 } }]\n"]) { program in
      for path in ["/proc/nowhere/rec.json", "recipes", "/dev/null"] {
        let refused = try await program.call("run", "recipes/a.yaml", "--record", path)
        #expect(refused.code == 73)
        #expect(refused.error.contains("Nothing was started"), "\(refused.error)")
      }
      #expect(try await program.call("runs", "list", "--json").json["finished"]?.list?.count == 0)
      let kept = try await program.call("run", "recipes/a.yaml", "--record", "kept/here/rec.json")
      #expect(kept.code == 0, "\(kept.error)")
      #expect(FileManager.default.fileExists(atPath: program.folder.appending(path: "kept/here/rec.json").path))
    }
  }

  @Test func `faults between recipes are found where a folder is checked`() async throws {
    let files = [
      "recipes/a.yaml": "recipe: same\non: [{ afterRecipe: sane }]\nsteps: [{ let: { x: 1 } }]\n",
      "recipes/b.yaml": "recipe: same\nsteps: [{ let: { x: 1 } }]\n",
    ]
    try await Self.with(files) { program in
      let printed = """
        recipes/a.yaml:2:21: warning: no recipe of the folders is named 'sane', so this starts nothing; did you mean 'same'?
          on: [{ afterRecipe: sane }]
                              ^~~~
        """
      let check = try await program.call("check", "recipes/")
      #expect(check.code == 3)
      #expect(check.error.contains("the recipe 'same' is that of 'recipes/a.yaml' already; give one of them another"))
      #expect(check.error.contains(printed), "\(check.error)")
      let lint = try await program.call("lint")
      #expect(lint.code == 3)
      #expect(lint.error.contains("so this starts nothing; did you mean 'same'?"), "\(lint.error)")
      #expect(try await program.call("check", "recipes/a.yaml", "recipes/b.yaml").code == 0)
      try program.write("recipe: other\nsteps: [{ let: { x: 1 } }]\n", to: "recipes/b.yaml")
      #expect(try await program.call("check").code == 0)
    }
  }

  @Test func `a missing connection is reported before a run begins`() async throws {
    let files = [
      "errand.yaml": "# nothing yet\n",
      "recipes/a.yaml": "steps: [{ uses: markbook.getMarkbook, with: { markbookKey: 1 } }]\n",
    ]
    try await Self.with(files) { program in
      let printed =
        "error: errand.yaml has no connection 'markbook', which needs 'apiKey', 'username' and 'password'; add it under "
        + "'connections', or try the recipe with --sandbox\n"
      let secrets = try await program.call("secrets", "check")
      #expect(secrets.code == 1)
      #expect(secrets.error == printed)
      let run = try await program.call("run", "recipes/a.yaml")
      #expect(run.code == 78)
      #expect(run.error == printed)
      #expect(try await program.call("runs", "list", "--json").json["finished"]?.list?.count == 0)
    }
  }

  @Test func `a run with a temporary state isn't offered for later`() async throws {
    let files = ["recipes/a.yaml": "steps: [{ fail: It is over. }]\n"]
    try await Self.with(files) { program in
      let run = try await program.call("run", "recipes/a.yaml", "--sandbox")
      #expect(run.code == 1)
      #expect(run.error.contains("It is over."))
      #expect(!run.error.contains("errand runs"), "\(run.error)")
    }
  }

  @Test func `an invalid plan is reported, and a failed one isn't offered`() async throws {
    let files = ["recipes/a.yaml": "inputs: { x: int }\nsteps: [{ if: inputs.x > 0, fail: Too much. }]\n"]
    try await Self.with(files) { program in
      for name in ["recipes/a.yaml", "x.json"] {
        try program.write("{}", to: "x.json")
        let run = try await program.call("run", "recipes/a.yaml", "--plan", name)
        #expect(run.code == 3)
        #expect(run.error == "error: '\(name)' isn't a plan; 'errand plan recipes/a.yaml --out FILE' makes one\n")
      }
      let failed = try await program.call("plan", "recipes/a.yaml", "-i", "x=1", "--out", "plan.json")
      #expect(failed.code == 1)
      #expect(failed.error.contains("kept in plan.json; a run would fail, so the plan can't be run"), "\(failed.error)")
      let good = try await program.call("plan", "recipes/a.yaml", "-i", "x=0", "--out", "plan.json")
      #expect(good.error.contains("kept in plan.json; run it with --plan plan.json"), "\(good.error)")
      #expect(try await program.call("run", "recipes/a.yaml", "--plan", "plan.json").code == 0)
    }
  }

  @Test func `the line of a run that waits fits the terminal`() async throws {
    let name = String(repeating: "語", count: 60)
    try await Self.with(["a.yaml": "steps: [{ wait: { event: \(name), timeout: 1h } }]\n"]) { program in
      let binary = Program.binary.path
      // `script` gives the program a terminal.
      let run = try await program.shell(
        """
        TERM=xterm script -qefc "stty cols 80; '\(binary)' run a.yaml --no-color" shown </dev/null >/dev/null 2>&1 &
        until grep -q 'waiting until' shown; do sleep 0.05; done
        '\(binary)' runs signal any \(name) --quiet
        wait $!
        cat shown
        """)
      let lines = run.out.split(whereSeparator: \.isNewline).filter { $0.contains("waiting until") }
      #expect(!lines.isEmpty, "\(run.out)\(run.error)")
      for line in lines {
        let text = line.split(separator: "\u{1B}[J").last.map { String($0) } ?? ""
        #expect(text.displayWidth < 80, "\(text)")
      }
    }
  }

  @Test func `a run that waits briefly says so, and a killed one is displayed as interrupted`() async throws {
    try await Self.with(["b.yaml": "steps: [{ wait: 50s }]\n"]) { program in
      let run = try program.start(["run", "b.yaml"])
      var list = try await program.call("runs")
      while !list.out.contains("  running  ") { list = try await program.call("runs") }
      while list.out.contains("  running  "), !list.out.contains("  until ") { list = try await program.call("runs") }
      #expect(list.out.contains("  until "), "\(list.out)")
      #expect(!list.error.contains("No agent is running"), "\(list.error)")
      run.signal(SIGKILL)
      _ = await run.outcome()
      list = try await program.call("runs")
      #expect(list.out.contains("interrupted; nothing is running it"), "\(list.out)")
      #expect(list.error.contains("No agent is running to resume the open runs."), "\(list.error)")
    }
  }

  @Test func `resolving asks for an unknown output with a template`() async throws {
    let script = "read -r _ _ _ agent _ < /proc/$PPID/stat; kill -9 $agent"
    let step = "{ effect: write, program: sh, arguments: [-c, '\(script)'] }"
    try await Self.with(["a.yaml": "steps: [{ id: note, uses: shell.run, with: \(step) }]\n"]) { program in
      _ = try await program.call("run", "a.yaml")
      var resumed = try await program.call("runs", "resume", "--json")
      // The folder stays locked until the command has ended too.
      while resumed.code == 75 { resumed = try await program.call("runs", "resume", "--json") }
      let run = resumed.json["run"]?.string ?? ""
      let output = #"--done --output '{"exitCode":"0…","output":"…","errors":"…","isRun":"true|false"}'"#
      let why = try await program.call("why", run)
      #expect(why.out.contains("errand runs resolve \(run) note \(output)\n"), "\(why.out)")
      let refused = try await program.call("runs", "resolve", run, "note", "--done")
      #expect(refused.code == 1)
      #expect(
        refused.error
          == "error: shell.run has an output that later steps may read, so 'done' needs it; fill in: \(output)\n")
      // The command, copied without filling in the output, doesn't resolve the write.
      let resolve = "'\(Program.binary.path)' runs resolve \(run) note"
      let copied = try await program.shell("\(resolve) \(output)")
      #expect(copied.error == "error: 'output.output' is still to be filled in, with what shell.run gave\n")
      let filled = #"{"exitCode":0,"output":"","errors":"","isRun":true}"#
      let settled = try await program.shell("\(resolve) --done --output '\(filled)'")
      #expect(settled.code == 0, "\(settled.error)")
    }
  }

  @Test func `the account's name decides, and an event with another name is reported`() async throws {
    let files = [
      "a.yaml":
        "steps: [{ id: ask, approve: { prompt: Now? } }, { id: paid, wait: { event: paid, type: { amount: double }, match: event.data.amount > 1.0 } }]\n"
    ]
    try await Self.with(files) { program in
      let agent = try program.serve("serve")
      _ = await agent.line(with: " serves ")
      let run = try await program.call("run", "a.yaml", "--detach").out.split(separator: "\n").map { String($0) }[0]
      while try await !program.call("runs").out.contains("asks 'Now?'") {}
      let account = try #require(getpwuid(geteuid())?.pointee.pw_name).map { String(cString: $0) }
      let approved = try await program.call("runs", "approve", run, environment: ["USER": ""])
      #expect(approved.error == "approved 'ask' of \(run) as \(account ?? "")\n")
      while try await !program.call("runs").out.contains("for the event 'paid'") {}
      let sent = try await program.call("runs", "signal", run, "pade", "--id", "e1")
      #expect(sent.code == 0)
      #expect(
        sent.error == """
          \(run) waits for 'paid', and not for 'pade'. The event is kept for a week, for a step that waits for it later
          received 'pade' as e1 for \(run)

          """)
      _ = try await program.call("runs", "signal", run, "paid", "--data", "5")
      var why = try await program.call("why", run)
      while why.out.contains("is running") { why = try await program.call("why", run) }
      #expect(
        why.out.contains(
          "One came, and did not match. The last is another event for it: 'event.data' takes a map of fields, but found an int."
        ), "\(why.out)")
      agent.signal(SIGTERM)
      _ = await agent.end()
    }
  }

  @Test func `a trigger that starts nothing fails`() async throws {
    let files = [
      "recipes/long.yaml": "on: [{ every: 1h, zone: UTC }]\nsteps: [{ wait: { event: never, timeout: 1h } }]\n"
    ]
    try await Self.with(files) { program in
      #expect(try await program.call("schedule", "log").error == "no slot was decided yet\n")
      let agent = try program.serve("serve")
      _ = await agent.line(with: " serves ")
      #expect(try await program.call("schedule", "trigger", "long").code == 0)
      let second = try await program.call("schedule", "trigger", "long")
      #expect(second.code == 1)
      #expect(second.error.hasPrefix("error: nothing is started: long: skippedOverlap"), "\(second.error)")
      agent.signal(SIGTERM)
      _ = await agent.end()
    }
  }

  @Test func `a mistake is reported with the fix`() async throws {
    let files = [
      "recipes/weekly.yaml": "inputs: { key: { type: int, summary: Key of it. } }\nsteps: [{ let: { x: 1 } }]\n",
      "on.yaml": "steps: [{ uses: markbook.getMarkbook, on: api, with: { markbookKey: 1 } }]\n",
      "empty.yaml": "",
    ]
    let slips: [(arguments: [String], code: Int32, says: String)] = [
      (
        ["run", "weekly"], 66,
        "error: cannot read 'weekly': no such file or folder (ENOENT); did you mean 'recipes/weekly.yaml'?\n"
      ),
      (["check", "recipes/wekly.yaml"], 66, "; did you mean 'recipes/weekly.yaml'?\n"),
      (["run", "recipes"], 66, "error: cannot read 'recipes': it is a folder (EISDIR); name a recipe in it\n"),
      (["check", "recipes"], 0, "1 recipe checked, no faults\n"),
      (["run", "recipes/weekly.yaml", "-i", "key=1", "-i", "key=2"], 64, "error: the input 'key' is given twice; "),
      (["run", "recipes/weekly.yaml"], 3, "input 'key' (int) is missing: Key of it; give it with -i key=…"),
      (["check", "on.yaml"], 3, "a step has no key 'on'; did you mean 'connection'?"),
      (["eval", "--with", "empty.yaml", "a"], 3, "\nerror: 'empty.yaml' cannot be read\n"),
      (["eval", "now.getFullYear() > 2000"], 0, ""),
    ]
    try await Self.with(files) { program in
      for slip in slips {
        let outcome = await (try program.start(slip.arguments)).outcome()
        #expect(outcome.code == slip.code, "\(slip.arguments)")
        #expect(slip.says.isEmpty || outcome.error.contains(slip.says), "\(outcome.error)")
      }
    }
  }

  @Test func `a missing folder of recipes or of the state is reported with the fix`() async throws {
    try await Self.with(["errand.yaml": ""]) { program in
      try FileManager.default.removeItem(at: program.folder.appending(path: "recipes"))
      let check = try await program.call("check")
      #expect(check.code == 66)
      #expect(
        check.error.hasSuffix("'errand new recipe' makes one there, and 'recipes' in errand.yaml names other folders\n")
      )
      #expect(try await program.call("new", "recipe", "mine", "--from", "streak").out == "recipes/mine.yaml\n")
      #expect(try await program.call("check").code == 0)
      try FileManager.default.removeItem(at: program.folder.appending(path: "errand.yaml"))
      let homeless = ["HOME": "", "XDG_STATE_HOME": ""]
      let runs = try await program.call("runs", environment: homeless)
      #expect(runs.code == 78)
      #expect(runs.error.contains("neither $HOME nor $XDG_STATE_HOME is set"), "\(runs.error)")
      #expect(try await program.call("check", "recipes/mine.yaml", environment: homeless).code == 0)
    }
  }
}
