import ActionKit
import ActionTestKit
import Basics
import MCPPlugins
import PluginLocks
import Testing

/// Tools that serve other tools: their inputs, and the effects of their answers.
@Suite(.timeLimit(.minutes(20))) struct HelpingToolsTests {
  /// A write with all that its `_meta` can say, and the tools that serve it.
  private static func tools(
    meta: String =
      #"{"errand/effect":"write","errand/reconcile":"look","errand/baseline":"before","errand/preview":"show","errand/key":"id","errand/timeout":"30s","errand/secrets":["pin"]}"#,
    looks: String = "[]", befores: String = "[]", shows: String = "[]", adds: String = "[]"
  ) -> String {
    """
    [
      {"name": "add", "description": "Adds.", "_meta": \(meta), "answers": \(adds),
       "inputSchema": {"type": "object", "required": ["text", "id"], "properties": {
         "text": {"type": "string"}, "id": {"type": "string"}, "pin": {"type": "string"}}},
       "outputSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}},
      {"name": "look", "answers": \(looks), "inputSchema": {"type": "object", "required": ["key"], "properties": {
         "key": {"type": "string"}, "text": {"type": "string"}, "baseline": {}, "started_at": {"type": "string"}}}},
      {"name": "before", "answers": \(befores), "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
      {"name": "show", "answers": \(shows), "inputSchema": {"type": "object", "properties": {"text": {}, "more": {}}}}
    ]
    """
  }

  private static func with(
    _ tools: String, _ body: (LockedServer, _ calls: () throws -> [String]) async throws -> Void
  ) async throws {
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    try Files.write(Array(tools.utf8), to: "\(folder)/tools.json")
    let source = LockedServer.scripted("modern", "serves=\(folder)/tools.json")
    let server = try await LockedServer(LockedServer.lock(source))
    try await body(server) {
      String(decoding: try Files.read("\(folder)/tools.json.calls", limit: 1 << 20), as: UTF8.self).split(
        separator: "\n"
      )
      .map(String.init)
    }
  }

  @Test func `the members of a whole map of arguments are arguments`() async throws {
    let tools = """
      [{"name": "set", "answers": [{"content": []}, {"content": []}],
        "inputSchema": {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}}]
      """
    try await Self.with(tools) { server, calls in
      _ = try await server.run(
        "set", .object(["a": .string("x"), "arguments": .object(["b": .int(1), "c": .int(2)])]))
      _ = try await server.run("set", .object(["a": .string("x"), "arguments": .object(["a": .int(1)])]))
      #expect(try calls() == [#"["set", {"b": 1, "c": 2, "a": "x"}]"#, #"["set", {"a": "x"}]"#])
    }
  }

  @Test(arguments: [
    #"{"result": "2026-01-02T03:04:05"}"#, #"{"result": "2026-01-02T03:04:05", "n": "many"}"#,
    #"{"result": "soon"}"#,
  ])
  func `an answer with another date says how it can be read`(_ answer: String) async throws {
    let tools = """
      [{"name": "when", "_meta": {"errand/effect": "read"},
        "answers": [{"content": [], "structuredContent": \(answer)}], "inputSchema": {"type": "object"},
        "outputSchema": {"properties": {"result": {"type": "string", "format": "date-time"}, "n": {"type": "integer"}},
          "required": ["result"]}}]
      """
    try await Self.with(tools) { server, _ in
      let error = try await server.failure("when")
      #expect(
        error.message.hasSuffix("; to read dates and times as texts, run 'errand plugin update tried --dates text'"),
        "\(error.message)")
    }
  }

  private static let input = Value.object(["text": .string("a"), "pin": .string("4711")])
  private static let startedAt = Timestamp(seconds: 1_795_167_000) ?? .earliest
  private static func structured(_ value: String) -> String { #"{"content": [], "structuredContent": \#(value)}"# }

  @Test func `a tool says its effect, its key, its time and its secrets`() async throws {
    try await Self.with(Self.tools(adds: "[\(Self.structured(#"{"n": 1}"#))]")) { server, calls in
      #expect(server.lock.actionNames == ["add"])
      let action = try #require(server.plugin.action("add"))
      #expect(action.effect == .write)
      #expect(try server.lock.action("add")?.effectSource == .program)
      #expect(action.timeout == .seconds(30))
      #expect(action.acceptsKey)
      #expect(action.canReconcile)
      #expect(action.canPreview)
      #expect(action.input.fields.map { "\($0.name): \($0.type.name)" } == ["text: string", "pin: secret(string)"])
      #expect(try await server.run("add", Self.input) == .object(["n": .int(1)]))
      #expect(try calls() == [#"["add", {"text": "a", "pin": "4711", "id": "test/step"}]"#])
    }
  }

  @Test(arguments: [
    (structured(#"{"outcome": "done", "output": {"n": 2}}"#), "done 2"),
    (structured(#"{"result": {"outcome": "done", "output": {"n": 2}}}"#), "done 2"),
    (#"{"content": [{"type": "text", "text": "{\"outcome\": \"notDone\"}"}]}"#, "notDone"),
    (structured(#"{"outcome": "unknown", "look": "Look at the shelf."}"#), "unknown Look at the shelf."),
    (structured(#"{"outcome": "unknown"}"#), "unknown the tool can't tell whether it was done"),
    (
      structured(#"{"outcome": "maybe"}"#),
      #"the tool 'look' must answer "outcome" that is "done", "notDone" or "unknown", but answered {"outcome":"maybe"}"#
    ),
    (
      structured(#"{"outcome": "done"}"#),
      #"the tool 'look' must answer the "output" of 'add' (it is missing), but answered {"outcome":"done"}"#
    ),
    (
      structured(#"{"outcome": "done", "output": 5}"#),
      #"the tool 'look' must answer the "output" of 'add' (it must be an object or a text), but answered "#
        + #"{"outcome":"done","output":5}"#
    ),
    (
      structured(#"{"outcome": "done", "output": {"m": 1}}"#),
      #"the tool 'look' must answer the "output" of 'add' ('n' is missing (int)), but answered "#
        + #"{"outcome":"done","output":{"m":1}}"#
    ),
    (#"{"content": []}"#, "the tool 'look' answered neither structuredContent nor JSON"),
    (#"{"content": [{"type": "text", "text": "no"}], "isError": true}"#, "the tool 'look' failed: no"),
  ])
  func `a look is given what there was before, and decides`(_ answer: String, _ outcome: String) async throws {
    let tools = Self.tools(looks: "[\(answer)]", befores: "[\(Self.structured(#"{"count": 7}"#))]")
    try await Self.with(tools) { server, calls in
      let action = try #require(server.plugin.action("add"))
      let context = ActionContext.testing(time: SystemTime())
      let baseline = try await action.baseline(Self.input, on: server.service, in: context)
      #expect(baseline == .object(["count": .int(7)]))
      do throws(ActionError) {
        let found = try await action.reconcile(
          Self.input, with: baseline ?? .null, startedAt: Self.startedAt, on: server.service, in: context)
        switch found {
        case .done(let output): #expect(outcome == "done \(output["n"]?.int ?? 0)")
        case .notDone: #expect(outcome == "notDone")
        case .unknown(let look): #expect(outcome == "unknown \(look)")
        }
      } catch {
        #expect(error.message == outcome)
        #expect(error.effect != .unknown)
      }
      #expect(
        try calls() == [
          #"["before", {"text": "a"}]"#,
          #"["look", {"baseline": {"count": 7}, "key": "test/step", "started_at": "2026-11-20T09:30:00Z", "text": "a"}]"#,
        ])
    }
  }

  @Test(arguments: [
    (#","output":"hi""#, #"{"text":"hi","content":[{"type":"text","text":"hi"}]}"#),
    (#","output":{"text":"hi","content":[]}"#, #"{"content":[],"text":"hi"}"#),
    (#","output":{"zz":1}"#, #"{"text":"","content":[],"structured":{"zz":1}}"#),
    (
      "",
      #"the tool 'look' must answer the "output" of 'add' (it is missing), but answered {"outcome":"done"}"#
    ),
    (
      #","output":{"text":5,"content":[]}"#,
      #"the tool 'look' must answer the "output" of 'add' ('output.text' must be a string, but found an int), but answered "#
        + #"{"outcome":"done","output":{"text":5,"content":[]}}"#
    ),
  ])
  func `of a tool without outputSchema the output is a text, an object, or what the action gives`(
    _ output: String, _ found: String
  ) async throws {
    let schema = #""outputSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#
    let answer = Self.structured(#"{"outcome":"done"\#(output)}"#)
    let tools = Self.tools(looks: "[\(answer)]").replacing(",\n   \(schema)", with: "")
    try await Self.with(tools) { server, _ in
      let action = try #require(server.plugin.action("add"))
      do throws(ActionError) {
        let outcome = try await action.reconcile(
          Self.input, with: .map(ValueMap()), startedAt: Self.startedAt, on: server.service,
          in: .testing(time: SystemTime()))
        let output: Value? = if case .done(let output) = outcome { output } else { nil }
        #expect(output.map { JSON.displayed($0) } == found)
      } catch {
        #expect(error.message == found)
      }
    }
  }

  @Test func `a preview says what would change`() async throws {
    let answers = [
      Self.structured(#"{"changes": [{"subject": "A", "before": "x", "after": null}, {"subject": "B", "after": 7}]}"#),
      Self.structured(#"{"result": []}"#),
    ]
    try await Self.with(Self.tools(shows: "[\(answers.joined(separator: ","))]")) { server, calls in
      let action = try #require(server.plugin.action("add"))
      func changes() async throws(ActionError) -> [Change]? {
        try await action.preview(Self.input, on: server.service, in: .testing(time: SystemTime()))
      }
      #expect(try await changes() == [Change("A", from: "x", to: nil), Change("B", from: nil, to: "7")])
      #expect(try await changes() == [])
      #expect(try calls().first == #"["show", {"text": "a"}]"#)
    }
  }

  @Test(arguments: [
    (#"{"after":"x"}"#, #"a "subject""#), (#"{"subject":"A"}"#, #""before" or "after""#),
    (#"{"subject":"A","before":null}"#, #""before" or "after""#),
    (#"{"subject":"A","befor":"5","after":"9"}"#, #""subject", "before", "after" and not 'befor'"#),
    ("5", #"a "subject""#),
  ])
  func `a change of a preview that says too little is refused with its place`(
    _ change: String, _ wanted: String
  ) async throws {
    let answer = Self.structured(#"{"changes": [{"subject": "B", "after": 7}, \#(change)]}"#)
    try await Self.with(Self.tools(shows: "[\(answer)]")) { server, _ in
      let action = try #require(server.plugin.action("add"))
      let error = await #expect(throws: ActionError.self) {
        try await action.preview(Self.input, on: server.service, in: .testing(time: SystemTime()))
      }
      #expect(
        error?.message == "the tool 'show' must answer \(wanted) in 'changes[1]', but answered \(change)")
    }
  }

  @Test func `a failed write that can be looked up is worth a look`() async throws {
    let failed = #"{"content": [{"type": "text", "text": "connection lost"}], "isError": true}"#
    try await Self.with(Self.tools(adds: "[\(failed)]")) { server, _ in
      let error = try await server.failure("add", Self.input)
      #expect(error.effect == .unknown)
    }
  }

  @Test(arguments: [
    (
      #"{"errand/effect": "writes"}"#,
      "the tool 'add' has 'errand/effect': 'writes'; it can be pure, read, consume, idempotentWrite, idempotentWrite:1d or write"
    ),
    (#"{"errand/effect": 1}"#, "the tool 'add' has 'errand/effect' that is an int and not a string"),
    (
      #"{"errand/reconcile": "locate"}"#,
      "the tool 'add' has 'errand/reconcile': 'locate', but there is no tool of that name"
    ),
    (#"{"errand/preview": "look", "errand/key": "id"}"#, nil),
    (#"{"errand/baseline": "before"}"#, "the tool 'add' has 'errand/baseline' without 'errand/reconcile'"),
    (#"{"errand/key": "key"}"#, "the tool 'add' has no argument 'key', which its 'errand/key' names"),
    (#"{"errand/secrets": ["token"]}"#, "the tool 'add' has no argument 'token', which its 'errand/secrets' names"),
    (#"{"errand/secrets": "pin"}"#, "the tool 'add' has 'errand/secrets' that isn't a list of strings"),
    (#"{"errand/timeout": "soon"}"#, "the tool 'add' has 'errand/timeout': 'soon'; write it like 30s"),
  ])
  func `says what is wrong in what a tool says of itself`(_ meta: String, _ message: String?) async throws {
    do {
      try await Self.with(Self.tools(meta: meta)) { _, _ in #expect(message == nil) }
    } catch let error as PluginLockError {
      #expect(error.message == message)
    }
  }

  @Test func `a tool that serves another can need only what it is given`() async throws {
    let tools = Self.tools().replacing(#""required": ["key"]"#, with: #""required": ["shelf"]"#)
    let error = await #expect(throws: PluginLockError.self) { try await Self.with(tools) { _, _ in } }
    #expect(
      error?.message
        == "the tool 'add' has 'errand/reconcile': 'look', which needs the argument 'shelf'; it can be given the tool's own "
        + "arguments and key, baseline, started_at")
  }
}
