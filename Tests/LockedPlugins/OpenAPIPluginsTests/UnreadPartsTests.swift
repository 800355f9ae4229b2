import ActionKit
import Basics
import PluginLocks
import Testing

@testable import OpenAPIPlugins

/// Unreadable parts are left out and named, and never become an action with fewer inputs than its operation.
@Suite struct UnreadPartsTests {
  private static let required = "in: query, required: true, schema: { type: string }"

  @Test(arguments: [
    // Operations.
    ("post: { $ref: '#/info' }", "POST /b: it refers to '#/info', which isn't an operation"),
    ("post: { $ref: '#/x/Schema' }", "POST /b: it refers to '#/x/Schema', which isn't an operation"),
    ("post: { $ref: '#/paths/~1ok' }", "POST /b: it refers to '#/paths/~1ok', which isn't an operation"),
    ("post: { $ref: '#' }", "POST /b: it refers to '#', which isn't an operation"),
    ("post: { $ref: '#/x/nothing' }", "POST /b: it refers to '#/x/nothing', which leads to nothing in the document"),
    ("post: { $ref: '#/x/round' }", "POST /b: it refers to '#/x/round', which leads to nothing in the document"),
    ("post: { $ref: 12 }", "POST /b: it refers to '12', which leads to nothing in the document"),
    ("post: { type: object, properties: { a: {} } }", "POST /b: it isn't an operation"),
    ("post: [1]", "POST /b: it isn't an operation"),
    ("GET: { operationId: b }", "GET /b: a method is written in lowercase letters"),
    ("additionalOperations: { LINK: { operationId: b } }", "LINK /b: an action can't have its method"),
    ("gett: { responses: {} }", "gett /b: an action can't have its method"),
    ("$ref: '#/x/Schema'", "/b: it has no operations, but 'type'"),
    // Lists of parameters.
    ("post: { parameters: { q: { \(required) } } }", "POST /b: its parameters aren't a list"),
    ("post: { parameters: { name: q, \(required) } }", "POST /b: its parameters aren't a list"),
    ("post: { parameters: q }", "POST /b: its parameters aren't a list"),
    ("parameters: 3, post: {}", "POST /b: its parameters aren't a list"),
    ("post: { parameters: { $ref: '#/x/Schema' } }", "POST /b: its parameters aren't a list"),
    (
      "post: { parameters: { $ref: '#/x/nothing' } }",
      "POST /b: its list of parameters refers to '#/x/nothing', which leads to nothing in the document"
    ),
    ("post: { parameters: [q] }", "POST /b: one of its parameters isn't an object"),
    // Parameters that must be given.
    (
      "post: { parameters: [{ name: q, in: Query, required: true }] }",
      "POST /b: the parameter 'q' must be given, but its 'in' can't be 'Query'"
    ),
    (
      "post: { parameters: [{ name: q, in: qeury, required: 'yes' }] }",
      "POST /b: the parameter 'q' must be given, but its 'in' can't be 'qeury'"
    ),
    (
      "post: { parameters: [{ name: q, in: body, required: true }] }",
      "POST /b: the parameter 'q' must be given, but its 'in' can't be 'body'"
    ),
    (
      "post: { parameters: [{ name: q, in: formData, required: true }] }",
      "POST /b: the parameter 'q' must be given, but its 'in' can't be 'formData'"
    ),
    (
      "post: { parameters: [{ name: q, required: true }] }",
      "POST /b: the parameter 'q' must be given, but it has no 'name' or no 'in'"
    ),
    (
      "post: { parameters: [{ name: q, in: cookie, required: true }] }",
      "POST /b: the parameter 'q' must be given, but it is a cookie"
    ),
    (
      "post: { parameters: [{ name: q, in: path, required: true }] }",
      "POST /b: the path doesn't have its parameter 'q'"
    ),
    ("post: { requestBody: [1] }", "POST /b: its body isn't an object"),
  ])
  func `an operation that can't be read whole is left out`(_ item: String, _ expected: String) throws {
    let found = try Self.read(item)
    #expect(found.leftOut == [expected])
    #expect(found.actions == ["getOk: "])
  }

