import ActionKit
import Basics
import PluginLocks
import Testing

struct SchemaReaderTests {
  private static func type(_ schema: String, _ side: SchemaReader.Side = .got) throws -> String {
    let document = try JSON.parse(schema)
    var reader = SchemaReader(document, for: side)
    let field = reader.field("x", document, isRequired: true)
    return field.type.described + (field.isOptional ? "?" : "")
  }

  @Test(arguments: [
    (#"{"type": "string"}"#, "string"),
    (#"{"type": "string", "format": "date-time"}"#, "timestamp"),
    (#"{"type": ["string", "null"], "format": "date"}"#, "date?"),
    (#"{"type": "string", "nullable": true}"#, "string?"),
    (#"{"anyOf": [{"type": "integer"}, {"type": "null"}]}"#, "int?"),
    (#"{"oneOf": [{"type": "integer"}, {"type": "number"}]}"#, "double"),
    (#"{"anyOf": [{"type": "integer"}, {"type": "string"}]}"#, "dyn"),
    (#"{"enum": ["a", "b", "a", null]}"#, "choice(a, b)?"),
    (#"{"type": "integer", "format": "uint64"}"#, "uint"), (#"{"type": "integer", "format": "int64"}"#, "int"),
    (#"{"anyOf": [{"type": "integer", "format": "uint64"}, {"type": "number"}]}"#, "double"),
    (#"{"enum": [1, 2]}"#, "int"), (#"{"const": 3}"#, "int"),
    (#"{"const": "x"}"#, "choice(x)"),
    (#"{"type": "array", "items": {"type": "boolean"}}"#, "list(bool)"),
    (#"{"type": "array", "items": {"type": ["boolean", "null"]}}"#, "list(dyn)"),
    (#"{"type": "object", "additionalProperties": {"type": "integer"}}"#, "map(int)"),
    (#"{"type": "object"}"#, "map(dyn)"),
    (#"{"type": "object", "additionalProperties": {"type": "integer", "nullable": true}}"#, "map(int)"),
    (#"{"type": "object", "additionalProperties": {"type": "object", "enum": [{}]}}"#, "map({})"),
    ("{}", "dyn"), ("true", "dyn"), ("[]", "dyn"), (#"{"type": 3}"#, "dyn"),
    (
      #"{"required": ["b"], "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}"#, "{b: int, a?: string}"
    ),
    (
      #"{"allOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["a"]}, {"properties": {"b": {}}}]}"#,
      "{a: string, b?: dyn}"
    ),
    (#"{"allOf": [{"type": "string"}, {"description": "x"}]}"#, "string"),
    (##"{"$ref": "#/d/T", "d": {"T": {"properties": {"next": {"$ref": "#/d/T"}}}}}"##, "{next?: dyn}"),
    (##"{"$ref": "#/d/T", "d": {"T": {"$ref": "#/d/T"}}}"##, "dyn"),
    (##"{"$ref": "other.json#/T"}"##, "dyn"),
    (
      #"{"properties": {"r": {"type": "string", "readOnly": true}, "w": {"type": "string", "writeOnly": true}}}"#,
      "{r?: string}"
    ),
  ])
  func `a schema has the type that its values have`(schema: String, expected: String) throws {
    #expect(try Self.type(schema) == expected)
  }

  @Test(arguments: [
    // The nearest double of the first is the least int64, which limits nothing either.
    (#""type":"integer","minimum":-9223372036854776000,"maximum":9223372036854776000"#, "min -9223372036854775808"),
    (#""type":"integer","minimum":123456789012345678901234567890"#, ""), (#""type":"integer","maximum":1e400"#, ""),
    (#""type":"integer","minimum":1.0,"maximum":18446744073709551615"#, "min 1"),
    (#""type":"integer","exclusiveMinimum":9223372036854775807"#, ""),
    (#""type":"integer","exclusiveMaximum":5"#, "max 4"),
    (#""type":"integer","minimum":3,"exclusiveMinimum":true"#, "min 4"),
    (#""type":"integer","format":"uint64","maximum":18446744073709551615,"minimum":-1"#, "max 18446744073709551615"),
    (#""type":"integer","enum":[1,123456789012345678901234567890]"#, ""),
    (#""type":"integer","enum":[3,1,null]"#, "min 1 max 3"),
    (#""type":"number","minimum":-1e400,"maximum":5"#, "max 5.0"),
    (#""type":"string","minLength":1.0,"maxLength":18446744073709551616"#, "minLength 1"),
  ])
  func `a limit that the type can't hold is none`(_ schema: String, _ limits: String) throws {
    let document = try JSON.parse("{\(schema)}")
    var reader = SchemaReader(document, for: .given)
    let found = reader.field("x", document, isRequired: true).limits.map { limit in
      switch limit {
      case .atLeast(let bound): "min \(JSON.displayed(bound))"
      case .atMost(let bound): "max \(JSON.displayed(bound))"
      case .minLength(let length): "minLength \(length)"
      case .maxLength(let length): "maxLength \(length)"
      default: "?"
      }
    }
    #expect(found.joined(separator: " ") == limits)
  }

  @Test func `a list that may hold null may be given it`() throws {
    let schema = #"{"type": "array", "items": {"type": ["string", "null"]}}"#
    #expect(try Self.type(schema, .given) == "list(string|null)")
    #expect(try Self.type(schema, .got) == "list(dyn)")
  }

  @Test func `references that lead nowhere are told`() throws {
    let schema = try JSON.parse(
      ##"{"properties": {"a": {"$ref": "#/d/Tpyo"}, "b": {"$ref": "other.json"}, "c": {"$ref": "#/d/Tpyo"}, "d": {"$ref": "#"}}}"##
    )
    var reader = SchemaReader(schema, for: .got)
    _ = reader.field("x", schema, isRequired: true)
    #expect(reader.missing == ["#/d/Tpyo", "other.json"])
  }

  @Test func `what a service may be given has its limits, and no field that only it writes`() throws {
    let schema = try JSON.parse(
      #"""
      {"properties": {"n": {"type": "integer", "minimum": 1.0, "exclusiveMaximum": 10, "default": 5, "description": "How many. Or not."},
      "r": {"type": "string", "readOnly": true}, "t": {"type": "string", "minLength": 1, "maxLength": 3},
      "e": {"enum": [3, 2, null]}}}
      """#)
    var reader = SchemaReader(schema, for: .given)
    let read = reader.fields(schema)
    let fields = try #require(read)
    #expect(fields.map(\.name) == ["n", "t", "e"])
    #expect(fields[2].summary == "One of 3, 2.")
    #expect(fields[0].summary == "How many. Left out: 5.")
    let faults = ObjectSchema(fields: fields).check(try JSON.parse(#"{"n": 10, "t": "long", "e": 1}"#), as: "with")
    #expect(
      faults.map(\.message) == [
        "'with.n' must be at most 9, but is 10", "'with.t' must have at most 3 characters, but has 4",
        "'with.e' must be at least 2, but is 1",
      ])
  }

  @Test func `a bomb of shared references stays small`() throws {
    var types = ValueMap()
    for level in 0..<40 {
      let next = Value.object(["$ref": .string("#/d/T\(level + 1)")])
      types["T\(level)"] = .object(["properties": .object(["a": next, "b": next, "c": next])])
    }
    let document = Value.object(["d": .map(types)])
    var reader = SchemaReader(document, for: .got)
    let field = reader.field("x", .object(["$ref": .string("#/d/T0")]), isRequired: true)
    #expect(field.type.described.utf8.count < 200_000)
  }
}

extension FieldType {
  var described: String {
    switch self {
    case .object(let schema):
      "{\(schema.fields.map { "\($0.name)\($0.isOptional ? "?" : ""): \($0.type.described)" }.joined(separator: ", "))}"
    case .list(let element): "list(\(element.described))"
    case .map(let element): "map(\(element.described))"
    case .choice(let options): "choice(\(options.joined(separator: ", ")))"
    case .optional(let wrapped): "\(wrapped.described)|null"
    case .secret(let wrapped): wrapped.described
    default: name
    }
  }
}
