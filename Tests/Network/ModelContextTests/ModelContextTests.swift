import Basics
import ModelContext
import Testing

@Suite struct ModelContextTests {
  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    #"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","arguments":{"n":1.5}}}"#,
    #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    #"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
    #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
    #"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no","data":{"a":1}}}"#,
  ])
  func `writes messages as they were read`(_ text: String) throws {
    let message = try ModelContextMessage(reading: Array(text.utf8))
    #expect(String(decoding: message.bytes, as: UTF8.self) == text)
  }

  @Test(arguments: [
    (
      "{", -32700, nil as MessageID?,
      "the message isn't valid JSON: line 1, column 2: a key in double quotes is expected, but the text ends"
    ),
    ("[]", -32600, nil, "a message must be an object, not a list; send each message on its own"),
    (#"{"id":7,"method":"a"}"#, -32600, .int(7), "a message must have 'jsonrpc' with the value '2.0'"),
    (#"{"jsonrpc":"2.0","id":7,"method":1}"#, -32600, .int(7), "'method' must be a string, not an int"),
    (#"{"jsonrpc":"2.0","id":7,"method":"a","params":[]}"#, -32600, .int(7), "'params' must be an object"),
    (
      #"{"jsonrpc":"2.0","id":"\ud800","method":"a"}"#, -32600, nil,
      "the id holds half of a surrogate pair, which isn't valid Unicode"
    ),
    (
      #"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, -32600, nil,
      "the id of a request must be an int or a string, not a double"
    ),
    (
      #"{"jsonrpc":"2.0","id":"x"}"#, -32600, .text("x"),
      "a message must have a 'method', or an 'id' with a 'result' or an 'error'"
    ),
  ])
  func `says why a text isn't a message, and whose it is`(
    _ text: String, _ code: Int, _ id: MessageID?, _ message: String
  ) throws {
    let fault = try #require(throws: ModelContextMessage.Fault.self) {
      try ModelContextMessage(reading: Array(text.utf8))
    }
    #expect(fault.error.code == code)
    #expect(fault.error.message == message)
    #expect(fault.id == id)
  }

  @Test func `a notification that isn't valid is one without parameters`() throws {
    let text = #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#
    guard case .notification(let method, let params) = try ModelContextMessage(reading: Array(text.utf8)) else {
      return #expect(Bool(false))
    }
    #expect(method == "notifications/cancelled" && params.isEmpty)
  }

  @Test(arguments: [
    ("{}", nil as String?), (#"{"content":[],"isError":false}"#, nil),
    (#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]}"#, nil),
    (#"{"content":"a"}"#, "'content' must be a list, but is a string"),
    (#"{"content":["a"]}"#, "'content[0].type' must be a string, but is missing"),
    (
      #"{"content":[{"type":"text","text":"a"},{"type":"text","text":1}]}"#,
      "'content[1].text' must be a string, but is an int"
    ),
    (#"{"content":[],"isError":"no"}"#, "'isError' must be a bool, but is a string"),
  ])
  func `says what of a result has the wrong type`(_ text: String, _ fault: String?) throws {
    #expect(ToolResult.fault(in: try #require(try JSON.parse(text).map)) == fault)
  }

  @Test func `makes an error of a result that JSON can't hold`() {
    let message = ModelContextMessage.result(.int(1), ValueMap([("x", .double(.nan))]))
    let text = String(decoding: message.bytes, as: UTF8.self)
    #expect(
      text.hasPrefix(
        #"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the result can't be written as JSON: "#), "\(text)")
  }

  @Test func `cuts lines however they come, and skips one that is too long`() {
    let text = "{}\r\n\n  \n123456789\nabc\n"
    for size in 1...text.utf8.count {
      var lines = LineReader(limit: 8)
      var all: [LineReader.Line] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        all += lines.take(rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      #expect(
        all == [.line(Array("{}\r".utf8)), .line([]), .line(Array("  ".utf8)), .tooLong, .line(Array("abc".utf8))])
    }
  }

  @Test(arguments: [
    (
      "{}", -32602,
      "'params._meta' must have 'io.modelcontextprotocol/protocolVersion' and 'io.modelcontextprotocol/clientCapabilities'"
    ),
    (meta("1", "{}"), -32602, "'io.modelcontextprotocol/protocolVersion' must be a string, not an int"),
    (meta("\"2025-11-25\"", "{}"), -32022, "protocol version '2025-11-25' isn't supported"),
    (
      meta("\"2026-07-28\"", "[]"), -32602, "'io.modelcontextprotocol/clientCapabilities' must be an object, not a list"
    ),
  ])
  func `says what a request without a handshake lacks`(_ text: String, _ code: Int, _ message: String) throws {
    let params = try #require(try JSON.parse(text).map)
    let error = try #require(throws: ModelContextError.self) { try RequestEnvelope(reading: params) }
    #expect(error.code == code)
    #expect(error.message == message)
    if code == -32022 {
      #expect(JSON.displayed(error.data ?? .null) == #"{"supported":["2026-07-28"],"requested":"2025-11-25"}"#)
    }
  }

  @Test(arguments: [
    ("{}", false), (#"{"elicitation":{}}"#, true), (#"{"elicitation":{"form":{},"url":{}}}"#, true),
    (#"{"elicitation":{"url":{}}}"#, false), (#"{"elicitation":true}"#, false),
  ])
  func `reads whether a client asks its user`(_ capabilities: String, _ elicits: Bool) throws {
    let params = try #require(try JSON.parse(meta("\"2026-07-28\"", capabilities)).map)
    #expect(try RequestEnvelope(reading: params).capabilities.elicitsForms == elicits)
  }

  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("a b", "a b"), (" a", "=?base64?IGE=?="), ("é", "=?base64?w6k=?="),
    ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="), ("a\nb", "=?base64?YQpi?="),
  ])
  func `writes any text as a header field, and reads it back`(_ text: String, _ field: String) {
    #expect(TransportFields.encoded(text) == field)
    #expect(TransportFields.decoded(field) == text)
  }

  @Test(arguments: ["=?base64?IGE?=", "=?base64?/w==?=", "=?base64?IGF=?="])
  func `doesn't read a field that isn't written so`(_ field: String) { #expect(TransportFields.decoded(field) == nil) }

  @Test(arguments: [
    (["2026-07-28"], ["tools/call"], ["t"], nil as String?),
    ([], ["tools/call"], ["t"], "the field 'MCP-Protocol-Version' must be the version of the protocol, as in the body"),
    (["2026-07-28"], ["tools/list"], ["t"], "the field 'Mcp-Method' must be the method, as in the body"),
    (["2026-07-28"], ["tools/call"], ["u"], "the field 'Mcp-Name' must be the parameter 'name', as in the body"),
    (["2026-07-28"], ["tools/call"], [], "the field 'Mcp-Name' must be the parameter 'name', as in the body"),
    (["2026-07-28"], ["tools/call"], ["t", "t"], "the field 'Mcp-Name' appears more than once"),
  ])
  func `has header fields say what the body does`(
    _ versions: [String], _ methods: [String], _ names: [String], _ message: String?
  ) throws {
    var params = try #require(try JSON.parse(meta("\"2026-07-28\"", "{}")).map)
    params["name"] = .string("t")
    let fields = ["MCP-Protocol-Version": versions, "Mcp-Method": methods, "Mcp-Name": names]
    var found: ModelContextError?
    do throws(ModelContextError) {
      try TransportFields.check("tools/call", params) { fields[$0] ?? [] }
    } catch { found = error }
    #expect(found?.message == message)
    #expect(found == nil || found?.code == -32020)
  }

  @Test func `reads what it writes of tools, results and questions`() throws {
    let tool = Tool(
      name: "a.b", description: "d", inputSchema: .object(["type": .string("object")]), outputSchema: .object([:]),
      annotations: .init(isReadOnly: true, isDestructive: nil, isIdempotent: false, isOpenWorld: nil),
      meta: ValueMap([("x/y", .int(1))]))
    #expect(
      JSON.displayed(tool.value)
        == #"{"name":"a.b","description":"d","inputSchema":{"type":"object"},"outputSchema":{},"#
        + #""annotations":{"readOnlyHint":true,"idempotentHint":false},"_meta":{"x/y":1}}"#)
    #expect(Tool(reading: tool.value)?.value == tool.value)
    #expect(Tool(reading: .object(["name": .string("a")])) == nil)
    let result = ToolResult("t", structured: .int(1), isError: true)
    #expect(ToolResult(reading: result.members).members == result.members)
    let question = Elicitation(message: "m", schema: .object([:]))
    #expect(
      JSON.displayed(.map(InputRequired([("q", question)], state: "s").members))
        == #"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","#
        + #""params":{"mode":"form","message":"m","requestedSchema":{}}}},"requestState":"s"}"#)
  }

  @Test(arguments: [
    ("a", true), ("aB_9-", true), ("a.b", false), (String(repeating: "x", count: 64), true),
    (String(repeating: "x", count: 65), false), ("", false), ("a b", false), ("é", false),
  ])
  func `tells names of tools`(_ name: String, _ isName: Bool) { #expect(Tool.isName(name) == isName) }
}

private func meta(_ version: String, _ capabilities: String) -> String {
  #"{"_meta":{"io.modelcontextprotocol/protocolVersion":\#(version),"#
    + #""io.modelcontextprotocol/clientCapabilities":\#(capabilities)}}"#
}
