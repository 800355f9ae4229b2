import ActionKit
import Basics
import HTTPServer
import PluginLocks
import Testing

@testable import OpenAPIPlugins

/// One detail of a document costs nothing but itself, and is named.
@Suite struct DocumentDetailTests {
  private static func lock(_ document: String) throws(PluginLockError) -> PluginLock {
    try OpenAPIPluginsTests.lock(of: document)
  }

  private static func leftOut(_ lock: PluginLock) -> [String] { lock.leftOut.map { "\($0.part): \($0.reason)" } }

  // MARK: Servers

  @Test(
    arguments: [
      ("https://a.example/v1", "https://a.example/v1", nil), ("https://a.example/v1", "https://a.example/v1/", nil),
      ("https://a.example/v1/", "HTTPS://A.example:443/v1", nil), ("/v1", "/v1/", nil),
      ("https://{host}/v1|host=a.example", "https://a.example/v1", nil),
      ("https://a.example/v1", "{s}://a.example/{v}|s=https,v=v1", nil),
      ("https://a.example/v1", "https://b.example", "https://a.example/v1"),
      ("https://a.example/v1", nil, "https://a.example/v1/"), (nil, "https://a.example/v1", nil),
      (nil, nil, "https://a.example/v1"), ("https://a.example/v1", "https://b.example https://a.example/v1", nil),
      ("https://b.example", "https://a.example/v1", nil),
    ] as [(String?, String?, String?)])
  func `a server that equals the document's is no server of its own`(
    _ root: String?, _ path: String?, _ operation: String?
  ) throws {
    func servers(_ text: String?) -> String {
      guard let text else { return "" }
      let list = text.split(separator: " ").map { server -> String in
        let parts = server.split(separator: "|").map(String.init)
        let variables = parts.dropFirst().flatMap { $0.split(separator: ",") }.map {
          let pair = $0.split(separator: "=")
          return "\(pair[0]): { default: \(pair[1]) }"
        }
        return "{ url: '\(parts[0])', variables: { \(variables.joined(separator: ", ")) } }"
      }
      return "servers: [\(list.joined(separator: ", "))]"
    }
    let document = """
      openapi: 3.1.0
      \(servers(root))
      paths:
        /x: { \([servers(path), "get: { \(servers(operation)) }"].filter { !$0.isEmpty }.joined(separator: ", ")) }
        /y: { \([servers(path), "put: { \(servers(operation)) }"].filter { !$0.isEmpty }.joined(separator: ", ")) }
      """
    let lock = try Self.lock(document)
    #expect(lock.actionNames == ["getX", "putY"] && lock.leftOut.isEmpty)
    if root?.hasPrefix("/") != true { #expect(lock.connection["baseURL"] == .string("https://a.example/v1")) }
    #expect(try lock.action("putY")?.call["hasGet"] == nil)
  }

  // MARK: The text

  private static let yamlText = """
    openapi: 3.1.0
    info: { title: Größe, version: 1.0 }
    x-shared: &shared { responses: { '200': { description: ok } } }
    paths:
      /x: { get: { operationId: x, <<: *shared, summary: a, summary: "half \\ud83d" } }
      /y: { get: { operationId: y, responses: !own { 200: { description: ok } } } }
    """
  private static let jsonText = """
    {"openapi": "3.1.0", "info": {"title": "Größe", "version": "1"}, "paths": {
      "/x": {"get": {"operationId": "x", "summary": "a", "summary": "half \\ud83d"}},
      "/y": {"get": {"operationId": "y", "responses": {"200": {"description": "ok"},}}}}}
    """

  /// Python, Java and Windows write documents in these, and people by hand what most readers take.
  @Test(arguments: [yamlText, jsonText], ["utf-8", "utf-8 with a mark", "utf-16le", "utf-16be", "latin-1"])
  func `what is wrong with a text costs nothing but itself`(_ text: String, _ charset: String) throws {
    let bytes: [UInt8] =
      switch charset {
      case "utf-8": Array(text.utf8)
      case "utf-8 with a mark": [0xEF, 0xBB, 0xBF] + text.utf8
      case "utf-16le": [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
      case "utf-16be": [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
      default: text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
      }
    let lock = try OpenAPIKind.lock(
      name: "made", document: bytes, source: "made.yaml", only: [], effects: [:], file: "plugins/made.lock.json")
    #expect(lock.actionNames == ["x", "y"])
    #expect(try lock.action("x")?.summary.lowercased().hasPrefix("half \u{FFFD}") == true)
    let isYAML = text == Self.yamlText
    #expect(Self.leftOut(lock).contains { $0.contains("UTF-8") } == (charset == "latin-1"))
    #expect(
      Self.leftOut(lock).contains("made.yaml:5:57: the key `summary` is in this map twice, and the last one counts")
        == isYAML)
  }

  /// In JSON Schema since 2019-09 they count, before that and in OpenAPI 3.0 they don't.
  @Test(arguments: [("3.1.0", ["a", "b"]), ("3.0.3", ["a"]), ("3.1.1", ["a", "b"])])
  func `words beside a reference count where the version says so`(_ version: String, _ fields: [String]) throws {
    let lock = try Self.lock(
      """
      openapi: \(version)
      components: { schemas: { A: { type: object, properties: { a: { type: string } } } } }
      paths:
        /x:
          post:
            requestBody:
              content:
                application/json:
                  schema: { $ref: '#/components/schemas/A', required: [b], properties: { b: { type: integer } } }
            responses: { '200': { description: ok } }
      """)
    let body = try #require(lock.action("postX")?.input.fields.first { $0.name == "body" })
    guard case .object(let object) = body.type else {
      Issue.record("\(body.type)")
      return
    }
    #expect(object.fields.map(\.name).sorted() == fields)
  }

  // MARK: Media types

  @Test(arguments: [
    ("application/json; charset=utf-8", "json application/json {t?: string}", "json {t?: string}"),
    ("APPLICATION/JSON;charset=UTF-8", "json application/json {t?: string}", "json {t?: string}"),
    ("application/json ; version=2", "json application/json; version=2 {t?: string}", "json {t?: string}"),
    (
      "application/vnd.api+json; ext=\"a;b\"", "json application/vnd.api+json; ext=\"a;b\" {t?: string}",
      "json {t?: string}"
    ),
    ("application/*", "json application/json {t?: string}", "json {t?: string}"),
    ("*/*; q=0.8", "json application/json {t?: string}", "json {t?: string}"),
    ("application/*+json", "json application/json {t?: string}", "json {t?: string}"),
    ("text/*", "text text/plain string", "text string"),
    ("text/csv; header=present", "text text/csv; header=present string", "text string"),
    ("multipart/form-data; boundary=x", "multipart multipart/form-data {t?: string}", "bytes bytes"),
    ("image/*", "file application/octet-stream string", "bytes bytes"),
    (
      "application/x-www-form-urlencoded; charset=utf-8", "urlencoded application/x-www-form-urlencoded {t?: string}",
      "text string"
    ),
  ])
  func `parameters of a media type don't change which one it is`(
    _ media: String, _ expected: String, _ answer: String
  ) throws {
    let content = "content: { '\(media)': { schema: { type: object, properties: { t: { type: string } } } } }"
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      paths: { /a: { put: { requestBody: { required: true, \(content) }, responses: { '200': { \(content) } } } } }
      """)
    let action = try #require(try lock.action("putA"))
    let call = action.call
    let body = try #require(action.input.field(named: "body"))
    #expect(
      "\(call["body"]?["form"]?.string ?? "") \(call["body"]?["type"]?.string ?? "") \(body.type.described)"
        == expected)
    let got = action.output.field(named: "body")?.type.described ?? "nothing"
    #expect("\(call["answer"]?.string ?? "") \(got)" == answer)
    #expect(lock.leftOut.isEmpty)
    // In Swagger 2.0, `consumes` and `produces` name media types as well.
    let old = try Self.lock(
      """
      swagger: "2.0"
      consumes: ['\(media)']
      produces: ['\(media)']
      paths: { /a: { put: {
        parameters: [{ name: b, in: body, schema: { type: object, properties: { t: { type: string } } } }],
        responses: { '200': { schema: { type: object, properties: { t: { type: string } } } } } } } }
      """)
    #expect(try old.action("putA")?.call["body"]?["type"] == call["body"]?["type"])
    #expect(try old.action("putA")?.call["answer"] == call["answer"])
  }

  @Test func `an answer whose media type can't be read is told`() throws {
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      paths: { /a: { get: { responses: { '200': { content: { foo bar: { schema: { type: string } } } } } } } }
      """)
    #expect(
      Self.leftOut(lock) == ["the answer 200 of GET /a: 'foo bar' isn't a media type, and is taken as anything"])
    #expect(try lock.action("getA")?.output.field(named: "body")?.type.described == "dyn")
  }

