package import ActionKit
import Basics

// The keys of recipes, of their tests and of `errand.yaml`, for pages and manuals. All of it is read from the schemas
// that editors use.

/// The keys of one kind of mapping.
package struct KeyReference: Sendable {
  /// One key, with its meaning and values.
  package struct Key: Sendable {
    /// The key after the keys around it: `timeout.total`.
    package var name: String
    package var meaning: String
    /// The choices, the bounds and the default; empty if there are none.
    package var values: String
  }

  /// The heading that describes the mapping.
  package var title: String
  /// The kind of file that has the mapping.
  package var schema: FileSchema
  package var keys: [Key]

  /// The examples of its keys, in the order of the keys.
  package var examples: [KeyExample] { KeyExample.all.filter { $0.part == title } }

  /// The mappings, each a definition of a schema, in the order of the pages.
  private static let parts: [(title: String, schema: FileSchema, definition: String)] = [
    ("Recipe", .recipe, "recipe"), ("Input", .recipe, "input"), ("Entry of `on`", .recipe, "trigger"),
    ("Item of `answer`", .recipe, "answer"), ("Step", .recipe, "step"), ("Field of `ask`", .recipe, "field"),
    ("Case of `else` and `switch`", .recipe, "caseOfSteps"), ("`retry`", .recipe, "retry"),
    ("`timeout`", .recipe, "timeout"),
    ("Test file", .test, "testFile"), ("Case", .test, "case"), ("Item of `do`", .test, "happening"),
    ("`approve` and `reject` of a test", .test, "decision"), ("`expect`", .test, "expectation"),
    ("`errand.yaml`", .errand, "configuration"), ("`limits` of a connection", .errand, "limits"),
  ]

  /// All keys of files that use these plugins.
  package static func all(_ catalog: ActionCatalog) -> [KeyReference] {
    let documents = Dictionary(uniqueKeysWithValues: FileSchema.allCases.map { ($0, $0.document(catalog)) })
    return parts.map { part in
      let definitions = documents[part.schema]?["definitions"] ?? .null
      let keys = KeyReader(definitions: definitions).keys(of: definitions[part.definition] ?? .null, path: "")
      return KeyReference(title: part.title, schema: part.schema, keys: keys)
    }
  }
}

/// Reads the keys of a definition.
private struct KeyReader {
  let definitions: Value

  func keys(of schema: Value, path: String) -> [KeyReference.Key] {
    (fields(of: schema)?.members ?? []).flatMap { member in
      let key = path + (member.name ?? "")
      let target = resolved(member.value)
      let meaning = (member.value["description"] ?? target["description"])?.string ?? ""
      let named = member.value["additionalProperties"].map { keys(of: $0, path: "\(key).NAME.") } ?? []
      return [KeyReference.Key(name: key, meaning: meaning, values: values(member.value, target))]
        + keys(of: member.value, path: "\(key).") + named
    }
  }

  /// The keys of an object, which may be one of several forms.
  private func fields(of schema: Value) -> ValueMap? {
    let forms =
      [schema, schema["then"] ?? .null, schema["else"] ?? .null, schema["else"]?["then"] ?? .null]
      + (schema["anyOf"]?.list ?? [])
    return forms.lazy.compactMap { $0["properties"]?.map }.first
  }

  /// The target of a reference.
  private func resolved(_ schema: Value) -> Value {
    guard let name = schema["$ref"]?.string?.split(separator: "/").last else { return schema }
    return definitions[String(name)] ?? .null
  }

  /// The choices, the bounds and the default of a key.
  private func values(_ schema: Value, _ target: Value) -> String {
    var parts: [String] = []
    if let choices = (schema["enum"] ?? target["enum"])?.list {
      parts.append(choices.map { "`\(text(of: $0))`" }.joined(separator: ", "))
    }
    if let least = schema["minimum"], let most = schema["maximum"] {
      parts.append("\(text(of: least)) to \(text(of: most))")
    }
    if let standard = schema["default"] ?? target["default"] { parts.append("default `\(text(of: standard))`") }
    return parts.joined(separator: "; ")
  }

  private func text(of value: Value) -> String { value.string ?? (try? JSON.text(value)) ?? "" }
}
