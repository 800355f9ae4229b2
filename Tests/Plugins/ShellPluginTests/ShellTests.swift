import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import Recipes
import RunState
import RunTestKit
import Synchronization
import Testing

@testable import ShellPlugin

private func folder() throws -> String {
  let path = FileManager.default.temporaryDirectory.appending(path: "shell-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  return path
}

private func refusal(
  of command: ShellCommand, _ settings: ShellSettings = ShellSettings()
) async -> ShellError? {
  do throws(ShellError) { _ = try await ShellClient(settings).run(command) } catch { return error }
  return nil
}

private func output(of command: ShellCommand, _ settings: ShellSettings = ShellSettings()) async throws -> String {
  String(decoding: try await ShellClient(settings).run(command).output, as: UTF8.self)
}

@Suite(.timeLimit(.minutes(20))) struct ShellClientTests {
  @Test func `arguments arrive as they are, whatever a shell would make of them`() async throws {
    let words = ["a b", "$HOME", "*", "'\"", "`id`", "ä\u{301}", "-n"]
    let found = try await output(of: ShellCommand(.program("printf"), ["[%s]"] + words, folder: "/"))
    #expect(found == words.map { "[\($0)]" }.joined())
  }

  @Test func `a script has its values as arguments`() async throws {
    let script = ShellCommand(.script("printf '%s|' \"$0\" \"$#\" \"$@\""), ["a b", "$(id)"], folder: "/")
    #expect(try await output(of: script) == "sh|2|a b|$(id)|")
  }

  @Test func `the environment is what is named, and nothing else`() async throws {
    let settings = ShellSettings(environment: ["PATH": ShellSettings.path, "A": "settings", "B": "settings"])
    let command = ShellCommand(
      .program("env"), environment: ["B": "command", "C": "two\nlines"], secretEnvironment: ["D": "x"], folder: "/")
    #expect(
      try await output(of: command, settings)
        == "A=settings\nB=command\nC=two\nlines\nD=x\nPATH=/usr/local/bin:/usr/bin:/bin\n")
  }

  @Test func `it works in its folder, with no descriptor but the three`() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(try await output(of: ShellCommand(.program("pwd"), folder: folder)) == "\(folder)\n")
    // A descriptor that is not closed on exec is not inherited either. The fourth is the folder that is being listed.
    let leak = open("/dev/null", O_RDONLY)
    defer { close(leak) }
    #expect(try await output(of: ShellCommand(.script("ls /proc/self/fd"), folder: folder)) == "0\n1\n2\n3\n")
  }

  @Test func `signals are as the system has them`() async throws {
    let masks = try await output(
      of: ShellCommand(.script("grep -E 'SigBlk|SigIgn' /proc/self/status | cut -f2"), folder: "/"))
    // Signals 32 and 33 are the C library's own, and whoever started the tests may have it ignore them.
    let numbers = masks.split(separator: "\n").compactMap { UInt64($0, radix: 16) }
    #expect(numbers.map { $0 & 0x7FFF_FFFF } == [0, 0])
  }

  @Test func `a program of the folder is found by its path, and one of the connection's path by its name`()
    async throws
  {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data("#!/bin/sh\necho mine \"$1\"\n".utf8).write(to: URL(filePath: "\(folder)/tool"))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(folder)/tool")
    #expect(try await output(of: ShellCommand(.program("./tool"), ["a"], folder: folder)) == "mine a\n")
    let settings = ShellSettings(environment: ["PATH": "/bin:\(folder)"])
    #expect(try await output(of: ShellCommand(.program("tool"), ["b"], folder: "/"), settings) == "mine b\n")
  }

  @Test func `it is fed while it is read, however much it is`() async throws {
    let input = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
    let result = try await ShellClient().run(ShellCommand(.program("cat"), folder: "/", input: input))
    #expect(result.output == input)
  }

  @Test func `one that does not read what it is given is not disturbed, and neither is this program`() async throws {
    let input = [UInt8](repeating: 0x41, count: 4 << 20)
    let command = ShellCommand(.script("exec <&-; echo done; echo why >&2"), folder: "/", input: input)
    let result = try await ShellClient().run(command)
    #expect(String(decoding: result.output, as: UTF8.self) == "done\n")
    #expect(String(decoding: result.errors, as: UTF8.self) == "why\n")
  }

  @Test func `what it prints is passed on as it comes`() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    mkfifo("\(folder)/go", 0o600)
    let printed = Mutex<[String]>([])
    let script = "echo one; read -r line < go; echo $line >&2; printf three"
    let command = ShellCommand(.script(script), folder: folder)
    let result = try await ShellClient().run(command) { bytes, stream in
      let text = String(decoding: bytes, as: UTF8.self)
      printed.withLock { $0.append("\(stream) \(text)") }
      // The script continues once its first line has arrived.
      if text == "one\n" { try? Data("two\n".utf8).write(to: URL(filePath: "\(folder)/go")) }
    }
    #expect(printed.withLock { Set($0) } == ["output one\n", "errors two\n", "output three"])
    #expect(String(decoding: result.output, as: UTF8.self) == "one\nthree")
  }

  @Test func `other exit codes can be expected`() async throws {
    let command = ShellCommand(.script("exit 3"), folder: "/", expectedCodes: [0, 3])
    #expect(try await ShellClient().run(command).exitCode == 3)
  }

  @Test func `what it writes is given as it is, and secrets too`() async throws {
    let script = "echo \"$TOKEN and $LONGER and $SHORT\"; echo \"$TOKEN\" >&2"
    let secrets = ["TOKEN": "s3cret", "LONGER": "s3cret-more", "SHORT": "abc"]
    let command = ShellCommand(.script(script), secretEnvironment: secrets, folder: "/")
    let result = try await ShellClient().run(command)
    #expect(String(decoding: result.output, as: UTF8.self) == "s3cret and s3cret-more and abc\n")
    #expect(String(decoding: result.errors, as: UTF8.self) == "s3cret\n")
  }

  struct Failure: Sendable, CustomTestStringConvertible {
    var command: ShellCommand
    var error: ShellError
    var testDescription: String { error.message }
  }

  static let failures = [
    Failure(
      command: ShellCommand(.script("echo why >&2; exit 7"), folder: "/"),
      error: ShellError(.exited(7), "'sh' exited with code 7", detail: "why")),
    Failure(
      command: ShellCommand(.script("echo one; echo two; exit 7"), folder: "/"),
      error: ShellError(.exited(7), "'sh' exited with code 7", detail: "standard output: one\ntwo")),
    Failure(
      command: ShellCommand(.script("echo what; echo why >&2; kill -TERM $$"), folder: "/"),
      error: ShellError(
        .signalled(15), "'sh' was ended by signal 15", detail: "standard error: why\nstandard output: what")),
    Failure(
      command: ShellCommand(.script("kill -9 $$"), folder: "/"),
      error: ShellError(.signalled(9), "'sh' was ended by signal 9")),
    Failure(
      command: ShellCommand(.program("nowhere-to-be-found"), folder: "/"),
      error: ShellError(
        .invalid, "no program is named 'nowhere-to-be-found' in /usr/local/bin, /usr/bin, /bin")),
    Failure(
      command: ShellCommand(.program("echo hello"), folder: "/"),
      error: ShellError(
        .invalid,
        "no program is named 'echo hello'; give what follows its name as 'arguments', or use 'script'")),
    Failure(
      command: ShellCommand(.program("/etc/passwd"), folder: "/"),
      error: ShellError(.invalid, "'/etc/passwd' isn't a program: it is missing, or not executable")),
    Failure(
      command: ShellCommand(.program("/bin"), folder: "/"),
      error: ShellError(.invalid, "'/bin' isn't a program: it is missing, or not executable")),
    Failure(
      command: ShellCommand(.program("echo"), ["a\0b"], folder: "/"),
      error: ShellError(.invalid, "an argument of 'echo' contains a NUL character")),
    Failure(
      command: ShellCommand(.program("echo"), environment: ["A=B": "c"], folder: "/"),
      error: ShellError(.invalid, "'A=B' cannot be the name of a variable")),
    Failure(
      command: ShellCommand(.program("echo"), environment: ["A": "b\0c"], folder: "/"),
      error: ShellError(.invalid, "the variable 'A' contains a NUL character")),
    Failure(
      command: ShellCommand(.program("echo"), folder: "/nowhere"),
      error: ShellError(.invalid, "the working folder '/nowhere' is not there; make it first")),
    Failure(
      command: ShellCommand(.program("yes"), folder: "/"),
      error: ShellError(
        .tooMuchOutput, "'yes' wrote more than 1048576 bytes, and was killed",
        detail: "standard output: …" + String(repeating: "y\n", count: 950).trimmed)),
    Failure(
      command: ShellCommand(.script("yes >&2"), folder: "/"),
      error: ShellError(
        .tooMuchOutput, "'sh' wrote more than 1048576 bytes, and was killed",
        detail: "…" + String(repeating: "y\n", count: 950).trimmed)),
    Failure(
      command: ShellCommand(.program("echo"), [String(repeating: "a", count: 200_000)], folder: "/"),
      error: ShellError(.notStarted, "'echo' was not started: the arguments are too long (E2BIG)")),
  ]

  @Test(arguments: failures)
  func `what fails says how, and what to do`(_ failure: Failure) async {
    var found = await refusal(of: failure.command)
    // Where the limit cuts the last line is up to the pipe.
    if let detail = found?.detail, let end = detail.split(separator: "…").last, Set(end) == ["y", "\n"] {
      found?.detail = failure.error.detail
    }
    #expect(found == failure.error)
  }

  /// Runs a script that says its process number and then lasts, and cancels it once it has said it.
  private func cancelled(_ script: String, grace: TimeSpan) async throws -> (error: ShellError?, isGone: Bool) {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    mkfifo("\(folder)/said", 0o600)
    let command = ShellCommand(.script(script), folder: folder)
    let task = Task { await refusal(of: command, ShellSettings(grace: grace)) }
    // Opening blocks until the script has opened its end.
    let printed = await onThread { [path = "\(folder)/said"] in
      let data = try? FileHandle(forReadingAtPath: path)?.readToEnd()
      return data.map { String(decoding: $0, as: UTF8.self).trimmed } ?? ""
    }
    task.cancel()
    let error = await task.value
    let pid = try #require(Int32(printed), "\(printed)")
    return (error, await isGone(pid))
  }

  @Test func `cancelled, it is asked to end, with all that it started`() async throws {
    let (error, isGone) = try await cancelled("sleep 1000 & echo $! > said; wait", grace: .seconds(1000))
    #expect(error == ShellError(.cancelled, "'sh' was ended before it was done"))
    #expect(isGone)
  }

  @Test func `who does not end when asked is killed`() async throws {
    let (error, isGone) = try await cancelled(
      "trap '' TERM; sleep 1000 & echo $! > said; while :; do wait; done", grace: .milliseconds(50))
    #expect(error == ShellError(.cancelled, "'sh' was ended before it was done"))
    #expect(isGone)
  }

  @Test func `what it leaves running ends with it, and keeps nobody waiting`() async throws {
    let result = try await ShellClient().run(ShellCommand(.script("sleep 1000 & echo $!"), folder: "/"))
    let pid = try #require(Int32(String(decoding: result.output, as: UTF8.self).trimmed))
    #expect(await isGone(pid))
  }

  /// Whether a process runs no more; it is a zombie until whoever adopted it has looked.
  private func isGone(_ pid: Int32) async -> Bool {
    for _ in 0..<10_000 {
      let status = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
      if status.isEmpty || status.split(separator: " ")[2] == "Z" { return true }
      await Task.yield()
    }
    return false
  }

  @Test func `one that is cancelled before it began is not started`() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await refusal(of: ShellCommand(.program("echo"), folder: "/"))
    }
    #expect(await task.value == ShellError(.cancelled, "'echo' was not started"))
  }
}

