import ActionKit
import Basics

/// Reads the types of inputs and of other values from outside: `int double bool string date bytes timestamp duration
/// dyn choice(a, b) list(T) map(string, T)`, and objects.
///
/// An object is a mapping from field names to types, where a `?` at the end of the type makes the field optional, or at
/// the end of the name where the type is no text; a list of objects is a YAML list of that one mapping:
///
///     type: [{ name: string, marks: list(double), note: string?, address?: { city: string } }]
struct TypeReader {
  let findings: Findings
  /// Why a whole type can't end in `?`.
  var absence = "only a field of an object may be absent"

  /// The type, or nil with an error; a faulty part is an error too, and has the type `dyn`.
  func read(_ value: Value, of what: String) -> FieldType? { read(value, of: what, depth: 0)?.type }

  private func read(_ value: Value, of what: String, depth: Int) -> (type: FieldType, isOptional: Bool)? {
    switch value.content {
    case .string(let text):
      var rest = text.trimmed[...]
      let isOptional = rest.hasSuffix("?")
      if isOptional { rest = rest.dropLast().trimmed[...] }
      if let type = parse(rest, depth: 0), depth > 0 || !isOptional { return (type, isOptional) }
      findings.error("'\(text)' isn't a type; \(advice(on: rest, isOptional: isOptional, depth))", at: value)
      return depth > 0 ? (.dyn, isOptional) : nil
    case .list(let items):
      guard items.count == 1, let item = items.first else {
        findings.error("\(what), written as a list, takes one item: the type of its elements", at: value)
        return depth > 0 ? (.list(.dyn), false) : nil
      }
      guard let element = read(item, of: what, depth: depth + 1) else { return nil }
      if element.isOptional { findings.error("only a field can be optional, and not the elements of a list", at: item) }
      return (.list(element.type), false)
    case .map(let map):
      if let stray = map.members.first(where: { TypeReader.isOfSchema($0) }), let type = map["type"]?.string {
        let type = TypeReader.meant(by: type[...], depth: 0) ?? type
        let form = map["properties"] == nil ? "NAME: \(type), with ? if it may be absent" : "{ NAME: int, … }"
        findings.error("a type is written without '\(stray.name ?? "")' and 'type': \(form)", at: stray.key)
        return depth > 0 ? (.dyn, false) : nil
      }
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
    case .int, .double, .bool:
      findings.error(
        "'\(value.plainText)' isn't a type; \(MessageText.didYouMean(String(value.kindName.split(separator: " ").last ?? "")))",
        at: value)
      return depth > 0 ? (.dyn, false) : nil
    default:
      findings.error("\(what) is a word or a mapping, but found \(value.kindName); \(TypeReader.list)", at: value)
      return depth > 0 ? (.dyn, false) : nil
    }
  }

  // MARK: Guesses

  /// Advice about a text that isn't a type.
  private func advice(on text: Substring, isOptional: Bool, _ depth: Int) -> MessageText {
    if parse(text, depth: 0) != nil {
      // The `?` may mean that the value may be left out.
      return MessageText("\(absence); write '\(text)'", [.text(String(text))]).tentative(if: !text.hasSuffix("?"))
    }
    if text.hasPrefix("{") { return "a mapping is written without quotes, such as { name: string }" }
    if text.contains("{") {
      return "a list of objects is written as a list without quotes, such as [{ name: string, note: string? }]"
    }
    let meant = TypeReader.meant(by: text, depth: 0) ?? ""
    let bare = meant.hasSuffix("?") ? String(meant.dropLast()) : meant
    guard parse(bare[...], depth: 0) != nil else {
      return MessageText(text.inside("choice")?.objectionAsChoices ?? TypeReader.list)
    }
    let mark = depth > 0 && (isOptional || meant.hasSuffix("?")) ? "?" : ""
    return .didYouMean(bare + mark).tentative(if: !TypeReader.isSure(text, as: bare))
  }

  /// Whether a text of another language hardly stands for another type than one.
  private static func isSure(_ text: Substring, as meant: String) -> Bool {
    let parts = text.lowercased().split { !$0.isLetter }.map { String($0) }
    // `array<int>` leaves nothing to guess, and neither do the words of a choice.
    if meant.hasPrefix("choice(") { return parts.count > 1 }
    let isWhole = parts.count == 1 || !doubtful.contains(parts.last ?? "")
    return isWhole && !(parts.count == 1 && doubtful.contains(parts[0]))
      && parts.allSatisfy { part in
        guard otherNames[part] == nil, !generics.contains(part), let near = part.nearest(among: words) else {
          return true
        }
        return part.isSurelyMeant(as: near, among: words)
      }
  }

