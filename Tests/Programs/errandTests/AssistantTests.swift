import Basics
import Foundation
import HTTPClient
import ModelContext
import Testing

@testable import errand

/// Recipes as tools of assistants: who may use them over HTTP, and what a process on standard streams answers.
@Suite(.timeLimit(.minutes(5))) struct AssistantTests {
  private static let recipes = [
    "double": """
    mcp: true
    summary: Doubles a number.
    inputs: { n: { type: int } }
    steps: [{ let: { m: "${{ inputs.n * 2 }}" } }]
    outputs: { m: "${{ m }}" }
    """,
    "keep": """
    mcp: true
    summary: Keeps a word
    inputs: { word: { type: string } }
    steps: [{ uses: store.put, with: { name: word, value: "${{ inputs.word }}" } }]
    """,
    "called": """
    mcp: true
    steps:
      - { id: d, call: double.yaml, with: { n: 1 } }
      - uses: csv.format
        with: { rows: [] }
    finally: [{ call: keep.yaml, with: { word: last } }]
    """,
    "secretive": """
    mcp: true
    inputs: { pass: { type: string, secret: true } }
    steps: [{ let: { a: 1 } }]
    """,
  ]

  private static let capable = #"{"elicitation":{"form":{}}}"#

  private static func body(
    _ method: String, _ more: String = "", capabilities: String = capable, version: String = "2026-07-28"
  ) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(more)"_meta":{"#
      + #""io.modelcontextprotocol/protocolVersion":"\#(version)","#
      + #""io.modelcontextprotocol/clientCapabilities":\#(capabilities)}}}"#
  }

  private static func fields(_ method: String, _ name: String? = nil) -> HTTPHeaders {
    var fields: HTTPHeaders = ["MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method]
    fields["Mcp-Name"] = name
    return fields
  }

  /// The answer to a call of a tool.
  private static func call(
    _ bench: APITests.Bench, _ token: String, _ tool: String, _ arguments: String, _ more: String = ""
  ) async throws -> (status: Int, json: Value) {
    let body = Self.body("tools/call", #""name":"\#(tool)","arguments":\#(arguments),\#(more)"#)
    let answer = try await bench.send("POST", "/mcp", token, body, headers: Self.fields("tools/call", tool))
    return (answer.status, answer.json)
  }

  @Test func `requests are checked before anything is done`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let token = try await bench.token("assistant", "--scope", "read")
    let list = Self.body("tools/list")
    let cases: [(body: String, headers: HTTPHeaders, status: Int, code: Int?)] = [
      (list, Self.fields("tools/list"), 200, nil),
      (list, [:], 400, -32020), (list, Self.fields("tools/call"), 400, -32020),
      (list, ["Mcp-Method": "tools/list"], 400, -32020),
      (list, ["MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/list"], 400, -32020),
      (Self.body("tools/call", #""name":"double","#), Self.fields("tools/call", "keep"), 400, -32020),
      (
        Self.body("tools/list", version: "2027-01-01"),
        ["MCP-Protocol-Version": "2027-01-01", "Mcp-Method": "tools/list"], 400, -32022
      ),
      (#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, Self.fields("tools/list"), 400, -32602),
      (#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, ["MCP-Protocol-Version": "2020-01-01"], 400, -32022),
      (#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, ["MCP-Protocol-Version": "2025-06-18"], 200, nil),
      (#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, [:], 200, nil),
      (Self.body("prompts/list"), Self.fields("prompts/list"), 404, -32601),
      ("{", [:], 400, -32700), ("[]", [:], 400, -32600),
      (#"{"jsonrpc":"2.0","id":1,"result":{}}"#, [:], 400, -32600),
      (#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, [:], 202, nil),
      (list, ["Content-Type": "text/plain"], 415, nil),
      (list, ["Origin": "https://elsewhere.example"], 403, nil), (list, ["Host": "elsewhere.example"], 421, nil),
    ]
    for (body, headers, status, code) in cases {
      let answer = try await bench.send("POST", "/mcp", token, body, headers: headers)
      #expect(answer.status == status && answer.json["error"]?["code"]?.int == code, "\(body) \(headers): \(answer)")
      #expect(answer.headers["Mcp-Session-Id"] == nil)
    }
    #expect(try await bench.send("POST", "/mcp", nil, list, headers: Self.fields("tools/list")).status == 401)
    #expect(try await bench.send("GET", "/mcp", token).headers["Allow"] == "POST")
    await bench.end()
  }

  @Test func `a token does what its scopes and recipes allow`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let reader = try await bench.token("reader", "--scope", "read")
    let blind = try await bench.token("blind", "--scope", "read", "--scope", "start")
    let limited = try await bench.token(
      "limited", "--scope", "read", "--scope", "start", "--scope", "data", "--recipe", "double")
    let answer = try await Self.call(bench, reader, "double", #"{"n":1}"#)
    #expect(answer.status == 403 && answer.json["detail"]?.string?.contains("'start'") == true)
    #expect(
      try await Self.call(bench, blind, "double", #"{"n":1}"#).json["result"]?["content"]?.list?.first?["text"]?.string
        == "the token lacks the scope 'data', which the results of runs need")
    // What needs 'data' to be seen isn't.
    #expect(
      try await Self.call(bench, reader, "errand.why", #"{"run":"last"}"#).json["result"]?["content"]?.list?.first?[
        "text"]?.string == "the token lacks the scope 'data', which this needs")
    #expect(
      try await Self.call(bench, limited, "double", #"{"n":21}"#).json["result"]?["structuredContent"]?["outputs"]
        == .object(["m": .int(42)]))
    #expect(try await Self.call(bench, limited, "keep", #"{"word":"x"}"#).json["error"]?["code"]?.int == -32602)
    let list = try await bench.send(
      "POST", "/mcp", limited, Self.body("tools/list"), headers: Self.fields("tools/list"))
    let names = list.json["result"]?["tools"]?.list?.compactMap { $0["name"]?.string } ?? []
    #expect(names.filter { !$0.hasPrefix("errand.") } == ["double"])
    await bench.end()
  }

  @Test func `a plan is confirmed by the caller who was shown it, once`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let scopes = ["--scope", "read", "--scope", "start", "--scope", "data"]
    let one = try await bench.token("one", scopes)
    let other = try await bench.token("other", scopes)
    let asked = try await Self.call(bench, one, "keep", #"{"word":"x"}"#).json["result"]
    #expect(asked?["resultType"]?.string == "input_required")
    let question = asked?["inputRequests"]?["plan"]
    #expect(question?["method"]?.string == "elicitation/create")
    let shown = question?["params"]?["message"]?.string
    #expect(shown?.hasPrefix("Plan of keep: 1 added\nstore.put on store, step ") == true, "\(shown ?? "")")
    let state = try #require(asked?["requestState"]?.string)
    let yes =
      #""requestState":"\#(state)","inputResponses":{"plan":{"action":"accept","content":{"confirm":true}}},"#
    #expect(try await Self.call(bench, other, "keep", #"{"word":"x"}"#, yes).json["error"]?["code"]?.int == -32602)
    let done = try await Self.call(bench, one, "keep", #"{"word":"x"}"#, yes).json["result"]
    #expect(done?["structuredContent"]?["status"]?.string == "succeeded", "\(done ?? .null)")
    #expect(try await Self.call(bench, one, "keep", #"{"word":"x"}"#, yes).json["error"]?["code"]?.int == -32602)
    let runs = try await bench.program.call("runs", "list", "--json")
    #expect(runs.out.components(separatedBy: "\"keep\"").count == 2, "\(runs.out)")
    await bench.end()
  }

  @Test func `a call is answered as events where the client takes them`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let token = try await bench.token("assistant", "--scope", "read", "--scope", "start", "--scope", "data")
    var headers = Self.fields("tools/call", "double")
    headers["Accept"] = "application/json, text/event-stream"
    headers["Authorization"] = "Bearer \(token)"
    headers["Content-Type"] = "application/json"
    let body = Self.body("tools/call", #""name":"double","arguments":{"n":4},"#)
    let answer = try await HTTPClient().send(
      HTTPRequest("POST", bench.url + "/mcp", headers: headers, body: Array(body.utf8)))
    #expect(answer.headers["Content-Type"] == "text/event-stream")
    let text = String(decoding: answer.body, as: UTF8.self)
    #expect(
      text.hasPrefix("event: message\ndata: {") && text.hasSuffix("}\n\n") && text.contains(#""outputs":{"m":8}"#))
    await bench.end()
  }

  @Test func `a process on standard streams lists the tools, and ends with its input`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    for (name, text) in Self.recipes { try program.write(text, to: "recipes/\(name).yaml") }
    try program.write(Self.body("tools/list") + "\n", to: "request")
    let outcome = try await program.shell("'\(Program.binary.path)' mcp < request")
    #expect(outcome.code == 0 && outcome.error.isEmpty, "\(outcome.error)")
    let tools = try JSON.parse(outcome.out)["result"]?["tools"]?.list ?? []
    let told = tools.compactMap { $0["name"]?.string }
    #expect(
      told == [
        "errand.runs", "errand.run", "errand.why", "errand.check", "errand.actions", "called", "double", "keep",
      ])
    #expect(told.allSatisfy(Tool.isName))
    func hints(_ name: String) -> String {
      JSON.shown(tools.first { $0["name"]?.string == name }?["annotations"] ?? .null)
    }
    #expect(
      hints("double")
        == #"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#)
    // A write in what 'finally' calls counts; stored values and what only computes are no open world.
    #expect(
      hints("called")
        == #"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}"#)
    let descriptions = tools.suffix(3).map { $0["description"]?.string }
    #expect(
      descriptions == [
        "Runs the recipe 'called'. It is planned first, and runs once the plan is confirmed.", "Doubles a number.",
        "Keeps a word. It is planned first, and runs once the plan is confirmed.",
      ])
    let schemas = tools.suffix(2).map { JSON.shown($0["inputSchema"] ?? .null) }
    #expect(
      schemas == [
        #"{"type":"object","properties":{"n":{"type":"integer","description":""}},"required":["n"],"additionalProperties":false}"#,
        #"{"type":"object","properties":{"word":{"type":"string","description":""}},"required":["word"],"additionalProperties":false}"#,
      ])
    await program.remove()
  }

  @Test func `a recipe with a secret input says that it is no tool`() async throws {
    let program = try await Program()
    try program.write(Self.recipes["secretive"] ?? "", to: "secretive.yaml")
    let outcome = try await program.call("check", "secretive.yaml")
    #expect(outcome.code == 0)
    #expect(
      outcome.error.contains(
        "secretive.yaml:1:6: warning: 'mcp' has no effect, because the input 'pass' is a secret, which an assistant can't give; read it as ${{ secrets.NAME }}"
      ), "\(outcome.error)")
    await program.remove()
  }

  @Test func `names of tools in errand.yaml are checked`() async throws {
    let program = try await Program()
    let old = try program.read("errand.yaml")
    try program.write(old + "server: { mcp: { recipes: [\"a b\", \"ok-*\"], confirm: model } }\n", to: "errand.yaml")
    let outcome = try await program.call("runs", "list")
    #expect(
      outcome.error.contains(
        "'a b' isn't the name of a recipe; names have letters, digits, - and _, and * stands for any part of one"),
      "\(outcome.error)")
    #expect(outcome.error.contains("'confirm'"), "\(outcome.error)")
    await program.remove()
  }
}