@Suite(.timeLimit(.minutes(20))) struct ShellActionTests {
  private static let catalog = ActionCatalog([ShellPlugin.self])

  private static func checked(_ text: String) -> CheckedRecipe {
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    return Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment)
  }

  /// The outputs of a recipe of some steps, or how it failed.
  private static func outputs(_ text: String, settings: Value? = nil) async throws -> String {
    let checked = checked(text)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    let run = RunDriver(recipe, catalog: catalog)
    let end = try await run.drive()
    if let error = end.error ?? end.stepsInOrder.compactMap(\.error).first {
      return "\(end.status.rawValue), \(error.kind.rawValue): \(error.message)"
    }
    return try JSON.text(try await run.outputs())
  }

  @Test func `is well formed`() { expectWellFormed(ShellPlugin.self) }

  @Test func `examples do what they say`() async { await expectExamplesRun(of: ShellPlugin.self) }

  @Test func `a recipe has the text, the lines or the JSON of an output`() async throws {
    let found = try await ShellActionTests.outputs(
      """
      steps:
        - { id: plain, uses: shell.run, with: { effect: pure, program: echo, arguments: ["a b"] } }
        - { id: lines, uses: shell.run, with: { effect: pure, script: "printf 'a\\n\\nb\\n'", as: lines } }
        - { id: value, uses: shell.run, with: { effect: pure, program: cat, input: '{"a": [1, 2.5, "\\ud83d"]}', as: json } }
        - id: code
          uses: shell.run
          with: { effect: read, script: "echo no >&2; exit 3", expect: [0, 3] }
      outputs:
        text: ${{ steps.plain.output }}
        lines: ${{ steps.lines.?lines.orValue([]) }}
        json: ${{ steps.value.?json.orValue(null) }}
        code: ${{ [string(steps.code.exitCode), steps.code.errors] }}
      """)
    #expect(found == #"{"text":"a b","lines":["a","","b"],"json":{"a":[1,2.5,"\#u{FFFD}"]},"code":["3","no"]}"#)
  }

  @Test(arguments: [
    // A byte of Latin-1 in the middle and at the end, half a character, and none at all.
    ("printf 'saved: M\\374ller.doc'", "", "saved: M\u{FFFD}ller.doc"), ("printf 'a\\303'", "", "a\u{FFFD}"),
    ("printf '\\377'", "", "\u{FFFD}"), ("printf '\\357\\273\\277a\\n'", "", "a"),
    ("printf 'M\\374ller\\n\\n'", ", encoding: latin-1", "Müller"),
    ("printf '5\\200'", ", encoding: windows-1252", "5€"),
    ("printf '\\201'", ", encoding: windows-1252", "\u{FFFD}"),
    ("printf '\\377\\376a\\000\\n\\000'", "", "a"), ("printf 'a\\000b\\000'", ", encoding: utf-16le", "ab"),
  ])
  func `what a command printed never fails it`(_ script: String, _ more: String, _ text: String) async throws {
    for effect in ["write", "read"] {
      let found = try await ShellActionTests.outputs(
        """
        steps:
          - { id: a, uses: shell.run, with: { effect: \(effect), script: "\(script.replacing("\\", with: "\\\\"))"\(more) } }
        outputs: { text: "${{ steps.a.output }}" }
        """)
      #expect(found == (try JSON.text(.object(["text": .string(text)]))), "\(found)")
    }
  }

  @Test(arguments: [
    (
      "{ effect: write, script: exit 3 }", "failed, plugin: 'sh' exited with code 3"
    ),
    (
      "{ effect: write, script: kill -9 $$ }",
      "uncertain, uncertain: shell.run may or may not have been done: 'sh' was ended by signal 9"
    ),
    (
      "{ effect: idempotentWrite, script: kill -9 $$ }", "failed, plugin: 'sh' was ended by signal 9"
    ),
    (
      "{ effect: read, program: nowhere-to-be-found }",
      "failed, configuration: no program is named 'nowhere-to-be-found' in /usr/local/bin, /usr/bin, /bin"
    ),
    (
      "{ effect: pure, program: echo, as: json }",
      "failed, plugin: the output of 'echo' isn't valid JSON: "
    ),
  ])
  func `what fails is judged by the effect that the step declares`(_ with: String, _ words: String) async throws {
    let found = try await ShellActionTests.outputs("steps:\n  - { uses: shell.run, with: \(with) }")
    #expect(words.hasSuffix(": ") ? found.hasPrefix(words) : found == words, "\(found)")
  }

  @Test(arguments: [
    (
      "with: { program: ls }",
      "'with' needs 'effect' ('pure' or 'read' or 'idempotentWrite' or 'write')"
    ),
    ("with: { effect: reed, program: ls }", "did you mean 'read'?"),
    (
      "with: { effect: \"${{ 'read' }}\", program: ls }",
      "'effect' must be written out, because what may be done twice is decided before the run"
    ),
    (
      "with: { effect: write, program: ls }\n    repeat: { until: result.exitCode == 0, every: 1s }",
      "must not be repeated"
    ),
    ("with: { effect: read, program: ls, script: ls }", "'with.script' goes without 'program'"),
    ("with: { effect: read }", "'with' needs 'program' or 'script'"),
    ("with: { effect: read, program: ls, arguments: [\"${{ secrets.TOKEN }}\"] }", "secret"),
  ])
  func `the check knows the effect that the step declares`(_ step: String, _ words: String) {
    let checked = ShellActionTests.checked("steps:\n  - uses: shell.run\n    \(step)")
    let messages = checked.diagnostics.map(\.message)
    #expect(messages.contains { $0.contains(words) }, "\(messages)")
    #expect(checked.recipe == nil)
  }

  @Test func `a command that writes may be tried again, where it was not started`() {
    let checked = ShellActionTests.checked(
      "steps:\n  - uses: shell.run\n    with: { effect: write, program: ls }\n    retry: { maxAttempts: 2 }")
    #expect(checked.diagnostics.isEmpty)
    #expect(ShellError(.exited(3), "x").actionError.retryable)
  }

  @Test(arguments: ["retry: { maxAttempts: 2 }", "repeat: { until: result.exitCode == 0, every: 1s }"])
  func `what the step declares may be done twice is tried again and repeated`(_ modifier: String) {
    for effect in ["pure", "read", "idempotentWrite"] {
      let checked = ShellActionTests.checked(
        "steps:\n  - uses: shell.run\n    with: { effect: \(effect), program: ls }\n    \(modifier)")
      #expect(checked.diagnostics.isEmpty, "\(checked.diagnostics.map(\.message))")
    }
  }

  @Test func `in a sandbox what writes is not run, and says so`() async throws {
    let text = """
      steps:
        - id: read
          uses: shell.run
          with: { effect: read, program: echo, arguments: [read] }
        - id: write
          uses: shell.run
          with: { effect: write, script: echo written, expect: [4], as: lines }
      outputs:
        read: ${{ [string(steps.read.isRun), steps.read.output] }}
        write: ${{ [string(steps.write.isRun), steps.write.output, string(steps.write.exitCode)] }}
      """
    let recipe = try #require(ShellActionTests.checked(text).recipe)
    let outputs = try await withRun(of: recipe, plugins: [ShellPlugin.self]) { run in
      #expect(try await run.drive().status == .succeeded)
      return try JSON.text(try await run.outputs())
    }
    #expect(outputs == #"{"read":["true","read"],"write":["false","","4"]}"#)
  }

  @Test func `trouble of the sandbox strikes a command, and is over then`() async throws {
    let run = try #require(ShellActionTests.catalog.action("shell.run"))
    try await withSandbox(of: ShellPlugin.self) { service, sandbox in
      func tell(_ query: String) async throws -> String {
        let answer = try await HTTPClient().send(HTTPRequest("GET", "\(sandbox.controlURL)/sandbox/\(query)"))
        return String(decoding: answer.body, as: UTF8.self)
      }
      func told(_ text: String) async throws -> String {
        do {
          let output = try await run.run(JSON.parse(text), on: service, in: .testing())
          return "\(output["exitCode"]?.int ?? -1) \(output["isRun"]?.bool ?? false) \(output["output"]?.string ?? "")"
        } catch {
          let error = ActionError(error)
          return "\(error.kind.rawValue) \(error.effect.rawValue): \(error.message)"
        }
      }
      let echo = #"{"effect":"read","program":"echo","arguments":["a b"]}"#
      let deploy = #"{"effect":"write","program":"deploy","expect":[0,3]}"#
      _ = try await tell("fault?kind=exit&call=echo&skip=1&status=7")
      _ = try await tell("fault?kind=timeOut&call=deploy")
      _ = try await tell("fault?kind=exit&status=3&call=deploy")
      #expect(try await told(echo) == "0 true a b")
      #expect(try await told(echo) == "plugin done: 'echo' exited with code 7")
      #expect(try await told(echo) == "0 true a b")
      #expect(try await told(deploy) == "timeout unknown: 'deploy' took too long")
      // One that is expected is a result like any other.
      #expect(try await told(deploy) == "3 false ")
      #expect(try await told(deploy) == "0 false ")
      #expect(try await tell("log") == #"{"requests":6,"calls":{"echo 'a b'":3,"deploy":3}}"#)
      #expect(try await tell("fault?kind=exit") == #"{"fault":"exit"}"#)
      #expect(try await tell("fault?kind=none") == #"{"faults":"none"}"#)
      #expect(try await told(echo) == "0 true a b")
    }
  }

  @Test func `a time-out ends the command, and for a write nobody knows what it did`() async throws {
    for (effect, words) in [
      ("read", "timedOut, timeout: shell.run timed out after"),
      ("write", "uncertain, uncertain: shell.run may or may not have been done: shell.run timed out after"),
    ] {
      let found = try await ShellActionTests.timedOut(effect)
      #expect(found.hasPrefix(words), "\(found)")
    }
  }

  /// A run whose clock moves past the step's time limit as soon as it is waited for.
  private static func timedOut(_ effect: String) async throws -> String {
    let text = """
      steps:
        - uses: shell.run
          timeout: 10s
          retry: { maxAttempts: 1 }
          with: { effect: \(effect), program: sleep, arguments: ["1000"] }
      """
    let checked = checked(effect == "write" ? text.replacing("    retry: { maxAttempts: 1 }\n", with: "") : text)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    let run = RunDriver(recipe, catalog: catalog)
    async let ended = run.drive()
    await run.time.advanceToNextSleeper()
    let end = try await ended
    let error = end.error ?? end.stepsInOrder.compactMap(\.error).first
    return "\(end.status.rawValue), \(error?.kind.rawValue ?? ""): \(error?.message ?? "")"
  }

  @Test func `a step's folder is inside the connection's`() async throws {
    let run = try #require(ShellActionTests.catalog.action("shell.run"))
    let service = ShellPlugin.connect(
      ShellPlugin.Configuration(), in: PluginContext(connection: "shell", time: TestTime()))
    func pwd(_ folder: String?, _ context: ActionContext) async throws -> String? {
      var input = ValueMap([("effect", .string("read")), ("program", .string("pwd"))])
      input["folder"] = folder.map { .string($0) }
      return try await run.run(.map(input), on: service, in: context)["output"]?.string
    }
    try await expectKeptInside { path, context in _ = try await pwd(path, context) }
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: "\(folder)/a", withIntermediateDirectories: true)
    #expect(try await pwd("a", .testing(folder: folder)) == "\(folder)/a")
    #expect(try await pwd(nil, .testing(folder: folder)) == folder)
    await #expect {
      try await pwd("b", .testing(folder: folder))
    } throws: {
      ActionError($0).message == "cannot inspect '\(folder)/b': no such file or folder (ENOENT)."
    }
  }

  @Test func `what was run is in the log of the attempt, and in a preview`() async throws {
    let requests = Mutex<[String]>([])
    let context = PluginContext(connection: "shell", time: TestTime()) { request in
      requests.withLock {
        $0.append("\(request.method) \(request.redactedURL) \(request.status ?? -1) \(request.bytes)")
      }
    }
    let service = ShellPlugin.connect(ShellPlugin.Configuration(), in: context)
    let run = try #require(ShellActionTests.catalog.action("shell.run"))
    let input = Value.object([
      "effect": .string("write"), "program": .string("printf"),
      "arguments": .list([.string("%s"), .string("it's"), .string("")]),
    ])
    _ = try await run.run(input, on: service, in: .testing())
    #expect(requests.withLock { $0 } == ["RUN printf %s 'it'\\''s' '' 0 4"])
    #expect(
      try await run.preview(input, on: service, in: .testing())
        == [Change("This machine", from: nil, to: "would run printf %s 'it'\\''s' ''")])
  }
}
