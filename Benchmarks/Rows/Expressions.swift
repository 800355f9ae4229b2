import Basics
import Expressions

/// Expressions of recipes: evaluated small and nested, and compiled.
struct Expressions {
  private static let text = "a.b + 1 > 2 && items.exists(x, x > 3)"

  func rows() throws -> [Row] {
    var scope = ExpressionScope()
    scope.declare("a", .object(ObjectType(fields: [.init("b", .int)])))
    scope.declare("items", .list(.int))
    let small = try program(Self.text, in: scope)
    let items = Value.list((1...5).map { .int($0) })
    let values = [Value.object(["b": .int(7)]), items]
    let rounds = 10_000
    let smallTime = try processorSeconds {
      for _ in 0..<rounds { _ = try small.evaluate(values) }
    }
    // 500 × 500 rounds of the inner body.
    let nested = try program("items.all(x, items.all(y, x + y > 0))", in: scope)
    let many = [values[0], Value.list((1...500).map { .int($0) })]
    let nestedTime = try processorSeconds { _ = try nested.evaluate(many) }
    let compileTime = processorSeconds {
      for _ in 0..<1000 { _ = CompiledExpression.compile(Self.text, in: scope) }
    }
    return [
      .processor("1,000,000 small expressions", smallTime * 1_000_000 / Double(rounds), .atMost(600)),
      .processor("1,000,000 bodies of nested loops", nestedTime * 4, .atMost(35)),
      .processor("1,000 expressions compiled and checked", compileTime, .atMost(11)),
    ]
  }

  private func program(_ text: String, in scope: ExpressionScope) throws -> CompiledExpression {
    switch CompiledExpression.compile(text, in: scope) {
    case .success(let program): program
    case .failure(let faults): throw NotMeasured(faults.list.map(\.message).joined(separator: "; "))
    }
  }
}