  @Test(arguments: [
    ("get: { parameters: [null] }", "getB:  → dyn", "a parameter of GET /b: it is null"),
    (
      "get: { parameters: [{ name: q, in: qeury }] }", "getB:  → dyn",
      "the parameter 'q' of GET /b: its 'in' can't be 'qeury'"
    ),
    (
      "get: { parameters: [{ name: q, in: query, required: 'yes', schema: { type: string } }] }", "getB: q? string",
      "'required' of the parameter 'q' of GET /b: it can't be 'yes', and is taken as false"
    ),
    (
      "get: { responses: { '200': null } }", "getB:  → dyn",
      "the answer 200 of GET /b: it isn't an answer, and is taken as anything"
    ),
    (
      "get: { responses: { '200': { content: x } } }", "getB:  → dyn",
      "the answer 200 of GET /b: its content isn't a map, and is taken as anything"
    ),
    (
      "get: { responses: { '200': { content: { application/json: x } } } }", "getB:  → dyn",
      "the answer 200 of GET /b: its content isn't an object, and is taken as anything"
    ),
    ("get: { responses: [1] }", "getB:  → dyn", "the answers of GET /b: they aren't a map"),
    (
      "get: { responses: { '200': { content: { application/json: { schema: x } } } } }", "getB:  → dyn",
      "'body' of the answer of GET /b: 'x' isn't a schema, and is taken as anything"
    ),
    (
      "get: { parameters: [{ name: q, in: query, schema: { type: strng } }] }", "getB: q? dyn",
      "'q' of GET /b: 'strng' isn't a type, and is taken as anything"
    ),
    (
      "put: { requestBody: { content: { application/json: { schema: { properties: { a: { items: 7, type: [a] } } } } } } }",
      "putB: body? {a?: dyn}", "'body.a' of PUT /b: 'a' isn't a type, and is taken as anything"
    ),
    (
      "put: { requestBody: { content: { application/json: { schema: { $ref: '#/x/Odd' } } } } }",
      "putB: body? {a?: dyn}", "'a' of #/x/Odd: 'strng' isn't a type, and is taken as anything"
    ),
    (
      "put: { requestBody: { content: { application/json: { schema: { type: object, properties: [1] } } } } }",
      "putB: body? dyn", "'body' of PUT /b: 'properties' isn't a map, and is taken as anything"
    ),
    (
      "put: { requestBody: { content: { application/json: { schema: { $ref: 12 } } } } }", "putB: body? dyn",
      "'body' of PUT /b: '$ref' can't be 12, and is taken as anything"
    ),
  ])
  func `a part that can't be read is named, and costs nothing else`(
    _ item: String, _ action: String, _ expected: String
  ) throws {
    let found = try Self.read(item)
    #expect(found.leftOut == [expected])
    #expect(found.actions.filter { !$0.hasPrefix("getOk") } == [action])
  }