  // MARK: References

  @Test func `whatever is a reference is followed`() throws {
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      paths: { $ref: '#/x/paths' }
      x:
        paths:
          /a: { get: { $ref: '#/x/one' }, put: { $ref: '#/paths/~1a/get' } }
          /b: { $ref: '#/x/item', parameters: [{ name: own, in: query, schema: { type: string } }] }
          /c: { get: { operationId: c, parameters: { $ref: '#/x/list' }, responses: { $ref: '#/x/one/responses' } } }
        one:
          operationId: one
          parameters: [{ $ref: '#/x/list/0' }]
          responses: { 200: { $ref: '#/x/answer' } }
        item: { post: { operationId: two, requestBody: { content: { $ref: '#/x/content' } } } }
        list: [{ name: q, in: query, required: true, schema: { $ref: '#/x/content/application~1json/schema/properties/n' } }]
        answer: { content: { $ref: '#/x/content' } }
        content: { application/json: { $ref: '#/x/media' } }
        media: { schema: { properties: { n: { $ref: '#/x/answer2/200/n' } } } }
        answer2: { 200: { n: { type: integer } } }
      """)
    let told = try lock.actionNames.compactMap { try lock.action($0) }.map {
      "\($0.name): \($0.input.fields.map { "\($0.name) \($0.type.described)" }.joined(separator: ", "))"
        + " → \($0.output.field(named: "body")?.type.described ?? "nothing")"
    }
    #expect(
      told == [
        "c: q int → {n?: int}", "one: q int → {n?: int}", "one2: q int → {n?: int}",
        "two: body {n?: int}, own string → dyn",
      ])
    #expect(lock.leftOut.isEmpty)
  }

  @Test func `what can't be read is named with its place, and costs nothing else`() throws {
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      paths:
        /a:
          get: { $ref: '#/nowhere' }
          put: { $ref: 'other.yaml' }
          post: 3
          options: {}
          trace: {}
          delete: {}
        /b: 7
        c: { get: {} }
        x-d: { get: {} }
        /e:
          get:
            parameters:
              - { name: s, in: cookie, schema: { type: string } }
              - { in: query, schema: { type: string } }
              - { name: m, in: query, style: matrix, schema: { type: array, items: { type: string } } }
              - { name: 'h h', in: header, schema: { type: string } }
              - { name: "a\\u001Bb", in: query, schema: { type: string } }
              - { name: ok, in: query, schema: { type: string } }
            requestBody: { content: { application/json: {} } }
          post: { parameters: [{ name: m, in: query, required: true, style: matrix, schema: { type: array } }] }
        /f: { get: { requestBody: { required: true, content: { application/json: {} } } } }
      """)
    #expect(lock.actionNames == ["deleteA", "getE"])
    #expect(try lock.action("getE")?.input.fields.map(\.name) == ["ok"])
    #expect(
      Self.leftOut(lock) == [
        "GET /a: it refers to '#/nowhere', which leads to nothing in the document",
        "PUT /a: it refers to 'other.yaml', which leads to nothing in the document",
        "POST /a: it isn't an operation", "OPTIONS /a: an action can't have its method",
        "TRACE /a: an action can't have its method", "/b: it has no operations", "c: its path doesn't begin with '/'",
        "POST /e: the parameter 'm' has the style 'matrix'",
        "GET /f: its body must be given, but can't be sent with GET",
        "a parameter of GET /e: it has no 'name' or no 'in'", "the parameter 's' of GET /e: it is a cookie",
        "the body of GET /e: it can't be sent with GET", "the parameter 'm' of GET /e: it has the style 'matrix'",
        "the parameter 'a␛b' of GET /e: its name can't be written in a recipe",
        "the parameter 'h h' of GET /e: a header can't have that name",
      ])
  }

  // MARK: Paths

  @Test(arguments: [
    ("/a?b=c", "", "{}", "GET /a?b=c"), ("/a?b=c&d", "", #"{"q": 1}"#, "GET /a?b=c&d&q=1"),
    ("/a?x={n}", "", #"{"n": "p q"}"#, "GET /a?x=p%20q"),
    (
      "/a?x={n}&y=1", "{ name: x, in: query, required: true, schema: { type: string } },", #"{"x": "v"}"#,
      "GET /a?y=1&x=v"
    ),
    ("/a{?q}", "", #"{"q": 2}"#, "GET /a?q=2"), ("/a{?q,r}", "", #"{"q": 2, "r": "s"}"#, "GET /a?q=2&r=s"),
    ("/a#one", "", "{}", "GET /a"),
  ])
  func `a path with a query is one`(_ path: String, _ more: String, _ input: String, _ expected: String) async throws {
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      paths: { '\(path)': { get: { operationId: a, responses: { '204': {} }, parameters: [
        \(more) { name: q, in: query, schema: { type: integer } }] } } }
      """)
    try await withPeer(lock) { _ in
      HTTPServerResponse(status: 204)
    } _: { (made) async throws in
      _ = try await made.run("a", input)
      #expect(made.peer.lines == [expected])
    }
  }

  // MARK: Required and read-only

  @Test(arguments: [
    "type: object, required: [id, n], properties: { id: { type: string, readOnly: true }, n: { type: integer } }",
    "allOf: [{ properties: { id: { type: string, readOnly: true }, n: { type: integer } } }, { required: [id, n] }]",
    "allOf: [{ $ref: '#/x/Base' }], required: [id, n]",
    "allOf: [{ $ref: '#/x/Base' }, { type: object, properties: { n: { type: integer } } }, { $ref: '#/x/Needs' }]",
    "allOf: [{ allOf: [{ $ref: '#/x/Base' }] }, { $ref: '#/x/Needs' }]",
    "required: [id, n], properties: { id: { $ref: '#/x/Id' }, n: { type: integer } }",
  ])
  func `what is required and read-only may be given`(_ schema: String) throws {
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      x:
        Base: { properties: { id: { type: string, readOnly: true }, n: { type: integer } } }
        Needs: { required: [id, n] }
        Id: { type: string, readOnly: true }
      paths: { /a: { post: { requestBody: { content: { application/json: { schema: { \(schema) } } } } } } }
      """)
    #expect(try lock.action("postA")?.input.field(named: "body")?.type.described == "{n: int, id?: string}")
    #expect(try lock.action("postA")?.call["body"]?["filled"] == nil)
  }

  // MARK: Credentials

  private static let schemes = """
    b: { type: http, scheme: Bearer }
    n: { type: http, scheme: basic }
    k: { type: apiKey, in: header, name: X-Key }
    l: { type: apiKey, in: header, name: X-Client-Id }
    q: { type: apiKey, in: query, name: app_key }
    c: { type: apiKey, in: cookie, name: session }
    t: { type: apiKey, in: header, name: Authorization, description: 'Written as `Token token=<API_KEY>`' }
    g: { type: apiKey, in: header, name: Authorization, description: "Send 'Authorization: GenieKey YOUR_KEY'." }
    j: { type: apiKey, in: header, name: Authorization, description: 'JWT. Example: Bearer {token}' }
    r: { type: apiKey, in: header, name: Authorization, description: 'Send `Authorization: <key>`' }
    u: { type: apiKey, in: header, name: Authorization }
    s: { type: http, scheme: SSWS }
    d: { type: http, scheme: digest }
    m: { type: mutualTLS }
    x: { type: apiKey, in: header, name: Authorization, description: '`GenieKey eb243592-faa2`' }
    y: { type: apiKey, in: header, name: Authorization, description: 'Basic base64(user:pass)' }
    z: { type: apiKey, in: query, name: 'api key&x' }
    """

  @Test(arguments: [
    ("[{ k: [], l: [] }]", "secretHeaders: { X-Key: secrets.MADE_KEY, X-Client-Id: secrets.MADE_CLIENT_ID }", ""),
    (
      "[{ k: [], q: [] }]", "secretHeaders: { X-Key: secrets.MADE_KEY } secretQuery: { app_key: secrets.MADE_APP_KEY }",
      ""
    ),
    ("[{ b: [], k: [] }]", "token: secrets.MADE_TOKEN apiKey: secrets.MADE_KEY", ""),
    (
      "[{ n: [], k: [], l: [] }]",
      "username: NAME password: secrets.MADE_PASSWORD secretHeaders: { X-Key: secrets.MADE_KEY, X-Client-Id: secrets.MADE_CLIENT_ID }",
      ""
    ),
    ("[{ t: [] }]", "secretHeaders: { Authorization: Token token=secrets.MADE_TOKEN }", ""),
    ("[{ g: [] }]", "secretHeaders: { Authorization: GenieKey secrets.MADE_TOKEN }", ""),
    ("[{ j: [] }]", "token: secrets.MADE_TOKEN", ""),
    ("[{ r: [] }]", "secretHeaders: { Authorization: secrets.MADE_TOKEN }", ""),
    ("[{ s: [] }]", "secretHeaders: { Authorization: SSWS secrets.MADE_TOKEN }", ""),
    ("[{ c: [] }]", "secretHeaders: { Cookie: session=secrets.MADE_SESSION }", ""),
    ("[{ c: [] }, { n: [] }]", "username: NAME password: secrets.MADE_PASSWORD", ""),
    (
      "[{ u: [] }]", "token: secrets.MADE_TOKEN",
      "The document doesn't say what precedes the key in the header Authorization; 'token' sends 'Bearer'. If that is "
        + "refused, write the whole header under 'secretHeaders'."
    ),
    (
      "[{ d: [] }]", "",
      "No connection can give the credentials that 1 of 1 operations needs (GET /a): HTTP authentication 'digest' (d). "
        + "Send them through a proxy that adds them."
    ),
    (
      "[{ m: [] }]", "",
      "No connection can give the credentials that 1 of 1 operations needs (GET /a): a client certificate, mutualTLS (m). "
        + "Send them through a proxy that adds them."
    ),
    (
      "[{ b: [], n: [] }]", "",
      "No connection can give the credentials that 1 of 1 operations needs (GET /a): several values of the header "
        + "Authorization (b, n). Send them through a proxy that adds them."
    ),
    (
      "[{ zz: [] }]", "",
      "No connection can give the credentials that 1 of 1 operations needs (GET /a): a scheme that the document doesn't "
        + "define (zz). Send them through a proxy that adds them."
    ),
    (
      "[b]", "",
      "No connection can give the credentials that 1 of 1 operations needs (GET /a): a 'security' of another form than "
        + "the specification's. Send them through a proxy that adds them."
    ),
    ("[b, { k: [] }]", "apiKey: secrets.MADE_KEY", ""),
    ("[{ x: [] }]", "secretHeaders: { Authorization: GenieKey secrets.MADE_TOKEN }", ""),
    ("[{ y: [] }]", "username: NAME password: secrets.MADE_PASSWORD", ""),
    (
      "[{ z: [], k: [] }]",
      "secretHeaders: { X-Key: secrets.MADE_KEY } secretQuery: { \"api key&x\": secrets.MADE_API_KEY_X }", ""
    ),
    ("[{ d: [] }, { k: [] }]", "apiKey: secrets.MADE_KEY", ""), ("[{}, { d: [] }]", "", ""), ("[]", "", ""),
  ])
  func `the printed connection has all that an operation wants, or says what it lacks`(
    _ security: String, _ settings: String, _ notes: String
  ) throws {
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      security: \(security)
      components: { securitySchemes: { \(Self.schemes.replacing("\n", with: ", ")) } }
      paths: { /a: { get: {} } }
      """)
    #expect(Self.settings(lock) == settings)
    #expect(OpenAPIKind.connectionNotes(lock).joined(separator: "\n") == notes)
    #expect(OpenAPIKind.asksForCredentials(lock) == (settings != "" || notes != ""))
  }

  @Test(arguments: [
    (
      ["n", "b", "b", "b"], "token: secrets.MADE_TOKEN",
      "This connection doesn't authorise 1 of 4 operations (GET /0), which needs 'username' and 'password'. "
        + "Add a second one with 'plugin: made' for it, and name that in the step under 'connection'."
    ),
    (
      ["b", "n", "n", "k", "m", "n"], "username: NAME password: secrets.MADE_PASSWORD",
      "This connection doesn't authorise 1 of 6 operations (GET /0), which needs 'token'. "
        + "Add a second one with 'plugin: made' for it, and name that in the step under 'connection'.\n"
        + "This connection doesn't authorise 1 of 6 operations (GET /3), which needs the header X-Key. "
        + "Add a second one with 'plugin: made' for it, and name that in the step under 'connection'.\n"
        + "No connection can give the credentials that 1 of 6 operations needs (GET /4): a client certificate, mutualTLS "
        + "(m). Send them through a proxy that adds them."
    ),
    (
      ["k", "t", "t"], "secretHeaders: { Authorization: Token token=secrets.MADE_TOKEN }",
      "This connection doesn't authorise 1 of 3 operations (GET /0), which needs the header X-Key. "
        + "Add a second one with 'plugin: made' for it, and name that in the step under 'connection'."
    ),
    (
      ["k", "b", "b", "k", "b"], "token: secrets.MADE_TOKEN",
      "This connection doesn't authorise 2 of 5 operations (GET /0, GET /3), which need the header X-Key. "
        + "Add a second one with 'plugin: made' for them, and name that in the steps under 'connection'."
    ),
    (["k", "k, l", "k"], "secretHeaders: { X-Key: secrets.MADE_KEY, X-Client-Id: secrets.MADE_CLIENT_ID }", ""),
  ])
  func `the connection is that of most operations, and each other kind is named with its number`(
    _ wanted: [String], _ settings: String, _ notes: String
  ) throws {
    let paths = wanted.enumerated().map { index, names in
      let all = names.split(separator: ", ").map { "\($0): []" }.joined(separator: ", ")
      return "  /\(index): { get: { security: [{ \(all) }] } }"
    }
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      components: { securitySchemes: { \(Self.schemes.replacing("\n", with: ", ")) } }
      paths:
      \(paths.joined(separator: "\n"))
      """)
    #expect(Self.settings(lock) == settings)
    #expect(OpenAPIKind.connectionNotes(lock).joined(separator: "\n") == notes)
  }

  /// The credentials of a sketch on one line.
  private static func settings(_ lock: PluginLock) -> String {
    var text = ""
    var isOpen = false
    for line in OpenAPIKind.connectionSketch(lock).split(separator: "\n").dropFirst(2) {
      let word = line.trimmingPrefix { $0 == " " }.replacing("${{ ", with: "").replacing(" }}", with: "")
      if line.hasPrefix("      ") {
        text += (isOpen ? ", " : " { ") + word
        isOpen = true
        continue
      }
      text += (isOpen ? " } " : text.isEmpty ? "" : " ") + word
      isOpen = false
    }
    return text + (isOpen ? " }" : "")
  }

  // MARK: Types that refer to each other

  @Test(arguments: [
    "properties: { next: $1, other: $2 }", "allOf: [{ properties: { next: $1 } }, { properties: { other: $2 } }]",
    "properties: { next: { type: array, items: $1 }, other: { additionalProperties: $2 } }",
    "properties: { next: { oneOf: [$1, { type: 'null' }] }, other: { anyOf: [$2] } }",
    "allOf: [$1, { properties: { s: { type: string }, other: $2 } }]",
  ])
  func `types that refer to each other are read in little time, and written once`(_ shape: String) throws {
    let count = 120
    var schemas: [String] = []
    var paths: [String] = []
    for index in 0..<count {
      func reference(_ index: Int) -> String { "{ $ref: '#/components/schemas/T\(index % count)' }" }
      let body = shape.replacing("$1", with: reference(index + 1)).replacing("$2", with: reference(index * 7 + 3))
      schemas.append("    T\(index): { \(body), description: 'The type that has the number \(index) of them all.' }")
      let content = "content: { application/json: { schema: \(reference(index)) } }"
      paths.append("  /\(index): { put: { requestBody: { \(content) }, responses: { '200': { \(content) } } } }")
    }
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      components:
        schemas:
      \(schemas.joined(separator: "\n"))
      paths:
      \(paths.joined(separator: "\n"))
      """)
    #expect(lock.actionNames.count == count)
    #expect(try lock.written().count < 500_000)
  }

  @Test func `a type is the same wherever it is met`() throws {
    let paths = ["a: { $ref: '#/x/A' }", "b: { $ref: '#/x/B' }"].map { text -> String in
      let (name, schema) = (text.prefix(1), text.dropFirst(3))
      return "/\(name): { get: { responses: { '200': { content: { application/json: { schema: \(schema) } } } } } }"
    }
    func types(_ paths: [String]) throws -> [String] {
      let lock = try Self.lock(
        """
        openapi: 3.1.0
        paths: { \(paths.joined(separator: ", ")) }
        x:
          A: { properties: { b: { $ref: '#/x/B' }, n: { type: integer } } }
          B: { properties: { a: { type: array, items: { $ref: '#/x/A' } }, own: { $ref: '#/x/B' } } }
        """)
      return try ["getA", "getB"].map {
        try lock.action($0)?.output.field(named: "body")?.type.described ?? ""
      }
    }
    let expected = [
      "{b?: {a?: list(dyn), own?: dyn}, n?: int}", "{a?: list({b?: dyn, n?: int}), own?: dyn}",
    ]
    #expect(try types(paths) == expected)
    #expect(try types(paths.reversed()) == expected)
  }

  // MARK: Names

  @Test(arguments: [
    ("Größe_abfragen", "groesseAbfragen"), ("élèves", "eleves"), ("liste-élèves", "listeEleves"),
    ("Gro\u{308}ße abfragen", "grosseAbfragen"), ("ŁódźŻółć", "lodzZolc"), ("naïve_Ångström", "naiveAangstroem"),
    ("получить_список", "получитьСписок"), ("获取用户", "获取用户"), ("utf8_ñandú", "utf8Nandu"),
    ("Straße", "strasse"), ("æøå", "aeoeaa"), ("Ελλάδα_list", "ελλάδαList"), ("🙂", ""),
  ])
  func `letters beyond ASCII are kept or spelt out`(_ id: String, _ expected: String) {
    #expect(ActionName.of(id) == expected)
  }

  // MARK: Answers

  @Test(arguments: [
    (#"{"n": "x"}"#, "'body.n' must be an int, but found 'x'"), (#"{}"#, "'body.n' is missing (int)"),
    (#"{"n": 1, "l": [null]}"#, "'body.l[0]' must be a string, but found null"),
  ])
  func `an answer that breaks the document says what helps`(_ answer: String, _ fault: String) async throws {
    let lock = try Self.lock(
      """
      openapi: 3.1.0
      paths: { /a: { get: { responses: { '200': { content: { application/json: { schema: {
        required: [n], properties: { n: { type: integer }, l: { type: array, items: { type: string } } } } } } } } } } }
      """)
    try await withPeer(lock) { _ in
      json(answer)
    } _: { (made) async throws in
      #expect(
        try await made.failure("getA", "{}").message
          == "The answer to GET S/a isn't as the lock says: \(fault); if the service has changed, run "
          + "'errand plugin update made'. Neither --dates nor --only loosens this field, and an edited lock isn't used: "
          + "if the document is wrong, correct it in a copy, and run 'errand plugin update made COPY'.")
    }
  }
}

extension FieldType {
  /// The type on one line.
  var described: String {
    switch self {
    case .object(let schema):
      "{\(schema.fields.map { "\($0.name)\($0.isOptional ? "?" : ""): \($0.type.described)" }.joined(separator: ", "))}"
    case .list(let element): "list(\(element.described))"
    case .map(let element): "map(\(element.described))"
    case .optional(let wrapped): "\(wrapped.described)|null"
    default: name
    }
  }
}
