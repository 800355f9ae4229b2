import ActionKit
import Basics
import ModelContext
import PluginLocks
import Testing

@testable import MCPPlugins

/// The actions made from a server's list of tools, without a server.
struct ToolLocksTests {
  /// A way to a server that is never asked.
  private struct NoServer: ServerLink {
    let name = "tried"
    let isUsable = true
    func ask(_ request: ServerRequest) async throws(ServerFailure) -> ValueMap {
      throw ServerFailure(reason: .lost(.plugin), message: "there is no server")
    }
    func tell(_ method: String, as version: ProtocolVersion?) async {}
    func close() {}
  }

  private static func lock(
    _ tools: [(name: String, meta: ValueMap)], _ source: MCPSource = MCPSource(.command(["tried"])),
    properties: ValueMap = ValueMap()
  ) throws -> PluginLock {
    let schema = Value.object(["type": .string("object"), "properties": .map(properties)])
    let session = ServerSession(
      link: NoServer(), version: .latest, serverName: "tried", serverVersion: "1",
      tools: tools.map { Tool(name: $0.name, inputSchema: schema, meta: $0.meta) })
    return try ToolLocks(name: "tried", source: source, session: session).lock()
  }

  /// The input and the call of a tool whose arguments have a schema.
  private static func action(_ schema: String, _ source: MCPSource = MCPSource(.command(["tried"]))) throws
    -> LockedAction
  {
    let tool = Tool(name: "put", inputSchema: try JSON.parse(schema))
    let session = ServerSession(
      link: NoServer(), version: .latest, serverName: "tried", serverVersion: "1", tools: [tool])
    return try #require(try ToolLocks(name: "tried", source: source, session: session).lock().action("put"))
  }

