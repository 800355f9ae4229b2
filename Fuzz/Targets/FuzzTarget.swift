import Basics
import Expressions

/// What an input is given to, and what must hold of it.
enum FuzzTarget: String, CaseIterable {
  /// The lexer, the parser and the checker: every fault lies within the text and says something.
  case check
  /// The evaluator with and without the checker before it: the same values give the same result, or the same error.
  case evaluate
  /// The templates of recipes: their segments cover the text, and what checks is evaluated as an expression is.
  case template

  private static let variables: [(name: String, type: ValueType, value: Value)] = {
    let item = ObjectType(
      "item",
      fields: [.init("id", .int), .init("name", .string), .init("mark", .double, isOptional: true)])
    let first = Value.object(["id": .int(1), "name": .string("añ😀"), "mark": .double(0.5)])
    let second = Value.object(["id": .int(-7), "name": .string("")])
    return [
      ("n", .int, .int(3)), ("u", .uint, .uint(4)), ("d", .double, .double(-1.5)), ("s", .string, .string("a,b;ä")),
      ("b", .bool, .bool(true)), ("y", .bytes, .bytes([0, 255, 65])),
      ("now", .timestamp, .timestamp(.latest)),
      ("every", .duration, .duration(.seconds(5400))),
      ("item", .object(item), first), ("items", .list(.object(item)), .list([first, second])),
      ("counts", .map(.string, .int), .object(["k": .int(1), "l": .int(2)])),
      ("any", .dyn, .list([.null, .string("1"), first])),
    ]
  }()
  private static let values = variables.map(\.value)
  /// Small enough that no input takes long.
  private static let limits = EvaluationLimits(steps: 20_000, bytes: 1 << 20)

  private static func scope(_ rules: ExpressionScope.Rules) -> ExpressionScope {
    var scope = ExpressionScope(rules: rules)
    for variable in variables { scope.declare(variable.name, variable.type) }
    return scope
  }
  private static let scopes = [scope(.sound), scope(.plain), scope(.unchecked)]

  /// Takes one input of libFuzzer.
  func take(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    switch self {
    case .check:
      for scope in Self.scopes {
        if case .failure(let faults) = Program.compile(text, in: scope) { Self.expectPlaced(faults, in: text) }
      }
    case .evaluate:
      for scope in Self.scopes {
        guard case .success(let program) = Program.compile(text, in: scope) else { continue }
        Self.expectSame { () throws(EvaluationError) in try program.evaluate(Self.values, limits: Self.limits) }
      }
    case .template:
      for template in [Template.parse(text), Template.parseExpression(text)] {
        switch template {
        case .failure(let faults): Self.expectPlaced(faults, in: text)
        case .success(let template):
          switch template.compile(in: Self.scopes[0]) {
          case .failure(let faults): Self.expectPlaced(faults, in: text)
          case .success(let compiled):
            Self.expectSame { () throws(EvaluationError) in try compiled.evaluate(Self.values, limits: Self.limits) }
          }
        }
      }
    }
    return 0
  }

  /// Every fault has a message and lies within the text.
  private static func expectPlaced(_ faults: ExpressionFaults, in text: String) {
    precondition(!faults.list.isEmpty, "a text is refused without a fault")
    for fault in faults.list {
      precondition(!fault.message.isEmpty, "a fault has no message")
      precondition(
        0 <= fault.range.lowerBound && fault.range.upperBound <= text.utf8.count, "a fault lies outside the text")
    }
  }

  /// The same expression with the same values gives the same result, or the same error.
  private static func expectSame(_ evaluate: () throws(EvaluationError) -> Value) {
    func outcome() -> String {
      do throws(EvaluationError) {
        return "\(try evaluate())"
      } catch {
        return "error: \(error.message)"
      }
    }
    precondition(outcome() == outcome(), "two evaluations differ")
  }
}
