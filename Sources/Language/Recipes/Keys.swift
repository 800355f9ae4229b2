// Declares the keys of the files that people write: recipes, tests of recipes and errand.yaml.
//
// A key is declared once, in `RecipeKeys`, `TestKeys` or `ConfigurationKeys`. Its reader takes names, bounds and
// defaults from there. Messages about unknown keys take the names. The schema and the reference page take everything.
import Basics

/// One key of a mapping: the rules for its reader, and the text for editors and the reference page.
struct Key: Sendable {
  let name: String
  let form: Form
  /// A sentence for editors; nil if the form has one.
  let summary: String?
  /// The default, if it is a constant.
  let fallback: Value?
  /// Whether the mapping must have the key.
  let isRequired: Bool
  /// Whether the key is a kind: a mapping must have exactly one of its kinds.
  let isKind: Bool
  /// The key is allowed only beside at least one of these keys; empty if it needs no other.
  let companions: [String]

  init(
    _ name: String, _ form: Form, _ summary: String? = nil, default fallback: Value? = nil, isRequired: Bool = false,
    isKind: Bool = false, with companions: [String] = []
  ) {
    self.name = name
    self.form = form
    self.summary = summary
    self.fallback = fallback
    self.isRequired = isRequired
    self.isKind = isKind
    self.companions = companions
  }

  /// A key that takes one of a few words.
  static func choice<Word: RawRepresentable<String> & CaseIterable>(
    _ name: String, _ fallback: Word, _ summary: String, with companions: [String] = []
  ) -> Key {
    Key(name, .choice(of: Word.self), summary, default: .string(fallback.rawValue), with: companions)
  }
}

/// The form of a key's value.
indirect enum Form: Sendable {
  case any
  /// A value of one of some types of JSON.
  case types([String])
  case text(pattern: String? = nil)
  case bool
  /// An int in a range; the schema omits an upper bound of `Int32.max`, because no recipe reaches it.
  case int(ClosedRange<Int>)
  case number(ClosedRange<Int>)
  case duration(atLeast: TimeSpan = .zero)
  /// One of several words, optionally with a sentence about the meaning of each.
  case choice([String], meanings: [String] = [])
  case constant(String)
  /// A definition of the schema, by its name.
  case definition(String)
  case list(of: Form, isFilled: Bool = false)
  /// A mapping of free names, which the definition of a name describes, to values of one form.
  case map(names: String? = nil, of: Form? = nil, isFilled: Bool = false)
  case keys(KeySet)
  case either([Form])
  /// One form for a type of JSON, and another for all other values.
  case when(String, then: Form, else: Form)

  static func choice<Word: RawRepresentable<String> & CaseIterable>(of type: Word.Type) -> Form {
    .choice(
      type.allCases.map(\.rawValue), meanings: type.allCases.compactMap { ($0 as? any DescribedWord)?.meaning })
  }

  static let name = Form.definition("name")
  static let zone = Form.definition("zone")
  static let instant = Form.definition("instant")
  static let expression = Form.definition("expression")
  static let texts = Form.definition("texts")
  static let steps = Form.definition("steps")
  static let values = Form.definition("values")
  static let object = Form.map()
}

/// The keys of one mapping, in the order of messages that list them.
struct KeySet: Sendable {
  let keys: [Key]
  /// Keys that must not all be there.
  let exclusive: [String]
  // Kept, because each mapping of a recipe asks for them.
  let names: [String]
  /// The keys that exclude each other; the mapping must have exactly one.
  let kinds: [String]

  init(_ keys: [Key], notTogether exclusive: [String] = []) {
    self.keys = keys
    self.exclusive = exclusive
    names = keys.map(\.name)
    kinds = keys.filter(\.isKind).map(\.name)
  }

  /// The keys that go with exactly these others.
  func names(with companions: [String]) -> [String] { keys.filter { $0.companions == companions }.map(\.name) }

  subscript(name: String) -> Key {
    guard let key = keys.first(where: { $0.name == name }) else {
      // Only readers of this module ask, for keys that they name themselves.
      preconditionFailure("the key '\(name)' is not declared")
    }
    return key
  }
}

// MARK: The values of declared keys

extension Fields {
  func text(_ name: String) -> String? { self[name].flatMap { findings.text($0, of: "'\(name)'") } }

  /// A text or a list of texts.
  func texts(_ name: String) -> [String]? {
    self[name].map { value in (value.list ?? [value]).compactMap { findings.text($0, of: "'\(name)'") } }
  }

  func bool(_ name: String) -> Bool? {
    self[name].flatMap { findings.bool($0, of: "'\(name)'") } ?? keys[name].fallback?.bool
  }

  func int(_ name: String) -> Int? {
    guard case .int(let range) = keys[name].form else { misread(name) }
    return self[name].flatMap { findings.int($0, of: "'\(name)'", in: range) } ?? keys[name].fallback?.int
  }

