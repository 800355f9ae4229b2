import Basics
import Expressions
import Testing

@Suite struct SecretTests {
  private static let scope: ExpressionScope = {
    var scope = ExpressionScope()
    let fields: [ObjectType.Field] = [
      .init("token", .secret(.string)), .init("pin", .secret(.int), isOptional: true), .init("name", .string),
    ]
    scope.declare("s", .object(ObjectType("s", fields: fields)))
    scope.declare("list", .secret(.list(.string)))
    scope.declare("n", .int)
    return scope
  }()

  @Test(arguments: [
    ("s.token", ValueType.secret(.string)), ("'Bearer ' + s.token", .secret(.string)),
    ("s.token + s.name", .secret(.string)),
    ("size(s.token)", .secret(.int)), ("s.token == 'x'", .secret(.bool)), ("!(s.token == 'x')", .secret(.bool)),
    ("s.token == 'x' ? 1 : 2", .secret(.int)), ("n > 1 ? s.token : ''", .secret(.string)),
    ("s.token == 'x' || n > 1", .secret(.bool)), ("s.token.startsWith('a')", .secret(.bool)),
    ("[s.token]", .list(.secret(.string))), ("size([s.token])", .secret(.int)),
    ("[s.token, 'a']", .list(.secret(.string))),
    ("list.map(x, 1)", .secret(.list(.int))), ("list[0]", .secret(.string)),
    ("list.exists(x, x == '')", .secret(.bool)),
    ("[1, 2].filter(x, s.token == '')", .secret(.list(.int))),
    ("[1, 2].map(x, s.token == '', x)", .secret(.list(.int))),
    ("[1, 2].sortBy(x, size(s.token))", .secret(.list(.int))), ("s.name in list", .secret(.bool)),
    ("s.?pin.orValue(0) + 1", .secret(.int)),
    ("optional.of(s.token).optMap(x, x + 'a')", .secret(.optional(.secret(.string)))),
    ("cel.bind(x, s.token, x + 'a')", .secret(.string)), ("{'a': s.token}.a", .secret(.string)),
    ("{s.token: 1}.size()", .secret(.int)), ("[1, 2][size(s.token)]", .secret(.int)), ("s == s", .secret(.bool)),
    ("has(s.pin)", .bool), ("s.name", .string), ("n + 1", .int), ("[s].map(x, x.name)", .list(.string)),
  ])
  func `what is made with a secret is secret`(_ text: String, _ type: ValueType) throws {
    #expect(try CompiledExpression.compile(text, in: Self.scope).get().type == type)
  }

  @Test(arguments: ["int(s.token)", "int(s.token + '1')", "duration(s.token)", "list[7]", "[1][size(s.token)]"])
  func `an error about a secret does not show it`(_ text: String) throws {
    let program = try CompiledExpression.compile(text, in: Self.scope).get()
    let values: [Value] = [
      .object(["token": .string("hunter2"), "name": .string("x")]), .list([.string("hunter2")]), .int(1),
    ]
    let error = #expect(throws: EvaluationError.self) { try program.evaluate(values) }
    #expect(error?.message == "this fails on a secret, which is not shown")
  }
}
