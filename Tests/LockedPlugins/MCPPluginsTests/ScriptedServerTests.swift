import ActionKit
import ActionTestKit
import Basics
import Foundation
import MCPPlugins
import PluginLocks
import Synchronization
import Testing

/// A server that does what it is told to, also what no server should.
@Suite(.timeLimit(.minutes(20))) struct ScriptedServerTests {
  @Test(arguments: [
    ("modern", "2026-07-28"), ("handshake", "2025-11-25"), ("old", "2024-11-05"), ("strict", "2025-11-25"),
  ])
  func `meets servers of every age`(_ era: String, _ version: String) async throws {
    let lock = try await LockedServer.lock(LockedServer.scripted(era, trustsHints: true))
    #expect(lock.connection["protocol"]?.string == version)
    let server = try await LockedServer(lock)
    let output = try await server.run("echoText", .object(["text": .string("a"), "times": .int(2)]))
    #expect(output == .object(["text": .string("a a")]))
  }

  @Test func `meets a server that leaves unanswered what it doesn't know`() async throws {
    let lock = try await LockedServer.lock(LockedServer.scripted("silent"))
    #expect(lock.connection["protocol"]?.string == "2025-11-25")
  }

  @Test(arguments: [
    (
      "silent", "2025-11-25", ["server/discover", "initialize", "notifications/initialized", "tools/list"],
      ["initialize", "notifications/initialized", "tools/list"]
    ),
    (
      "handshake", "2025-11-25", ["server/discover", "initialize", "notifications/initialized", "tools/list"],
      ["initialize", "notifications/initialized", "tools/list"]
    ),
    ("modern", "2026-07-28", ["server/discover", "tools/list"], ["server/discover", "tools/list"]),
  ])
  func `a server is greeted as its lock says, and isn't started twice to find out`(
    _ era: String, _ version: String, _ first: [String], _ again: [String]
  ) async throws {
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    let file = "\(folder)/asked"
    func asked() throws -> [String] {
      defer { try? Files.write([], to: file) }
      return String(decoding: try Files.read(file, limit: 1 << 20), as: UTF8.self).split(separator: "\n").map(
        String.init)
    }
    // Only the silent server is waited for in vain. To the others no time passes, however slow the machine is: a server that
    // is late with its first answer would be asked for a handshake as well.
    let time: any TimeSource = era == "silent" ? SystemTime() : ManualClock()
    let lock = try await LockedServer.lock(LockedServer.scripted(era, "asked=\(file)"), time: time)
    #expect(lock.connection["protocol"]?.string == version)
    #expect(try asked() == first)
    let server = try await LockedServer(lock)
    #expect(try await server.run("echoText", .object(["text": .string("a")])) == .object(["text": .string("a")]))
    #expect(try asked() == again + ["tools/call"])
  }

  @Test func `a server that changed its ways is met all the same`() async throws {
    for (before, now) in [("handshake", "modern"), ("modern", "handshake")] {
      let lock = try await LockedServer.lock(LockedServer.scripted(before))
      let server = try await LockedServer(
        lock, settings: .object(["arguments": .list([.string(LockedServer.script), .string(now)])]))
      #expect(try await server.run("echoText", .object(["text": .string("a")])) == .object(["text": .string("a")]))
    }
  }

  @Test(arguments: ["mark", "ids=text", "ids=float"])
  func `what a server writes in its own way is read`(_ option: String) async throws {
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern", option)))
    #expect(try await server.run("echoText", .object(["text": .string("a")])) == .object(["text": .string("a")]))
  }

  @Test func `an id that no request has is told, and not waited for`() async {
    let error = await #expect(throws: PluginLockError.self) {
      try await LockedServer.lock(LockedServer.scripted("modern", "ids=other"))
    }
    #expect(error?.message == "'tried' answered 'initialize' with the id 4711, which no request has")
  }

  @Test func `says which version a server of the future speaks`() async throws {
    let error = await #expect(throws: PluginLockError.self) {
      try await LockedServer.lock(LockedServer.scripted("new"))
    }
    #expect(
      error?.message
        == "'tried' speaks version 2031-01-01 of MCP, and errand speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, "
        + "2026-07-28")
  }

  @Test func `reads tools into actions`() async throws {
    let lock = try await LockedServer.lock(
      LockedServer.scripted("modern", "pages", trustsHints: true, effects: ["refuse": .read, "echoText": .pure]))
    #expect(
      lock.actionNames == [
        "asks", "crash", "echoText", "environment", "fail", "garbage", "huge", "late", "misfit", "mute", "number",
        "pair",
        "question", "refuse", "steps", "strange", "wait",
      ])
    #expect(lock.summary == "A scripted server.")
    let document = try JSON.write(lock.document["actions"]?["echoText"] ?? .null, .prettySorted)
    #expect(
      String(decoding: document, as: UTF8.self) == """
        {
          "call": {
            "hints": {
              "idempotentHint": true,
              "readOnlyHint": true
            },
            "nulls": [
              "note"
            ],
            "tool": "echo_text"
          },
          "effect": "pure",
          "effectFrom": "person",
          "input": {
            "note": {
              "optional": true,
              "summary": "May be null.",
              "type": "string"
            },
            "text": {
              "type": "string"
            },
            "times": {
              "limits": {
                "max": 5,
                "min": 1
              },
              "optional": true,
              "summary": "Left out: 1.",
              "type": "int"
            }
          },
          "output": {
            "note": {
              "optional": true,
              "type": "string"
            },
            "text": {
              "type": "string"
            }
          },
          "summary": "Gives a text back."
        }
        """)
    let actions = try lock.actionNames.compactMap { try lock.action($0) }
    let effects = Dictionary(
      uniqueKeysWithValues: actions.map { ($0.name, "\($0.effect.written) \($0.effectSource.rawValue)") })
    #expect(effects["fail"] == "idempotentWrite hint")
    #expect(effects["refuse"] == "read person")
    #expect(effects["crash"] == "write default")
    let again = try MCPSource(of: lock)
    #expect(again.effects == ["refuse": .read, "echo_text": .pure])
    #expect(again.trustsHints)
    #expect(again.server == .command(["python3", LockedServer.script, "modern", "pages"]))
  }

  @Test func `a server that offers something else than its lock is refused with the difference`() async throws {
    let lock = try await LockedServer.lock(LockedServer.scripted("modern"))
    let settings = Value.object([
      "arguments": .list([.string(LockedServer.script), .string("modern"), .string("drift"), .string("gone")])
    ])
    let server = try await LockedServer(lock, settings: settings)
    let error = try await server.failure("steps")
    #expect(error.kind == .configuration)
    #expect(error.effect == .none)
    #expect(
      error.message
        == "the server of 'tried' offers something else than plugins/tried.lock.json says (crash: the server doesn't have "
        + "the tool 'crash', and more); 'errand plugin update tried' shows it and takes it")
    #expect(
      error.detail == """
        crash: the server doesn't have the tool 'crash'
        echoText: input.text: string → int
        """)
  }

  @Test func `one server answers several calls at once, in any order`() async throws {
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern", trustsHints: true)))
    async let second = server.run("pair", .object(["name": .string("b")]))
    async let first = server.run("pair", .object(["name": .string("a")]))
    #expect(try await first["text"] == .string("a"))
    #expect(try await second["text"] == .string("b"))
  }

  @Test func `passes on progress and what the server prints`() async throws {
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern")))
    let heard = Mutex<(progress: [ActionContext.Progress], printed: [UInt8])>(([], []))
    let context = ActionContext(
      run: "test", step: "step", attempt: 1, idempotencyKey: "k", isKeyNamed: false, now: SystemTime().now(),
      time: SystemTime(), folder: "/tmp", values: nil, notes: nil
    ) { report in
      heard.withLock { heard in
        switch report {
        case .progress(let progress): heard.progress.append(progress)
        case .printed(let bytes, _): heard.printed += bytes
        }
      }
    }
    #expect(try await server.run("steps", in: context)["text"] == .string("three"))
    #expect(
      heard.withLock { $0.progress } == [
        ActionContext.Progress("one", completed: 1, of: 4), ActionContext.Progress("steps", completed: 50, of: 100),
        ActionContext.Progress("steps", completed: 7),
      ])
  }

  @Test func `answers pings, and refuses what takes a model`() async throws {
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("handshake")))
    let text = try await server.run("asks")["text"]?.string
    #expect(
      text
        == #"[{"jsonrpc": "2.0", "id": "p", "result": {}}, {"jsonrpc": "2.0", "id": 77, "error": {"code": -32601, "message": "'sampling/createMessage' isn't answered here: a run has no model and no person"}}]"#
    )
  }

  @Test func `a server has only the variables that its connection names`() async throws {
    let lock = try await LockedServer.lock(LockedServer.scripted("modern"))
    let server = try await LockedServer(
      lock,
      settings: .object([
        "environment": .object(["A": .string("1")]), "secretEnvironment": .object(["B": .string("2")]),
        "inherit": .list([.string("HOME")]),
      ]))
    let text = try await server.run("environment")["text"]?.string ?? ""
    let names = try JSON.parse(text).map?.members.compactMap(\.name).sorted()
    // Python itself sets LC_CTYPE, which the settings don't name.
    #expect(names?.filter { $0 != "LC_CTYPE" } == ["A", "B", "HOME", "LANG", "PATH"])
  }

  /// Calls that fail: the action, its input, the message, the kind and whether anything may have happened.
  static let faults: [(String, Value, String, ErrorKind, ActionError.Effect)] = [
    ("crash", .map(ValueMap()), "'tried' exited with code 3", .server, .unknown),
    (
      "garbage", .map(ValueMap()),
      "'tried' wrote to its standard output what isn't a message of MCP, and was ended; such a server may print to its "
        + "standard error only: Downloading the model: 10 %", .server, .unknown
    ),
    (
      "garbage", .object(["line": .string(#"{"jsonrpc": "2.0", "id": <id>, "result": {"mean": NaN}}"#)]),
      "'tried' answered the tool 'garbage' with what can't be read: the message isn't valid JSON: line 1, column 48: "
        + "'NaN' isn't a JSON value", .validation, .done
    ),
    (
      "garbage", .object(["line": .string(#"{"jsonrpc": "2.0", "result": {"big": 1e}, "id": 1}"#)]),
      "'tried' wrote what can't be read, and was ended: the message isn't valid JSON: line 1, column 40: a "
        + "digit is expected in the exponent, but '}' was found", .server, .unknown
    ),
    (
      "huge", .object(["size": .int(200_000)]), "'tried' wrote a message longer than 100000 bytes, and was ended",
      .server, .unknown
    ),
    (
      "refuse", .object(["code": .int(-32602)]), "'tried' refused the tool 'refuse': no (code -32602)", .validation,
      .none
    ),
    (
      "refuse", .object(["code": .int(-32603)]), "'tried' refused the tool 'refuse': no (code -32603)", .plugin,
      .unknown
    ),
    ("mute", .map(ValueMap()), "'tried' closed its standard output, and was ended", .server, .unknown),
    (
      "strange", .map(ValueMap()),
      "the answer of the tool 'strange' isn't a result of MCP: 'content' must be a list, but is a string", .validation,
      .done
    ),
    ("fail", .map(ValueMap()), "the tool 'fail' failed: it is closed", .plugin, .done),
    (
      "misfit", .map(ValueMap()),
      "the answer of the tool 'misfit' doesn't match plugins/tried.lock.json: 'n' must be an int, but found 'many'; the "
        + "server breaks its own 'outputSchema', and neither an update nor --dates loosens this field; correct the server, "
        + "or report it to its author", .validation, .done
    ),
    (
      "question", .map(ValueMap()), "the tool 'question' asks a person for an answer, which a run can't give", .plugin,
      .none
    ),
  ]

  @Test(arguments: faults)
  func `says what went wrong, and whether it may have been done`(
    _ action: String, _ input: Value, _ message: String, _ kind: ErrorKind, _ effect: ActionError.Effect
  ) async throws {
    let lock = try await LockedServer.lock(LockedServer.scripted("modern"))
    let server = try await LockedServer(lock, settings: .object(["maxMessageBytes": .int(100_000)]))
    let error = try await server.failure(action, input)
    #expect(error.message == message)
    #expect(error.kind == kind)
    #expect(error.effect == effect)
    if action == "crash" { #expect(error.detail == "the disk is full") }
    if action == "fail" { #expect(error.detail == "it is closed\nsince Monday") }
    // The next call finds a server again.
    #expect(try await server.run("steps")["text"] == .string("three"))
  }

  @Test func `a server that prints before it serves is refused`() async throws {
    let error = await #expect(throws: PluginLockError.self) {
      try await LockedServer.lock(LockedServer.scripted("modern", "banner"))
    }
    #expect(
      error?.message
        == "'tried' wrote to its standard output what isn't a message of MCP, and was ended; such a server may print to "
        + "its standard error only: Welcome to the server")
  }

  @Test(arguments: [
    (
      ["no-such-program"],
      "no program is named 'no-such-program' in /usr/local/bin, /usr/bin, /bin; give its path, or add "
        + "its folder to the 'path' of connection 'tried'"
    ),
    (["./missing"], "'/tmp/./missing' isn't a program: it is missing, or not executable"),
    (["false"], "'tried' exited with code 1"),
    (["sh", "-c", "echo It needs a key >&2; exit 7"], "'tried' exited with code 7:\nIt needs a key"),
  ])
  func `says why a server can't be asked`(_ command: [String], _ message: String) async throws {
    let error = await #expect(throws: PluginLockError.self) {
      try await LockedServer.lock(MCPSource(.command(command)), folder: "/tmp")
    }
    #expect(error?.message == message)
  }

  @Test func `a tool that can't be called costs no other`() async throws {
    let lock = try await LockedServer.lock(LockedServer.scripted("modern", "nameless"))
    #expect(lock.actionNames.count == 17)
    #expect(
      lock.leftOut.map { "\($0.part): \($0.reason)" } == [
        "tools[17]: its name isn't a string", "tools[18]: it isn't a tool", "tools[19]: its name is empty",
        "bare: it has no 'inputSchema'", "open: its 'inputSchema' isn't an object",
      ])
    // It can be used, too.
    let server = try await LockedServer(lock)
    #expect(try await server.run("steps")["text"] == .string("three"))
  }

  @Test(arguments: Array(stride(from: 80, through: 120, by: 4)))
  func `what isn't a message is cut after its secrets are taken out`(_ before: Int) async throws {
    let secret = "tok-5Xw9QzLr7TnB2xWc9LmZ4kVb8HsJ3pGd6Ye"
    let line = String(repeating: "x", count: before) + secret + String(repeating: "y", count: 50)
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern")))
    let error = await OutsideText.redacted(by: { text, _ in text.replacing(secret, with: "•••") }) {
      try? await server.failure("garbage", .object(["line": .string(line)]))
    }
    let message = try #require(error).message
    #expect(message.contains("standard error only: xxxx"))
    #expect(!message.contains("tok-"), "\(message)")
  }

  @Test func `a call is over when its step's time is, also while its server starts`() async throws {
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    let settings = Value.object([
      "arguments": .list([LockedServer.script, "deaf", "starts=\(folder)/file"].map(Value.string)),
      "requestTimeout": .string("1h"),
    ])
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern")), settings: settings)
    let call = Task { try await server.run("steps") }
    #expect(try await Self.content(of: "\(folder)/file") == "started")
    call.cancel()
    let result = await call.result
    let error = #expect(throws: ActionError.self) { try result.get() }
    #expect(error?.message == "the server was not asked")
    #expect(error?.effect == ActionError.Effect.none)
  }

  @Test func `a tool whose effect is given must be there`() async throws {
    let error = await #expect(throws: PluginLockError.self) {
      try await LockedServer.lock(LockedServer.scripted("modern", effects: ["crush": .read]))
    }
    #expect(
      error?.message
        == "'tried' has no tool 'crush', whose effect is given; it has asks, crash, echo_text, environment, fail, "
        + "garbage, huge, late, misfit, mute, number, pair, question, refuse, steps, strange, wait")
  }

  /// The content of the file, as soon as it differs from before.
  private static func content(of file: String, after before: String = "") async throws -> String {
    while true {
      try Task.checkCancellation()
      // A file that is opened to be written is empty for a moment.
      if let text = try? String(contentsOfFile: file, encoding: .utf8), text != before, !text.isEmpty { return text }
      await Task.yield()
    }
  }

  @Test func `a cancelled write is over when its server has ended, or has answered`() async throws {
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern")))
    for answers in [false, true] {
      let file = "\(folder)/\(answers)"
      let call = Task {
        try await server.run("wait", .object(["file": .string(file), "answers": .bool(answers)]))
      }
      let pid = try #require(Int32(try await Self.content(of: file)))
      call.cancel()
      let result = await call.result
      #expect(try await Self.content(of: file, after: "\(pid)") == "cancelled")
      if answers {
        #expect(try result.get()["text"] == .string("done all the same"))
      } else {
        let error = #expect(throws: ActionError.self) { try result.get() }
        #expect(error?.message == "the tool 'wait' was cancelled, and 'tried' ended")
        #expect(error?.kind == .cancelled)
        #expect(error?.effect == .unknown)
        #expect(kill(pid, 0) != 0)
      }
      #expect(try await server.run("steps")["text"] == .string("three"))
    }
  }

  @Test func `a cancelled write that isn't answered ends nothing else that is under way`() async throws {
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    let time = TestTime()
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern")), time: time)
    let other = Task { try await server.run("late", .object(["file": .string("\(folder)/late")])) }
    #expect(try await Self.content(of: "\(folder)/late.began") == "began")
    let hung = Task { try await server.run("wait", .object(["file": .string("\(folder)/file")])) }
    let pid = try #require(Int32(try await Self.content(of: "\(folder)/file")))
    hung.cancel()
    #expect(try await Self.content(of: "\(folder)/file", after: "\(pid)") == "cancelled")
    await time.waitForSleepers()
    time.advance(by: .seconds(2))
    // Later calls get a new process.
    #expect(try await server.run("steps")["text"] == .string("three"))
    try Data().write(to: URL(filePath: "\(folder)/late"))
    #expect(try await other.value["text"] == .string("late"))
    let result = await hung.result
    let error = #expect(throws: ActionError.self) { try result.get() }
    #expect(error?.message == "the tool 'wait' was cancelled, and 'tried' ended")
    #expect(error?.effect == .unknown)
    #expect(kill(pid, 0) != 0)
  }

  @Test func `a cancelled read is over at once, and its server takes no further call`() async throws {
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    let lock = try await LockedServer.lock(LockedServer.scripted("modern", effects: ["wait": .read]))
    let server = try await LockedServer(lock)
    let call = Task { try await server.run("wait", .object(["file": .string("\(folder)/file")])) }
    let pid = try #require(Int32(try await Self.content(of: "\(folder)/file")))
    call.cancel()
    let result = await call.result
    let error = #expect(throws: ActionError.self) { try result.get() }
    #expect(error?.message == "the tool 'wait' was cancelled")
    #expect(error?.effect == ActionError.Effect.none)
    #expect(try await server.run("steps")["text"] == .string("three"))
    while kill(pid, 0) == 0 {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  @Test func `an idle server ends, and is started again when it is used`() async throws {
    let time = TestTime()
    let server = try await LockedServer(LockedServer.lock(LockedServer.scripted("modern")), time: time)
    func pid() async throws -> Int32 {
      let text = try await server.run("number")["text"]?.string ?? ""
      return try #require(Int32(text))
    }
    let first = try await pid()
    await time.waitForSleepers()
    time.advance(by: .seconds(59))
    #expect(try await pid() == first)
    await time.waitForSleepers()
    time.advance(by: .seconds(60))
    while kill(first, 0) == 0 {
      try Task.checkCancellation()
      await Task.yield()
    }
    #expect(try await pid() != first)
  }
}
