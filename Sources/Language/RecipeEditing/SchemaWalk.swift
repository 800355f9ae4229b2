import Basics
import Recipes
import Synchronization

/// Finds the schema for a node of a text that may be incomplete.
///
/// It follows the branches of the schema's conditions that the text has decided, and both branches if it hasn't decided
/// yet.
struct SchemaWalk {
  let outline: TextOutline
  private let document: Value
  private let definitions: Value

  /// Definitions refer to each other; no file is nested deeper than this.
  private static let deepest = 24

  init(_ document: Value, _ outline: TextOutline) {
    self.document = document
    self.outline = outline
    definitions = document["definitions"] ?? .null
  }

  /// The schemas for a node's value: all forms that it may have.
  func forms(of node: Int) -> [Value] {
    guard node != 0 else { return expanded(document, 0) }
    return declarations(of: node).flatMap { expanded($0, node) }
  }

  /// The schemas where a node is declared, before references are followed.
  func declarations(of node: Int) -> [Value] {
    var forms = expanded(document, 0)
    var declared: [Value] = []
    for step in outline.path(to: node) {
      declared = forms.compactMap { form in
        let next =
          outline.nodes[step].kind == .item
          ? form["items"]
          : form["properties"]?[outline.nodes[step].name] ?? form["additionalProperties"]
        return next?.map == nil ? nil : next
      }
      forms = declared.flatMap { expanded($0, step) }
    }
    return declared
  }

  /// The members that a mapping with some forms may have, by key; a key that several forms declare is listed once.
  func members(of forms: [Value]) -> [(name: String, schema: Value)] {
    var members: [(name: String, schema: Value)] = []
    for form in forms {
      for member in form["properties"]?.map?.members ?? [] {
        guard let name = member.name else { continue }
        // The later form is more specific: the members of an action come after the members of any step.
        if let index = members.firstIndex(where: { $0.name == name }) {
          if member.value["$ref"] != nil { members[index].schema = member.value }
        } else {
          members.append((name, member.value))
        }
      }
    }
    return members
  }

  /// Whether a key can't be added to a mapping with some forms and keys: nil if it can; false if it never can; true if
  /// it can after another key.
  func obstacle(to key: String, in forms: [Value], besides keys: [String]) -> Bool? {
    for form in forms {
      // An alternative with `maxProperties` is a key that may be the only one, but it also goes with others.
      let kinds = (form["oneOf"]?.list ?? []).filter { $0["maxProperties"] == nil }
        .compactMap { $0["required"]?.list?.first?.string }
      if kinds.contains(key), keys.contains(where: { kinds.contains($0) && $0 != key }) { return false }
      if let needed = form["dependencies"]?[key] {
        let alternatives =
          needed["anyOf"]?.list?.compactMap { $0["required"]?.list?.first?.string }
          ?? needed.list?.compactMap(\.string) ?? []
        if !alternatives.contains(where: keys.contains) {
          // The key never fits if it requires another kind of mapping than this one.
          return !keys.contains(where: kinds.contains) || !alternatives.contains(where: kinds.contains)
        }
      }
    }
    return nil
  }

  /// The number of keys that a key depends on.
  func companions(of key: String, in forms: [Value]) -> Int {
    let needed = forms.lazy.compactMap { $0["dependencies"]?[key] }.first
    return needed?["anyOf"]?.list?.count ?? needed?.list?.count ?? 0
  }

  func isRequired(_ key: String, in forms: [Value]) -> Bool {
    forms.contains { $0["required"]?.list?.contains { $0.string == key } ?? false }
  }

  // MARK: Forms

  /// The schema and the schemas that it refers to or includes, without references and conditions.
  ///
  /// - Parameter node: The node that they describe; nil for a node that doesn't exist yet.
  func expanded(_ schema: Value, _ node: Int?) -> [Value] {
    var forms: [Value] = []
    var open = [(schema, 0)]
    while let (schema, depth) = open.popLast(), forms.count < 512 {
      guard depth < SchemaWalk.deepest else { continue }
      if let name = schema["$ref"]?.string?.split(separator: "/").last, let target = definitions[String(name)] {
        open.append((target, depth + 1))
        continue
      }
      forms.append(schema)
      var next = (schema["allOf"]?.list ?? []) + (schema["anyOf"]?.list ?? [])
      if let condition = schema["if"] {
        let holds = node.flatMap { decides(condition, $0) }
        if holds != false, let then = schema["then"] { next.append(then) }
        if holds != true, let other = schema["else"] { next.append(other) }
      }
      open += next.reversed().map { ($0, depth + 1) }
    }
    return forms
  }