  @Test func `a path that names a part otherwise than its parameter has both told`() throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a/{id}: { get: { parameters: [{ name: ID, in: path, required: true }] } }
          /a?kind=b: { put: { parameters: [{ name: kind, in: query }, { name: q, in: query }] } }
        """)
    #expect(try lock.action("getAById")?.input.fields.map(\.name) == ["id"])
    #expect(try lock.action("putAKindB")?.input.fields.map(\.name) == ["q"])
    #expect(
      lock.leftOut.map { "\($0.part): \($0.reason)" } == [
        "the parameter 'ID' of GET /a/{id}: the path doesn't have it",
        "the parameter 'kind' of PUT /a?kind=b: the path has its value",
      ])
  }

  /// The actions of a path item, and the parts left out.
  ///
  /// Each action is listed with its inputs, and with `→ dyn` if the type of its output is unknown.
  private static func read(_ item: String) throws -> (actions: [String], leftOut: [String]) {
    let lock = try OpenAPIPluginsTests.lock(
      of: """
        openapi: 3.1.0
        info: { title: T, version: '1', description: D }
        paths:
          /ok: { get: { responses: { '204': {} } } }
          /b: { \(item) }
        x:
          Schema: { type: object, properties: { a: { type: string } } }
          Odd: { properties: { a: { type: strng } } }
          round: { $ref: '#/x/round' }
        """)
    let actions = try lock.actionNames.compactMap { try lock.action($0) }.map { action in
      let input = action.input.fields.map { "\($0.name)\($0.isOptional ? "?" : "") \($0.type.described)" }
      let isUnknown = action.effect == .read && action.output.field(named: "body")?.type.isDynamic == true
      let isAnswered = action.input.fields.isEmpty && action.call["path"]?.string == "/b"
      return "\(action.name): \(input.joined(separator: ", "))" + (isUnknown && isAnswered ? " → dyn" : "")
    }
    return (actions, lock.leftOut.map { "\($0.part): \($0.reason)" })
  }

  // MARK: Fields of alternatives

  private static let alternatives =
    "oneOf: [{ properties: { a: { type: string } }, required: [a] }, { properties: { b: { type: integer } } }]"

  @Test(arguments: [
    ("type: object, \(alternatives)", "dyn", "dyn"),
    ("properties: { k: { type: string } }, \(alternatives)", "dyn", "dyn"),
    ("allOf: [{ properties: { k: { type: string } } }], \(alternatives)", "dyn", "dyn"),
    ("allOf: [{ properties: { k: { type: string } } }, { \(alternatives) }]", "dyn", "dyn"),
    ("properties: { k: { type: string } }, dependentSchemas: { k: { properties: { d: {} } } }", "dyn", "dyn"),
    ("properties: { k: { type: string } }, if: {}, then: { properties: { d: {} } }", "dyn", "dyn"),
    // Alternatives that only say which fields go together.
    ("properties: { a: { type: string }, b: { type: integer } }, \(alternatives)", "{a?: string, b?: int}", "same"),
    ("properties: { k: { type: string } }, anyOf: [{ required: [k] }, {}]", "{k?: string}", "same"),
    // Names that aren't known.
    ("properties: { k: { type: string } }, additionalProperties: true", "dyn", "{k?: string}"),
    ("properties: { k: { type: string } }, additionalProperties: { type: integer }", "dyn", "{k?: string}"),
    ("properties: { k: { type: string } }, patternProperties: { '^x': {} }", "dyn", "{k?: string}"),
    ("properties: { k: { type: string } }, additionalProperties: false", "{k?: string}", "same"),
    ("patternProperties: { '^x': {} }, type: object, additionalProperties: false", "map(dyn)", "same"),
    // Names that must be given, and that nothing describes.
    ("properties: { k: { type: string } }, required: [z, k]", "{k: string, z: dyn}", "{k: string}"),
    (
      "allOf: [{ properties: { k: {} }, required: [k, n] }, { properties: { n: { type: integer } } }]",
      "{k: dyn, n: int}", "{k: dyn, n: int}"
    ),
    ("allOf: [{ properties: { k: {} } }, { required: [z] }]", "{z: dyn, k?: dyn}", "{k?: dyn}"),
  ])
  func `no field that a body may have is lost`(_ schema: String, _ given: String, _ got: String) throws {
    let content = "content: { application/json: { schema: { \(schema) } } }"
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths: { /a: { put: { requestBody: { \(content) }, responses: { '200': { \(content) } } } } }
        """)
    let action = try #require(try lock.action("putA"))
    #expect(action.input.field(named: "body")?.type.described == given)
    #expect(action.output.field(named: "body")?.type.described == (got == "same" ? given : got))
    #expect(lock.leftOut.isEmpty)
  }
}
