package import Basics
package import Expressions
import YAMLReader

/// The reason why an expression of a recipe has no value, with the expression's place.
package struct LocatedEvaluationError: Error, Sendable {
  package var message: String
  package var location: Diagnostic.Location?
  /// The item that failed, and the values that were read.
  package var detail: String?
  /// The value that the expression needs and that isn't known yet; only in plans.
  package var unknown: Unknown?
}

/// An expression with its place in its file.
package struct RecipeExpression: Sendable {
  package let program: CompiledExpression
  let placing: Placing

  init(_ program: CompiledExpression, _ placing: Placing) {
    self.program = program
    self.placing = placing
  }

  package func evaluate(
    in environment: [Value], limits: EvaluationLimits = EvaluationLimits()
  ) throws(LocatedEvaluationError) -> Value {
    do throws(EvaluationError) { return try program.evaluate(environment, limits: limits) } catch {
      throw placing.failure(error, of: [program], in: environment)
    }
  }

  package var location: Diagnostic.Location? { placing.location(program.range) }

  /// The expression as it is written, on one line.
  package var text: String {
    guard let location, location.range.upperBound <= location.source.bytes.count
    else { return "" }
    return String(decoding: location.source.bytes[location.range], as: UTF8.self)
      .split { $0 == " " || $0 == "\n" || $0 == "\t" }.joined(separator: " ")
  }

  /// The clause that something else is to be written for the whole expression.
  func write(_ code: String, _ mark: String = "") -> MessageText {
    let written = location.map { $0.source.bytes[$0.range] } ?? []
    // The blanks within the braces are a part of it.
    func blank(_ byte: UInt8?) -> String { byte.map { $0 <= ASCII.space } ?? false ? " " : "" }
    let whole = "\(blank(written.first))\(code)\(blank(written.last))"
    return MessageText(
      "write \(mark)\(code)\(mark)", [Suggestion("write `\(code)`", .code(whole, program.range))])
  }

  /// Describes both sides of the comparison that makes it false, unless the text or a name shows the value.
  package func sides(in environment: [Value]) -> [String] {
    let (left, right) = program.sides(environment)
    return [("left", left), ("right", right)].compactMap { name, value in
      value.map { "the \(name) side is \($0.shortened())" }
    }
  }

  /// The values of an environment that the expression reads; nil for absent ones.
  package func reads(in environment: [Value]) -> [(name: String, value: Value?)] { program.reads(in: environment) }
}

/// From offsets in an expression's text to places in the file, through quotes, folding and escapes.
struct Placing: Sendable {
  let source: Source
  let scalar: YAMLScalar?

  func location(_ range: Range<Int>) -> Diagnostic.Location? { scalar?.location(of: range) }

  /// The places of many parts, found together.
  func locations(_ ranges: [Range<Int>]) -> [Diagnostic.Location?] {
    scalar?.locations(of: ranges) ?? ranges.map { _ in nil }
  }

  func failure(_ error: EvaluationError) -> LocatedEvaluationError {
    LocatedEvaluationError(
      message: error.message, location: error.range.flatMap(location), detail: error.item, unknown: error.unknown)
  }

  /// The failure with the values that the expressions read.
  func failure(_ error: EvaluationError, of programs: [CompiledExpression], in environment: [Value])
    -> LocatedEvaluationError
  {
    var failure = failure(error)
    guard failure.unknown == nil else { return failure }
    var parts = failure.detail.map { [$0] } ?? []
    for read in programs.flatMap({ $0.reads(in: environment) }).prefix(6) {
      let part = "\(read.name) is \(read.value?.shortened() ?? "absent")"
      if !parts.contains(part) { parts.append(part) }
    }
    failure.detail = parts.isEmpty ? nil : parts.joined(separator: "; ")
    return failure
  }
}

