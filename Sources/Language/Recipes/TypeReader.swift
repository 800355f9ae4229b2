import ActionKit
import Basics

/// The types of inputs and of what comes from outside: `int double bool string date bytes timestamp duration dyn
/// choice(a, b) list(T) map(string, T)`, and objects.
///
/// An object is a mapping from field names to types, where a `?` at the end of the type makes the field optional, or at
/// the end of the name where the type is no text; a list of objects is a YAML list of that one mapping:
///
///     type: [{ name: string, marks: list(double), note: string?, address?: { city: string } }]
struct TypeReader {
  let findings: Findings

  /// The type, or nil with an error.
  func read(_ value: Value, of what: String) -> FieldType? { read(value, of: what, depth: 0)?.type }

  private func read(_ value: Value, of what: String, depth: Int) -> (type: FieldType, isOptional: Bool)? {
    switch value.content {
    case .string(let text):
      var rest = text.trimmed[...]
      let isOptional = depth > 0 && rest.hasSuffix("?")
      if isOptional { rest = rest.dropLast().trimmed[...] }
      if let type = parse(rest, depth: 0) { return (type, isOptional) }
      if let words = rest.inside("choice") {
        findings.error("'\(text)' isn't a type; \(words.objectionAsChoices)", at: value)
        return nil
      }
      let word = TypeReader.otherNames[text] ?? text.nearest(among: TypeReader.words)
      findings.error("'\(text)' isn't a type; \(word.map { "did you mean '\($0)'?" } ?? TypeReader.list)", at: value)
      return nil
    case .list(let items):
      guard items.count == 1, let item = items.first else {
        findings.error("\(what), written as a list, takes one item: the type of its elements", at: value)
        return nil
      }
      guard let element = read(item, of: what, depth: depth + 1) else { return nil }
      if element.isOptional { findings.error("only a field can be optional, and not the elements of a list", at: item) }
      return (.list(element.type), false)
    case .map(let map):
      var fields: [FieldSchema] = []
      for member in map.members {
        guard var name = findings.text(member.key, of: "the field"),
          let (type, isOptional) = read(member.value, of: what, depth: depth + 1)
        else { continue }
        let isMarked = name.count > 1 && name.hasSuffix("?")
        if isMarked { name.removeLast() }
        if fields.contains(where: { $0.name.hasSameScalars(as: name) }) {
          findings.error("the field '\(name)' is there twice", at: member.key)
          continue
        }
        fields.append(FieldSchema(name, type, "", isOptional: isOptional || isMarked))
      }
      return (.object(ObjectSchema(fields: fields)), false)
    default:
      findings.error("\(what) is a word or a mapping, but found \(value.kindName); \(TypeReader.list)", at: value)
      return nil
    }
  }

  static let all =
    "int, double, bool, string, date, bytes, timestamp, duration, choice(A, B), list(T), map(string, T), dyn"
  private static let list = "types are \(all), and mappings of names to types"
  /// What other languages call the types.
  private static let otherNames = [
    "integer": "int", "number": "double", "float": "double", "boolean": "bool", "text": "string", "str": "string",
    "datetime": "timestamp", "time": "timestamp", "array": "list(string)", "enum": "choice(a, b)",
    "object": "map(string, string)", "any": "dyn", "json": "dyn",
  ]
  private static let words = [
    "int", "double", "bool", "string", "date", "bytes", "timestamp", "duration", "dyn", "list(string)",
  ]

  private func parse(_ text: Substring, depth: Int) -> FieldType? {
    switch text {
    case "int": return .int
    case "double": return .double
    case "bool": return .bool
    case "string": return .string
    case "date": return .date
    case "bytes": return .bytes
    case "timestamp": return .timestamp
    case "duration": return .duration
    case "dyn": return .dyn
    default: break
    }
    guard depth < 16 else { return nil }
    if let words = text.inside("choice") { return words.choices.map { .choice($0) } }
    if let element = text.inside("list") { return parse(element, depth: depth + 1).map { .list($0) } }
    if let inside = text.inside("map"), let comma = inside.firstIndex(of: ","),
      inside[..<comma].trimmed == "string"
    {
      return parse(inside[inside.index(after: comma)...].trimmed[...], depth: depth + 1).map { .map($0) }
    }
    return nil
  }
}

extension Substring {
  fileprivate var trimmed: String { String(self).trimmed }

  /// What stands in the parentheses after a word that is all of the text.
  fileprivate func inside(_ word: String) -> Substring? {
    guard hasPrefix(word), hasSuffix(")") else { return nil }
    let rest = dropFirst(word.count).drop { $0 == " " }
    return rest.first == "(" ? rest.dropFirst().dropLast().trimmed[...] : nil
  }

  /// The words of a choice, if they are ones.
  fileprivate var choices: [String]? { objectionAsChoices.isEmpty ? listed : nil }

  private var listed: [String] { split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed) }

  /// What is wrong with the words of a choice; empty if nothing is.
  fileprivate var objectionAsChoices: String {
    let words = listed
    if words.contains("") { return "a choice is written like choice(ready, failed)" }
    if let word = words.first(where: { $0.contains { "()'\"?".contains($0) } }) {
      return "the word \(JSON.quoted(word)) of a choice can't have quotes, parentheses or question marks"
    }
    let twice = words.enumerated().first { index, word in words[..<index].contains { $0.hasSameScalars(as: word) } }
    return twice.map { "'\($0.element)' is there twice" } ?? ""
  }
}
