import Basics
import Testing

@testable import Agent

/// The schemas of the outputs of tools.
@Suite struct ServedToolsTests {
  private static let person = ValueType.object(
    ObjectType(fields: [
      .init("name", .string, summary: "Who it is."), .init("age", .int, isOptional: true),
      .init("note", .optional(.string)),
      .init("more", .dyn), .init("seen", .wrapper(.bool)),
    ]))

  @Test(arguments: [
    (ValueType.int, #"{"type":"integer"}"#), (.uint, #"{"type":"integer","minimum":0}"#),
    (.double, #"{"type":["number","string"],"pattern":"^(NaN|-?Infinity)$"}"#),
    (.timestamp, #"{"type":"string","format":"date-time"}"#), (.duration, #"{"type":"string"}"#),
    (.bytes, #"{"type":"string"}"#), (.choice(["a", "b"]), #"{"type":"string"}"#), (.dyn, "{}"),
    (.null, #"{"type":"null"}"#),
    (.optional(.int), #"{"type":["integer","null"]}"#), (.optional(.dyn), "{}"),
    (.optional(.optional(.bool)), #"{"type":["boolean","null"]}"#),
    (.list(.bool), #"{"type":"array","items":{"type":"boolean"}}"#),
    (.map(.string, .int), #"{"type":"object","additionalProperties":{"type":"integer"}}"#),
    (
      .opaque("mixed", [.int, .list(.string)]),
      #"{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}"#
    ),
    (
      .optional(.opaque("mixed", [.int, .bool])),
      #"{"anyOf":[{"anyOf":[{"type":"integer"},{"type":"boolean"}]},{"type":"null"}]}"#
    ),
    (.opaque("mixed", [.int, .dyn]), "{}"), (.opaque("other", []), "{}"), (.type(.int), #"{"type":"string"}"#),
    (
      person,
      #"{"type":"object","properties":{"name":{"type":"string","description":"Who it is."},"age":{"type":["integer","null"]},"#
        + #""note":{"type":["string","null"]},"more":{},"seen":{"type":["boolean","null"]}},"required":["name"]}"#
    ),
  ])
  func `every type has a schema`(_ type: ValueType, _ schema: String) {
    #expect(JSON.displayed(.map(type.jsonSchema)) == schema)
  }

  @Test func `a type that is nested deep is described as far as is read`() {
    var type = ValueType.int
    for _ in 0..<10_000 { type = .list(type) }
    let schema = JSON.displayed(.map(type.jsonSchema))
    #expect(schema.split(separator: "array").count == 33 && schema.contains(#""items":{}"#))
  }
}
