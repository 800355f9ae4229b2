import ActionTestKit
import Agent
import Operations
import AssistantTools
import Basics
import ModelContext
import Recipes
import RunState
import Synchronization
import Testing

/// An assistant on standard streams, line by line.
@Suite(.timeLimit(.minutes(20))) struct ToolSessionTests {
  /// The names of the requests to an agent.
  private final class Asked: Sendable {
    let verbs = Mutex<[String]>([])
  }

  /// A session whose agent gives the test's answers.
  private final class Bench: Sendable {
    private let asked = Asked()
    private let input: AsyncStream<[UInt8]>.Continuation
    private let output: AsyncStream<[UInt8]>
    private let serving: Task<Void, Never>

    init(
      _ settings: ToolSettings = ToolSettings(), time: any TimeSource = SystemTime(),
      remarks: AsyncStream<String>.Continuation? = nil,
      answer: @escaping @Sendable (any Operation) async throws(RequestRefusedError) -> any OperationAnswer = {
        _ throws(RequestRefusedError) in throw RequestRefusedError(.notFound, "nothing is here")
      }
    ) {
      let (input, feed) = AsyncStream.makeStream(of: [UInt8].self)
      let (output, sink) = AsyncStream.makeStream(of: [UInt8].self)
      self.input = feed
      self.output = output
      let asked = asked
      let caller = ToolCaller(
        principal: "account",
        answer: { request, _ throws(RequestRefusedError) in
          asked.verbs.withLock { $0.append(type(of: request).name) }
          return try await answer(request)
        },
        follow: { _ throws(RequestRefusedError) in throw RequestRefusedError(.state, "nothing is followed") },
        hide: { value in
          (try? JSON.parse(JSON.displayed(value).replacing("s3cret", with: "•••"))) ?? .null
        }, note: { _ = remarks?.yield($0) })
      serving = Task {
        let session = ToolSession(ToolService(settings, version: "1", time: time), for: caller) { sink.yield($0) }
        await session.serve(input)
        sink.finish()
      }
    }

    func send(_ lines: String...) { for line in lines { input.yield(Array("\(line)\n".utf8)) } }

    /// The next lines.
    func lines(_ count: Int) async -> [String] {
      var lines: [String] = []
      for await line in output {
        lines.append(String(decoding: line.dropLast(), as: UTF8.self))
        if lines.count == count { break }
      }
      return lines
    }

    func end() async {
      input.finish()
      await serving.value
    }

    var verbs: [String] { asked.verbs.withLock { $0 } }
  }

  private static let shaken = [
    #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}"#,
    #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
  ]

  private static func stateless(_ id: Int, _ method: String, _ more: String = "") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":{\#(more)"_meta":{"#
      + #""io.modelcontextprotocol/protocolVersion":"2026-07-28","#
      + #""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}"#
  }

  @Test(arguments: [
    ("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("1", "2025-11-25"),
  ])
  func `a handshake comes to a version that both speak`(_ wanted: String, _ spoken: String) async throws {
    let bench = Bench()
    bench.send(Self.shaken[0].replacing("2025-06-18", with: wanted))
    let answer = try JSON.parse(try #require(await bench.lines(1).first))
    #expect(answer["result"]?["protocolVersion"]?.string == spoken)
    #expect(answer["result"]?["serverInfo"]?["name"]?.string == "errand")
    await bench.end()
  }

  @Test(arguments: [
    (
      #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, -32600,
      "send 'initialize' first, or say 'io.modelcontextprotocol/protocolVersion' in 'params._meta'"
    ),
    (
      "{", -32700,
      "the message isn't valid JSON: line 1, column 2: a key in double quotes is expected, but the text ends"
    ),
    (stateless(1, "prompts/list"), -32601, "there is no method 'prompts/list' here"),
    (stateless(1, "initialize"), -32601, "there is no method 'initialize' here"),
    (stateless(1, "ping"), -32601, "there is no method 'ping' here"),
    (stateless(1, "tools/list", #""cursor":"x","#), -32603, "nothing is here"),
    (stateless(1, "tools/call"), -32602, "'name' must be the name of a tool"),
    (stateless(1, "tools/call", #""name":"x","arguments":[],"#), -32602, "'arguments' must be an object"),
    (stateless(1, "tools/call", #""name":"errand.approve","#), -32602, "nothing is here"),
    (stateless(1, "tools/list"), -32603, "nothing is here"),
  ])
  func `what can't be done is told`(_ line: String, _ code: Int, _ message: String) async throws {
    let bench = Bench()
    bench.send(line)
    let answer = try JSON.parse(try #require(await bench.lines(1).first))
    #expect(answer["error"]?["code"]?.int == code)
    #expect(answer["error"]?["message"]?.string == message)
    await bench.end()
  }

  @Test func `an answer since 2026 says its type, how long it keeps, and whose it is`() async {
    let bench = Bench()
    bench.send(Self.stateless(1, "server/discover"))
    let line = await bench.lines(1).first ?? ""
    #expect(
      line.hasPrefix(
        #"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"#
      ))
    #expect(
      line.hasSuffix(
        #""resultType":"complete","ttlMs":5000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"errand","title":"Errand","version":"1"}}}}"#
      ))
    await bench.end()
  }

  @Test func `a text that is a secret comes back masked`() async {
    let bench = Bench { _ throws(RequestRefusedError) in throw RequestRefusedError(.request, "there is no s3cret") }
    bench.send(Self.stateless(1, "tools/call", #""name":"errand_run","arguments":{"run":"s3cret"},"#))
    #expect(await bench.lines(1).first?.contains(#""text":"there is no •••""#) == true)
    bench.send(Self.stateless(2, "s3cret"))
    #expect(await bench.lines(1).first?.contains("there is no method '•••' here") == true)
    await bench.end()
  }

  @Test func `a cancelled request gets no answer, and others do`() async {
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let bench = Bench { [time = TestTime()] request throws(RequestRefusedError) in
      if request is ListTools { return Self.tools(Self.tool("{}")) }
      if request is ShowRun {
        enter.yield()
        // Ends only when it is cancelled.
        try? await time.sleep(for: .seconds(86_400))
      }
      throw RequestRefusedError(.notFound, "nothing is here")
    }
    bench.send(Self.stateless(1, "tools/call", #""name":"errand_run","arguments":{"run":"r"},"#))
    for await _ in entered { break }
    bench.send(
      Self.stateless(1, "tools/list"),
      #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
      Self.stateless(2, "server/discover"))
    let lines = await bench.lines(2)
    #expect(lines.first?.contains("a request with this id is under way") == true)
    #expect(lines.last?.hasPrefix(#"{"jsonrpc":"2.0","id":2,"#) == true)
    await bench.end()
  }

  @Test func `after a handshake the person is asked, and nothing starts without a yes`() async throws {
    for (answer, text) in [
      (#""result":{"action":"accept","content":{"confirm":true}}"#, "it would start"),
      (#""result":{"action":"accept","content":{"confirm":false}}"#, "didn't confirm"),
      (
        #""result":{"action":"accept","content":{"confirm":"true"}}"#,
        "'confirm' must be true or false, not a string; nothing was started"
      ),
      (#""result":{"action":"accept"}"#, "didn't confirm"), (#""result":{"action":"decline"}"#, "didn't confirm"),
      (#""result":{}"#, "didn't confirm"), (#""error":{"code":-1,"message":"no"}"#, "didn't confirm"),
    ] {
      let bench = Bench(answer: Self.writer)
      for line in Self.shaken { bench.send(line) }
      _ = await bench.lines(1)
      bench.send(#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":{"n":1}}}"#)
      let question = await bench.lines(1).first ?? ""
      #expect(
        question
          == #"{"jsonrpc":"2.0","id":"errand-1","method":"elicitation/create","params":{"mode":"form","message":"Plan of order: 1 added\n"#
          + #"http.post on shop, step put:\n  pen: added: 1 € Run? yes\nWith:\n  n: 1","requestedSchema":{"type":"object","properties":{"confirm":{"type":"boolean","title":"Run order","description":"Whether to do what the plan says."}},"required":["confirm"]}}}"#
      )
      bench.send(#"{"jsonrpc":"2.0","id":"errand-1",\#(answer)}"#)
      let line = await bench.lines(1).first ?? ""
      let isInvalid = text.hasPrefix("'confirm'")
      #expect(line.contains(text), "\(answer): \(line)")
      #expect(line.contains(isInvalid ? #""code":-32602"# : #""isError":true"#), "\(answer): \(line)")
      #expect(bench.verbs == ["tools", "plan"] + (text == "it would start" ? ["start"] : []))
      await bench.end()
    }
  }

  @Test func `a client that can't ask is refused before anything is planned`() async {
    let bench = Bench(answer: Self.writer)
    bench.send(Self.shaken[0].replacing(#"{"elicitation":{}}"#, with: "{}"))
    _ = await bench.lines(1)
    bench.send(#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order"}}"#)
    let line = await bench.lines(1).first ?? ""
    #expect(line.contains("'order' may write, and this program can't ask its user to confirm the plan"))
    #expect(line.contains("or set 'confirm: token' under 'server.mcp' in errand.yaml. Nothing was started"))
    #expect(bench.verbs == ["tools"])
    bench.send(#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
    #expect(
      await bench.lines(1).first?.contains(
        "Runs the recipe 'order'. It may write, and this program can't ask its user to confirm that, so it can't run it."
      ) == true)
    await bench.end()
  }

  @Test func `a token can't confirm a recipe with an input of that name, and the message says so`() async {
    var settings = ToolSettings()
    settings.confirmation = .token
    let bench = Bench(settings) { request throws(RequestRefusedError) in
      guard request is ListTools else { throw RequestRefusedError(.request, "not this") }
      return Self.tools(Self.tool(#"{"confirm":{"type":"string"}}"#))
    }
    bench.send(
      Self.stateless(1, "tools/call", #""name":"order","arguments":{"confirm":"x"},"#)
        .replacing(#"{"elicitation":{}}"#, with: "{}"))
    #expect(
      await bench.lines(1).first?.contains(
        "Run it with errand run, or give its input 'confirm' another name, so that 'confirm: token' counts for it. Nothing was started"
      ) == true)
    await bench.end()
  }

  @Test func `a plan that isn't kept any more is told without its digest`() async throws {
    let bench = Bench { request throws(RequestRefusedError) in
      if request is StartRun {
        throw RequestRefusedError(.notFound, "there is no plan '00ff' of 'order'")
      }
      return try await Self.writer(request)
    }
    let call = Self.stateless(1, "tools/call", #""name":"order","arguments":{"n":1},"#)
    bench.send(call)
    let state = try JSON.parse(try #require(await bench.lines(1).first))["result"]?["requestState"]?.string ?? ""
    let answered = call.replacing(
      #""arguments""#,
      with: #""requestState":"\#(state)","inputResponses":{"plan":{"action":"accept","content":{"confirm":true}}},"#
        + #""arguments""#)
    // An answer that isn't valid uses nothing up.
    for (valid, wrong) in [("true", #""yes""#), ("true", "1"), (#""accept""#, #""agree""#)] {
      bench.send(answered.replacing(valid, with: wrong))
      #expect(await bench.lines(1).first?.contains(#""code":-32602"#) == true)
    }
    bench.send(answered)
    #expect(
      await bench.lines(1).first?.contains(
        #""text":"the plan isn't kept any more; call the tool again to see a new one. Nothing was started""#) == true)
    await bench.end()
  }

  @Test func `what is shortened has no part of a secret left`() async {
    let bench = Bench { request throws(RequestRefusedError) in
      guard request is ListTools else { throw RequestRefusedError(.notFound, "it isn't here") }
      return Self.tools([])
    }
    let name = String(repeating: "x", count: 57) + "s3cret"
    for (tool, arguments) in [(name, "{}"), ("errand_run", #"{"run":"\#(name)"}"#), ("errand_run", #"{"\#(name)":1}"#)]
    {
      bench.send(Self.stateless(1, "tools/call", #""name":"\#(tool)","arguments":\#(arguments),"#))
      let line = await bench.lines(1).first ?? ""
      #expect(line.contains("xx•••'") && !line.contains("s3c"), "\(line)")
    }
    await bench.end()
  }

  @Test func `a notification is never answered, and an id that isn't Unicode isn't taken for another`() async {
    let bench = Bench()
    bench.send(
      #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
      #"{"jsonrpc":"2.0","id":"\ud800","method":"server/discover"}"#)
    #expect(
      await bench.lines(1)
        == [
          #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id holds half of a surrogate pair, which isn't valid Unicode"}}"#
        ])
    await bench.end()
  }

  @Test func `why recipes are missing is remarked once`() async {
    let (remarks, remark) = AsyncStream.makeStream(of: String.self)
    let bench = Bench(ToolSettings(recipes: ["gone-*", "order"]), remarks: remark) {
      _ throws(RequestRefusedError) in Self.tools([])
    }
    bench.send(Self.stateless(1, "tools/list"), Self.stateless(2, "tools/list"))
    _ = await bench.lines(2)
    await bench.end()
    remark.finish()
    #expect(
      await remarks.reduce(into: Set()) { $0.insert($1) } == [
        "'gone-*' under 'server.mcp.recipes' in errand.yaml matches no recipe",
        "'order' under 'server.mcp.recipes' in errand.yaml matches no recipe",
        "no recipe is a tool; write 'mcp: true' in one, or name it under 'server.mcp.recipes' in errand.yaml",
      ])
  }

  @Test func `a recipe with faults is remarked, and a call of it tells them`() async {
    let (remarks, remark) = AsyncStream.makeStream(of: String.self)
    let bench = Bench(remarks: remark) { request throws(RequestRefusedError) in
      guard request is ListTools else { throw RequestRefusedError(.request, "not this") }
      let broken = Value.object([
        "name": .string("typo"), "inputs": .map(ValueMap()), "outputs": .map(ValueMap()),
        "faults": .list([.string("recipes/typo.yaml:3:19: no action is named 'file.wirte'"), .string("and another")]),
      ])
      return Self.tools(Self.tool("{}") + [try? ToolRecord(reading: broken)].compactMap(\.self))
    }
    bench.send(Self.stateless(1, "tools/list"), Self.stateless(2, "tools/call", #""name":"typo","#))
    let lines = await bench.lines(2).sorted { $0.utf8.count > $1.utf8.count }
    #expect(lines.first?.contains(#""name":"order""#) == true && lines.first?.contains("typo") == false)
    #expect(
      lines.last?.contains(
        #""text":"the recipe 'typo' has errors, so it can't be run:\nrecipes/typo.yaml:3:19: no action is named 'file.wirte'\nand another""#
      ) == true, "\(lines)")
    await bench.end()
    remark.finish()
    #expect(
      await remarks.reduce(into: []) { $0.append($1) } == [
        "the recipe 'typo' is no tool: recipes/typo.yaml:3:19: no action is named 'file.wirte', and 1 more error"
      ])
  }

  @Test func `many tools come in pages, and an error isn't longer than is read`() async throws {
    let bench = Bench { request throws(RequestRefusedError) in
      if request is FindRun {
        throw RequestRefusedError(.state, String(repeating: "long ", count: 10_000))
      }
      guard request is ListTools else {
        throw RequestRefusedError(.state, String(repeating: "long ", count: 100_000))
      }
      return Self.tools(
        (0..<300).compactMap { number in
          try? ToolRecord(
            reading: .object([
              "name": .string("recipe-\(number)"), "summary": .string(String(repeating: "word ", count: 2000)),
              "inputs": .object([
                "type": .string("object"),
                "properties": .object([
                  "x": .object([
                    "type": .string("string"), "enum": .list((0..<500).map { .string("choice\($0)") }),
                  ])
                ]),
              ]), "outputs": .map(ValueMap()),
            ]))
        })
    }
    var (names, cursor, pages) = ([String](), "", 0)
    repeat {
      bench.send(Self.stateless(1, "tools/list", cursor.isEmpty ? "" : #""cursor":"\#(cursor)","#))
      let line = try #require(await bench.lines(1).first)
      #expect(line.utf8.count < 600_000)
      let result = try JSON.parse(line)["result"]
      names += (result?["tools"]?.list ?? []).compactMap { $0["name"]?.string }
      cursor = result?["nextCursor"]?.string ?? ""
      pages += 1
    } while !cursor.isEmpty && pages < 100
    #expect(pages > 1 && names.count == 305 && Set(names).count == 305)
    bench.send(Self.stateless(1, "tools/list", #""cursor":"nothing","#))
    #expect(
      await bench.lines(1).first?.contains("'cursor' isn't one that a list of tools gave; leave it out") == true)
    bench.send(Self.stateless(1, "tools/call", #""name":"errand_check","arguments":{"text":"x"},"#))
    #expect(await bench.lines(1).first?.utf8.count ?? .max < 70_000)
    await bench.end()
  }

  @Test func `the actions of one plugin are listed alone`() async throws {
    let bench = Bench { _ throws(RequestRefusedError) in
      ListActions.Answer(
        ["http.get", "http.post", "httpx.get", "store.put"].map {
          .object(["id": .string($0), "summary": .string("Does it."), "input": .map(ValueMap())])
        })
    }
    for (arguments, text) in [
      (#"{"plugin":"http"}"#, "http.get http.post"), (#"{"plugin":"store","action":null}"#, "store.put"),
      (#"{"plugin":"http","action":"http.get"}"#, "http.get"),
      (#"{"plugin":"htp"}"#, "no plugin is named 'htp'; did you mean 'http'?"),
      (
        #"{"plugin":"weather"}"#,
        "no plugin is named 'weather'; errand_actions without 'plugin' lists the actions of all"
      ),
      (#"{"plugin":7}"#, "'plugin' must be a string, not an int"),
      (#"{"from":-1}"#, "'from' takes the number of a byte, from 0 on"),
    ] {
      bench.send(Self.stateless(1, "tools/call", #""name":"errand_actions","arguments":\#(arguments),"#))
      let result = try JSON.parse(try #require(await bench.lines(1).first))["result"]
      let names = (result?["structuredContent"]?["items"]?.list ?? []).compactMap { $0["id"]?.string }
      #expect(
        names.isEmpty ? result?["content"]?.list?.first?["text"]?.string == text : names.joined(separator: " ") == text,
        "\(arguments): \(result ?? .null)")
    }
    await bench.end()
  }

  @Test func `with tokens the plan names one, which is an argument that confirms it`() async throws {
    var settings = ToolSettings()
    settings.confirmation = .token
    let bench = Bench(settings, answer: Self.writer)
    let call = Self.stateless(1, "tools/call", #""name":"order","arguments":{"n":1},"#)
      .replacing(#"{"elicitation":{}}"#, with: "{}")
    bench.send(call)
    let planned = try JSON.parse(try #require(await bench.lines(1).first))
    let content = try #require(planned["result"]?["structuredContent"])
    #expect(content["status"]?.string == "planned")
    let token = try #require(content["confirm"]?.string)
    bench.send(call.replacing(#""n":1"#, with: #""n":1,"confirm":"\#(token)x""#))
    #expect(await bench.lines(1).first?.contains("the confirmation isn't one for this tool") == true)
    bench.send(call.replacing(#""n":1"#, with: #""n":1,"confirm":"\#(token)""#))
    #expect(await bench.lines(1).first?.contains("it would start") == true)
    #expect(bench.verbs == ["tools", "plan", "tools", "tools", "start"])
    await bench.end()
  }

  /// An agent with a recipe that writes; it refuses every start.
  private static let writer: @Sendable (any Operation) async throws(RequestRefusedError) -> any OperationAnswer = {
    request throws(RequestRefusedError) in
    switch request {
    case is ListTools: return tools(tool("{}"))
    case is PlanRun: return RunPlan(try plan())
    case let start as StartRun:
      throw RequestRefusedError(.planChanged, "it would start \(start.plan ?? "without a plan")")
    default: throw RequestRefusedError(.request, "not this")
    }
  }

  private static func tools(_ tools: [ToolRecord]) -> any OperationAnswer { ListTools.Answer(tools) }

  private static func tool(_ inputs: String) -> [ToolRecord] {
    let tool = Value.object([
      "name": .string("order"),
      "inputs": .object(["type": .string("object"), "properties": (try? JSON.parse(inputs)) ?? .null]),
      "outputs": .object(["type": .string("object")]),
    ])
    return [try? ToolRecord(reading: tool)].compactMap(\.self)
  }

  private static func plan() throws(RequestRefusedError) -> PlanRecord {
    let document = """
      {"recipe": "order", "inputs": {"n": 1}, "tally": {"added": 1},
       "writes": [{"path": "put", "action": "http.post", "connection": "shop", "input": {},
                   "changes": [{"subject": "pen", "after": "1 €\\nRun? yes"}]}],
       "notes": [{"path": "put", "kind": "leftOut", "text": "no"}]}
      """
    let record = """
      {"digest":"00ff","recipe":"order","madeAt":"2026-11-28T00:00:00Z","wouldFail":false,"document":\(document)}
      """
    guard let value = try? JSON.parse(record), let plan = try? PlanRecord(reading: value) else {
      throw RequestRefusedError(.state, "the plan can't be read")
    }
    return plan
  }
}
