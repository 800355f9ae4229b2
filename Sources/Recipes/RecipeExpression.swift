package import Basics
package import Expressions
import YAMLReader

/// Why an expression of a recipe gave no value, and where it stands.
package struct ExpressionFailure: Error, Sendable {
  package var message: String
  package var location: Diagnostic.Location?
  /// What was met in the place of a value that is not known yet; only in plans.
  package var unknown: Unknown?
}

/// An expression with where it stands in its file.
package struct RecipeExpression: Sendable {
  package let program: Program
  private let placing: Placing

  init(_ program: Program, _ placing: Placing) {
    self.program = program
    self.placing = placing
  }

  package func evaluate(in frame: [Value]) throws(ExpressionFailure) -> Value {
    do throws(EvaluationError) { return try program.evaluate(frame) } catch { throw placing.failure(error) }
  }

  /// The expression as it is written, on one line.
  package var text: String {
    guard let location = placing.location(program.range), location.range.upperBound <= location.source.bytes.count
    else { return "" }
    return String(decoding: location.source.bytes[location.range], as: UTF8.self)
      .split { $0 == " " || $0 == "\n" || $0 == "\t" }.joined(separator: " ")
  }

  /// What it reads of the values of a frame; nil where there is nothing.
  package func reads(in frame: [Value]) -> [(name: String, value: Value?)] { program.reads(in: frame) }
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

  func failure(_ error: EvaluationError) -> ExpressionFailure {
    ExpressionFailure(message: error.message, location: error.range.flatMap(location), unknown: error.unknown)
  }
}

/// A value of a recipe in which any text may be, or hold, expressions.
package indirect enum ValueTemplate: Sendable {
  case literal(Value, ValueType)
  case template(LocatedTemplate)
  case list([ValueTemplate], ValueType)
  case map([(key: Value, value: ValueTemplate)], ValueType)

  /// A text with expressions, and where it stands.
  package struct LocatedTemplate: Sendable {
    let template: CompiledTemplate
    let placing: Placing
  }

  /// The type of what it gives.
  package var type: ValueType {
    switch self {
    case .literal(_, let type), .list(_, let type), .map(_, let type): type
    case .template(let located): located.template.type
    }
  }

  package func evaluate(in frame: [Value]) throws(ExpressionFailure) -> Value {
    switch self {
    case .literal(let value, _): return value
    case .template(let located):
      do throws(EvaluationError) { return try located.template.evaluate(frame) } catch {
        throw located.placing.failure(error)
      }
    case .list(let items, _):
      var values: [Value] = []
      values.reserveCapacity(items.count)
      for item in items { values.append(try item.evaluate(in: frame)) }
      return .list(values)
    case .map(let members, _):
      var map = ValueMap()
      for member in members {
        let value = try member.value.evaluate(in: frame)
        // A null that an expression gives is an absent field, as one that is written.
        if value.isNull, case .template = member.value { continue }
        map[member.key] = value
      }
      return .map(map)
    }
  }

  /// The value as far as it is known: each text that needs an unknown stands as an unknown of its type.
  package func evaluate(asFarAsKnownIn frame: [Value]) throws(ExpressionFailure) -> Value {
    switch self {
    case .literal(let value, _): return value
    case .template(let located):
      do throws(ExpressionFailure) { return try evaluate(in: frame) } catch {
        guard var unknown = error.unknown else { throw error }
        let type = located.template.type
        // A null that an expression gives is an absent field.
        switch type {
        case .dyn, .null, .wrapper: unknown.mayBeAbsent = true
        default: break
        }
        return unknown.value(of: type)
      }
    case .list(let items, _):
      var values: [Value] = []
      for item in items { values.append(try item.evaluate(asFarAsKnownIn: frame)) }
      return .list(values)
    case .map(let members, _):
      var map = ValueMap()
      for member in members {
        let value = try member.value.evaluate(asFarAsKnownIn: frame)
        if value.isNull, case .template = member.value { continue }
        map[member.key] = value
      }
      return .map(map)
    }
  }

  /// The text that it gives, with words in the place of what is not known.
  package func text(asFarAsKnownIn frame: [Value]) throws(ExpressionFailure) -> String {
    guard case .template(let located) = self else { return try evaluate(in: frame).plainText }
    do throws(EvaluationError) { return try located.template.text(frame) { "(\($0.reason))" } } catch {
      throw located.placing.failure(error)
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