  func number(_ name: String) -> Double? {
    guard case .number(let range) = keys[name].form else { misread(name) }
    // As one chain of optionals it crashes the optimizer of Swift 6.3.
    if let value = self[name], let number = findings.number(value, of: "'\(name)'", in: range) { return number }
    guard let fallback = keys[name].fallback?.int else { return nil }
    return Double(fallback)
  }

  func duration(_ name: String) -> TimeSpan? {
    guard case .duration(let least) = keys[name].form else { misread(name) }
    return self[name].flatMap { findings.duration($0, of: "'\(name)'", atLeast: least) }
  }

  func instant(_ name: String) -> Timestamp? { self[name].flatMap { findings.instant($0, of: "'\(name)'") } }

  func choice<Word: RawRepresentable<String> & CaseIterable>(_ name: String) -> Word? {
    self[name].flatMap { findings.choice($0, of: "'\(name)'") } ?? keys[name].fallback?.string.flatMap(Word.init)
  }

  private func misread(_ name: String) -> Never {
    // The readers and the declarations are both of this module.
    preconditionFailure("the key '\(name)' is declared as something else than it is read as")
  }
}

// MARK: The schema

extension Key {
  /// The schema of the key, or of a definition of that name.
  var schema: Value {
    var map = form.schema
    map["default"] = fallback
    map["description"] = summary.map { .string($0) }
    return .map(map)
  }
}

extension Form {
  var schema: ValueMap {
    switch self {
    case .any: return ValueMap()
    case .types(let types):
      return ValueMap([("type", types.count == 1 ? .string(types[0]) : wordList(types))])
    case .text(let pattern):
      var map = ValueMap([("type", .string("string"))])
      map["pattern"] = pattern.map { .string($0) }
      return map
    case .bool: return ValueMap([("type", .string("boolean"))])
    case .int(let range), .number(let range):
      var map = ValueMap([("type", .string(isInt ? "integer" : "number")), ("minimum", .int(range.lowerBound))])
      if range.upperBound < Int(Int32.max) { map["maximum"] = .int(range.upperBound) }
      return map
    case .duration: return Form.definition("duration").schema
    case .choice(let words, let meanings):
      var map = ValueMap([("enum", wordList(words))])
      // The keyword isn't in the standard, but editors show it.
      if !meanings.isEmpty { map["enumDescriptions"] = wordList(meanings) }
      return map
    case .constant(let word): return ValueMap([("const", .string(word))])
    case .definition(let name): return ValueMap([("$ref", .string("#/definitions/\(name)"))])
    case .list(let element, let isFilled):
      var map = ValueMap([("type", .string("array")), ("items", .map(element.schema))])
      if isFilled { map["minItems"] = .int(1) }
      return map
    case .map(let names, let element, let isFilled):
      var map = ValueMap([("type", .string("object"))])
      if isFilled { map["minProperties"] = .int(1) }
      map["propertyNames"] = names.map { .map(Form.definition($0).schema) }
      map["additionalProperties"] = element.map { .map($0.schema) }
      return map
    case .keys(let keys): return keys.schema
    case .either(let forms): return ValueMap([("anyOf", .list(forms.map { .map($0.schema) }))])
    case .when(let type, let first, let second):
      var then = first.schema
      then["type"] = nil
      return ValueMap([
        ("if", .object(["type": .string(type)])), ("then", .map(then)), ("else", .map(second.schema)),
      ])
    }
  }

  private var isInt: Bool { if case .int = self { true } else { false } }
}

extension KeySet {
  fileprivate var schema: ValueMap {
    var map = ValueMap([("type", .string("object"))])
    let required = keys.filter(\.isRequired).map(\.name)
    if !required.isEmpty { map["required"] = wordList(required) }
    map["additionalProperties"] = .bool(false)
    if !exclusive.isEmpty { map["not"] = .object(["required": wordList(exclusive)]) }
    let kinds = keys.filter(\.isKind).map(\.name)
    if !kinds.isEmpty { map["oneOf"] = oneRequired(kinds) }
    var dependencies = ValueMap()
    for key in keys where !key.companions.isEmpty {
      let companions = key.companions
      dependencies[key.name] =
        companions.count == 1 ? wordList(companions) : .object(["anyOf": oneRequired(companions)])
    }
    if !dependencies.isEmpty { map["dependencies"] = .map(dependencies) }
    var properties = ValueMap()
    for key in keys { properties[key.name] = key.schema }
    map["properties"] = .map(properties)
    return map
  }
}

func wordList(_ words: [String]) -> Value { .list(words.map { .string($0) }) }

/// One alternative for each key: that it is there.
func oneRequired(_ keys: [String]) -> Value { .list(keys.map { .object(["required": wordList([$0])]) }) }
