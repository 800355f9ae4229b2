import ActionKit
import ActionTestKit
import Basics
import PluginLocks
import Testing

@testable import OpenAPIPlugins

/// The lock made from a document.
@Suite struct OpenAPILockTests {
  @Test(arguments: ["shop.yaml", "pets.json"])
  func `a document has one lock`(_ fixture: String) throws {
    let name = fixture.split(separator: ".").first.map(String.init) ?? ""
    let written = try lock(fixture, named: name).written()
    expectSnapshot("\(name).lock.json", String(decoding: written, as: UTF8.self))
    // A file that is read again is the same.
    let read = try PluginLock(reading: written, of: "x")
    try read.verify()
    #expect(try read.written() == written)
    for action in read.actionNames { #expect(try read.action(action) != nil) }
  }

  @Test func `what can't be an action is told with its reason`() throws {
    #expect(
      try lock("shop.yaml").leftOut.map { "\($0.part): \($0.reason)" } == [
        "GET /elsewhere: it is at a server of its own",
        "GET /matrix{at}: the parameter 'at' has the style 'matrix'",
        "the parameter 'session' of GET /items: it is a cookie",
      ])
  }

  @Test func `what is read as if it weren't there is told, too`() throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a:
            post:
              requestBody: { content: { foo bar: {} } }
              responses: { '200': { content: { application/json: { schema: { $ref: '#/Tpyo' } } } }, '201': { $ref: 'x.yaml' } }
          /b: { post: { requestBody: { required: true, content: { foo bar: {} } } } }
          /c: { post: { requestBody: { required: true, content: {} } } }
          /../../d: { get: {} }
          /d/%2E%2e: { get: {} }
          /e: { $ref: 'e.yaml' }
        """)
    #expect(lock.actionNames == ["postA"])
    #expect(
      lock.leftOut.map { "\($0.part): \($0.reason)" } == [
        "/e: it refers to 'e.yaml', which leads to nothing in the document",
        "POST /b: its body must be given, but 'foo bar' can't be sent",
        "POST /c: its body must be given, but it has no media type",
        "GET /../../d: its path leads to another one, by '.' or '..'",
        "GET /d/%2E%2e: its path leads to another one, by '.' or '..'",
        "the body of POST /a: 'foo bar' can't be sent",
        "the answer 201 of POST /a: it refers to 'x.yaml', which leads to nothing in the document",
        "#/Tpyo: it leads to nothing in the document, and is taken as anything",
      ])
  }

  @Test func `dates and times are texts where a person says so, also after an update`() throws {
    let document = """
      openapi: 3.1.0
      paths:
        /a:
          get:
            parameters: [{ name: since, in: query, schema: { type: string, format: date } }]
            responses: { '200': { content: { application/json: { schema: { type: array, items: { $ref: '#/Item' } } } } } }
      Item: { properties: { at: { type: string, format: date-time }, some: { additionalProperties: { format: date-time, type: string } } } }
      """
    func types(_ lock: PluginLock) throws -> [String] {
      let action = try #require(try lock.action("getA"))
      return (action.input.fields + action.output.fields.dropFirst()).map { JSON.displayed(described($0.type)) }
    }
    func described(_ type: FieldType) -> Value {
      var encoder = LockEncoder()
      return encoder.type(type)
    }
    let typed = try lock(of: document)
    #expect(
      try types(typed) == [
        "\"date\"",
        #"{"list":{"fields":{"at":{"type":"timestamp","optional":true},"some":{"type":{"map":"timestamp"},"optional":true}}}}"#,
      ])
    let texts = try OpenAPIKind.updated(typed, document: Array(document.utf8), readsDatesAsText: true)
    #expect(
      try types(texts) == [
        "\"string\"",
        #"{"list":{"fields":{"at":{"type":"string","optional":true},"some":{"type":{"map":"string"},"optional":true}}}}"#,
      ])
    #expect(try OpenAPIKind.updated(texts, document: Array(document.utf8)).written() == texts.written())
    #expect(
      try OpenAPIKind.updated(texts, document: Array(document.utf8), readsDatesAsText: false).written()
        == typed.written())
  }

  @Test(arguments: [
    ("get: {}", "security: [{ b: [] }]", "    token: ${{ secrets.MADE_TOKEN }}\n"),
    ("get: {}", "security: [{ k: [] }, { b: [] }]", "    apiKey: ${{ secrets.MADE_KEY }}\n"),
    (
      "get: {}", "security: [{ cookie: [] }, { n: [] }]",
      "    username: NAME\n    password: ${{ secrets.MADE_PASSWORD }}\n"
    ),
    (
      "get: {}", "security: [{ k: [], b: [] }]",
      "    token: ${{ secrets.MADE_TOKEN }}\n    apiKey: ${{ secrets.MADE_KEY }}\n"
    ),
    ("get: {}", "security: [{}, { b: [] }]", ""), ("get: {}", "x: y", ""),
    ("get: { security: [] }", "security: [{ b: [] }]", ""),
    ("{ get: { security: [] }, put: { security: [{ k: [] }] } }", "x: y", "    apiKey: ${{ secrets.MADE_KEY }}\n"),
  ])
  func `a connection has the credentials that the document asks for`(
    _ operations: String, _ security: String, _ expected: String
  ) throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        servers: [{ url: 'https://a.example' }]
        \(security)
        components:
          securitySchemes:
            b: { type: http, scheme: bearer }
            other: { type: apiKey, in: header, name: X-Other }
            k: { type: apiKey, in: header, name: X-Key }
            n: { type: http, scheme: basic }
            cookie: { type: apiKey, in: cookie, name: c }
        paths: { /a: \(operations.hasPrefix("{") ? operations : "{ \(operations) }") }
        """)
    #expect(OpenAPIKind.connectionSketch(lock) == "  made:\n    baseURL: https://a.example\n\(expected)")
    #expect(OpenAPIKind.asksForCredentials(lock) == !expected.isEmpty)
    if expected.contains("apiKey") {
      let key = OpenAPIKind.configuration(of: lock).field(named: "apiKey")
      #expect(key?.summary == "The service's key, which is sent as the header field X-Key.")
    }
  }

  @Test(arguments: [
    (["tag:items"], ["createItem", "listItems", "listItemsAll"]),
    (["tag:it*s"], ["createItem", "listItems", "listItemsAll"]),
    (["list_items"], ["listItems", "listItemsAll"]), (["listItemsAll"], ["listItems", "listItemsAll"]),
    (["getItem", "put*"], ["getItem", "putItem"]),
    (["/items/*"], ["deleteItem", "getItem", "patchItem", "putItem"]),
    (["DELETE *"], ["deleteItem"]),
  ])
  func `only some operations become actions`(_ only: [String], _ expected: [String]) throws {
    let lock = try lock("shop.yaml", only: only)
    #expect(lock.actionNames == expected)
    #expect(lock.source["only"] == .list(only.map(Value.string)))
  }

  @Test(arguments: [
    ("tag:itmes", "'tag:itmes' matches no operation of shop.yaml; did you mean 'tag:items'?"),
    ("tag:x", "'tag:x' matches no operation of shop.yaml; its tags are items"),
    ("getItems", "'getItems' matches no operation of shop.yaml; did you mean 'getItem'?"),
    ("/nothing", "'/nothing' matches no operation of shop.yaml"),
  ])
  func `a pattern that matches nothing is an error`(_ only: String, _ message: String) throws {
    let error = #expect(throws: PluginLockError.self) { try lock("shop.yaml", only: [only]) }
    #expect(error?.message == message)
  }

  @Test func `effects are those of methods, of the document, of a person`() throws {
    let effects = ["createItem": Effect.idempotentWrite(within: .forever), "getReport": .write]
    let lock = try lock("shop.yaml", effects: effects)
    let told = try lock.actionNames.compactMap { try lock.action($0) }.map {
      "\($0.name) \($0.effect.written) \($0.effectSource.rawValue)"
    }
    #expect(
      told == [
        "createItem idempotentWrite person", "deleteItem idempotentWrite:1d document", "getItem read method",
        "getReport write person", "listByOffset read method", "listByOffsetAll read method", "listItems read method",
        "listItemsAll read method", "listLinked read method", "listLinkedAll read method", "listPages read method",
        "listPagesAll read method", "patchItem write method", "putItem idempotentWrite method",
        "sendForm write method", "upload write method", "uploadRaw write method",
      ])
    #expect(
      lock.source["effects"] == .object(["createItem": .string("idempotentWrite"), "getReport": .string("write")]))
    let all = try OpenAPIPluginsTests.lock("shop.yaml", effects: ["listItemsAll": .write])
    #expect(try all.action("listItemsAll")?.effect == .write)
    #expect(try all.action("listItems")?.effect == .read)
    let error = #expect(throws: PluginLockError.self) {
      try OpenAPIPluginsTests.lock("shop.yaml", effects: ["createItems": .read])
    }
    #expect(error?.message == "shop.yaml has no action 'createItems' to give an effect; did you mean 'createItem'?")
  }

  @Test func `a lock is made anew as it was asked for`() throws {
    let first = try lock("shop.yaml", only: ["tag:items"], effects: ["createItem": .idempotentWrite(within: .forever)])
    #expect(try OpenAPIKind.updated(first, document: fixture("shop.yaml")).written() == first.written())
    let changed = String(decoding: try fixture("shop.yaml"), as: UTF8.self)
      .replacing("operationId: create_item", with: "operationId: make_item")
    let second = try OpenAPIKind.updated(first, document: Array(changed.utf8))
    #expect(second.actionNames == ["listItems", "listItemsAll", "makeItem"])
    #expect(try second.action("makeItem")?.effect == .write)
  }

  @Test func `what is a credential by its name may be a secret`() throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a:
            put:
              parameters: [{ name: X-Registry-Auth, in: header, schema: { type: string } }, { name: page_token, in: query, schema: { type: integer } }]
              requestBody: { content: { application/json: { schema: { properties: { dbPassword: { type: [string, "null"] }, name: { type: string } } } } } }
        """)
    #expect(
      try lock.action("putA")?.input.fields.map { "\($0.name) \($0.secrecy)" } == [
        "body none", "page_token none", "X-Registry-Auth possible",
      ])
    let plugin = PluginDescriptor(LockedPlugin(lock, OpenAPIKind.self))
    #expect(plugin.action("putA")?.input.pathsTakingSecrets == ["body.dbPassword", "X-Registry-Auth"])
  }

  @Test func `files of a form that is made of parts are files`() throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a:
            post:
              requestBody:
                content:
                  multipart/form-data:
                    schema: { allOf: [{ $ref: "#/x" }, { type: object, properties: { b: { type: string } } }] }
        x: { type: object, properties: { a: { type: string, contentMediaType: image/png } } }
        """)
    #expect(try lock.action("postA")?.call["body"]?["files"] == .list([.string("a")]))
  }

  @Test func `a document that refers to itself everywhere is read in little time`() throws {
    var schemas = ValueMap()
    for level in 0..<30 {
      let next = Value.object(["$ref": .string("#/s/T\(level + 1)")])
      let names = (0..<20).map { ("p\($0)", next) }
      schemas["T\(level)"] = .object(["properties": .map(ValueMap(names))])
    }
    schemas["Own"] = .object(["allOf": .list(Array(repeating: .object(["$ref": .string("#/s/Own")]), count: 20))])
    var paths = ValueMap()
    for (index, name) in ["T0", "Own"].enumerated() {
      for type in ["application/json", "multipart/form-data"] {
        let schema = Value.object(["schema": .object(["$ref": .string("#/s/\(name)")])])
        paths["/\(index)/\(type)"] = .object([
          "post": .object(["requestBody": .object(["content": .object([type: schema])])])
        ])
      }
    }
    let document = Value.object(["openapi": .string("3.1.0"), "paths": .map(paths), "s": .map(schemas)])
    #expect(try lock(of: JSON.text(document)).actionNames.count == 4)
  }

  @Test func `what the connection says is no input`() throws {
    let lock = try lock(
      of: """
        swagger: "2.0"
        securityDefinitions: { a: { type: apiKey, in: header, name: X-Key }, b: { type: apiKey, in: query, name: key } }
        paths:
          /a:
            get:
              parameters:
                - { name: X-Key, in: header, type: string, required: true }
                - { name: key, in: query, type: string, required: true }
                - { name: Host, in: header, type: string }
                - { name: q, in: query, type: string }
        """)
    #expect(try lock.action("getA")?.input.fields.map(\.name) == ["q"])
  }

  @Test func `only what needs nothing else tells what is there`() throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a: { put: {}, get: { parameters: [{ name: q, in: query, required: true, schema: { type: string } }] } }
          /b: { put: {}, get: { parameters: [{ name: q, in: query, schema: { type: string } }] } }
          /c: { put: {} }
        """)
    #expect(try ["putA", "putB", "putC"].map { try lock.action($0)?.call["hasGet"] } == [nil, .bool(true), nil])
  }

  @Test(arguments: [
    ("", "made.yaml:1:1 isn't valid YAML: the file is empty, or holds nothing but comments"),
    (
      "a: b",
      "made.yaml isn't an OpenAPI document: it has neither 'openapi' nor 'swagger'; 2.0, 3.0 and 3.1 can be read"
    ),
    ("{", "made.yaml isn't valid JSON: line 1, column 2: a key in double quotes is expected, but the text ends"),
    ("a: [", "made.yaml:1:5 isn't valid YAML: a value is missing here"),
    (
      "\n<!DOCTYPE html>",
      "made.yaml is a web page; an OpenAPI document is JSON or YAML, and such pages often have a link to it"
    ),
    ("<wsdl/>", "made.yaml is XML; an OpenAPI document is JSON or YAML"),
    ("PK\u{3}\u{4}", "made.yaml is compressed; unpack it, and name the OpenAPI document in it"),
    ("swaggerVersion: '1.2'", "made.yaml is a document of Swagger 1; OpenAPI 2.0, 3.0 and 3.1 can be read"),
    ("info: { _postman_id: a }", "made.yaml is a collection of Postman; convert it to OpenAPI 3, and name that file"),
    ("openapi: 4.0.0", "made.yaml has the OpenAPI version 4.0.0; 2.0, 3.0 and 3.1 can be read"),
    ("swagger: 1.2", "made.yaml has the Swagger version 1.2; 2.0 can be read"),
    ("openapi: 3.1.0", "made.yaml has no operations"),
    (
      "openapi: 3.0.0\npaths: { /a: { trace: {} }, b: { get: {} }, /c: 3, /d: { get: [] } }",
      "made.yaml has no operations: TRACE /a: an action can't have its method"
    ),
    (
      "openapi: 3.0.0\npaths: { /a: { get: { parameters: [{ $ref: 'other.yaml#/x' }] } } }",
      "made.yaml has no operation that can be an action: GET /a: a parameter refers to 'other.yaml#/x', which leads to nothing in the document"
    ),
  ])
  func `what isn't a document is refused with a reason`(_ text: String, _ message: String) throws {
    let error = #expect(throws: PluginLockError.self) { try lock(of: text) }
    #expect(error?.message == message)
  }

  @Test(arguments: [
    ("getPet", "getPet"), ("get_dag_runs", "getDagRuns"), ("ContainerList", "containerList"), ("DAGRun", "dagRun"),
    ("ID", "id"), ("pets.list-all", "petsListAll"), ("listDAGs", "listDAGs"), ("2fa", "call2fa"), ("é", "e"),
    ("HTTPServer2", "httpServer2"), ("__x__", "x"), ("X", "x"), ("Päck ein", "paeckEin"),
  ])
  func `an operation's id becomes a name`(_ id: String, _ expected: String) {
    #expect(ActionName.of(id) == expected)
  }

  @Test func `names are one each, and made of paths where there is no id`() throws {
    let lock = try lock(
      of: """
        openapi: 3.0.0
        paths:
          /api/v1/pets/{petId}/toys: { get: {}, put: { operationId: listPetsAll } }
          /api/pets: { get: { operationId: listPets, parameters: [{ name: page, in: query, schema: { type: integer } }], responses: { '200': { content: { application/json: { schema: { type: array } } } } } } }
          /: { get: {} }
          /pets: { get: { operationId: list_pets } }
        """)
    #expect(lock.actionNames == ["get", "getPetsByPetIdToys", "listPets", "listPets2", "listPetsAll"])
    #expect(try lock.action("listPetsAll")?.effect == .idempotentWrite(within: .forever))
  }

  @Test(arguments: [
    ("shop.yaml", "  shop:\n    baseURL: https://shop.example/api/v1\n    token: ${{ secrets.SHOP_TOKEN }}\n"),
    ("pets.json", "  shop:\n    baseURL: https://pets.example/v2\n"),
  ])
  func `a connection is sketched`(_ fixture: String, _ expected: String) throws {
    #expect(OpenAPIKind.connectionSketch(try lock(fixture)) == expected)
  }

  @Test(arguments: [
    ("openapi: 3.0.0\nservers: [{ url: /api/v3/ }]", "made.yaml", "https://HOST/api/v3"),
    (
      "openapi: 3.0.0\nservers: [{ url: /api/v3 }]", "https://a.example:8443/x/openapi.yaml",
      "https://a.example:8443/api/v3"
    ),
    ("openapi: 3.0.0\nservers: [{ url: '..' }]", "https://a.example/x/y/openapi.yaml", "https://a.example/x"),
    ("openapi: 3.0.0\nservers: [{ url: 'https://b.example' }]", "https://a.example/openapi.yaml", "https://b.example"),
    ("openapi: 3.0.0", "made.yaml", "https://HOST"),
    ("openapi: 3.0.0", "http://127.0.0.1:9301/docs/openapi.yaml", "http://127.0.0.1:9301"),
    ("swagger: '2.0'", "https://a.example/api/spec.yaml", "https://a.example"),
    ("openapi: 3.0.0\nservers: [{ url: 'https://u:p@b.example' }]", "made.yaml", "https://HOST"),
    ("openapi: 3.0.0\nservers: [{ url: 'file:///etc' }]", "made.yaml", "https://HOST"),
    ("swagger: '2.0'\nbasePath: /v1.41", "made.yaml", "https://HOST/v1.41"),
    ("swagger: '2.0'\nhost: b.example\nschemes: [http]\nbasePath: x", "made.yaml", "http://b.example/x"),
  ])
  func `a service is where its document says`(_ text: String, _ source: String, _ expected: String) throws {
    let lock = try OpenAPIKind.lock(
      name: "made", document: Array("\(text)\npaths: { /a: { get: {} } }".utf8), source: source, only: [], effects: [:],
      file: "x")
    #expect(OpenAPIKind.connectionSketch(lock) == "  made:\n    baseURL: \(expected)\n")
  }
}
