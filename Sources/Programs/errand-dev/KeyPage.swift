import ActionKit
import Basics
import Recipes

// The reference page of the keys of recipes, of their tests and of `errand.yaml`. All of it is read from the schemas that
// editors use.

private let introduction = """
  # Keys

  Every key of a recipe, of a test file and of `errand.yaml`, in the words that editors show. The
  [recipe reference](recipes.md) explains the most important ones; `errand schema` prints the schemas.

  """

/// The sections of the page, each a definition of the schema.
private let sections: [(title: String, schema: FileSchema, definition: String)] = [
  ("Recipe", .recipe, "recipe"), ("Input", .recipe, "input"), ("Entry of `on`", .recipe, "trigger"),
  ("Step", .recipe, "step"), ("`retry`", .recipe, "retry"), ("`timeout`", .recipe, "timeout"),
  ("Test file", .test, "testFile"), ("Case", .test, "case"), ("Item of `do`", .test, "happening"),
  ("`approve` and `reject` of a test", .test, "decision"), ("`expect`", .test, "expectation"),
  ("`errand.yaml`", .errand, "configuration"),
]

/// The page.
func keyPage(_ catalog: ActionCatalog) -> String {
  introduction
    + sections.map { section in
      let definitions = section.schema.document(catalog)["definitions"] ?? .null
      let table = KeyTable(definitions: definitions)
      return "\n## \(section.title)\n\n| Key | Meaning | Values |\n| --- | --- | --- |\n"
        + table.rows(of: definitions[section.definition] ?? .null, path: "")
    }.joined()
}

/// The rows of a definition's table.
private struct KeyTable {
  let definitions: Value

  func rows(of schema: Value, path: String) -> String {
    (fields(of: schema)?.members ?? []).map { member in
      let key = path + (member.name ?? "")
      let target = resolved(member.value)
      let meaning = (member.value["description"] ?? target["description"])?.string ?? ""
      let named = member.value["additionalProperties"].map { rows(of: $0, path: "\(key).NAME.") } ?? ""
      return "| `\(key)` | \(cell(meaning)) | \(cell(values(member.value, target))) |\n"
        + rows(of: member.value, path: "\(key).") + named
    }.joined()
  }

  /// The keys of an object, which may be one of several forms.
  private func fields(of schema: Value) -> ValueMap? {
    let forms = [schema, schema["then"] ?? .null, schema["else"] ?? .null] + (schema["anyOf"]?.list ?? [])
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

  private func cell(_ text: String) -> String { text.replacing("|", with: "\\|").replacing("\n", with: " ") }
}
