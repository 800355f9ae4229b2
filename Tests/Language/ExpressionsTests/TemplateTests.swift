import Basics
import Expressions
import Testing

@Suite struct TemplateTests {
  private var scope: ExpressionScope {
    var scope = ExpressionScope()
    scope.declare("name", .string)
    scope.declare("count", .int)
    scope.declare("marks", .list(.double))
    scope.declare("token", .secret(.string))
    return scope
  }

  private let values: [String: Value] = [
    "name": .string("Ada"), "count": .int(3), "marks": .list([.double(1.5)]), "token": .string("hunter2"),
  ]

  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("${{ name }}: ${{ count + 1 }}", "Ada: 4"), ("$ {{ }} $", "$ {{ }} $"),
    ("a${{ '}}' }}b", "a}}b"), ("a${{ {'a': {'b': 1}}.a.b }}b", "a1b"), ("a${{ r'\\' + \"}}\" }}", "a\\}}"),
    ("${{ '${{' }} is ${{ '${{' + ' }}' }}", "${{ is ${{ }}"), ("${{ marks[0] * 1000000.0 }} ms", "1500000 ms"),
    ("${{ count > 2 }}!", "true!"),
    ("at ${{ timestamp(0) }} for ${{ duration('90m') }}", "at 1970-01-01T00:00:00Z for 5400s"),
    ("a ${{ name // }}\n}}", "a Ada"),
  ])
  func `writes the values of expressions into the text`(_ text: String, _ expected: String) throws {
    let template = try Template.parse(text).get().compile(in: scope).get()
    #expect(template.type == .string)
    #expect(try template.evaluate { values[$0] } == .string(expected))
  }

  @Test(arguments: [
    ("${{ marks }}", ValueType.list(.double)), ("${{count}}", .int),
    ("${{ {'a': 1}}}", .object(ObjectType(fields: [.init("a", .int)]))),
  ])
  func `keeps the type of a single expression`(_ text: String, _ type: ValueType) throws {
    let template = try Template.parse(text).get()
    #expect(template.isSingle)
    #expect(try template.compile(in: scope).get().type == type)
  }

  @Test func `takes an expression with or without its braces where one is wanted`() throws {
    for text in ["count > 2", "  ${{ count > 2 }} \n", "${{count > 2}}"] {
      let template = try Template.parseExpression(text).get().compile(in: scope, expecting: .bool).get()
      #expect(try template.evaluate { values[$0] } == .bool(true))
    }
  }

  @Test func `a text made with a secret is secret`() throws {
    let template = try Template.parse("Bearer ${{ token }}").get()
    #expect(try template.compile(in: scope).get().type == .secret(.string))
    guard case .failure(let faults) = template.compile(in: scope, expecting: .string) else {
      Issue.record("the secret got out")
      return
    }
    #expect(
      faults.list.map(\.message) == [
        "this text is made with a secret, which can be given only to a field that takes a secret"
      ])
  }

  @Test(arguments: [
    ("a ${{ name", 2..<5, "this `${{` is never closed; `}}` is missing (a literal `${{` is written `${{ '${{' }}`)"),
    ("a ${{ 'x }}", 6..<11, "the text that begins here has no closing '"),
    ("a ${{ marks }}", 6..<11, "a list cannot be written into a text; write one item, or its size with size(…)"),
    ("a ${{ nam }}", 6..<9, "there is no variable `nam`; did you mean `name`?"),
    ("a ${{ }}", 5..<5, "an expression is missing here"),
    ("a ${{ [name] }}", 6..<12, "a list cannot be written into a text; join its items: `[name].join(', ')`"),
  ])
  func `says what is wrong, and where in the text`(_ text: String, _ range: Range<Int>, _ message: String) throws {
    let result = Template.parse(text).flatMap { $0.compile(in: scope) }
    guard case .failure(let faults) = result else {
      Issue.record("no fault")
      return
    }
    #expect(faults.list.map(\.message) == [message])
    #expect(faults.list.map(\.range) == [range])
  }
}
