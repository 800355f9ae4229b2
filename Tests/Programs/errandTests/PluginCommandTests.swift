import ActionTestKit
import Foundation
import HTTPServer
import Testing

@testable import errand

/// `errand plugin`, as people use it and misuse it.
@Suite(.timeLimit(.minutes(5))) struct PluginCommandTests {
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
    let said = try await program.call("plugin", "update", "shop", "--effect", "addOrder=write", "--dry-run")
    #expect(
      said.error == """
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
      "test: { plugin: shop }",
      "warning: errand.yaml has no connection 'shop', so 'shop.listOrders' is called without settings; write "
        + "connection: test"
    ),
    (
      "test: { plugin: shop }\n  more: { plugin: shop }",
      "is called without settings; write connection: with one of more, test"
    ),
  ])
  func `what the text of a connection shows is said by check`(_ connections: String, _ message: String) async throws {
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

  @Test func `recipes beside errand.yaml and connections are uses, and it is said where was looked`() async throws {
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
      (lock.replacingOccurrences(of: "\"GET\"", with: "\"POST\""), "was changed since errand wrote it, and isn't used"),
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
      #expect(update.code == 3 && update.error.contains("run 'errand plugin remove shop' and then"), "\(update.error)")
    }
    #expect(try await program.call("plugin", "remove", "shop").code == 0)
    #expect(try await program.call("plugin", "add", "openapi", "shop", "shop.json").code == 0)
    #expect(try program.read("plugins/shop.lock.json") == lock)
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
    (["mcp", "clock", "--dates", "text", "--", "true"], "--dates is for openapi"),
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
