import ActionTestKit
import Foundation
import HTTPServer
import Testing

@testable import errand

/// `errand plugin`, as people use it and misuse it.
@Suite(.timeLimit(.minutes(20))) struct PluginCommandTests {
  private static func document(_ limit: String = "integer", server: String = "https://shop.example/api") -> String {
    """
    {"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": "\(server)"}],
     "paths": {"/orders": {
       "get": {"operationId": "list_orders", "parameters": [
         {"name": "limit", "in": "query", "schema": {"type": "\(limit)"}}],
         "responses": {"200": {"description": "ok", "content": {"application/json": {"schema":
           {"type": "object", "required": ["names"], "properties": {"names": {"type": "array", "items": {"type": "string"}}}}}}}}},
       "post": {"operationId": "add_order", "responses": {"204": {"description": "made"}}}}}}
    """
  }

  /// A folder with a plugin 'shop' and a recipe that uses it.
  private static func shop() async throws -> Program {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(document(), to: "shop.json")
    let added = try await program.call("plugin", "add", "openapi", "shop", "shop.json")
    #expect(added.code == 0, "\(added.error)")
    #expect(
      added.out == """
        ACTION           EFFECT  SAID BY          WHAT IT DOES
        shop.addOrder    write   its HTTP method  Sends POST /orders.
        shop.listOrders  read    its HTTP method  Sends GET /orders.

        """)
    try program.write(
      """
      recipe: orders
      steps: [{ id: asked, uses: shop.listOrders, with: { limit: 3 } }]
      outputs: { names: "${{ steps.asked.body.names }}" }
      """, to: "recipes/orders.yaml")
    let checked = try await program.call("check", "recipes/orders.yaml")
    #expect(checked.code == 0, "\(checked.error)")
    return program
  }

  @Test func `an update shows what is different, and writes nothing that recipes don't fit`() async throws {
    let program = try await Self.shop()
    #expect(try await program.call("plugin", "update", "shop").error == "plugins/shop.lock.json is up to date\n")
    let printed = try await program.call("plugin", "update", "shop", "--effect", "addOrder=write", "--dry-run")
    #expect(
      printed.error == """
        recipes notice no difference: only descriptions, the source, or who says an effect are new
        checked the recipes in recipes and this folder

        """)
    try program.write(Self.document("string", server: "https://elsewhere.example"), to: "shop.json")
    let refused = try await program.call("plugin", "update", "shop")
    #expect(refused.code == 3)
    #expect(
      refused.out == """
        ~ the connection
            baseURL: https://shop.example/api → https://elsewhere.example
        ~ listOrders
            input.limit: int, optional → string, optional

        """)
    #expect(refused.error.contains("'with.limit' must be a string, but found an int"), "\(refused.error)")
    #expect(refused.error.contains("plugins/shop.lock.json was left as it is"), "\(refused.error)")
    #expect(try await program.call("plugin", "update", "shop", "--dry-run").code == 2)
    #expect(try await program.call("check", "recipes/orders.yaml").code == 0)
    let forced = try await program.call(
      "plugin", "update", "shop", "--force", "--effect", "addOrder=idempotentWrite:1d")
    #expect(forced.code == 0)
    #expect(forced.out.contains("~ addOrder\n    effect: write → idempotentWrite:1d\n"), "\(forced.out)")
    #expect(try await program.call("check", "recipes/orders.yaml").code == 3)
    await program.remove()
  }

  @Test(arguments: [
    (
      #"{"isError": true, "content": [{"type": "text", "text": "no preview today"}]}"#,
      "the tool 'show' failed: no preview today"
    ),
    (
      #"{"content": [], "structuredContent": {"changes": [{"subject": "A", "befor": 1}]}}"#,
      #"the tool 'show' must answer "subject", "before", "after" and not 'befor' in 'changes[0]', but answered "#
        + #"{"subject":"A","befor":1}"#
    ),
  ])
  func `a preview tool that fails leaves the plan to show the write by its input, and to go on`(
    _ answer: String, _ reason: String
  ) async throws {
    let program = try await Program()
    try program.write(
      """
      [{"name": "add", "_meta": {"errand/effect": "write", "errand/preview": "show"}, "answers": [],
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
       {"name": "show", "answers": [\(answer), \(answer), \(answer)], "inputSchema": {"type": "object", "properties": {}}}]
      """, to: "tools.json")
    let server = packageFolder.appending(path: "Tests/LockedPlugins/MCPPluginsTests/Fixtures/scripted.py").path
    let added = try await program.call(
      "plugin", "add", "mcp", "notes", "--", "python3", server, "modern", "serves=tools.json")
    #expect(added.code == 0, "\(added.error)")
    try program.write(
      """
      steps:
        - { id: first, uses: notes.add, with: { text: a } }
        - { id: kept, uses: json.write, with: { path: a.json, value: b } }
      """, to: "two.yaml")
    let planned = try await program.call("plan", "two.yaml", "--json")
    #expect(planned.code == 0, "\(planned.error)")
    let plan = try #require(JSONSerialization.jsonObject(with: Data(planned.out.utf8)) as? [String: Any])
    let writes = try #require(plan["writes"] as? [[String: Any]], "\(planned.out)")
    #expect(writes.first?["opaque"] as? String == "the preview couldn't be made: \(reason)", "\(planned.out)")
    #expect(writes.count == 2)
    await program.remove()
  }

  @Test(arguments: [
    (
      "test: { plugin: shop, username: me, token: '${{ secrets.T }}' }",
      "'test' needs 'username' and 'password' or neither"
    ),
    (
      "test: { plugin: shop, username: me, password: '${{ secrets.P }}', token: '${{ secrets.T }}' }",
      "'test.username' must not be given beside 'token'"
    ),
    ("http: { username: '${{ secrets.T }}' }", "'http' needs 'username' and 'password' or neither"),
    (
      "http: { baseURL: 'https://a.example', secretHeaders: { X-K: '${{ secrets.T }}', x-k: '${{ secrets.P }}' } }",
      "'http.secretHeaders' has 'x-k' twice, because the case of a header's name says nothing"
    ),
    (
      "test: { plugin: shop }",
      "warning: errand.yaml has no connection 'shop', so 'shop.listOrders' is called without settings; write "
        + "connection: test"
    ),
    (
      "test: { plugin: shop }\n  more: { plugin: shop }",
      "is called without settings; write connection: with one of more, test"
    ),
  ])
  func `what the text of a connection shows is printed by check`(_ connections: String, _ message: String) async throws
  {
    let program = try await Self.shop()
    try program.write("connections:\n  \(connections)\n", to: "errand.yaml")
    let checked = try await program.call("check", "recipes/orders.yaml")
    #expect(checked.code == (message.contains("is called without settings") ? 0 : 78), "\(checked.error)")
    #expect(checked.error.contains(message) || checked.out.contains(message), "\(checked.error)\(checked.out)")
    await program.remove()
  }

  @Test func `a plugin that a recipe uses isn't removed`() async throws {
    let program = try await Self.shop()
    let refused = try await program.call("plugin", "remove", "shop")
    #expect(refused.code == 3)
    #expect(
      refused.error == """
        recipes/orders.yaml:2 uses shop.listOrders
        error: 'shop' is in use, and was left; change these, or remove it nonetheless with --force

        """)
    #expect(try await program.call("plugin", "remove", "shop", "--force").error == "removed plugins/shop.lock.json\n")
    #expect(try await program.call("plugin", "list").out == "")
    await program.remove()
  }

  @Test func `a connection whose plugin was removed is told with the lock that it needs`() async throws {
    let program = try await Self.shop()
    try program.write("connections:\n  shop: { baseURL: https://a.example }\n", to: "errand.yaml")
    #expect(
      try await program.call("plugin", "remove", "shop", "--force").error == """
        removed plugins/shop.lock.json
        errand.yaml:2 uses shop, which can't be used before the plugin is added again

        """)
    let checked = try await program.call("check", "recipes/orders.yaml")
    let absence = "there is no plugins/shop.lock.json, which 'errand plugin add' writes"
    #expect(
      checked.error.contains("errand.yaml:2:3: warning: connection 'shop' can't be used: \(absence)"),
      "\(checked.error)")
    #expect(checked.error.contains("no action is named 'shop.listOrders'"), "\(checked.error)")
    // A recipe that doesn't use the plugin still runs.
    try program.write("steps: [{ let: { a: 1 } }]", to: "other.yaml")
    #expect(try await program.call("run", "other.yaml").code == 0)
    // A name that is like another's is a slip.
    try program.write("connections:\n  a: { plugin: markbok }\n", to: "errand.yaml")
    let slip = try await program.call("run", "other.yaml")
    #expect(slip.code == 78 && slip.error.contains("did you mean 'markbook'?"), "\(slip.error)")
    await program.remove()
  }

  @Test func `the schemas of a folder know its plugins, and those of others are left`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(Self.document(), to: "shop.json")
    let plain = try await program.call("schema", "recipe").out
    try program.write(plain, to: "recipes/recipe.schema.json")
    try program.write("{}", to: "recipes/test.schema.json")
    let added = try await program.call("plugin", "add", "openapi", "shop", "shop.json")
    #expect(added.error.contains("\nwrote recipes/recipe.schema.json, for editors\n"), "\(added.error)")
    let schema = try program.read("recipes/recipe.schema.json")
    #expect(try await program.call("schema", "recipe").out == schema && schema.contains("shop.listOrders"))
    #expect(try program.read("recipes/test.schema.json") == "{}")
    let update = try await program.call("plugin", "update", "shop", "--only", "add_order")
    #expect(update.error.hasSuffix("wrote recipes/recipe.schema.json, for editors\n"), "\(update.error)")
    #expect(!(try program.read("recipes/recipe.schema.json").contains("shop.listOrders")))
    #expect(try await program.call("plugin", "remove", "shop").code == 0)
    #expect(try program.read("recipes/recipe.schema.json") == plain)
    await program.remove()
  }

  @Test func `what hinders plugins from being read is told`() async throws {
    let program = try await Self.shop()
    try program.write("connections:\n  shop: { baseURL: https://a.example }\n", to: "errand.yaml")
    try FileManager.default.removeItem(at: program.folder.appending(path: "plugins"))
    try program.write("", to: "plugins")
    let fault = "cannot list '\(program.folder.path)/plugins': part of the path is not a folder (ENOTDIR)"
    for words in [["plugin", "list"], ["plugin", "update", "shop"], ["plugin", "remove", "shop"]] {
      let outcome = try await program.call(words)
      #expect(outcome.code == 66 && outcome.error.contains(fault), "\(outcome.error)")
    }
    let checked = try await program.call("check", "recipes/orders.yaml")
    #expect(checked.error.contains("warning: connection 'shop' can't be used: \(fault)"), "\(checked.error)")
    try program.write("", to: "errand.yaml")
    let used = try await program.call("check", "recipes/orders.yaml")
    #expect(used.error.contains("no action is named 'shop.listOrders'; \(fault)"), "\(used.error)")
    try FileManager.default.removeItem(at: program.folder.appending(path: "plugins"))
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "plugins"), withIntermediateDirectories: true)
    try program.write("{", to: "plugins/shop.lock.json")
    try program.write("connections:\n  shop: { baseURL: https://a.example }\n", to: "errand.yaml")
    let broken = try await program.call("check", "recipes/orders.yaml")
    #expect(
      broken.error.contains("connection 'shop' can't be used: plugins/shop.lock.json isn't valid JSON"),
      "\(broken.error)")
    await program.remove()
  }

  /// A server in Python's own library that lists what a test says.
  private static func server(_ tools: String) -> String {
    """
    import json, os, sys
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "initialize":
            answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "made", "version": os.environ.get("TOK", "")[::-1]}}
        elif asked.get("method") == "tools/list":
            answer = {"tools": \(tools)}
        else:
            answer = None
        if "id" in asked:
            reply = {"jsonrpc": "2.0", "id": asked["id"]}
            reply.update({"result": answer} if answer else {"error": {"code": -32601, "message": "no"}})
            print(json.dumps(reply), flush=True)
    """
  }

  @Test(arguments: [
    ("sys.exit('no ' + token)", "'made' exited with code 1:\nno •••\n"),
    ("sys.exit('\\x1b[31m')", "'made' exited with code 1:\n␛[31m\n"),
    ("print(token)", "such a server may print to its standard error only: •••\n"),
    ("fault = token", "'made' refused 'tools/list': ••• (code -32601)\n"),
    (
      "tools[0]['inputSchema']['properties']['a']['default'] = json.dumps(token)",
      "'made' shows a secret that it was given in what it says of w, and the lock would keep it; have the server leave "
        + "it out\n"
    ),
  ])
  func `what a server was given as secrets is displayed by no message, and kept in no lock`(
    _ leak: String, _ message: String
  ) async throws {
    let program = try await Program()
    let text = """
      import json, os, sys
      token, fault = os.environ["TOK"], None
      tools = [{"name": "w", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}]
      if os.path.exists("leaks"):
          \(leak)
      for line in sys.stdin:
          asked = json.loads(line)
          if asked.get("method") == "initialize":
              answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                        "serverInfo": {"name": "made", "version": "1"}}
          elif asked.get("method") == "tools/list":
              answer = None if fault else {"tools": tools}
          else:
              answer = None
          if "id" in asked:
              reply = {"jsonrpc": "2.0", "id": asked["id"]}
              reply.update({"result": answer} if answer else {"error": {"code": -32601, "message": fault or "no"}})
              print(json.dumps(reply), flush=True)
      """
    try program.write(text, to: "made.py")
    try program.write("", to: "leaks")
    let secret = ["TOK": "s3cr\"t+%é-abcdef"]
    let command = ["plugin", "add", "mcp", "made", "--env", "TOK", "--", "python3", "made.py"]
    let refused = try await program.call(command, environment: secret)
    #expect(refused.code == 3 && refused.error.hasSuffix(message), "\(refused.error)")
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "plugins").path))

    try FileManager.default.removeItem(at: program.folder.appending(path: "leaks"))
    #expect(try await program.call(command, environment: secret).code == 0)
    try program.write(
      "connections: { made: { secretEnvironment: { TOK: \"${{ secrets.TOK }}\" } } }\n", to: "errand.yaml")
    try program.write("", to: "leaks")
    let updated = try await program.call("plugin", "update", "made", environment: secret)
    #expect(updated.code == 3 && updated.out.isEmpty && updated.error.hasSuffix(message), "\(updated.error)")
    await program.remove()
  }

  @Test func `a server is asked with the folder's secrets, and what it can't offer is told`() async throws {
    let program = try await Program()
    try program.write("TOK: from-the-file\n", to: "secrets.yaml")
    try program.write("secrets: { files: [secrets.yaml] }\n", to: "errand.yaml")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: program.folder.appending(path: "secrets.yaml").path)
    try program.write(
      Self.server(
        #"[{"name": "a", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}}, {"name": "b"}]"#),
      to: "made.py")
    let command = ["--", "python3", "made.py"]
    let missing = try await program.call(["plugin", "add", "mcp", "made", "--env", "TOKK"] + command)
    #expect(
      missing.error == """
        error: missing secret: TOKK, to give to the server; set the environment variable of that name, or name a source \
        that has it under 'secrets' in errand.yaml

        """)
    let added = try await program.call(["plugin", "add", "mcp", "made", "--env", "TOK"] + command)
    #expect(added.code == 0 && added.error.contains("left out: b: it has no 'inputSchema'\n"), "\(added.error)")
    #expect(try program.read("plugins/made.lock.json").contains("\"version\": \"elif-eht-morf\""))
    try FileManager.default.moveItem(
      at: program.folder.appending(path: "made.py"), to: program.folder.appending(path: "moved.py"))
    let moved = try await program.call("plugin", "update", "made", "--effect", "a=read", "--", "python3", "moved.py")
    #expect(moved.code == 0 && moved.out.hasSuffix("~ a\n    effect: write → read\n"), "\(moved.out)\(moved.error)")
    #expect(try program.read("plugins/made.lock.json").contains("moved.py"))
    let taken = try await program.call("plugin", "update", "made", "--effect", "a=default", "--trust-hints")
    #expect(taken.out == "~ a\n    effect: read → idempotentWrite\n", "\(taken.out)\(taken.error)")
    let back = try await program.call("plugin", "update", "made", "--distrust-hints")
    #expect(back.out == "~ a\n    effect: idempotentWrite → write\n", "\(back.out)\(back.error)")
    #expect(try await program.call("plugin", "update", "made", "--trust-hints", "--distrust-hints").code == 64)
    let lost = try await program.call("plugin", "update", "made", "--", "./moved.py")
    #expect(lost.error.contains("moved.py' isn't a program: it is missing, or not executable"), "\(lost.error)")
    // The settings of the program that it was are no fault of the server elsewhere.
    try program.write("connections: { made: { path: /usr/local/bin:/usr/bin:/bin } }\n", to: "errand.yaml")
    let elsewhere = try await program.call("plugin", "update", "made", "http://127.0.0.1:9/mcp")
    #expect(elsewhere.code == 3 && elsewhere.error.contains("127.0.0.1:9"), "\(elsewhere.error)")
    try FileManager.default.removeItem(at: program.folder.appending(path: "errand.yaml"))
    let again = try await program.call("plugin", "add", "mcp", "more", "--", "python3", "moved.py")
    #expect(again.error.contains("'connections:' in errand.yaml, which isn't in this folder yet:"), "\(again.error)")
    for (tools, message) in [
      ("[]", "'made' offers no tool that can be an action"),
      (#"[{"name": "b"}]"#, "'made' offers no tool that can be an action: b: it has no 'inputSchema'"),
    ] {
      try program.write(Self.server(tools), to: "moved.py")
      #expect(try await program.call("plugin", "update", "made").error.contains("error: \(message)\n"))
    }
    await program.remove()
  }

  @Test func `recipes beside errand.yaml and connections are uses, and it is printed where was looked`() async throws {
    let program = try await Self.shop()
    let recipe = try program.read("recipes/orders.yaml")
    try FileManager.default.removeItem(at: program.folder.appending(path: "recipes"))
    try program.write(recipe, to: "use.yaml")
    let old = try program.read("errand.yaml")
    try program.write(old + "\n  shop: { baseURL: https://a.example }\n", to: "errand.yaml")
    let line = try program.read("errand.yaml").split(separator: "\n", omittingEmptySubsequences: false).count - 1
    let refused = try await program.call("plugin", "remove", "shop")
    #expect(refused.code == 3)
    #expect(
      refused.error.hasPrefix("errand.yaml:\(line) uses shop\nuse.yaml:2 uses shop.listOrders\n"), "\(refused.error)")
    try program.write(Self.document("string"), to: "shop.json")
    let update = try await program.call("plugin", "update", "shop")
    #expect(update.code == 3 && update.error.contains("use.yaml:2:"), "\(update.error)")
    try FileManager.default.removeItem(at: program.folder.appending(path: "use.yaml"))
    try program.write(old, to: "errand.yaml")
    let updated = try await program.call("plugin", "update", "shop")
    #expect(updated.error.contains("checked the recipes in this folder\n"), "\(updated.error)")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    #expect(
      try await program.call("plugin", "remove", "shop").error
        == "removed plugins/shop.lock.json; no recipe in recipes or this folder uses it\n")
    await program.remove()
  }

  @Test func `a document at an address may be as large as a file`() async throws {
    let program = try await Program()
    let server = try HTTPServer { _ in .text(String(repeating: " ", count: 33 << 20)) }
    let added = try await program.call("plugin", "add", "openapi", "shop", "\(server.baseURL)/x")
    #expect(
      added.error == "error: \(server.baseURL)/x is larger than 33554432 bytes, which is the most that can be read\n")
    await server.stop()
    await program.remove()
  }

  @Test func `dates become texts, and what couldn't be read is told`() async throws {
    let program = try await Program()
    try program.write(
      """
      openapi: 3.1.0
      components: { securitySchemes: { b: { type: http, scheme: bearer } } }
      paths:
        /a: { get: { responses: { '200': { content: { application/json: { schema: { $ref: '#/Tpyo' } } } } } } }
        /b: { get: { parameters: [{ name: at, in: query, schema: { type: string, format: date } }] } }
      """, to: "made.yaml")
    let added = try await program.call("plugin", "add", "openapi", "made", "made.yaml")
    #expect(
      added.error.contains("left out: #/Tpyo: it leads to nothing in the document, and is taken as anything\n"),
      "\(added.error)")
    #expect(!added.error.contains("secrets."), "\(added.error)")
    let update = try await program.call("plugin", "update", "made", "--dates", "text")
    #expect(update.out == "~ getB\n    input.at: date, optional → string, optional\n")
    #expect(try await program.call("plugin", "update", "made").error == "plugins/made.lock.json is up to date\n")
    #expect(
      try await program.call("plugin", "update", "made", "--dates", "typed").out.contains("string, optional → date"))
    await program.remove()
  }

  @Test func `a lock that was changed or broken is told, stops nothing else, and can be made anew`() async throws {
    let program = try await Self.shop()
    let old = try program.read("errand.yaml")
    try program.write(old + "\n  shop: { token: \"${{ secrets.SHOP }}\" }\n", to: "errand.yaml")
    let lock = try program.read("plugins/shop.lock.json")
    for (text, fault) in [
      ("<<<<<<<\n" + lock, "isn't valid JSON"), ("", "isn't valid JSON"),
    ] {
      try program.write(text, to: "plugins/shop.lock.json")
      let checked = try await program.call("check", "recipes/orders.yaml")
      #expect(checked.code == 3 && checked.error.contains(fault), "\(checked.error)")
      let list = try await program.call("plugin", "list")
      #expect(list.out.contains(fault), "\(list.out)")
      let runs = try await program.call("runs", "list")
      #expect(runs.code == 0, "\(runs.error)")
      let doctor = try await program.call("doctor")
      #expect(doctor.code == 1 && doctor.out.contains(fault), "\(doctor.out)")
      let update = try await program.call("plugin", "update", "shop")
      #expect(
        update.code == 3 && update.error.contains("remove it by 'errand plugin remove shop --force'"), "\(update.error)"
      )
      // By its name it is in use nonetheless.
      let refused = try await program.call("plugin", "remove", "shop")
      #expect(
        refused.code == 3 && refused.error.contains("recipes/orders.yaml:2 uses shop.listOrders"), "\(refused.error)")
    }
    #expect(try await program.call("plugin", "remove", "shop", "--force").code == 0)
    #expect(try await program.call("plugin", "add", "openapi", "shop", "shop.json").code == 0)
    #expect(try program.read("plugins/shop.lock.json") == lock)
    await program.remove()
  }

  @Test(arguments: ["changed", "version", "mark", "layout"])
  func `an update makes a lock anew that can't be used, with what was chosen`(_ fault: String) async throws {
    let program = try await Self.shop()
    let choices = ["--effect", "listOrders=write", "--only", "list_orders", "--dates", "text"]
    #expect(try await program.call(["plugin", "update", "shop"] + choices).code == 0)
    let lock = try program.read("plugins/shop.lock.json")
    let (text, says) =
      switch fault {
      case "changed":
        (lock.replacing("\"GET\"", with: "\"POST\""), "~ listOrders\n    called in another way\n")
      case "version": (lock.replacing("\"errandPluginLock\": 1", with: "\"errandPluginLock\": 2"), "")
      case "mark": ("\u{FEFF}" + lock, "")
      default: (lock.replacing("\n", with: "\r\n"), "")
      }
    try program.write(text, to: "plugins/shop.lock.json")
    let dead = "plugins/shop.lock.json.4194305-1.new"
    try program.write("half", to: dead)
    // A byte order mark and other line ends don't change the meaning of a lock.
    if fault != "layout", fault != "mark" {
      let refused = try await program.call("plugin", "remove", "shop")
      #expect(
        refused.code == 3 && refused.error.contains("; 'errand plugin update shop' makes it anew;"), "\(refused.error)")
    }
    let update = try await program.call("plugin", "update", "shop")
    #expect(update.code == 0 && update.out == says, "\(update.out)\(update.error)")
    if fault == "layout" { #expect(update.error.contains("only how the file is written is new"), "\(update.error)") }
    #expect(try program.read("plugins/shop.lock.json") == lock)
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: dead).path))
    await program.remove()
  }

  @Test func `a document that has moved keeps what was chosen`() async throws {
    let program = try await Self.shop()
    #expect(try await program.call("plugin", "update", "shop", "--effect", "listOrders=write").code == 0)
    try FileManager.default.moveItem(
      at: program.folder.appending(path: "shop.json"), to: program.folder.appending(path: "new.json"))
    let lost = try await program.call("plugin", "update", "shop")
    #expect(
      lost.error.contains("; if it has moved, name its new place: errand plugin update shop SOURCE"), "\(lost.error)")
    #expect(try await program.call("plugin", "update", "shop", "a.json", "b.json").code == 64)
    let moved = try await program.call("plugin", "update", "shop", "new.json")
    #expect(moved.code == 0, "\(moved.error)")
    let lock = try program.read("plugins/shop.lock.json")
    #expect(lock.contains("\"document\": \"new.json\"") && lock.contains("\"listOrders\": \"write\""))
    let back = try await program.call("plugin", "update", "shop", "--effect", "listOrders=default")
    #expect(back.out == "~ listOrders\n    effect: write → read\n", "\(back.out)\(back.error)")
    let again = try await program.call("plugin", "update", "shop", "--effect", "listOrders=default")
    #expect(
      again.error == "error: 'listOrders' has no effect that was given by --effect, and could be taken back\n")
    let chosen = try await program.call("plugin", "update", "shop", "--only", "add_order")
    #expect(chosen.code == 3 && chosen.error.contains("recipes don't fit what --only chooses; "), "\(chosen.error)")
    await program.remove()
  }

  @Test(arguments: [
    (["openapi", "shop"], "'errand plugin add' needs SOURCE"),
    (["openapi", "http", "shop.json"], "errand has a plugin 'http' of its own; choose another name"),
    (["openapi", "my-shop", "shop.json"], "the plugin's name 'my-shop' isn't a name"),
    (
      ["openapi", "shop.json", "shop"],
      "'shop.json' is a source, and the plugin's name comes before it: errand plugin add openapi NAME shop.json"
    ),
    (
      ["openapi", "none.yaml", "shop"],
      "'none.yaml' is a source, and the plugin's name comes before it: errand plugin add openapi NAME none.yaml"
    ),
    (
      ["openapi", "shop", "http://ann:pass@127.0.0.1:9/x"],
      "the address has a user or a password in it, which the lock would keep"
    ),
    (["openapi", "shop", "none.json"], "none.json"),
    (["openapi", "shop", "shop.json", "--trust-hints"], "--trust-hints is for mcp"),
    (["openapi", "shop", "shop.json", "--effect", "addOrder=reed"], "did you mean 'read'?"),
    (["openapi", "shop", "shop.json", "--effect", "addOrdr=read"], "did you mean 'addOrder'?"),
    (
      ["openapi", "shop", "shop.json", "--effect", "addOrder=idempotentWrite:1x"],
      "'1x' isn't a length of time for --effect addOrder=idempotentWrite:1x; write it like idempotentWrite:1d"
    ),
    (
      ["openapi", "shop", "shop.json", "--effect", "addOrder=read", "--effect", "addOrder=write"],
      "--effect gives 'addOrder' two effects; give it one"
    ),
    (
      ["openapi", "shop", "ftp://a.example/x"],
      "'ftp://a.example/x' can't be read; an address begins with https:// or http://"
    ),
    (["mcp", "clock", "--only", "x", "--", "true"], "--only is for openapi"),
    (["mcp", "clock", "--dates", "soon", "--", "true"], "'--dates' must be text or typed, but is 'soon'"),
    (
      ["mcp", "clock", "ftp://a.example"], "'ftp://a.example' can't be read; an address begins with https:// or http://"
    ),
    (["mcp", "clock", "--", "./"], "'./' is a folder; name a program in it"),
    (["mcp", "clock", "--", "no-such-program"], "no program is named 'no-such-program' in $PATH; give its path"),
    (["mcp", "clock", "--", "true --help"], "write the command and its arguments without quotes around them all"),
    (["mcp", "clock", "127.0.0.1:9/mcp"], "an address begins with https:// or http://"),
    (["openapi", "shop", "shop.example/x.json"], "an address begins with https:// or http://"),
    (["mcp", "clock", "http://u:p@a.example/mcp"], "the address has a user or a password in it"),
    (["mcp", "clock", "http://a.example/mcp?a=b&api_key=c"], "the address has 'api_key' in it"),
    (["openapi", "shop", "https://a.example/x?token=c"], "the address has 'token' in it"),
    (["mcp", "clock", "--env", "A=b", "--", "true"], "--env and --token take the name of a variable, but found 'A=…'"),
    (["openapi", "shop", "shop.json", "--config", "nowhere.yaml"], "cannot read nowhere.yaml: no such file"),
    (
      ["openapi", "shop", "shop.json", "--only", "list_orders", "--effect", "addOrder=read"],
      "has no action 'addOrder' to give an effect, for what was chosen leaves it out"
    ),
    (
      ["mcp", "clock", "true", "--zone", "UTC"],
      "'errand plugin add' has no option '--zone'; if it is one of the command, write -- before 'true'"
    ),
    (["openapi", "shop", "shop.json", "--onyl", "x"], "did you mean '--only'?"),
    (
      ["openapi", "shop", "shop.json", "--effect", "addOrder=default"], "but found 'addOrder=default'"
    ),
    (["mcp", "clock", "http://127.0.0.1:9/mcp", "more"], "unexpected argument 'more' after the address"),
  ])
  func `a wrong use says what is wrong`(_ words: [String], _ message: String) async throws {
    let program = try await Program()
    try program.write(Self.document(), to: "shop.json")
    let outcome = try await program.call(["plugin", "add"] + words)
    #expect(outcome.code != 0)
    #expect(outcome.error.contains(message), "\(outcome.error)")
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "plugins").path))
    await program.remove()
  }
}
