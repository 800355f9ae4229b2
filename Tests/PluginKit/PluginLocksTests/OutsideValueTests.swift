import ActionKit
import Basics
import PluginLocks
import Testing

/// A service's answers, fitted to a schema.
struct OutsideValueTests {
  private static let schema = ObjectSchema(fields: [
    FieldSchema("n", .int, ""), FieldSchema("any", .dyn, "", isOptional: true),
    FieldSchema("at", .timestamp, "", isOptional: true), FieldSchema("d", .double, "", isOptional: true),
    FieldSchema("u", .uint, "", isOptional: true), FieldSchema("map", .map(.int), "", isOptional: true),
    FieldSchema("list", .list(.int), "", isOptional: true),
  ])

  @Test(arguments: [
    (#"{"n": 1}"#, #"{"n":1}"#), (#"{"n": 1.0}"#, #"{"n":1}"#), (#"{"n": 1, "more": 2}"#, #"{"n":1}"#),
    (#"{"n": null}"#, "{}"), (#"{"n": 1, "any": null}"#, #"{"n":1,"any":null}"#),
    (#"{"n": 1, "at": null}"#, #"{"n":1}"#),
    (#"{"n": 1, "d": 2}"#, #"{"n":1,"d":2.0}"#),
    (#"{"n": 1, "d": 123456789012345678901234567890}"#, #"{"n":1,"d":1.2345678901234568e+29}"#),
    (#"{"n": 1, "d": 18446744073709551615}"#, #"{"n":1,"d":1.8446744073709552e+19}"#),
    (#"{"n": 1, "u": 18446744073709551615}"#, #"{"n":1,"u":18446744073709551615}"#),
    (#"{"n": 1, "u": 7}"#, #"{"n":1,"u":7}"#), (#"{"n": 1, "more": 1e400}"#, #"{"n":1}"#),
    (#"{"n": 1, "map": {"a": 1, "b": null}}"#, #"{"n":1,"map":{"a":1}}"#),
    (#"{"n": 1, "at": "2026-11-20T10:30:00+01:00"}"#, #"{"n":1,"at":"2026-11-20T09:30:00Z"}"#),
  ])
  func `what can be taken is`(_ value: String, _ expected: String) throws {
    #expect(JSON.displayed(try Self.schema.taking(JSON.parse(value), as: "")) == expected)
  }

  @Test(arguments: [
    ("{}", "'n' is missing (int)"), (#"{"n": 1.5}"#, "'n' must be an int, but found a double"),
    (#"{"n": "1"}"#, "'n' must be an int, but found '1'"),
    (#"{"n": 18446744073709551615}"#, "'n' must be an int, but found 18446744073709551615"),
    (#"{"n": 123456789012345678901234567890}"#, "'n' must be an int, but found 1.2345678901234568e+29"),
    (#"{"n": 1, "u": -1}"#, "'u' must be a uint, but found -1"),
    (#"{"n": 1, "d": 1e400}"#, "'d' must be a double, but found inf"),
    ("[]", "'body' must be a map of fields, but found a list"),
    (#"{"n": 1, "list": [1, null]}"#, "'list[1]' must be an int, but found null"),
    (#"{"n": 1, "map": {"a": []}}"#, "'map.a' must be an int, but found a list"),
    (#"{"n": 1, "at": "soon"}"#, "'at' must be a timestamp such as 2026-11-20T09:30:00Z, but found 'soon'"),
  ])
  func `what can't is an error that names the place`(_ value: String, _ message: String) throws {
    let error = try #require(throws: ValueError.self) {
      try Self.schema.taking(JSON.parse(value), as: value == "[]" ? "body" : "")
    }
    #expect(error.description == message)
  }
}
