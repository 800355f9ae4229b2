import Basics
import Testing

@testable import Expressions

@Suite struct UnknownTests {
  private static let made = ObjectType(
    "made", fields: [.init("key", .int), .init("url", .string, isOptional: true), .init("tags", .list(.string))])
  private static let row = ObjectType("row", fields: [.init("n", .int), .init("key", .int)])

  private static func program(_ text: String, mayMeetUnknowns: Bool = true) throws -> CompiledExpression {
    var scope = ExpressionScope(mayMeetUnknowns: mayMeetUnknowns)
    scope.declare("made", .object(made))
    scope.declare("perhaps", .object(ObjectType("steps", fields: [.init("x", .object(made), isOptional: true)])))
    scope.declare("rows", .list(.object(row)))
    scope.declare("n", .int)
    scope.declare("token", .secret(.string))
    return try CompiledExpression.compile(text, in: scope).get()
  }

  private static let values: [Value] = {
    let later = Unknown("known after 'make'")
    return [
      later.value(of: .object(made)), .object(["x": Unknown("known after 'look'", mayBeAbsent: true).value]),
      .list((1...2).map { .object(["n": .int($0), "key": later.value]) }), .int(3), later.value,
    ]
  }()

  @Test(arguments: [
    ("made.key == 1 && false", "false"),
    ("false && made.key == 1", "false"),
    ("made.key == 1 || n == 3", "true"),
    ("n == 3 ? n : made.key", "3"),
    ("has(made.key)", "true"),
    ("has(made.url) || true", "true"),
    ("rows.size()", "2"),
    ("rows.map(r, r.n)", "[1,2]"),
    ("rows.filter(r, r.n > 1).size()", "1"),
    ("rows.exists(r, r.n == 2 || r.key == 1)", "true"),
    ("rows.all(r, r.key == 1 && r.n == 1)", "false"),
    ("(rows + rows).size()", "4"),
    ("cel.bind(k, made.key, n)", "3"),
  ])
  func `what needs no unknown is decided`(_ text: String, _ result: String) throws {
    let value = try Self.program(text).evaluate(Self.values)
    #expect(try JSON.text(value) == result)
  }

  @Test(arguments: [
    ("made.key", "known after 'make'"),
    ("made.key + n", "known after 'make'"),
    ("made.key == 1 && true", "known after 'make'"),
    ("n == 4 || made.key == 1", "known after 'make'"),
    // An unknown value may override an error, but not the other way round.
    ("n / (n - 3) == 1 && made.key == 1", "known after 'make'"),
    ("made.key == 1 ? 1 : 2", "known after 'make'"),
    ("has(made.url)", "known after 'make'"),
    ("made.?url.orValue('')", "known after 'make'"),
    ("made.tags.size()", "known after 'make'"),
    ("made.tags.map(t, t)", "known after 'make'"),
    ("rows.map(r, r.key)", "known after 'make'"),
    ("rows == []", "known after 'make'"),
    ("rows[0] in rows", "known after 'make'"),
    ("rows.sortBy(r, r.key)", "known after 'make'"),
    ("json.format(rows)", "known after 'make'"),
    ("cel.bind(k, made.key, k + 1)", "known after 'make'"),
    ("[1, made.key]", "known after 'make'"),
    ("{'key': made.key}", "known after 'make'"),
    ("'token ' + token", "known after 'make'"),
    ("has(perhaps.x)", "known after 'look'"),
    ("perhaps.?x.?url.orValue('')", "known after 'look'"),
    ("has(perhaps.x) && has(perhaps.x.url)", "known after 'look'"),
  ])
  func `what needs an unknown says when it will be known`(_ text: String, _ reason: String) throws {
    let program = try Self.program(text)
    do throws(EvaluationError) {
      Issue.record("gives \(try program.evaluate(Self.values))")
    } catch {
      #expect(error.unknown?.reason == reason)
      #expect(error.message == "the value is \(reason)")
      #expect(error.range != nil)
    }
  }

  @Test func `what is handed on whole may hold unknowns`() throws {
    let value = try Self.program("rows.filter(r, r.n == 2)").evaluate(Self.values)
    #expect(value.firstUnknown == Unknown("known after 'make'"))
    #expect(value.list?.first?["n"] == .int(2))
    #expect(try Self.program("made").evaluate(Self.values).firstUnknown != nil)
  }

  @Test func `a real error stays one`() throws {
    let program = try Self.program("n / (n - 3)")
    do throws(EvaluationError) {
      Issue.record("gives \(try program.evaluate(Self.values))")
    } catch {
      #expect(error.unknown == nil)
      #expect(error.message == "3 cannot be divided by zero")
    }
  }

  @Test func `looking for unknowns is charged, however often parts are shared`() throws {
    var value = Value.list([.int(1), .int(2)])
    for _ in 0..<40 { value = .list([value, value]) }
    var scope = ExpressionScope(mayMeetUnknowns: true)
    scope.declare("big", .dyn)
    let program = try CompiledExpression.compile("json.format(big)", in: scope).get()
    #expect(throws: EvaluationError.self) { try program.evaluate([value]) }
  }

  @Test func `expressions of runs have no guards`() throws {
    #expect(try Self.program("n", mayMeetUnknowns: false).root is VariableNode)
    #expect(try Self.program("n").root is KnownNode)
  }

  @Test func `a text is told as far as it is known`() throws {
    var scope = ExpressionScope(mayMeetUnknowns: true)
    scope.declare("made", .object(Self.made))
    scope.declare("n", .int)
    let template = try Template.parse("${{ n }} into ${{ made.key }}").get().compile(in: scope).get()
    let text = try template.text([Self.values[0], .int(3)]) { "(\($0.reason))" }
    #expect(text == "3 into (known after 'make')")
  }

  @Test func `an unknown is told from every other value`() {
    #expect(Unknown(Unknown("r", mayBeAbsent: true).value) == Unknown("r", mayBeAbsent: true))
    #expect(Unknown(Unknown("r").value) == Unknown("r"))
    #expect(Unknown(Value(.type("int"))) == nil)
    #expect(Unknown(.string("?! r")) == nil)
  }
}
