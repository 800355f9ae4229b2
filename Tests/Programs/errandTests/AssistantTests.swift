import Basics
import Foundation
import HTTPClient
import ModelContext
import Testing

@testable import errand

/// Recipes as tools of assistants: permissions over HTTP, and the answers of a process on standard streams.
@Suite(.timeLimit(.minutes(20))) struct AssistantTests {
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
    "typed": """
    mcp: true
    inputs: { n: { type: int }, many: { type: list(int), default: [] }, word: { type: string, default: w } }
    steps: [{ let: { m: "${{ inputs.n }}" } }]
    outputs: { m: "${{ m }}", many: "${{ inputs.many }}", word: "${{ inputs.word }}" }
    """,
    "waits": """
    mcp: true
    inputs: { span: { type: duration } }
    steps:
      - parallel:
          one: [{ let: { a: 1 } }]
          other: [{ wait: "${{ inputs.span }}" }]
    """,
    "fails": """
    steps: [{ fail: "no" }]
    """,
    "large": """
    mcp: true
    steps: [{ let: { l: "${{ lists.range(20000).map(i, 'item ' + string(i)) }}" } }]
    outputs: { l: "${{ l }}" }
    """,
    "hidden": """
    steps: [{ let: { a: 1 } }]
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
    // A result that needs the scope 'data' isn't shown.
    #expect(
      try await Self.call(bench, reader, "errand_why", #"{"run":"last"}"#).json["result"]?["content"]?.list?.first?[
        "text"]?.string == "the token lacks the scope 'data', which this needs")
    #expect(
      try await Self.call(bench, limited, "double", #"{"n":21}"#).json["result"]?["structuredContent"]?["outputs"]
        == .object(["m": .int(42)]))
    #expect(try await Self.call(bench, limited, "keep", #"{"word":"x"}"#).json["error"]?["code"]?.int == -32602)
    let list = try await bench.send(
      "POST", "/mcp", limited, Self.body("tools/list"), headers: Self.fields("tools/list"))
    let names = list.json["result"]?["tools"]?.list?.compactMap { $0["name"]?.string } ?? []
    #expect(names.filter { !$0.hasPrefix("errand_") } == ["double"])
    await bench.end()
  }

  @Test func `a plan is confirmed by the caller who was displayed it, once`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let scopes = ["--scope", "read", "--scope", "start", "--scope", "data"]
    let one = try await bench.token("one", scopes)
    let other = try await bench.token("other", scopes)
    let asked = try await Self.call(bench, one, "keep", #"{"word":"x"}"#).json["result"]
    #expect(asked?["resultType"]?.string == "input_required")
    let question = asked?["inputRequests"]?["plan"]
    #expect(question?["method"]?.string == "elicitation/create")
    let displayed = question?["params"]?["message"]?.string
    #expect(displayed?.hasPrefix("Plan of keep: 1 added\nstore.put on store, step ") == true, "\(displayed ?? "")")
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

  @Test func `arguments are what JSON Schema says, and their faults are told in the words of tools`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let token = try await bench.token("one", "--scope", "read", "--scope", "start", "--scope", "data")
    func outputs(_ arguments: String) async throws -> Value? {
      try await Self.call(bench, token, "typed", arguments).json["result"]?["structuredContent"]?["outputs"]
    }
    func text(_ tool: String, _ arguments: String) async throws -> String? {
      try await Self.call(bench, token, tool, arguments).json["result"]?["content"]?.list?.first?["text"]?.string
    }
    #expect(
      try await outputs(#"{"n":3.0,"many":[1.0,2],"word":"@secret:TOK"}"#)
        == .object(["m": .int(3), "many": .list([.int(1), .int(2)]), "word": .string("@secret:TOK")]))
    #expect(try await text("typed", #"{"n":3.5}"#) == "'inputs.n' must be an int, but found a double")
    #expect(try await text("typed", "{}") == "input 'n' (int) is missing")
    #expect(try await text("errand_run", "{}") == "the arguments of errand_run aren't valid: 'run' is missing")
    let statuses = [
      "queued", "running", "waiting", "paused", "uncertain", "succeeded", "failed", "timedOut", "cancelled", "rejected",
      "skipped",
    ].map { "'\($0)'" }.joined(separator: " or ")
    #expect(
      try await text("errand_runs", #"{"status":"zz"}"#)
        == "the arguments of errand_runs aren't valid: 'status' must be a list of \(statuses), but found a string")
    #expect(
      try await text("errand_actions", #"{"action":"store.putt"}"#)
        == "no action is named 'store.putt'; did you mean 'store.put'?")
    #expect(
      try await text("errand_actions", #"{"action":"nothing.alike"}"#)
        == "no action is named 'nothing.alike'; errand_actions without 'action' lists them")
    // A text alike is one over the API as well, where no secret is wanted.
    let started = try await bench.send(
      "POST", "/api/v1/recipes/typed/runs", token, #"{"inputs":{"n":1,"word":"@secret:TOK"}}"#)
    #expect(started.status == 202, "\(started.json)")
    await bench.end()
  }

  @Test func `a text is checked beside the recipes that are served`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let token = try await bench.token("one", "--scope", "read")
    for (path, file) in [
      ("double.yaml", nil), ("./recipes/double.yaml", nil), ("double.yaml", "new.yaml"),
      ("double.yaml", "recipes/new.yaml"), ("../recipes/double.yaml", "recipes/new.yaml"),
    ] as [(String, String?)] {
      let file = file.map { #","file":"\#($0)""# } ?? ""
      let arguments = #"{"text":"steps: [{ call: \#(path), with: { n: 1 } }]"\#(file)}"#
      let found = try await Self.call(bench, token, "errand_check", arguments).json["result"]?["structuredContent"]
      #expect(found?["items"]?.list?.isEmpty == true, "\(arguments): \(found ?? .null)")
    }
    let missing = try await Self.call(
      bench, token, "errand_check", #"{"text":"steps: [{ call: dubble.yaml, with: { n: 1 } }]"}"#)
    #expect(
      missing.json["result"]?["structuredContent"]?["items"]?.list?.first?["message"]?.string
        == "cannot read 'dubble.yaml': no such file or folder (ENOENT)")
    await bench.end()
  }

  @Test func `a run that waits for longer than half a minute is answered at once`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let token = try await bench.token("one", "--scope", "read", "--scope", "start", "--scope", "data")
    let short = try await Self.call(bench, token, "waits", #"{"span":"1s"}"#).json["result"]?["structuredContent"]
    #expect(short?["status"]?.string == "succeeded", "\(short ?? .null)")
    let clock = ContinuousClock()
    for time in ["45s", "2h"] {
      let start = clock.now
      let long = try await Self.call(bench, token, "waits", #"{"span":"\#(time)"}"#).json["result"]?[
        "structuredContent"]
      #expect(start.duration(to: clock.now) < .seconds(25))
      #expect(long?["status"]?.string == "waiting", "\(long ?? .null)")
      #expect(long?["waitsFor"]?.string?.hasPrefix("waits until 2") == true, "\(long ?? .null)")
      #expect(long?["until"]?.string != nil)
    }
    await bench.end()
  }

  /// The answers of a process on standard streams to calls, by the calls' numbers.
  ///
  /// Its standard input ends after the calls.
  private static func answers(
    of program: Program, to calls: [(tool: String, arguments: String)]
  ) async throws -> [Int: Value] {
    let lines = calls.enumerated().map { number, call in
      Self.body("tools/call", #""name":"\#(call.tool)","arguments":\#(call.arguments),"#)
        .replacing(#""id":1,"#, with: #""id":\#(number),"#)
    }
    try program.write(lines.joined(separator: "\n") + "\n", to: "requests")
    let outcome = try await program.shell(
      """
      mkfifo given answered; '\(Program.binary.path)' mcp < given > answered &
      exec 3> given; cat requests >&3; head -n \(calls.count) < answered; exec 3>&-; wait
      """)
    var answers: [Int: Value] = [:]
    for line in outcome.out.split(separator: "\n") {
      let message = try JSON.parse(String(line))
      if let number = message["id"]?.int { answers[number] = message["result"] ?? message["error"] }
    }
    return answers
  }

  @Test func `calls at once are all answered while another process holds the state`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let calls = (1...6).map { ("double", #"{"n":\#($0)}"#) } + [("errand_runs", "{}"), ("errand_actions", "{}")]
    let answers = try await Self.answers(of: bench.program, to: calls)
    #expect(answers.count == 8)
    for number in 0..<6 {
      #expect(answers[number]?["structuredContent"]?["outputs"]?["m"] == .int((number + 1) * 2), "\(answers)")
    }
    await bench.end()
  }

  @Test(arguments: [false, true])
  func `only runs of tools are seen`(_ isServed: Bool) async throws {
    var bench: APITests.Bench?
    let program: Program
    if isServed {
      let made = try await APITests.Bench(Self.recipes)
      (bench, program) = (made, made.program)
    } else {
      program = try await Program()
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
      for (name, text) in Self.recipes { try program.write(text, to: "recipes/\(name).yaml") }
    }
    for arguments in [["typed", "-i", "n=1"], ["hidden"]] {
      let outcome = try await program.call(["run", "recipes/\(arguments[0]).yaml"] + arguments.dropFirst())
      #expect(outcome.code == 0, "\(outcome.error)")
    }
    let list = try await program.call("runs", "list", "--recipe", "hidden", "--json")
    let id = try #require(JSON.parse(list.out)["finished"]?.list?.first?["id"]?.string)
    let calls = [
      ("errand_runs", "{}"), ("errand_runs", #"{"recipe":"hidden"}"#), ("errand_run", #"{"run":"last"}"#),
      ("errand_why", #"{"run":"last:typed"}"#), ("errand_run", #"{"run":"typed"}"#),
      ("errand_run", #"{"run":"hidden"}"#), ("errand_why", #"{"run":"last:hidden"}"#),
      ("errand_run", #"{"run":"\#(id)"}"#), ("errand_run", #"{"run":"nothing"}"#),
    ]
    let answers = try await Self.answers(of: program, to: calls)
    func recipes(_ number: Int) -> [String] {
      (answers[number]?["structuredContent"]?["items"]?.list ?? []).compactMap { $0["recipe"]?.string }
    }
    #expect(recipes(0) == ["typed"] && recipes(1).isEmpty, "\(answers)")
    for number in [2, 4] { #expect(answers[number]?["structuredContent"]?["recipe"]?.string == "typed", "\(answers)") }
    #expect(answers[3]?["structuredContent"]?["text"]?.string?.hasPrefix("typed succeeded") == true, "\(answers)")
    for (number, name) in [(5, "hidden"), (6, "last:hidden"), (7, id), (8, "nothing")] {
      #expect(
        answers[number]?["content"]?.list?.first?["text"]?.string
          == "'\(name)' doesn't name one run of a tool; errand_runs lists the runs of tools")
    }
    if let bench { await bench.end() } else { await program.remove() }
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
    #expect(outcome.code == 0)
    #expect(
      outcome.error
        == "the recipe 'secretive' is no tool: its input 'pass' is a secret, which an assistant can't give\n")
    let tools = try JSON.parse(outcome.out)["result"]?["tools"]?.list ?? []
    let told = tools.compactMap { $0["name"]?.string }
    #expect(
      told == [
        "errand_runs", "errand_run", "errand_why", "errand_check", "errand_actions", "called", "double", "keep",
        "large", "typed", "waits",
      ])
    #expect(told.allSatisfy(Tool.isName))
    func hints(_ name: String) -> String {
      JSON.displayed(tools.first { $0["name"]?.string == name }?["annotations"] ?? .null)
    }
    #expect(
      hints("double")
        == #"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#)
    // A write in a recipe that 'finally' calls counts; stored values and computations aren't an open world.
    #expect(
      hints("called")
        == #"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}"#)
    let descriptions = tools[5..<8].map { $0["description"]?.string }
    #expect(
      descriptions == [
        "Runs the recipe 'called'. It is planned first, and runs once the plan is confirmed.", "Doubles a number.",
        "Keeps a word. It is planned first, and runs once the plan is confirmed.",
      ])
    let schemas = tools[6..<8].map { JSON.displayed($0["inputSchema"] ?? .null) }
    #expect(
      schemas == [
        #"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#,
        #"{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}"#,
      ])
    await program.remove()
  }

  @Test func `who asked for a run is told wherever its cause is`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let scopes = ["--scope", "read", "--scope", "start", "--scope", "steer", "--scope", "data"]
    let token = try await bench.token("ci", scopes)
    func started(_ path: String, _ body: String) async throws -> String {
      let answer = try await bench.send("POST", path, token, body)
      #expect(answer.status < 300, "\(path): \(answer)")
      return answer.json["run"]?.string ?? answer.json["items"]?.list?.first?["run"]?.string ?? ""
    }
    let failing = try await started("/api/v1/recipes/fails/runs", "{}")
    _ = try await bench.program.call("runs", "follow", failing)
    let call = Self.body("tools/call", #""name":"double","arguments":{"n":1},"#).replacing(
      #""_meta":{"#, with: #""_meta":{"io.modelcontextprotocol/clientInfo":{"name":"scribe \u001b[2J","version":"1"},"#)
    let called = try await bench.send("POST", "/mcp", token, call, headers: Self.fields("tools/call", "double"))
    let unnamed = try await Self.call(bench, token, "double", #"{"n":2}"#)
    func run(_ answer: Value) -> String { answer["result"]?["structuredContent"]?["run"]?.string ?? "" }
    let local = try await Self.answers(of: bench.program, to: [("double", #"{"n":3}"#)])
    let person = try await bench.program.call("runs", "start", "double", "-i", "n=4")
    let cases = [
      (failing, "Started by the token 'ci' on ", #"{"kind":"manual","by":"ci","isToken":true}"#),
      (
        try await started("/api/v1/schedules/sum/trigger", "{}"),
        "Started by the token 'ci' on ", #""by":"ci","isToken":true}"#
      ),
      (
        try await started("/api/v1/runs/\(failing)/retry", "{}"), "Started by the token 'ci' on ",
        #""by":"ci","isToken":true}"#
      ),
      (
        run(called.json), "Started by the assistant 'scribe ␛[2J' with the token 'ci' on ",
        #"{"kind":"manual","by":"ci","isToken":true,"assistant":"scribe ␛[2J"}"#
      ),
      (
        run(unnamed.json), "Started by an assistant with the token 'ci' on ",
        #"{"kind":"manual","by":"ci","isToken":true,"assistant":"assistant"}"#
      ),
      (
        local[0]?["structuredContent"]?["run"]?.string ?? "", "Started by an assistant for ",
        #""assistant":"assistant"}"#
      ),
      (person.out.trimmingCharacters(in: .newlines), "Started by hand on ", #"{"kind":"manual"}"#),
    ]
    for (run, words, cause) in cases {
      let why = try await bench.program.call("why", run)
      #expect(why.out.contains(words), "\(why)")
      let displayed = try await bench.program.call("runs", "show", run, "--json")
      #expect(JSON.displayed(displayed.json["cause"] ?? .null).hasSuffix(cause), "\(displayed.json["cause"] ?? .null)")
      let told = try await bench.send("GET", "/api/v1/runs/\(run)", token)
      #expect(JSON.displayed(told.json["cause"] ?? .null).hasSuffix(cause), "\(told.json["cause"] ?? .null)")
    }
    await bench.end()
  }

  @Test func `a recipe with faults that is to be a tool is named at the start, and told to its callers`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    for (file, text) in [
      ("good", "mcp: true\nsteps: [{ let: { a: 1 } }]\n"),
      ("typo", "mcp: true\nsteps: [{ uses: file.wirte }]\n"),
      ("caller", "mcp: true\nsteps: [{ call: typo.yaml }]\n"),
      ("named", "recipe: other\nmcp: true\nsteps: []\n"),
      ("json", #"{"recipe": "flow", "mcp": true, "steps": [{"uses": "no.thing"}]}"#),
      ("broken", "mcp: true  # yes\nsteps: [\n"), ("tabs", "\tmcp: true\nsteps: [\n"),
      ("yes", "mcp: yes\nsteps: []\n"), ("key", "recipe: keyed\nmpc: true\nsteps: []\n"),
      ("second", "recipe: good\nmcp: true\nsteps: [{ let: { a: 1 } }]\n"),
      ("long", "{\"mcp\": true, \"summary\": \"\(String(repeating: "l", count: 300_000))\", \"steps\": []}\n"),
      ("hidden", "steps: [{ uses: file.wirte }]\n"), ("false", "mcp: false\nsteps: [{ uses: file.wirte }]\n"),
    ] { try program.write(text, to: "recipes/\(file).yaml") }
    try FileManager.default.createSymbolicLink(
      atPath: program.folder.appending(path: "recipes/gone.yaml").path, withDestinationPath: "nowhere")
    try program.write("", to: "requests")
    let start = try await program.shell("'\(Program.binary.path)' mcp < requests")
    let named = start.error.split(separator: "\n").filter { $0.hasPrefix("the recipe '") }.map {
      $0.dropFirst(12).prefix { $0 != "'" }
    }
    #expect(
      named.sorted() == [
        "broken", "caller", "flow", "gone", "keyed", "long", "other", "second", "tabs", "typo", "yes",
      ], "\(start.error)")
    #expect(
      start.error.contains(
        "the recipe 'typo' is no tool: recipes/typo.yaml:2:17: no action or plugin is named 'file.wirte'")
        || start.error.contains("the recipe 'typo' is no tool: "), "\(start.error)")
    let answers = try await Self.answers(
      of: program,
      to: [
        ("typo", "{}"), ("flow", "{}"), ("broken", "{}"), ("hidden", "{}"), ("good", "{}"), ("yes", "{}"),
        ("keyed", "{}"), ("second", "{}"), ("gone", "{}"), ("long", "{}"), ("tabs", "{}"),
      ])
    func text(_ number: Int) -> String { answers[number]?["content"]?.list?.first?["text"]?.string ?? "" }
    for (number, name, place) in [
      (0, "typo", "recipes/typo.yaml:2:"), (1, "flow", "recipes/json.yaml:1:"), (2, "broken", "recipes/broken.yaml:"),
      (5, "yes", "recipes/yes.yaml:1:6: 'mcp' takes a bool"), (6, "keyed", "recipes/key.yaml:2:1: a recipe has no key"),
      (7, "second", "recipes/second.yaml:1:"), (8, "gone", "recipes/gone.yaml"), (9, "long", "recipes/long.yaml:1:"),
      (10, "tabs", "recipes/tabs.yaml:"),
    ] {
      #expect(text(number).hasPrefix("the recipe '\(name)' has errors, so it can't be run:\n"), "\(answers)")
      #expect(text(number).contains(place) && answers[number]?["isError"] == .bool(true), "\(answers)")
    }
    #expect(answers[3]?["message"]?.string?.hasPrefix("there is no tool 'hidden'") == true, "\(answers)")
    #expect(answers[4]?["structuredContent"]?["status"]?.string == "succeeded", "\(answers)")
    await program.remove()
  }

  @Test func `an answer of megabytes is cut, and a run tells the rest`() async throws {
    let bench = try await APITests.Bench(Self.recipes)
    let token = try await bench.token("one", "--scope", "read", "--scope", "start", "--scope", "data")
    let answer = try await Self.call(bench, token, "large", "{}").json["result"]
    #expect(JSON.displayed(answer ?? .null).utf8.count < 200_000)
    let run = answer?["structuredContent"]?["run"]?.string ?? ""
    let text = answer?["content"]?.list?.first?["text"]?.string ?? ""
    #expect(text.contains("Call errand_run with \"run\": \"\(run)\" for all of it."), "\(text.suffix(300))")
    var (whole, from) = ("", 0)
    for _ in 0..<100 {
      let part = try await Self.call(bench, token, "errand_run", #"{"run":"\#(run)","from":\#(from)}"#).json["result"]
      let text = part?["content"]?.list?.first?["text"]?.string ?? ""
      guard let cut = text.range(of: "\n\n… cut here: ") else {
        whole += text
        break
      }
      whole += text[..<cut.lowerBound]
      from += text[..<cut.lowerBound].utf8.count
    }
    #expect(try JSON.parse(whole)["outputs"]?["l"]?.list?.count == 20_000)
    await bench.end()
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
