import Basics
import Expressions
import Testing

@Suite struct FunctionTests {
  @Test func `every function's example is true, as CEL and as a recipe has it`() throws {
    for declaration in FunctionLibrary.standard.declarations where !declaration.example.isEmpty {
      for rules in [ExpressionScope.Rules.plain, .sound, .unchecked] {
        var scope = ExpressionScope(rules: rules)
        scope.declare("now", .timestamp)
        let now = try #require(Timestamp("2026-11-20T08:30:00Z"))
        do {
          let program = try CompiledExpression.compile(declaration.example, in: scope).get()
          #expect(try program.evaluate([.timestamp(now)]) == .bool(true), "\(declaration.example)")
        } catch let faults as ExpressionError {
          Issue.record("\(declaration.example): \(faults.list.map(\.message))")
        } catch let error as EvaluationError {
          Issue.record("\(declaration.example): \(error.message)")
        }
      }
    }
  }

  @Test func `every function has an example and a sentence`() {
    for (name, forms) in Dictionary(grouping: FunctionLibrary.standard.declarations, by: \.name) where name != "dyn" {
      #expect(forms.contains { !$0.example.isEmpty }, "\(name)")
      for form in forms { #expect(form.summary.hasSuffix("."), "\(form.signature)") }
    }
  }

  @Test func `a pattern is searched by RE2, which knows no backtracking`() throws {
    let pattern = try Pattern("(é+)(x)?")
    #expect(pattern.groupCount == 2)
    #expect(pattern.firstMatch(in: "aéé") == [1..<5, 1..<5, nil])
    #expect(pattern.firstMatch(in: "aéé", from: 5) == nil)
    #expect(pattern.firstMatch(in: "", from: 0) == nil)
    #expect(try Pattern("").matches(""))
    #expect(throws: PatternError.self) { try Pattern("(?=a)b") }
    #expect(throws: PatternError.self) { try Pattern("(a)\\1") }
    #expect(throws: PatternError.self) { try Pattern("((a{1000}){1000}){1000}") }
    #expect(!(try Pattern("(a+)+$").matches(String(repeating: "a", count: 50_000) + "b")))
  }
}
