import ActionKit
import ActionTestKit
import HTTPClient
import SandboxKit
import Testing

@testable import HTTPPlugin

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(HTTPPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: HTTPPlugin.self) }

  @Test func `declares for each action what may be done twice`() {
    #expect(
      catalog.actionIDs.compactMap { catalog.action($0) }.map { "\($0.id) \($0.effect.name)" } == [
        "http.get read", "http.getAll read", "http.download idempotentWrite", "http.post write",
        "http.put idempotentWrite", "http.patch write", "http.delete idempotentWrite",
      ])
  }

  // MARK: Connections

  @Test(arguments: [
    ("{}", ""), (#"{"baseURL":"https://a.example","token":"t"}"#, ""),
    (#"{"token":"t"}"#, "'c' has credentials and needs 'baseURL', so that they are sent nowhere else"),
    (#"{"secretQuery":{"key":"t"}}"#, "'c' has credentials and needs 'baseURL', so that they are sent nowhere else"),
    (#"{"baseURL":"https://a.example","username":"u"}"#, "'c' needs 'username' and 'password' or neither"),
    (
      #"{"baseURL":"https://a.example","username":"u","password":"p","token":"t"}"#,
      "'c.username' must not be given beside 'token'"
    ),
  ])
  func `checks a connection`(_ settings: String, _ fault: String) throws {
    let plugin = try #require(catalog.plugin("http"))
    #expect(
      plugin.configuration.check(try JSON.parse(settings), as: "c").map(\.message).joined(separator: "; ") == fault)
  }

  @Test(arguments: [
    ("{}", "https://a.example/x?y=1", "https://a.example/x?y=1&q=1"),
    ("{}", "/x", "'/x' isn't a full address; set 'baseURL' in the connection to say where it starts."),
    ("{}", "x", "'x' isn't an address such as https://example.org/items."),
    (
      #"{"baseURL":"https://a.example/v1"}"#, "/x#top",
      "'/x#top' has a fragment, '#top', which is never sent; leave it out, or write %23 for a '#' that is meant."
    ),
    (
      "{}", "https://a.example/C#?y=1",
      "'https://a.example/C#?y=1' has a fragment, '#?y=1', which is never sent; leave it out, or write %23 for a '#' that is "
        + "meant."
    ),
    (#"{"baseURL":"https://a.example/v1"}"#, "/x", "https://a.example/v1/x?q=1"),
    (#"{"baseURL":"https://a.example/v1"}"#, "?x=1", "https://a.example/v1?x=1&q=1"),
    (#"{"baseURL":"https://a.example/v1"}"#, "https://A.example:443/z", "https://A.example:443/z?q=1"),
    (
      #"{"baseURL":"https://a.example/v1"}"#, "x",
      "'x' isn't an address such as /items or https://a.example/v1/items; percent-encode what is not plain ASCII."
    ),
    (
      #"{"baseURL":"https://a.example/v1"}"#, "https://b.example/x",
      "'https://b.example/x' is not at https://a.example, the service of this connection; use another connection for it."
    ),
    (#"{"baseURL":"https://a.example/v1"}"#, "//b.example/x", "https://a.example/v1//b.example/x?q=1"),
    (#"{"baseURL":"https://a.example","allowOtherHosts":true}"#, "https://b.example/x", "https://b.example/x?q=1"),
  ])
  func `finds the address`(_ settings: String, _ url: String, _ result: String) throws {
    do {
      let request = try service(settings).request(
        .init(method: "GET", url: url, query: ValueMap([("q", .int(1)), ("none", .null)])))
      #expect(request.url == result)
    } catch let error as ActionError {
      #expect(error.message == result)
      #expect(error.kind == .validation)
    }
  }

  @Test func `sends credentials to the service alone, and shows none`() async throws {
    let settings = """
      {"baseURL":"https://a.example","allowOtherHosts":true,"headers":{"X-App":"e"},"secretHeaders":{"X-Key":"hush"},
       "secretQuery":{"key":"quiet"},"username":"u","password":"p"}
      """
    let transport = ScriptedTransport([
      .on(
        "GET", "https://a.example/x?n=1&n=b%20c&key=quiet", status: 302, headers: ["Location": "https://b.example/y"]),
      .on("GET", "https://b.example/y", "{}"),
      .on("GET", "https://b.example/z", status: 500),
      .on("GET", "https://a.example/x?key=quiet", status: 500),
    ])
    let service = try service(settings, transport)
    let output = try await run(
      "get", #"{"url":"/x","query":{"n":[1,"b c"]},"headers":{"X-App":"f"}}"#, on: service)
    #expect(output["status"]?.int == 200)
    let first = transport.requests[0].headers
    #expect(first["Authorization"] == "Basic dTpw" && first["X-Key"] == "hush" && first["X-App"] == "f")
    let second = transport.requests[1].headers
    #expect(second["Authorization"] == nil && second["X-Key"] == nil && second["X-App"] == "f")
    _ = try await failure("get", #"{"url":"https://b.example/z"}"#, on: service)
    let third = transport.requests[2].headers
    #expect(third["Authorization"] == nil && third["X-Key"] == nil && third["X-App"] == nil)
    let error = try await failure("get", #"{"url":"/x"}"#, on: service)
    #expect(error.message == "GET https://a.example/x?key=••• was answered with HTTP status 500.")
    let token = ScriptedTransport([.on("GET", "https://a.example/", "x")])
    _ = try await run(
      "get", #"{"url":"/"}"#, on: try HTTPPluginTests.service(#"{"baseURL":"https://a.example","token":"t"}"#, token))
    #expect(token.requests[0].headers["Authorization"] == "Bearer t")
  }

  // MARK: Answers

  @Test(arguments: [
    ("application/json", #"{"a":1}"#, "auto", #"{"a":1} true"#),
    ("application/problem+json; charset=utf-8", "[]", "auto", "[] true"),
    ("text/plain", #"{"a":1}"#, "auto", #""{\"a\":1}" false"#), ("text/plain", "\u{FEFF}[1.0]", "json", "[1.0] true"),
    ("application/json", "[]", "text", #""[]" false"#), ("", "", "auto", "null false"),
    (
      "application/json", "", "json",
      "the answer to GET https://a.example/ isn't valid JSON: line 1, column 1: a value is expected, but the text ends."
    ),
    (
      "application/json", "<html>", "auto",
      "the answer to GET https://a.example/ is a web page and not JSON; check the address, and that the service is not "
        + "down for maintenance."
    ),
    (
      "application/json", #"{"secret":"#, "auto",
      "the answer to GET https://a.example/ isn't valid JSON: line 1, column 11: a value is expected, but the text ends."
    ),
  ])
  func `reads what is answered`(_ type: String, _ body: String, _ kind: String, _ result: String) async throws {
    let transport = ScriptedTransport([
      .on(
        "GET", "https://a.example/", headers: ["Content-Type": type, "Set-Cookie": "a=b", "X-A": "1", "x-a": "2"], body)
    ])
    let service = try service("{}", transport)
    do {
      let output = try await run("get", #"{"url":"https://a.example/","answer":"\#(kind)"}"#, on: service)
      #expect("\(try JSON.text(output["body"] ?? .null)) \(output["isJSON"]?.bool ?? false)" == result)
      #expect(output["headers"] == .object(["content-type": .string(type), "x-a": .string("1, 2")]))
    } catch let error as ActionError {
      #expect(error.message == result)
      #expect(error.kind == .plugin)
    }
  }

  @Test(arguments: [
    (400, ErrorKind.validation, ActionError.Effect.none), (401, .authentication, .none), (403, .authorization, .none),
    (404, .notFound, .none), (405, .plugin, .none), (408, .timeout, .unknown), (409, .conflict, .none),
    (410, .notFound, .none), (412, .conflict, .none), (422, .validation, .none), (429, .rateLimited, .none),
    (500, .server, .unknown), (503, .server, .unknown), (304, .plugin, .unknown), (100, .plugin, .unknown),
  ])
  func `knows by its status what became of a write`(
    _ status: Int, _ kind: ErrorKind, _ effect: ActionError.Effect
  ) async throws {
    let body = #"{"title":"No","detail":"because","message":"\u001b[31m"}"#
    let steps = ["POST", "GET"].map {
      ScriptedTransport.Step.on($0, "https://a.example/", status: status, headers: ["Retry-After": "7"], body)
    }
    let service = try service("{}", ScriptedTransport(steps))
    let error = try await failure("post", #"{"url":"https://a.example/"}"#, on: service)
    #expect(error.kind == kind)
    #expect(error.effect == effect)
    #expect(error.status == status)
    #expect(error.message == "POST https://a.example/ was answered with HTTP status \(status).")
    #expect(error.detail == "No: because: ␛[31m")
    #expect(error.retryAfter == .seconds(7))
    #expect(try await failure("get", #"{"url":"https://a.example/"}"#, on: service).effect == ActionError.Effect.none)
  }

  @Test func `takes the statuses that are expected`() async throws {
    let service = try service(
      "{}",
      ScriptedTransport([
        .on("GET", "https://a.example/", status: 404, "gone"), .on("GET", "https://a.example/"),
        .on("DELETE", "https://a.example/", status: 404), .on("DELETE", "https://a.example/", status: 404),
      ]))
    let output = try await run("get", #"{"url":"https://a.example/","expect":[404]}"#, on: service)
    #expect(output["body"]?.string == "gone")
    #expect(try await failure("get", #"{"url":"https://a.example/","expect":[404]}"#, on: service).status == 200)
    let gone = try await run("delete", #"{"url":"https://a.example/"}"#, on: service)
    #expect(gone["status"] == .int(404) && gone["deleted"] == .bool(false))
    #expect(try await failure("delete", #"{"url":"https://a.example/","expect":[204]}"#, on: service).kind == .notFound)
  }

  @Test(arguments: ["get", "post", "put", "patch", "delete"], [301, 302, 303, 304, 307, 308, 404, 500])
  func `a status that is expected is the answer`(_ name: String, _ status: Int) async throws {
    let transport = ScriptedTransport([
      .on(name.uppercased(), "https://a.example/go", status: status, headers: ["Location": "/there"], "moved")
    ])
    let output = try await run(
      name, #"{"url":"https://a.example/go","expect":[\#(status)]}"#, on: try service("{}", transport))
    #expect(output["status"] == .int(status))
    #expect(transport.requests.count == 1)
    if name == "delete" {
      #expect(output["deleted"] == .bool(false))
    } else {
      #expect(output["body"] == .string("moved"))
    }
    #expect(output["headers"]?["location"] == .string("/there"))
  }

  @Test func `each request within the service has its secret parameters, also after a redirect`() async throws {
    let transport = ScriptedTransport([
      .on("GET", "https://a.example/x?q=1&key=hush", status: 302, headers: ["Location": "/y?q=1"]),
      .on("GET", "https://a.example/y?q=1&key=hush"),
    ])
    let service = try service(#"{"baseURL":"https://a.example","secretQuery":{"key":"hush"}}"#, transport)
    _ = try await run("get", #"{"url":"/x","query":{"q":1}}"#, on: service)
    #expect(transport.requests.map(\.url).last == "https://a.example/y?q=1&key=hush")
  }

  @Test func `a header of the step is sent as it is`() async throws {
    let transport = ScriptedTransport([.on("POST", "https://a.example/…"), .on("POST", "https://a.example/…")])
    let service = try service(#"{"baseURL":"https://a.example","honoursIdempotencyKey":true}"#, transport)
    _ = try await run("post", #"{"url":"/","headers":{"idempotency-key":"mine"}}"#, on: service)
    _ = try await run("post", #"{"url":"/"}"#, on: service)
    #expect(transport.requests[0].headers["Idempotency-Key"] == "mine")
    #expect(transport.requests[1].headers["Idempotency-Key"] != "mine")
    let download = try service.request(
      .init(method: "GET", url: "/f", headers: ["Accept": "application/octet-stream"], accept: "*/*"))
    #expect(download.headers["Accept"] == "application/octet-stream")
    #expect(try service.request(.init(method: "GET", url: "/f", accept: "*/*")).headers["Accept"] == "*/*")
  }

  @Test(arguments: ["form", "multipart"]) func `a type that a form can't have is refused`(_ key: String) async throws {
    let fields = key == "form" ? #""form":{"a":1}"# : #""multipart":{"fields":{"a":1}}"#
    let error = try await failure(
      "post", #"{"url":"https://a.example/","contentType":"text/xml",\#(fields)}"#, on: try service("{}"))
    #expect(
      error.message
        == "'input.contentType' is for 'json' and 'text', and a form has a type of its own; leave it out")
  }

  @Test func `a text is written in the charset of its type`() async throws {
    let transport = ScriptedTransport([.on("POST", "https://a.example/…")])
    _ = try await run(
      "post", #"{"url":"https://a.example/","text":"é","contentType":"text/plain; charset=ISO-8859-1"}"#,
      on: try service("{}", transport))
    #expect(transport.requests[0].body == [0xE9])
  }

  @Test(
    arguments: [
      ("text/plain; charset=koi8-r", #""text":"Ж""#, [0xF6]),
      ("text/plain; charset=iso-8859-15", #""text":"€ é""#, [0xA4, 0x20, 0xE9]),
      ("text/plain; charset=windows-1252", #""text":"€""#, [0x80]),
      ("text/plain; charset=\"utf-8\"", #""text":"é""#, [0xC3, 0xA9]),
      ("application/json; charset=iso-8859-1", #""json":"é😀""#, Array(#""\u00e9\ud83d\ude00""#.utf8)),
      ("application/json; charset=utf-16", #""json":1"#, [0xFF, 0xFE, 0x31, 0]),
      ("application/problem+json", #""json":"é""#, [0x22, 0xC3, 0xA9, 0x22]),
    ] as [(String, String, [UInt8])])
  func `what is sent is in the charset that its type names`(_ type: String, _ body: String, _ bytes: [UInt8])
    async throws
  {
    let transport = ScriptedTransport([.on("POST", "https://a.example/…")])
    _ = try await run(
      "post", #"{"url":"https://a.example/",\#(body),"contentType":\#(JSON.quoted(type))}"#,
      on: try service("{}", transport))
    #expect(transport.requests[0].body == bytes)
    #expect(transport.requests[0].headers["Content-Type"] == type)
  }

  @Test(arguments: [
    (
      #""text":"é","contentType":"text/plain; charset=koi8-r""#,
      "'input.contentType' names the charset 'koi8-r', in which 'é' (U+E9) has no place; use utf-8"
    ),
    (
      #""text":"€","contentType":"text/plain; charset=iso-8859-1""#,
      "'input.contentType' names the charset 'iso-8859-1', in which '€' (U+20AC) has no place; use utf-8"
    ),
    (
      #""text":"a","contentType":"text/plain; charset=shift_jis""#,
      "'input.contentType' names the charset 'shift_jis', in which no text can be sent; use utf-8"
    ),
    (#""headers":{"X-Tag":"1","x-tag":"2"}"#, "'input.headers' has the field 'x-tag' twice, and only one can be sent"),
    (
      #""json":1,"contentType":"text/csv","headers":{"content-type":"text/plain"}"#,
      "'input.contentType' is sent as the field Content-Type, which 'headers' has, too; leave one out"
    ),
  ])
  func `what can't be sent as it says is refused`(_ fields: String, _ message: String) async throws {
    let error = try await failure("post", #"{"url":"https://a.example/",\#(fields)}"#, on: try service("{}"))
    #expect(error.message == message)
  }

  // MARK: Writing

  @Test(
    arguments: [
      (#""json":{"b":1,"a":[null]}"#, "application/json", #"{"b":1,"a":[null]}"#),
      (#""form":{"a":"x y","b":[1,2.5],"c":null}"#, "application/x-www-form-urlencoded", "a=x%20y&b=1&b=2.5"),
      (#""text":"é""#, "text/plain; charset=utf-8", "é"),
      (#""text":"<a/>","contentType":"text/xml""#, "text/xml", "<a/>"),
      (#""json":[1],"contentType":"application/merge-patch+json""#, "application/merge-patch+json", "[1]"),
      (#""json":[1],"headers":{"content-type":"application/x"}"#, "application/x", "[1]"),
      (#""query":{"a":1}"#, nil, nil), (#""json":null"#, nil, nil),
    ] as [(String, String?, String?)])
  func `sends what it is given`(_ fields: String, _ type: String?, _ body: String?) async throws {
    for name in ["post", "put"] {
      let transport = ScriptedTransport([.on(name.uppercased(), "https://a.example/…", status: 204)])
      _ = try await run(name, #"{"url":"https://a.example/",\#(fields)}"#, on: try service("{}", transport))
      #expect(transport.requests[0].headers["Content-Type"] == type)
      #expect(transport.requests[0].body.map { String(decoding: $0, as: UTF8.self) } == body)
    }
  }

  @Test func `refuses two bodies, and shows what a plan would send`() async throws {
    let service = try service(#"{"baseURL":"https://a.example","secretQuery":{"k":"hush"}}"#)
    #expect(
      try await failure("post", #"{"url":"/","text":"a","json":1}"#, on: service).message
        == "'input' takes one of 'json', 'form', 'multipart' and 'text'")
    #expect(
      try await failure("post", #"{"url":"/","form":{"a":{"b":1}}}"#, on: service).message
        == "'a' of 'form' is a map, which it cannot hold.")
    func preview(_ name: String, _ input: String) async throws -> [Change]? {
      try await action(name).preview(try JSON.parse(input), on: service, in: .testing())
    }
    #expect(
      try await preview("post", #"{"url":"/","json":[1]}"#)
        == [Change("POST https://a.example/?k=•••", from: nil, to: "[1]")])
    #expect(
      try await preview("put", #"{"url":"/"}"#) == [Change("PUT https://a.example/?k=•••", from: nil, to: "nothing")])
    #expect(
      try await preview("delete", #"{"url":"/"}"#) == [
        Change("DELETE https://a.example/?k=•••", from: "there", to: nil)
      ])
    #expect(
      try await preview("download", #"{"url":"/","to":"no/such.zip"}"#)
        == [Change("the file '/tmp/no/such.zip'", from: nil, to: "what is at https://a.example/?k=•••")])
    #expect(
      try await preview("download", #"{"url":"/f?sig=s1gned","to":"no/such.zip"}"#)
        == [Change("the file '/tmp/no/such.zip'", from: nil, to: "what is at https://a.example/f?•••")])
  }

  @Test
  func `what a step makes with a secret is masked in the address and the body, and stays behind at other hosts`()
    async throws
  {
    let service = try service(#"{"baseURL":"https://a.example"}"#)
    var context = ActionContext.testing()
    context.secrets = ["s1gned", "hush"]
    let request = try service.request(
      .init(
        method: "GET", url: "/f?t=hush", query: ValueMap([("sig", .string("s1gned")), ("page", .int(1))]),
        headers: ["X-Key": "hush", "X-Plain": "a"], secrets: context.secrets))
    #expect(request.redactedURL == "https://a.example/f?t=•••&sig=•••&page=1")
    #expect(request.credentialHeaders == ["authorization", "cookie", "proxy-authorization", "x-key"])
    #expect(
      try await action("post").preview(
        try JSON.parse(#"{"url":"/","json":{"a":"hush"},"query":{"k":"hush"}}"#), on: service, in: context)
        == [Change("POST https://a.example/?k=•••", from: nil, to: #"{"a":"•••"}"#)])
  }

  @Test func `sends a key where the service honours it, and refuses one where nobody says so`() async throws {
    func context(_ key: String, isNamed: Bool) -> ActionContext {
      var context = ActionContext.testing()
      context.idempotencyKey = key
      context.isKeyNamed = isNamed
      return context
    }
    let input = #"{"url":"https://a.example/"}"#
    let post = ScriptedTransport.Step.on("POST", "https://a.example/", status: 201)
    let plain = ScriptedTransport([post])
    _ = try await run("post", input, on: try service("{}", plain), in: context("k", isNamed: false))
    #expect(plain.requests[0].headers["Idempotency-Key"] == nil)
    let error = try await failure("post", input, on: try service("{}", plain), in: context("k", isNamed: true))
    #expect(error.kind == .configuration)
    #expect(error.effect == ActionError.Effect.none)
    #expect(
      error.message
        == "The step has a 'key', and its connection does not say that the service does nothing twice for the "
        + "same one; if it does, say 'honoursIdempotencyKey: true' there.")
    #expect(plain.requests.count == 1)
    let honouring = ScriptedTransport([post, post])
    let service = try service(#"{"honoursIdempotencyKey":true}"#, honouring)
    _ = try await run("post", input, on: service, in: context("r/put[3]", isNamed: false))
    _ = try await run("post", input, on: service, in: context("mark of é\n", isNamed: true))
    #expect(honouring.requests.map { $0.headers["Idempotency-Key"] } == ["r/put[3]", "mark%20of%20%C3%A9%0A"])
  }

  @Test func `makes nothing twice for the same key`() async throws {
    try await withShop { service, sandbox, _ in
      for _ in 0..<2 { _ = try await run("post", #"{"url":"/items","json":{"name":"Glue"}}"#, on: service) }
      let items = try await run("getAll", #"{"url":"/items"}"#, on: service)["items"]?.list
      #expect(items?.filter { $0["name"]?.string == "Glue" }.count == 1)
      sandbox.server.add(ServiceFault(.lostAnswer, call: "PUT"))
      let put = #"{"url":"/items/1","json":{"name":"Pen"}}"#
      #expect(try await failure("put", put, on: service).effect == .unknown)
      #expect(try await run("put", put, on: service)["body"]?["name"]?.string == "Pen")
      var first = ActionContext.testing()
      first.idempotencyKey = "first"
      let price = try await run("patch", #"{"url":"/items/1","json":{"price":3,"name":"Ink"}}"#, on: service, in: first)
      #expect(price["body"]?["name"]?.string == "Ink")
      let patch = #"{"url":"/items/1","json":{"price":null}}"#
      sandbox.server.add(ServiceFault(.lostAnswer, call: "PATCH"))
      var second = ActionContext.testing()
      second.idempotencyKey = "second"
      #expect(try await failure("patch", patch, on: service, in: second).effect == .unknown)
      let patched = try await run("patch", patch, on: service, in: second)["body"]
      #expect(patched == .object(["id": .int(1), "name": .string("Ink")]))
      let none = #"{"url":"/items/99","json":{}}"#
      #expect(try await failure("patch", none, on: service).kind == .notFound)
      let delete = #"{"url":"/items/1"}"#
      let deleted = try await run("delete", delete, on: service)
      #expect(deleted["status"] == .int(204) && deleted["deleted"] == .bool(true))
      #expect(try await run("delete", delete, on: service)["deleted"]?.bool == false)
      let error = try await failure("post", #"{"url":"/items","json":{}}"#, on: service)
      #expect(error.detail == "Not accepted: An item needs a name.")
    }
  }

  // MARK: Keeping

  @Test func `keeps answers, asks by their tag, and stands in`() async throws {
    try await withShop { service, sandbox, time in
      let input = #"{"url":"/notes.txt","cached":true,"fallback":true}"#
      let first = try await run("get", input, on: service)
      #expect(first["fromCache"]?.bool == false)
      time.advance(by: .seconds(60))
      let second = try await run("get", input, on: service)
      #expect(second["fromCache"]?.bool == true && second["staleReason"] == nil)
      #expect(second["body"] == first["body"])
      #expect(second["cachedAt"] == first["cachedAt"])
      sandbox.server.add(ServiceFault(.refuse))
      let third = try await run("get", input, on: service)
      #expect(third["staleReason"]?.string?.contains("closed the connection before its answer was complete") == true)
      sandbox.server.add(ServiceFault(.refuse))
      #expect(try await failure("get", #"{"url":"/notes.txt","cached":true}"#, on: service).kind == .network)
    }
  }

  @Test func `wants answers kept that are to stand in`() async throws {
    let error = try await failure("get", #"{"url":"https://a.example","fallback":true}"#, on: try service("{}"))
    #expect(error.message == "'input.fallback' must not be true without 'cached'")
  }

  // MARK: Pages

  @Test(arguments: [
    (#""url":"/items","query":{"limit":2}"#, "Pencil Eraser Ruler Compass Chalk 3 true"),
    (#""url":"/items","query":{"limit":2},"maxPages":2"#, "Pencil Eraser Ruler Compass 2 false"),
    (#""url":"/items","query":{"limit":2},"maxItems":3"#, "Pencil Eraser Ruler 2 false"),
    (#""url":"/items","query":{"limit":2},"maxItems":4"#, "Pencil Eraser Ruler Compass 2 false"),
    (#""url":"/items""#, "Pencil Eraser Ruler Compass Chalk 1 true"),
    (#""url":"/items","query":{"limit":2},"page":{"parameter":"page"}"#, "Pencil Eraser Ruler Compass Chalk 4 true"),
    (
      #""url":"/cursor/items","items":"/data","cursor":{"at":"/next","parameter":"after"}"#,
      "Pencil Eraser Ruler Compass Chalk 3 true"
    ),
  ])
  func `goes through pages`(_ input: String, _ result: String) async throws {
    try await withShop { service, _, _ in
      let output = try await run("getAll", "{\(input)}", on: service)
      let names = output["items"]?.list?.compactMap { $0["name"]?.string } ?? []
      #expect(
        "\(names.joined(separator: " ")) \(output["pages"]?.int ?? 0) \(output["isComplete"]?.bool ?? false)" == result)
    }
  }

  @Test(arguments: [
    (
      "", "[]", "<https://b.example/>; rel=next",
      "the next page after GET https://a.example/ is at another host, where it is not asked for."
    ),
    ("", "[]", "</>; rel=next", "the pages lead in a circle: GET https://a.example/ comes after itself."),
    ("", "{}", "", "the answer to GET https://a.example/ is a map and not a list; say with 'items' where the list is."),
    (#","items":"/a""#, "{}", "", "the answer to GET https://a.example/ has no 'a'."),
    (#","cursor":{"at":"/0"}"#, "[7]", "", "'/0' in the answer to GET https://a.example/ is an int and no address."),
    (
      "", "<html>", "",
      "the answer to GET https://a.example/ is a web page and not JSON; check the address, and that the "
        + "service is not down for maintenance."
    ),
  ])
  func `says why pages cannot be followed`(
    _ fields: String, _ body: String, _ link: String, _ message: String
  ) async throws {
    let service = try service(
      "{}", ScriptedTransport([.on("GET", "https://a.example/", headers: ["Link": link], body)]))
    let error = try await failure("getAll", #"{"url":"https://a.example/"\#(fields)}"#, on: service)
    #expect(error.message == message.replacing("circle: GET ", with: "circle: "))
    #expect(error.kind == .plugin)
  }

  @Test(arguments: [
    (#"<a>; rel="next""#, "a"), ("<a>;rel=next", "a"), (#"<a>; rel="prev", <b>; title="x, <y>"; rel="last next""#, "b"),
    (#"<a>; rel=prev"#, nil), ("", nil), ("<a", nil), (#"<a>; rel="ne"#, nil), (#"<a>; REL="NEXT""#, "a"),
    (#"<a>; title="\"; rel=next"; rel=prev"#, nil),
  ])
  func `reads links`(_ field: String, _ next: String?) {
    #expect(WebLink.next(in: [field]) == next)
  }
}