  /// The type that a text of another language stands for.
  private static func meant(by text: Substring, depth: Int) -> String? {
    let text = text.trimmed
    guard depth < 4, !text.isEmpty else { return nil }
    if words.contains(text) { return text }
    if text.hasSuffix("?") { return meant(by: text.dropLast(), depth: depth + 1).map { "\($0)?" } }
    if text.hasSuffix("[]") { return meant(by: text.dropLast(2), depth: depth + 1).map { "list(\($0))" } }
    if text.contains("|") {
      let parts = text.split(separator: "|").map(\.trimmed).filter {
        !["null", "None", "nil", "undefined"].contains($0)
      }
      if parts.count == 1 { return meant(by: parts[0][...], depth: depth + 1).map { "\($0)?" } }
      return parts.contains { words.contains($0) || otherNames[$0] != nil } ? "dyn" : choice(of: parts)
    }
    if let open = text.firstIndex(where: "(<[".contains), let last = text.last, ")>]".contains(last) {
      let inside = text[text.index(after: open)...].dropLast()
      switch text[..<open].trimmed.lowercased() {
      case "", "list", "array", "set": return meant(by: inside, depth: depth + 1).map { "list(\($0))" }
      case "map", "dict", "object", "record":
        let value = inside.split(separator: ",", maxSplits: 1).last ?? inside
        return meant(by: value, depth: depth + 1).map { "map(string, \($0))" }
      case "optional", "nullable", "maybe": return meant(by: inside, depth: depth + 1).map { "\($0)?" }
      case "choice", "enum", "oneof": return choice(of: inside.split(separator: ",").map(\.trimmed))
      default: return nil
      }
    }
    if text.hasPrefix("list of ") { return meant(by: text.dropFirst(8), depth: depth + 1).map { "list(\($0))" } }
    return otherNames[text.lowercased()] ?? text.nearest(among: words)
  }

  /// Whether a member of a mapping with `type` belongs to JSON Schema or a declaration of inputs.
  private static func isOfSchema(_ member: ValueMap.Member) -> Bool {
    switch (member.name, member.value.content) {
    case ("required", .bool), ("optional", .bool), ("nullable", .bool), ("required", .list), ("properties", .map),
      ("items", .map), ("enum", .list):
      true
    default: false
    }
  }

  private static func choice(of words: [String]) -> String {
    let bare = words.map { word in
      let isQuoted = word.utf8.count > 1 && "'\"".contains(word.first ?? " ") && word.first == word.last
      return isQuoted ? String(word.dropFirst().dropLast()) : word
    }
    return "choice(\(bare.joined(separator: ", ")))"
  }

  static let all =
    "int, double, bool, string, date, bytes, timestamp, duration, choice(A, B), list(T), map(string, T), dyn"
  private static let list = "types are \(all), and mappings of names to types"
  /// The names of types in other languages.
  private static let otherNames = [
    "integer": "int", "number": "double", "float": "double", "boolean": "bool", "text": "string", "str": "string",
    "datetime": "timestamp", "time": "timestamp", "array": "list(string)", "enum": "choice(a, b)",
    "object": "map(string, string)", "dict": "map(string, string)", "any": "dyn", "json": "dyn", "bigint": "int",
    "long": "int", "decimal": "double", "uuid": "string", "varchar": "string", "instant": "timestamp",
  ]
  /// The vaguer ones among them, which leave a part of the type to guess.
  private static let doubtful: Set = ["array", "enum", "object", "dict", "time"]
  private static let generics: Set = ["list", "map", "of", "set", "record", "optional", "nullable", "maybe"]
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

  /// The text in parentheses after a word, if that is the whole text.
  fileprivate func inside(_ word: String) -> Substring? {
    guard hasPrefix(word), hasSuffix(")") else { return nil }
    let rest = dropFirst(word.count).drop { $0 == " " }
    return rest.first == "(" ? rest.dropFirst().dropLast().trimmed[...] : nil
  }

  /// The words of a choice, if they are ones.
  fileprivate var choices: [String]? { objectionAsChoices.isEmpty ? listed : nil }

  private var listed: [String] { split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed) }

  /// The fault in the words of a choice; empty if there is none.
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