  @Test(arguments: [
    // Tools without arguments.
    (#"{"type":"object"}"#, [] as [String]), (#"{"type":"object","properties":{}}"#, []), ("{}", []),
    (#"{"type":"object","additionalProperties":false}"#, []),
    (#"{"$schema":"s","title":"t","description":"d","type":"object","properties":{},"required":[]}"#, []),
    // A typed map.
    (#"{"type":"object","additionalProperties":{"type":"integer"}}"#, ["arguments?: map(string, int)"]),
    (#"{"additionalProperties":{"type":"string"},"minProperties":1}"#, ["arguments: map(string, string)"]),
    (#"{"type":"object","additionalProperties":true}"#, ["arguments?: map(string, dyn)"]),
    (#"{"type":"object","additionalProperties":{}}"#, ["arguments?: map(string, dyn)"]),
    (#"{"type":"object","patternProperties":{"^x":{"type":"string"}}}"#, ["arguments?: map(string, dyn)"]),
    (#"{"type":"object","propertyNames":{"pattern":"^x"}}"#, ["arguments?: map(string, dyn)"]),
    // Alternatives.
    (
      #"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"int"}}}]}"#,
      ["arguments: map(string, dyn)"]
    ),
    (
      #"{"type":"object","anyOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}"#,
      ["arguments: map(string, dyn)"]
    ),
    (#"{"type":"object","required":["a"]}"#, ["arguments: map(string, dyn)"]),
    (##"{"$ref":"#/$defs/nothing"}"##, ["arguments: map(string, dyn)"]),
    (##"{"$defs":{"m":{"type":"object","properties":{"a":{"type":"string"}}}},"$ref":"#/$defs/m"}"##, ["a?: string"]),
    (#"{"type":"array","items":{"type":"string"}}"#, ["arguments?: map(string, dyn)"]),
    // Named fields, and more beside them.
    (#"{"type":"object","properties":{"a":{"type":"string"}}}"#, ["a?: string"]),
    (
      #"{"properties":{"a":{"type":"string"}},"additionalProperties":true}"#,
      ["a?: string", "arguments?: map(string, dyn)"]
    ),
    (#"{"properties":{"a":{"type":"string"}},"additionalProperties":false}"#, ["a?: string"]),
    (#"{"properties":{"a":{"type":"string"}},"required":["a","z"]}"#, ["a: string", "z: dyn"]),
    (
      #"{"properties":{"k":{"type":"string"}},"required":["k"],"oneOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}"#,
      ["k: string", "arguments?: map(string, dyn)"]
    ),
    (
      #"{"properties":{"k":{"type":"string"}},"dependentSchemas":{"k":{"properties":{"d":{}}}},"additionalProperties":{"type":"integer"}}"#,
      ["k?: string", "arguments?: map(string, dyn)"]
    ),
    (
      #"{"properties":{"k":{"type":"string"}},"if":{},"then":{"properties":{"d":{}}}}"#,
      ["k?: string", "arguments?: map(string, dyn)"]
    ),
    (
      #"{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
      ["a?: string", "b?: string"]
    ),
    (
      #"{"allOf":[{"properties":{"k":{}}},{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}]}"#,
      ["arguments: map(string, dyn)"]
    ),
    // Schemas that don't describe an object.
    (#"{"type":"object","properties":[1]}"#, ["arguments?: map(string, dyn)"]),
    (#"{"type":"null"}"#, ["arguments?: map(string, dyn)"]),
    (
      #"{"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{"type":"integer"}}"#,
      ["a: string", "arguments?: map(string, int)"]
    ),
    (
      #"{"properties":{"arguments":{"type":"string"}},"additionalProperties":{"type":"string"}}"#,
      ["arguments?: string", "moreArguments?: map(string, string)"]
    ),
  ])
  func `whatever a tool takes can be given`(_ schema: String, _ fields: [String]) throws {
    let action = try Self.action(schema)
    #expect(
      action.input.fields.map { "\($0.name)\($0.isOptional ? "?" : ""): \($0.type.name)" } == fields, "\(schema)")
    let whole = fields.last.flatMap { field in
      field.contains("map(") ? String(field.prefix { $0 != "?" && $0 != ":" }) : nil
    }
    #expect(action.call["whole"]?.string == whole, "\(schema)")
  }

  @Test(
    arguments: [
      (
        #"{"type":"object","properties":[1]}"#, "null", ["getIt"],
        ["the inputSchema of the tool 'get_it': 'properties' isn't a map, and is taken as anything"]
      ),
      (
        ##"{"properties":{"a":{"type":"strng"},"b":{"$ref":"#/$defs/no"}}}"##, #""nonsense""#, ["getIt"],
        [
          "'a' of the inputSchema of the tool 'get_it': 'strng' isn't a type, and is taken as anything",
          "'#/$defs/no' of the inputSchema of the tool 'get_it': it leads to nothing in the schema, and is taken as anything",
          "the outputSchema of the tool 'get_it': 'nonsense' isn't a schema, and is taken as anything",
        ]
      ),
    ] as [(String, String, [String], [String])])
  func `what of a tool can't be read is told`(
    _ input: String, _ output: String, _ actions: [String], _ leftOut: [String]
  ) throws {
    let tool = Tool(
      name: "get_it", inputSchema: try JSON.parse(input), outputSchema: try JSON.parse("[\(output)]").list?.first)
    let lock = try Self.lock(of: [tool])
    #expect(lock.actionNames == actions)
    #expect(lock.leftOut.map { "\($0.part): \($0.reason)" } == leftOut)
    #expect(try lock.action("getIt")?.call["plain"] == .bool(true))
  }

  @Test(arguments: [("b", "b"), ("\u{e9}", "e\u{301}")])
  func `a tool whose name another one has is left out`(_ name: String, _ other: String) throws {
    let schema = Value.object(["type": .string("object")])
    let lock = try Self.lock(of: [name, "a", other].map { Tool(name: $0, inputSchema: schema) })
    #expect(lock.actionNames.count == 2)
    #expect(lock.leftOut.map(\.reason) == ["another tool has its name"])
  }

  private static func lock(of tools: [Tool]) throws -> PluginLock {
    let session = ServerSession(
      link: NoServer(), version: .latest, serverName: "tried", serverVersion: "1", tools: tools)
    return try ToolLocks(name: "tried", source: MCPSource(.command(["tried"])), session: session).lock()
  }

  @Test func `a lock from before such fields were read is used as it is`() throws {
    let schema = #"{"type":"object","additionalProperties":{"type":"integer"}}"#
    func lock(_ schema: String) throws -> PluginLock {
      let session = ServerSession(
        link: NoServer(), version: .latest, serverName: "tried", serverVersion: "1",
        tools: [Tool(name: "put", inputSchema: try JSON.parse(schema))])
      return try ToolLocks(name: "tried", source: MCPSource(.command(["tried"])), session: session).lock()
    }
    let old = try lock(#"{"type":"object"}"#)
    #expect(try LockDrift.lines(old, try lock(schema)).isEmpty)
    #expect(try LockDrift.lines(try lock(schema), old).isEmpty == false)
  }

  @Test func `dates are texts where a person says so, and stay so at an update`() throws {
    var source = MCPSource(.command(["tried"]))
    source.readsDatesAsText = true
    let schema =
      #"{"type":"object","properties":{"at":{"type":"string","format":"date-time"},"days":{"type":"array","items":{"type":"string","format":"date"}}}}"#
    let tool = Tool(name: "put", inputSchema: try JSON.parse(schema), outputSchema: try JSON.parse(schema))
    let session = ServerSession(
      link: NoServer(), version: .latest, serverName: "tried", serverVersion: "1", tools: [tool])
    for (isText, types) in [(true, ["string", "list(string)"]), (false, ["timestamp", "list(date)"])] {
      source.readsDatesAsText = isText
      let lock = try ToolLocks(name: "tried", source: source, session: session).lock()
      let action = try #require(try lock.action("put"))
      #expect(action.input.fields.map(\.type.name) == types)
      #expect(action.output.fields.map(\.type.name) == types)
      #expect(try MCPSource(of: lock).readsDatesAsText == isText)
    }
  }

  private static func tools(of lock: PluginLock) -> [String] {
    lock.actionNames.map { "\($0): \(lock.document["actions"]?[$0]?["call"]?["tool"]?.string ?? "")" }
  }

  @Test func `a name stays with its tool, whatever comes beside it`() throws {
    let old = try Self.lock([("get_it", ValueMap())])
    #expect(Self.tools(of: old) == ["getIt: get_it"])
    let new = try Self.lock([("get-it", ValueMap()), ("get_it", ValueMap())], try MCPSource(of: old))
    #expect(Self.tools(of: new) == ["getIt: get_it", "getIt2: get-it"])
  }

  @Test func `an effect of a tool that is gone is forgotten at an update, and refused when it is given`() throws {
    let given = MCPSource(.command(["tried"]), effects: ["look": .read])
    let old = try Self.lock([("look", ValueMap()), ("put", ValueMap())], given)
    let new = try Self.lock([("put", ValueMap())], try MCPSource(of: old))
    #expect(new.source["effects"] == nil)
    let error = #expect(throws: PluginLockError.self) { try Self.lock([("put", ValueMap())], given) }
    #expect(error?.message == "'tried' has no tool 'look', whose effect is given; it has put")
  }

  @Test func `the newest effect of a tool counts, by whichever of its names it is given`() throws {
    let old = try Self.lock([("get_it", ValueMap())], MCPSource(.command(["tried"]), effects: ["getIt": .read]))
    #expect(old.source["effects"] == .object(["get_it": .string("read")]))
    func updated(_ given: [String: Effect?]) throws -> PluginLock {
      var source = try MCPSource(of: old)
      try source.give(given)
      return try Self.lock([("get_it", ValueMap())], source)
    }
    for name in ["getIt", "get_it"] {
      #expect(try updated([name: .write]).source["effects"] == .object(["get_it": .string("write")]))
      #expect(try updated([name: nil]).source["effects"] == nil)
    }
    let twice = "the tool 'get_it' is given two effects, one by the name of its action; give it one"
    let both: [String: Effect] = ["getIt": .read, "get_it": .write]
    #expect(#expect(throws: PluginLockError.self) { try updated(both) }?.message == twice)
    let new = #expect(throws: PluginLockError.self) {
      try Self.lock([("get_it", ValueMap())], MCPSource(.command(["tried"]), effects: both))
    }
    #expect(new?.message == twice)
    let none = #expect(throws: PluginLockError.self) { try updated(["put": nil]) }
    #expect(none?.message == "'put' has no effect that was given by --effect, and could be taken back")
  }

  @Test(arguments: [
    ("errand/recncile", "did you mean 'errand/reconcile'?"), ("errand/Effect", "did you mean 'errand/effect'?"),
    (
      "errand/colour",
      "there are errand/reconcile, errand/baseline, errand/preview, errand/effect, errand/key, errand/timeout, errand/secrets"
    ),
  ])
  func `a misspelt key in '_meta' is refused`(_ key: String, _ guess: String) {
    let error = #expect(throws: PluginLockError.self) { try Self.lock([("put", ValueMap([(key, .string("read"))]))]) }
    #expect(error?.message == "the tool 'put' has '\(key)' in its '_meta', which doesn't exist; \(guess)")
  }

  @Test(arguments: [
    (#"{"type": "string"}"#, nil as String?), (#"{"type": "string", "minLength": 1, "maxLength": 255}"#, nil),
    (#"{"type": "string", "description": "d", "title": "t"}"#, nil),
    (#"{"type": "string", "maxLength": 64}"#, "has at most 64 characters"),
    (#"{"type": "string", "minLength": 64}"#, "isn't any string"), (#"{"type": "integer"}"#, "isn't any string"),
    (#"{"enum": ["a", "b"]}"#, "isn't any string"), (#"{"type": "string", "pattern": "^a+$"}"#, "isn't any string"),
    (#"{"type": "string", "format": "uuid"}"#, "isn't any string"),
  ])
  func `an idempotency key goes into an argument that takes every key`(_ schema: String, _ objection: String?) throws {
    let properties = ValueMap([("id", try JSON.parse(schema))])
    var found: String?
    do {
      let lock = try Self.lock([("put", ValueMap([("errand/key", .string("id"))]))], properties: properties)
      #expect(try lock.action("put")?.input.fields.isEmpty == true)
    } catch { found = (error as? PluginLockError)?.message }
    #expect(
      found
        == objection.map {
          "the tool 'put' has the argument 'id', which its 'errand/key' names and which \($0); an idempotency key is a "
            + "string of up to 200 characters"
        })
  }

  @Test func `a key is no secret`() {
    let error = #expect(throws: PluginLockError.self) {
      try Self.lock(
        [("put", ValueMap([("errand/key", .string("k")), ("errand/secrets", .list([.string("k")]))]))],
        properties: ValueMap([("k", .object(["type": .string("string")]))]))
    }
    #expect(
      error?.message
        == "the tool 'put' has 'k' in both 'errand/key' and 'errand/secrets'; an idempotency key isn't a secret")
  }

  @Test(arguments: ["preview", "reconcile"])
  func `a tool that serves another only reads`(_ helper: String) throws {
    let effect = ValueMap([("errand/effect", .string("write"))])
    let itself = #expect(throws: PluginLockError.self) {
      try Self.lock([("put", ValueMap([("errand/\(helper)", .string("put"))]))])
    }
    #expect(itself?.message == "the tool 'put' has itself as 'errand/\(helper)'; such a tool only reads")
    let writing = #expect(throws: PluginLockError.self) {
      try Self.lock([("put", ValueMap([("errand/\(helper)", .string("other"))])), ("other", effect)])
    }
    #expect(
      writing?.message
        == "the tool 'put' has 'errand/\(helper)': 'other', which isn't 'read' or 'pure'; such a tool only reads")
    let plain = try Self.lock([("put", ValueMap([("errand/\(helper)", .string("other"))])), ("other", ValueMap())])
    #expect(Self.tools(of: plain) == ["put: put"])
  }

  @Test(arguments: [
    (true, #"{"environment": {"A=B": "x"}}"#, "'c.environment' has 'A=B', which can't be the name of a variable"),
    (true, #"{"secretEnvironment": {"": "x"}}"#, "'c.secretEnvironment' has '', which can't be the name of a variable"),
    (true, #"{"inherit": ["HOME", "A=B"]}"#, "'c.inherit' has 'A=B', which can't be the name of a variable"),
    (true, #"{"path": "/bin:bin"}"#, "'c.path' must name absolute folders, and 'bin' isn't one"),
    (true, #"{"path": "/bin:/usr/bin", "inherit": ["HOME"]}"#, ""),
    (false, #"{"url": "127.0.0.1:9/mcp"}"#, "'c.url' must begin with http:// or https://"),
    (
      false, #"{"url": "https://u:p@a.example/mcp"}"#,
      "'c.url' must not hold a name or password; write them into 'secretHeaders'"
    ),
    (
      false, #"{"token": "t", "secretHeaders": {"authorization": "x"}}"#,
      "'c.secretHeaders' must not have 'Authorization' beside 'token'"
    ),
    (false, #"{"token": "Bearer t"}"#, "'c.token' must not begin with 'Bearer', which is added"),
    (false, #"{"url": "https://a.example/mcp?a=b", "token": "t", "headers": {"A": "b"}}"#, ""),
  ])
  func `what the text of a connection shows is judged with its settings`(
    _ isProgram: Bool, _ settings: String, _ message: String
  ) throws {
    let source = MCPSource(isProgram ? .command(["tried"]) : .url("https://a.example/mcp"))
    let faults = MCPKind.configuration(of: try Self.lock([], source)).check(try JSON.parse(settings), as: "c")
    #expect(faults.map(\.message) == (message.isEmpty ? [] : [message]))
  }
}
