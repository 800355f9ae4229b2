import ActionKit
import Foundation
import Glibc
import Testing

/// Trusted files in a folder, and files that actions may not reach, with the real program.
@Suite(.timeLimit(.minutes(20))) struct OwnedFolderTests {
  private static let server = #"""
    import json, sys
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m: continue
        if m["method"] == "initialize":
            r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        elif m["method"] == "tools/list": r = {"tools": [{"name": "hi", "inputSchema": {"type": "object"}}]}
        else: r = {}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
    """#

  private static func program() async throws -> Program {
    let program = try await Program()
    for name in ["recipes", "tools", "keys", "data"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: name), withIntermediateDirectories: true)
    }
    return program
  }

  @Test func `files that errand.yaml and locks name are out of bounds for every action that writes`() async throws {
    let program = try await Self.program()
    let old = try program.read("errand.yaml")
    try program.write(
      """
      secrets: { commands: { ONE: [sh, -c, "keys/one.sh | head -1"], TWO: [python3, keys/two.py, --key=keys/two.pem] } }
      \(old)  clock: { folder: tools, arguments: [other.py] }

      """, to: "errand.yaml")
    try program.write(Self.server, to: "tools/server.py")
    for name in ["keys/one.sh", "keys/two.py", "keys/two.pem", "tools/other.py", "data/free.txt"] {
      try program.write("x", to: name)
    }
    let added = try await program.call("plugin", "add", "mcp", "clock", "--", "python3", "tools/server.py")
    #expect(added.code == 0, "\(added.error)")
    let refused = [
      "plugins/clock.lock.json", "plugins/new.lock.json", "tools/server.py", "keys/one.sh", "keys/two.py",
      "keys/two.pem", "tools/other.py", "data/errand.yaml", "recipes/new.yaml~", "recipes/new.yaml/x",
    ]
    let steps = refused.flatMap { path in
      [
        "{ uses: file.write, with: { path: \(path), text: a } }",
        "{ uses: file.append, with: { path: \(path), text: a } }", "{ uses: file.delete, with: { path: \(path) } }",
        "{ uses: file.move, with: { from: data/free.txt, to: \(path) } }",
      ]
    }
    try program.write("steps:\n" + steps.map { "  - \($0)\n" }.joined(), to: "recipes/try.yaml")
    let checked = try await program.call("check", "recipes/try.yaml")
    for (index, step) in steps.enumerated() {
      #expect(
        checked.error.contains("try.yaml:\(index + 2):"), "\(step) passed: \(checked.error.prefix(2000))")
    }
    #expect(checked.error.ranges(of: "errand's own files").count == steps.count, "\(checked.error)")
    // The target of a computed path is known only in the run.
    try program.write(
      """
      inputs: { at: string }
      steps:
        - { uses: json.write, with: { path: "${{ inputs.at }}", value: {} } }
      """, to: "recipes/try.yaml")
    let lock = try program.read("plugins/clock.lock.json")
    for path in ["plugins/clock.lock.json", "tools/server.py", "keys/two.pem"] {
      let outcome = try await program.call("run", "recipes/try.yaml", "-i", "at=\(path)")
      #expect(outcome.code == 1 && outcome.error.contains("errand's own files"), "\(path): \(outcome.error)")
    }
    #expect(try program.read("plugins/clock.lock.json") == lock)
    #expect(try program.read("tools/server.py") == Self.server)
    let free = try await program.call("run", "recipes/try.yaml", "-i", "at=data/free.txt")
    #expect(free.code == 0, "\(free.error)")
    await program.remove()
  }

  @Test func `what a secret's command may start and what recipes call is out of bounds, be it there or not`()
    async throws
  {
    let program = try await Self.program()
    for name in ["build", "lib"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: name), withIntermediateDirectories: true)
    }
    let old = try program.read("errand.yaml")
    try program.write(
      #"""
      secrets: { commands: { A: [sh, tools/new.sh], B: [sh, -c, "exec $PWD/tools/get.sh"],
        C: [sh, -c, 'exec "${PLACE:-.}/tools/old\.sh"'], D: [make, -s, -C, build], E: [curl, -d, "@keys/body.json"],
        F: [python3, -m, package.module], G: [sh, -c, "for f in keys/*.sh; do $f; done"], H: [gpg, -okeys/out.gpg] } }

      """# + old, to: "errand.yaml")
    for name in ["tools/get.sh", "tools/old.sh", "keys/body.json", "lib/b.yaml", "data/free.txt"] {
      try program.write("steps: []", to: name)
    }
    try program.write("steps: [{ call: ../lib/b.yaml }, { call: '../lib/c.yaml' }]\n", to: "recipes/calls.yaml")
    try program.write(#"{"steps": [{"call": "../lib/d.yaml"}]}"#, to: "recipes/json.yaml")
    try program.write(
      """
      inputs: { at: string }
      steps:
        - { uses: json.write, with: { path: "${{ inputs.at }}", value: {} } }

      """, to: "recipes/try.yaml")
    for path in [
      "tools/new.sh", "tools/get.sh", "tools/old.sh", "build/Makefile", "keys/body.json", "package/module.py",
      "keys/any.sh", "keys/out.gpg", "lib/b.yaml", "lib/c.yaml", "lib/d.yaml",
    ] {
      let outcome = try await program.call("run", "recipes/try.yaml", "-i", "at=\(path)")
      #expect(outcome.code == 1 && outcome.error.contains("errand's own files"), "\(path): \(outcome.error)")
    }
    let free = try await program.call("run", "recipes/try.yaml", "-i", "at=data/free.txt")
    #expect(free.code == 0, "\(free.error)")
    await program.remove()
  }

  @Test func `an errand.yaml that others may change is refused before a command of it runs, unless it is named`()
    async throws
  {
    let program = try await Self.program()
    let path = program.folder.appending(path: "errand.yaml").path
    let old = try program.read("errand.yaml")
    try program.write(
      "secrets: { commands: { MARK: [sh, -c, 'echo x > marked; echo sesame'] } }\n\(old)", to: "errand.yaml")
    try program.write(
      "steps: [{ uses: shell.run, with: { command: echo, environment: { A: '${{ secrets.MARK }}' } } }]\n",
      to: "recipes/try.yaml")
    func mode(_ mode: mode_t, _ path: String) { #expect(chmod(path, mode) == 0) }
    let me = getpwuid(geteuid()).flatMap { $0.pointee.pw_name.map { String(cString: $0) } } ?? "\(geteuid())"
    let message =
      "error: '\(path)' isn't used, because another user may change it: users other than its owner, \(me), may write to "
      + "'\(path)'; forbid it with: chmod go-w '\(path)'; or, if you trust it, name it with: --config '\(path)'\n"
    mode(0o666, path)
    for arguments in [
      ["plan", "recipes/try.yaml"], ["run", "recipes/try.yaml"], ["check"], ["serve"], ["runs", "list"],
      ["secrets", "check"], ["plugin", "list"], ["doctor"], ["mcp"],
    ] {
      let outcome = try await program.call(arguments)
      #expect(outcome.code == 78 && outcome.error == message, "\(arguments): \(outcome.code) \(outcome.error)")
    }
    #expect(try await program.shell("cd recipes && '\(Program.binary.path)' run try.yaml").error == message)
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "marked").path))
    // Completion offers nothing from it, and says nothing.
    #expect(try await !program.call("check", "--config", path).error.contains("isn't used"))
    mode(0o644, path)
    mode(0o777, program.folder.path)
    #expect(try await program.call("check").error.contains("may write to '\(program.folder.path)'"))
    mode(0o700, program.folder.path)
    #expect(try await !program.call("check").error.contains("isn't used"))
    // Recipes are run too, but a person may have shared their folder.
    mode(0o777, program.folder.appending(path: "recipes").path)
    let doctor = try await program.call("doctor")
    #expect(
      doctor.out.contains(
        "warning: what is run here may be changed by others: users other than its owner, \(me), may write to "
          + "'\(program.folder.path)/recipes'; forbid it with: chmod go-w '\(program.folder.path)/recipes'"),
      "\(doctor.out)")
    await program.remove()
  }

  @Test func `a lock that others may change starts nothing`() async throws {
    let program = try await Self.program()
    try program.write(Self.server, to: "tools/server.py")
    #expect(try await program.call("plugin", "add", "mcp", "clock", "--", "python3", "tools/server.py").code == 0)
    let lock = program.folder.appending(path: "plugins/clock.lock.json").path
    try program.write("steps: [{ uses: clock.hi }]\n", to: "recipes/try.yaml")
    #expect(try await program.call("check", "recipes/try.yaml").code == 0)
    for (path, mode) in [(lock, 0o666), (program.folder.appending(path: "plugins").path, 0o777)] {
      #expect(chmod(path, mode_t(mode)) == 0)
      for arguments in [["check", "recipes/try.yaml"], ["run", "recipes/try.yaml"], ["plugin", "update", "clock"]] {
        let outcome = try await program.call(arguments)
        #expect(
          outcome.code != 0 && outcome.error.contains("plugins/clock.lock.json isn't used: users other than its owner"),
          "\(arguments): \(outcome.error)")
      }
      #expect(chmod(path, mode_t(path == lock ? 0o644 : 0o755)) == 0)
    }
    #expect(try await program.call("check", "recipes/try.yaml").code == 0)
    await program.remove()
  }
}