/// A value of a recipe whose texts may be, or hold, expressions.
package indirect enum ValueTemplate: Sendable {
  case literal(Value, ValueType)
  case template(LocatedTemplate)
  case list([ValueTemplate], ValueType)
  case map([(key: Value, value: ValueTemplate)], ValueType)

  /// A text with expressions, and its place.
  package struct LocatedTemplate: Sendable {
    let template: CompiledTemplate
    let placing: Placing
    /// Whether null is a value like any other here, because a field that takes anything has to be given.
    var keepsNull = false
    /// Whether an optional is replaced by its content, and an absent one leaves its key out.
    var leavesOutAbsent = false

    /// The type of a value that isn't left out.
    var type: ValueType { leavesOutAbsent ? template.type.heldIfPresent ?? template.type : template.type }

    func evaluate(
      in environment: [Value], limits: EvaluationLimits = EvaluationLimits()
    ) throws(LocatedEvaluationError) -> Value {
      do throws(EvaluationError) { return try template.evaluate(environment, limits: limits) } catch {
        throw placing.failure(error, of: template.programs, in: environment)
      }
    }
  }

  /// The type of its value.
  package var type: ValueType {
    switch self {
    case .literal(_, let type), .list(_, let type), .map(_, let type): type
    case .template(let located): located.type
    }
  }

  package func evaluate(
    in environment: [Value], limits: EvaluationLimits = EvaluationLimits()
  ) throws(LocatedEvaluationError) -> Value {
    try whole { located throws(LocatedEvaluationError) in try located.evaluate(in: environment, limits: limits) }
  }

  /// The value as far as it is known: each text that needs an unknown value becomes an unknown of its type.
  package func evaluate(asFarAsKnownIn environment: [Value]) throws(LocatedEvaluationError) -> Value {
    try whole { located throws(LocatedEvaluationError) in
      do throws(LocatedEvaluationError) { return try located.evaluate(in: environment) } catch {
        guard var unknown = error.unknown else { throw error }
        let type = located.type
        if located.leavesOutAbsent, located.template.type.heldIfPresent != nil { unknown.mayBeAbsent = true }
        // A null that an expression gives is an absent field.
        switch type {
        case .dyn, .null, .wrapper: unknown.mayBeAbsent = true
        default: break
        }
        return unknown.value(of: type)
      }
    }
  }

  /// The value, each of whose parts may be small enough while they are not together.
  private func whole(
    _ evaluate: (LocatedTemplate) throws(LocatedEvaluationError) -> Value
  ) throws(LocatedEvaluationError) -> Value {
    let value = try value(evaluate)
    switch self {
    case .literal, .template: break
    case .list, .map:
      if let reason = value.oversize { throw LocatedEvaluationError(message: "the value is too large: \(reason)") }
    }
    return value
  }

  private func value(
    _ evaluate: (LocatedTemplate) throws(LocatedEvaluationError) -> Value
  ) throws(LocatedEvaluationError) -> Value {
    switch self {
    case .literal(let value, _): return value
    case .template(let located): return try evaluate(located)
    case .list(let items, _):
      var values: [Value] = []
      values.reserveCapacity(items.count)
      for item in items { values.append(try item.value(evaluate)) }
      return .list(values)
    case .map(let members, _):
      var map = ValueMap()
      for member in members {
        var value = try member.value.value(evaluate)
        if case .template(let located) = member.value, located.leavesOutAbsent, case .optional(let held) = value.content
        {
          guard let held else { continue }
          value = held
        }
        // A null that an expression gives is an absent field, as one that is written.
        if value.isNull, case .template(let located) = member.value, !located.keepsNull { continue }
        map[member.key] = value
      }
      return .map(map)
    }
  }

  /// The text of its value, with words in the place of unknown values.
  package func text(asFarAsKnownIn environment: [Value]) throws(LocatedEvaluationError) -> String {
    guard case .template(let located) = self else { return try evaluate(in: environment).plainText }
    do throws(EvaluationError) { return try located.template.text(environment) { "(\($0.reason))" } } catch {
      throw located.placing.failure(error)
    }
  }

  /// The texts made with secrets in one of its values, each part separately.
  package func secrets(in value: Value) -> [String] {
    var found: [String] = []
    _ = replacingSecrets(in: value) { part in
      part.collectTexts(into: &found)
      return part
    }
    return found
  }

  /// Replaces each part that is made with a secret in one of its values.
  package func replacingSecrets(in value: Value, with replacement: (Value) -> Value) -> Value {
    switch (self, value.content) {
    case (.literal, _): return value
    case (.template(let located), _): return located.type.replacingSecrets(in: value, with: replacement)
    case (.list(let templates, _), .list(let items)):
      return .list(zip(templates, items).map { $0.replacingSecrets(in: $1, with: replacement) })
    case (.map(let members, _), .map(var map)):
      for member in members {
        if let part = map[member.key] {
          map[member.key] = member.value.replacingSecrets(in: part, with: replacement)
        }
      }
      return .map(map)
    default: return value
    }
  }

  /// Whether any expression in it reads a variable.
  func reads(_ name: String) -> Bool {
    switch self {
    case .literal: false
    case .template(let located): !located.template.references(name).isEmpty
    case .list(let items, _): items.contains { $0.reads(name) }
    case .map(let members, _): members.contains { $0.value.reads(name) }
    }
  }
}

extension ValueType {
  /// A value of the type with something else in the place of each secret in it.
  fileprivate func replacingSecrets(in value: Value, with replacement: (Value) -> Value) -> Value {
    guard holdsSecret else { return value }
    switch (self, value.content) {
    case (.list(let element), .list(let items)):
      return .list(items.map { element.replacingSecrets(in: $0, with: replacement) })
    case (.map(let key, let type), .map(let map)) where !key.holdsSecret:
      return .map(map.mapValues { type.replacingSecrets(in: $0, with: replacement) })
    case (.object(let object), .map(var map)):
      for field in object.fields {
        if let part = map[field.name] { map[field.name] = field.type.replacingSecrets(in: part, with: replacement) }
      }
      return .map(map)
    case (.optional(let wrapped), .optional(let inner?)):
      return Value(.optional(wrapped.replacingSecrets(in: inner, with: replacement)))
    case (.optional, .optional(nil)), (.wrapper, .null): return value
    case (.wrapper(let wrapped), _): return wrapped.replacingSecrets(in: value, with: replacement)
    default: return replacement(value)
    }
  }
}

extension Value {
  /// The texts in the value, and its numbers as texts; its depth is limited where it is made.
  fileprivate func collectTexts(into texts: inout [String]) {
    switch content {
    case .null: break
    case .list(let items): for item in items { item.collectTexts(into: &texts) }
    case .map(let map):
      for member in map.members {
        member.key.collectTexts(into: &texts)
        member.value.collectTexts(into: &texts)
      }
    case .optional(let value): value?.collectTexts(into: &texts)
    case .bytes(let bytes): texts.append(String(decoding: bytes, as: UTF8.self))
    default: if !plainText.isEmpty { texts.append(plainText) }
    }
  }
}
