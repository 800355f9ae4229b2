import ActionKit
import Basics

/// Reads `inputs`, the declarations of the values that a recipe is started with, and the fields of questions.
///
/// The type of a field may end in `?`; it may then be left out.
///
/// A faulty input is declared nevertheless, as `dyn` if its type isn't known, so that its uses aren't errors too.
struct InputReader {
  let findings: Findings
  let compiler: ExpressionCompiler
  var word = Recipe.Input.Word.input
  /// Reads a default that is computed for a field; nil for one that must be written out.
  var computed: (Value, FieldSchema) -> Value? = { _, _ in nil }

  /// Reads a type, and whether a value may be left out.
  private func readType(_ value: Value, of name: String) -> (type: FieldType?, isOptional: Bool) {
    let what = "the type of '\(name)'"
    guard word == .field, let text = value.string?.trimmed, text.hasSuffix("?") else {
      let types = TypeReader(findings: findings, absence: "an input may be left out if it has a 'default'")
      return (types.read(value, of: what), false)
    }
    let types = TypeReader(findings: findings, absence: "one '?' is enough")
    return (types.read(Value(.string(String(text.dropLast())), at: value.place), of: what), true)
  }

  func read(_ value: Value) -> [Recipe.Input] {
    guard let map = value.map else {
      findings.error("'inputs' takes a mapping from names to {type, …}, but found \(value.written)", at: value)
      return []
    }
    return map.members.map { member in
      let name = findings.name(member.key, of: "the input") ?? member.key.plainText
      let input = input(name, member.value)
      findings.declared(.input, name, input.type, at: member.key)
      return input
    }
  }

  func input(_ name: String, _ value: Value) -> Recipe.Input {
    var input = declared(name, value)
    input.word = word
    return input
  }

  private func declared(_ name: String, _ value: Value) -> Recipe.Input {
    // A bare type is short for {type: …}.
    if value.map == nil {
      let (type, isOptional) = readType(value, of: name)
      return Recipe.Input(declaration: FieldSchema(name, type ?? .dyn, "", isOptional: isOptional))
    }
    let fields = Fields(
      value, of: "\(word) '\(name)'", word == .input ? .input : .field, findings,
      advice: { member in
        word == .field && member.name == "secret"
          ? "an answer is kept with the run; read a secret where it is used, as ${{ secrets.NAME }}" : nil
      })
    guard let fields else {
      return Recipe.Input(declaration: FieldSchema(name, .dyn, ""))
    }
    let summary = fields.text("summary") ?? ""
    let isSecret = word == .input && fields.bool("secret") ?? false
    let (type, isOptional) = fields.require("type", TypeReader.all).map { readType($0, of: name) } ?? (nil, false)
    if isSecret { fields["default"].map { findings.hide($0, isRefused: true) } }
    // A faulty type is one error; the input's values can't be read without it.
    guard let type else {
      return Recipe.Input(
        declaration: FieldSchema(name, .dyn, summary, isOptional: isOptional, fallback: fields["default"]),
        isSecret: isSecret)
    }
    var declaration = FieldSchema(name, type, summary, isOptional: isOptional)
    if isSecret {
      declaration.type = .secret(type)
      if case .string = type {
      } else {
        findings.error("a secret is a text, so its type is string", at: fields["type"] ?? value)
      }
    }
    if let choices = fields["choices"], let texts = texts(choices, type) { declaration.type = .choice(texts) }
    declaration.limits = bounds(fields, type, of: name)
    if let value = fields["pattern"] {
      if case .string = type {
        declaration.limits += compiler.pattern(value).map { [.pattern($0)] } ?? []
      } else {
        findings.error("'pattern' goes with string, but '\(name)' is \(type.name)", at: value)
      }
    }
    if let fallback = fields["default"] {
      if !isSecret, word == .input, name.namesSecret, let text = fallback.string, !text.isEmpty {
        findings.hide(fallback, isRefused: true)
        findings.warning(
          "the default of '\(name)' looks like a secret in plain text; write secret: true instead, and give it with "
            + "-i \(name)=@secret:NAME", at: fallback)
      }
      if isSecret {
        findings.error("a secret has no default: anyone could read it in the recipe", at: fallback)
      }
      if isOptional {
        findings.error("a field with a default is always there; leave out the 'default', or the '?'", at: fallback)
      }
      // A faulty default is a default nevertheless, so that the input is not missing elsewhere.
      declaration.fallback =
        isSecret
        ? .null : computed(fallback, declaration) ?? literal(fallback, declaration, of: "default", in: name) ?? .null
    }
    return Recipe.Input(declaration: declaration, isSecret: isSecret)
  }

  private func texts(_ value: Value, _ type: FieldType) -> [String]? {
    guard case .string = type else {
      findings.error("'choices' goes with string; numbers and instants have 'min' and 'max'", at: value)
      return nil
    }
    guard let items = value.list, !items.isEmpty else {
      findings.error("'choices' takes a list of texts, but found \(value.displayed)", at: value)
      return nil
    }
    let texts = items.compactMap { findings.text($0, of: "a choice") }
    return texts.count == items.count ? texts : nil
  }

  private func bounds(_ fields: Fields, _ type: FieldType, of name: String) -> [Limit] {
    switch type {
    case .int, .double, .timestamp, .duration: break
    case .string where word == .field:
      // For a text that a person types, they are lengths.
      return [("min", Limit.minLength), ("max", Limit.maxLength)].compactMap { key, limit in
        fields[key].flatMap { findings.int($0, of: "'\(key)' of a text", in: 0...100_000) }.map(limit)
      }
    default:
      for key in ["min", "max"] {
        if let value = fields[key] {
          findings.error(
            "'\(key)' goes with int, double, timestamp and duration, but '\(name)' is \(type.name)", at: value)
        }
      }
      return []
    }
    let least = fields["min"].flatMap { literal($0, FieldSchema("min", type, ""), of: "min", in: name) }
      .map { Limit.atLeast($0) }
    let most = fields["max"].flatMap { literal($0, FieldSchema("max", type, ""), of: "max", in: name) }
    if let least, let most, let value = fields["max"] {
      // The greatest value must itself keep to the least.
      let declaration = FieldSchema("max", type, "", limits: [least])
      guard literal(value, declaration, of: "max", in: name) != nil else { return [] }
      return [least, .atMost(most)]
    }
    return [least, most.map { .atMost($0) }].compactMap { $0 }
  }

  /// A value of the recipe in the form of its type, or nil with an error.
  private func literal(_ value: Value, _ declaration: FieldSchema, of key: String, in name: String) -> Value? {
    let path = word == .input ? "input" : "\(word.path).\(name)"
    var declaration = declaration
    declaration.name = key
    let schema = ObjectSchema(fields: [declaration])
    let given = Value.object([key: value])
    let faults = schema.check(given, as: path, spelling: findings.spelling)
    for fault in faults { findings.add(fault) }
    return faults.isEmpty ? schema.restored(given)[key] : nil
  }
}
