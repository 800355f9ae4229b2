import ActionKit
import Basics

/// The types of inputs: `int double bool string bytes timestamp duration list(T) map(string, T)`, and objects.
///
/// An object is a mapping from field names to types, where a `?` at the end of the type makes the field optional; a
/// list of objects is a YAML list of that one mapping:
///
///     type: [{ name: string, marks: list(double), note: string? }]
struct TypeReader {
  let findings: Findings

  /// The type, or nil with an error.
  func read(_ value: Value, of what: String) -> FieldType? { read(value, of: what, depth: 0)?.type }

  private func read(_ value: Value, of what: String, depth: Int) -> (type: FieldType, isOptional: Bool)? {
    switch value.content {
    case .string(let text):
      var rest = text.filter { $0 != " " }[...]
      let isOptional = depth > 0 && rest.hasSuffix("?")
      if isOptional { rest = rest.dropLast() }
      if let type = parse(rest, depth: 0) { return (type, isOptional) }
      let word = TypeReader.otherNames[text] ?? text.nearest(among: TypeReader.words)
      findings.error("'\(text)' isn't a type; \(word.map { "did you mean '\($0)'?" } ?? TypeReader.list)", at: value)
      return nil
    case .list(let items):
      guard items.count == 1, let item = items.first else {
        findings.error("\(what), written as a list, takes one item: the type of its elements", at: value)
        return nil
      }
      return read(item, of: what, depth: depth + 1).map { (.list($0.type), false) }
    case .map(let map):
      var fields: [FieldSchema] = []
      for member in map.members {
        guard let name = findings.text(member.key, of: "the field"),
          let (type, isOptional) = read(member.value, of: what, depth: depth + 1)
        else { continue }
        fields.append(FieldSchema(name, type, "", isOptional: isOptional))
      }
      return (.object(ObjectSchema(fields: fields)), false)
    default:
      findings.error("\(what) is a word or a mapping, but found \(value.kindName); \(TypeReader.list)", at: value)
      return nil
    }
  }

  private static let list =
    "types are int, double, bool, string, bytes, timestamp, duration, list(T), map(string, T), and mappings of names to "
    + "types"
  /// What other languages call the types.
  private static let otherNames = [
    "integer": "int", "number": "double", "float": "double", "boolean": "bool", "text": "string", "str": "string",
    "date": "timestamp", "datetime": "timestamp", "time": "timestamp", "array": "list(string)",
    "object": "map(string, string)",
  ]
  private static let words = ["int", "double", "bool", "string", "bytes", "timestamp", "duration", "list(string)"]

  private func parse(_ text: Substring, depth: Int) -> FieldType? {
    switch text {
    case "int": .int
    case "double": .double
    case "bool": .bool
    case "string": .string
    case "bytes": .bytes
    case "timestamp": .timestamp
    case "duration": .duration
    case _ where depth < 16 && text.hasPrefix("list(") && text.hasSuffix(")"):
      parse(text.dropFirst(5).dropLast(), depth: depth + 1).map { .list($0) }
    case _ where depth < 16 && text.hasPrefix("map(string,") && text.hasSuffix(")"):
      parse(text.dropFirst(11).dropLast(), depth: depth + 1).map { .map($0) }
    default: nil
    }
  }
}
