import ActionKit
import Basics
import Foundation
import Glibc
import PluginList
import Testing

/// The output of `errand sandbox`, pasted into errand.yaml.
@Suite(.timeLimit(.minutes(20))) struct SandboxBlockTests {
  private static let plugins = everyPlugin.map { $0.name }

  @Test(arguments: plugins) func `the block that a sandbox prints checks without a message`(_ plugin: String)
    async throws
  {
    let program = try await Program()
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", "exec '\(Program.binary.path)' sandbox \(plugin) > errand.yaml"]
    process.currentDirectoryURL = program.folder
    let sandbox = try Serving(process)
    guard await sandbox.line(with: "Stop it with Ctrl-C.") != nil else {
      #expect(sandbox.before.contains("plugin '\(plugin)' has no sandbox"))
      return await program.remove()
    }
    try program.write("recipe: none\nsteps:\n  - let: { a: 1 }\noutputs: { a: \"${{ a }}\" }\n", to: "none.yaml")
    let checked = try await program.call("check", "none.yaml")
    #expect(checked.code == 0)
    let printed = checked.out + checked.error
    // Who knows a topic can read there, wherever its server is.
    if plugin == "notify" {
      #expect(printed.contains("warning: 'notify.topic' is a secret in plain text"), "\(printed)")
    }
    #expect(
      plugin == "notify"
        ? printed.hasSuffix("1 recipe checked, no faults\n") : printed == "1 recipe checked, no faults\n")
    let text = try String(contentsOf: program.folder.appending(path: "errand.yaml"), encoding: .utf8)
    #expect(text.hasPrefix("# sandbox of \(plugin) at ") && text.contains("\nconnections:\n  \(plugin):"))
    sandbox.signal(SIGINT)
    _ = await sandbox.end()
    await program.remove()
  }

  @Test func `a command that fails is run again if its step says so`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: again
      steps:
        - uses: shell.run
          with: { effect: idempotentWrite, script: "echo x >> tries; test $(wc -l < tries) -ge 3" }
          retry: { maxAttempts: 5, initial: 1ms, jitter: none }
      """, to: "again.yaml")
    #expect(try await program.call("run", "again.yaml").code == 0)
    #expect(try String(contentsOf: program.folder.appending(path: "tries"), encoding: .utf8) == "x\nx\nx\n")
    await program.remove()
  }
}