  /// Whether one of some schemas, or one of their alternatives, refers to a definition.
  func refers(_ schemas: [Value], to name: String) -> Bool {
    var open = schemas.map { ($0, 0) }
    while let (schema, depth) = open.popLast() {
      let target = schema["$ref"]?.string?.split(separator: "/").last.map(String.init)
      if target == name { return true }
      guard depth < SchemaWalk.deepest else { continue }
      let next =
        (schema["anyOf"]?.list ?? [])
        + [schema["then"], schema["else"], target.flatMap { definitions[$0] }].compactMap(\.self)
      open += next.map { ($0, depth + 1) }
    }
    return false
  }

  /// Whether a condition of the schema is true for a node; nil if the text doesn't decide it yet.
  private func decides(_ condition: Value, _ node: Int) -> Bool? {
    if let required = condition["required"]?.list?.compactMap(\.string) {
      guard required.allSatisfy({ outline.child($0, of: node) != nil }) else { return false }
    }
    for member in condition["properties"]?.map?.members ?? [] {
      guard let name = member.name, let child = outline.child(name, of: node) else { return false }
      let text = outline.scalar(child)
      let words = (member.value["enum"]?.list ?? [member.value["const"] ?? .null]).compactMap(\.string)
      if !words.contains(text) { return false }
    }
    if let type = condition["type"]?.string {
      guard let found = kind(of: node) else { return nil }
      return found == type
    }
    return true
  }

  /// The JSON type of a node's value; nil if there is no value yet.
  private func kind(of node: Int) -> String? {
    if let first = outline.nodes[node].children.first {
      return outline.nodes[first].kind == .item ? "array" : "object"
    }
    switch outline.text(outline.nodes[node].value).first {
    case "{": return "object"
    case "[": return "array"
    case nil: return nil
    default: return "string"
    }
  }

  // MARK: Words

  /// The type that a schema describes, in a word or two; empty if it names none.
  func typeName(_ schema: Value) -> String {
    if let name = schema["$ref"]?.string?.split(separator: "/").last.map(String.init) {
      if name.hasPrefix("with.") { return "mapping" }
      switch name {
      case "name", "zone", "duration", "instant", "expression", "template": return name
      case "steps": return "list"
      default: return definitions[name].map { typeName($0) } ?? ""
      }
    }
    if let words = schema["enum"]?.list {
      return words.prefix(6).map(\.plainText).joined(separator: " | ") + (words.count > 6 ? " | …" : "")
    }
    if let word = schema["const"]?.string { return word }
    if let forms = schema["anyOf"]?.list, let first = forms.first {
      // A choice of several words has no type name.
      return forms.count > 1 && first["const"] != nil ? "" : typeName(first)
    }
    if schema["if"] != nil, let other = schema["then"] ?? schema["else"] { return typeName(other) }
    switch schema["type"]?.string ?? schema["type"]?.list?.first?.string {
    case "object": return "mapping"
    case "array": return "list"
    case "integer": return "int"
    case "boolean": return "bool"
    case "number": return "double"
    case let type: return type ?? (schema["properties"] == nil ? "" : "mapping")
    }
  }

  /// The description of a key, from its declaration or from its form.
  func meaning(_ schema: Value) -> String {
    if let text = schema["description"]?.string { return text }
    if let name = schema["$ref"]?.string?.split(separator: "/").last, let target = definitions[String(name)] {
      return target["description"]?.string ?? ""
    }
    return ""
  }

  /// The words that a value may be, with their descriptions.
  func words(_ forms: [Value]) -> [(word: String, meaning: String)] {
    var words: [(word: String, meaning: String)] = []
    for form in forms {
      let found: [(String, String)]
      if let list = form["enum"]?.list {
        let meanings = form["enumDescriptions"]?.list ?? []
        found = list.enumerated().map { index, word in
          (word.plainText, meanings.indices.contains(index) ? meanings[index].plainText : "")
        }
      } else if let word = form["const"] {
        found = [(word.plainText, form["description"]?.string ?? "")]
      } else if form["type"]?.string == "boolean" || form["type"]?.list.map({ $0.first == .string("boolean") }) ?? false
      {
        found = [("true", ""), ("false", "")]
      } else {
        found = []
      }
      for word in found where !words.contains(where: { $0.word == word.0 }) { words.append(word) }
    }
    return words
  }
}

/// The schemas, each made when it is first needed.
final class SchemaShelf: Sendable {
  private let made = Mutex<[String: Value]>([:])
  private let make: @Sendable (String) -> Value

  init(_ make: @escaping @Sendable (String) -> Value) { self.make = make }

  subscript(name: String) -> Value {
    made.withLock { made in
      if let schema = made[name] { return schema }
      let schema = make(name)
      made[name] = schema
      return schema
    }
  }
}
