import ActionKit
import ActionTestKit
import Basics
import Foundation
import Glibc
import MCPPlugins
import ProcessTestKit
import Testing

/// Kills the servers that are plugins, and the agents that started them, at random moments of a write.
@Suite(.timeLimit(.minutes(240))) struct PluginKillTests {
  private static let git = [PythonPackage("mcp", "2.3.0"), PythonPackage("mcp-server-git", "2026.10.19")]

  @Test func `a plugin in Python that can look doubles nothing when it and its agent are killed at random`()
    async throws
  {
    guard let python = await pythonInterpreter(with: NewPythonPluginTests.sdk) else { return }
    try await NewPythonPluginTests.with { program in
      try program.write("", to: "errand.yaml")
      try #require(try await program.call("new", "plugin", "python", "notes").code == 0)
      try await NewPythonPluginTests.lock("notes", MCPSource(.command([python, "plugins/notes.py"])), in: program)
      let ends = try await Self.killed(
        program, "notes.py",
        """
        uses: notes.addNote
        retry: { maxAttempts: 4, initial: 10ms, on: [plugin] }
        with: { text: "${{ inputs.name }}-${{ string(n) }}" }
        """)
      let notes = try program.read("notes.jsonl").split(separator: "\n").compactMap {
        try JSON.parse(String($0))["text"]?.string
      }
      try Self.expectOnce(notes, ends, "notes")
      // A write that can be reconciled isn't uncertain, unless one call met two kills.
      #expect(ends.values.count { $0 == "uncertain" } * 4 <= ends.count, "\(ends)")
    }
  }

  @Test func `git_commit of mcp-server-git doubles nothing when it and its agent are killed at random`() async throws {
    guard let python = await pythonInterpreter(with: Self.git) else { return }
    try await NewPythonPluginTests.with { program in
      try program.write("", to: "errand.yaml")
      let server = python.split(separator: "/").dropLast().joined(separator: "/")
      try await NewPythonPluginTests.lock("git", MCPSource(.command(["/\(server)/mcp-server-git"])), in: program)
      // A repository for each run, so that none meets the leftovers of another's killed server.
      let ends = try await Self.killed(
        program, "mcp-server-git",
        #"""
        uses: shell.run
        with:
          effect: idempotentWrite
          arguments: ["${{ inputs.name }}", "${{ string(n) }}"]
          script: |
            mkdir -p "repos/$1" && cd "repos/$1" && git init -q . && rm -f .git/*.lock .git/refs/heads/*.lock
            git config user.name a && git config user.email a@b && echo "$2" > "file$2" && git add .
        """#,
        """
        uses: git.gitCommit
        retry: { maxAttempts: 4, initial: 10ms, on: [plugin] }
        with:
          repo_path: "\(program.folder.path)/repos/${{ inputs.name }}"
          message: "${{ inputs.name }}-${{ string(n) }}"
        """)
      let log = try await program.shell("for repo in repos/*; do git -C $repo log --format=%s; done")
      try Self.expectOnce(log.out.split(separator: "\n").map(String.init), ends, "commits")
    }
  }

  /// How often each run writes.
  private static let items = 6

  /// How each run ended, by its name, after all open runs were finished.
  private static func killed(
    _ program: Program, _ server: String, _ steps: String...
  ) async throws -> [String: String] {
    // A few for the gate; `make soak` asks for more.
    let environment = ProcessInfo.processInfo.environment
    let kills = environment["ERRAND_PLUGIN_KILLS"].flatMap { Int($0) } ?? 4
    let seed = environment["ERRAND_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
    var random = SeededNumbers(seed)
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      """
      recipe: writing
      inputs: { name: string }
      steps:
        - forEach: "\(Array(0..<items))"
          as: n
          steps:
      \(steps.map { "      - " + $0.replacing("\n", with: "\n        ") }.joined(separator: "\n"))
      """, to: "recipes/writing.yaml")
    var serve = try program.serve("serve", "--quiet")
    // One that no kill meets.
    let first = try await program.call("run", "recipes/writing.yaml", "-i", "name=first")
    #expect(first.code == 0, "\(first.error)")
    var victims: [String: Int] = [:]
    for number in 0..<kills {
      let outcome = try await program.call("run", "recipes/writing.yaml", "-i", "name=r\(number)", "--detach")
      // 4: it was accepted, and its agent is just being started.
      #expect([0, 4].contains(outcome.code), "seed \(seed): \(outcome.error)")
      // A moment of the server's start, or of its calls.
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...4000, using: &random)))
      if Bool.random(using: &random), let pid = pids(of: server, in: program).randomElement(using: &random) {
        kill(pid, SIGKILL)
        victims["servers", default: 0] += 1
      } else {
        serve.signal(SIGKILL)
        #expect(await serve.end() == -SIGKILL)
        victims["agents", default: 0] += 1
        serve = try program.serve("serve", "--quiet")
      }
    }
    var open: [Value]
    repeat {
      try Task.checkCancellation()
      open = try await program.call("runs", "list", "-n", "10000", "--json").json["open"]?.list ?? []
    } while open.contains { $0["status"]?.string != "uncertain" }
    serve.signal(SIGTERM)
    #expect([0, -SIGTERM].contains(await serve.end()))
    // The server goes with its agent.
    while !pids(of: server, in: program).isEmpty {
      try Task.checkCancellation()
      await Task.yield()
    }
    let list = try await program.call("runs", "list", "-n", "10000", "--json").json
    var ends: [String: String] = [:]
    for run in (list["open"]?.list ?? []) + (list["finished"]?.list ?? []) {
      let displayed = try await program.call("runs", "show", run["id"]?.string ?? "", "--json").json
      ends[displayed["inputs"]?["name"]?.string ?? ""] = run["status"]?.string ?? ""
    }
    #expect(ends["first"] == "succeeded")
    #expect(ends.count == kills + 1, "seed \(seed): \(ends)")
    let counts = Dictionary(grouping: ends.values) { $0 }.mapValues(\.count)
    print("soak: \(server): seed \(seed): killed \(victims); runs: \(counts)")
    return ends
  }

  /// Checks that nothing was done twice, and that every item of a successful run was done once.
  private static func expectOnce(_ done: [String], _ ends: [String: String], _ what: Comment) throws {
    #expect(!done.isEmpty, what)
    print("soak: \(done.count) \(what) of \(ends.count) runs")
    #expect(Set(done).count == done.count, what)
    for (name, status) in ends where status == "succeeded" {
      for number in 0..<items { #expect(done.contains("\(name)-\(number)"), what) }
    }
  }

  /// The processes of a server in the program's folder.
  private static func pids(of server: String, in program: Program) -> [Int32] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return all.compactMap { Int32($0) }.filter { pid in
      let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")
      let command = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
      return folder.map { program.folder.path.hasSuffix($0) || $0 == program.folder.path } == true
        && command?.contains(server) == true && command?.contains("python") == true
    }
  }
}
