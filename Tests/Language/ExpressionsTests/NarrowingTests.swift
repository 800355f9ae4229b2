import Basics
import Expressions
import Testing

/// An optional value is read only where it is known to be present.
@Suite struct NarrowingTests {
  private static let item = ObjectType(
    "item",
    fields: [
      .init("id", .int), .init("note", .string, isOptional: true), .init("part", .object(part), isOptional: true),
    ])
  private static let part = ObjectType("part", fields: [.init("size", .int, isOptional: true), .init("name", .string)])

  private static let scope: ExpressionScope = {
    var scope = ExpressionScope()
    scope.declare("a", .object(item))
    scope.declare("b", .object(item))
    scope.declare("items", .list(.object(item)))
    scope.declare("flag", .bool)
    return scope
  }()

  private static func compiles(_ text: String, _ scope: ExpressionScope = scope) -> Bool {
    if case .success = CompiledExpression.compile(text, in: scope) { true } else { false }
  }

  @Test(arguments: [
    "has(a.note) && a.note == 'x'", "has(a.note) && flag && a.note == 'x'", "flag && has(a.note) && a.note == 'x'",
    "!has(a.note) || a.note == 'x'", "!has(a.note) || flag || a.note == 'x'", "has(a.note) ? a.note : ''",
    "!has(a.note) ? '' : a.note", "!(has(a.note) && flag) ? '' : a.note", "!(!has(a.note) || flag) ? a.note : ''",
    "has(a.part) && has(a.part.size) && a.part.size > 1", "has(a.part) && a.part.name == ''",
    "a.?part.?size.orValue(0) == 0", "a.?part.name.orValue('') == ''",
    "(has(a.note) && has(b.note)) && a.note == b.note",
    "(has(a.note) && flag || has(a.note)) && a.note == ''",
    "items.filter(i, has(i.note)).map(i, i.note)", "items.map(i, has(i.note), i.note)",
    "items.filter(i, has(i.part) && has(i.part.size)).map(i, i.part.size + 1)",
    "items.exists(i, has(i.note) && i.note == 'x')", "items.all(i, !has(i.note) || i.note != 'x')",
    "items.filter(i, has(i.note))[0].note", "items.filter(i, has(i.note)).filter(i, i.note != '').map(i, i.note)",
    "items.filter(i, has(i.note)).filter(i, has(i.part)).map(i, i.note + i.part.name)",
    "items.transformList(n, i, has(i.note), i.note)", "has(items[0].note) ? items[0].note : ''",
    "has(a.note) ? [a].map(x, x.note) : []", "cel.bind(x, a, has(x.note) && x.note == '')",
    "has(a.note) && items.exists(i, i.id == size(a.note))",
    "has(a.note) ? a['note'] : ''",
  ])
  func `a read under its condition is let through`(_ text: String) {
    #expect(Self.compiles(text))
  }

  @Test(arguments: [
    "a.note == 'x'", "a.note == 'x' && has(a.note)", "has(b.note) && a.note == 'x'", "has(a.note) || a.note == 'x'",
    "!has(a.note) && a.note == 'x'", "has(a.note) ? '' : a.note", "(has(a.note) || flag) && a.note == ''",
    "(has(a.note) && flag) ? '' : a.note", "!(has(a.note) || flag) ? '' : a.note",
    "has(a.part) && a.part.size > 1", "has(a.part.size)", "items.map(i, i.note)", "items[0].note",
    "items.filter(i, !has(i.note)).map(i, i.note)", "items.filter(i, has(i.note) || flag).map(i, i.note)",
    "has(items[0].note) ? items[1].note : ''", "items.exists(i, has(i.note)) && items[0].note == ''",
    "items.map(i, flag, i.note)", "items.filter(a, has(a.note)).size() > 0 && a.note == ''",
    "has(a.note) && items.exists(a, a.note == '')", "cel.bind(x, has(a.note), x && a.note == '')", "a['note'] == ''",
    "(has(a.note) && flag || flag) && a.note == ''", "items.sortBy(i, i.note)",
    "(has(a.note) ? [a] : [b]).map(x, x.note)", "a.?note + 'x'",
  ])
  func `a read without its condition is refused`(_ text: String) {
    #expect(!Self.compiles(text))
  }

  @Test(arguments: [
    ("secrets.?A.value()", false), ("secrets[?'A'].value()", false), ("'x' + secrets.?A.value()", false),
    ("held.?pass.value()", false), ("[secrets.?A][0].value()", false), ("secrets.?A.or(secrets.?B).value()", false),
    ("secrets.?A.optMap(a, a + 'x').value()", false), ("maybe.value()", false),
    ("secrets.?A.orValue('')", true), ("secrets.?A.hasValue() ? secrets.?A.value() : ''", true),
    ("has(secrets.A) ? secrets.?A.value() : ''", true), ("has(held.pass) ? held.?pass.value() : ''", true),
    ("maybe.hasValue() ? maybe.value() : ''", true), ("names.?a.value()", true),
  ])
  func `a secret that may be missing is an optional like others`(_ text: String, _ isRight: Bool) {
    var scope = Self.scope
    scope.declare("secrets", .map(.string, .secret(.string)))
    scope.declare(
      "held", .object(ObjectType("held", fields: [.init("pass", .secret(.string), isOptional: true)])))
    scope.declare("maybe", .secret(.optional(.string)))
    scope.declare("names", .map(.string, .string))
    #expect(Self.compiles(text, scope) == isRight)
  }

  @Test func `an operand that fails establishes nothing for what another decides`() {
    // `items[9].id == 1` may fail, and `flag` being false then still makes the condition false.
    #expect(!Self.compiles("(items[9].id == 1 && has(a.note) && flag) ? '' : a.note"))
  }

  @Test func `a guard holds for what comes after it`() throws {
    var scope = Self.scope
    let guarded = try CompiledExpression.compile("!has(a.note) || items.size() == 0", in: scope).get()
    scope.assume(guarded, is: false)
    #expect(Self.compiles("a.note != ''", scope))
    #expect(!Self.compiles("b.note != ''", scope))
    #expect(Self.compiles("[a].map(x, x.note)", scope), "the presence goes where the value goes")

    var other = Self.scope
    other.assume(try CompiledExpression.compile("has(a.part) && has(a.part.size)", in: other).get(), is: true)
    #expect(Self.compiles("a.part.size > 1", other))
    let type = try CompiledExpression.compile("a.part", in: other).get().type
    #expect(type == .object(ObjectType("part", fields: [.init("size", .int), .init("name", .string)])))

    other.assumePresence(of: "b", ["note"])
    #expect(Self.compiles("b.note == ''", other))
  }

  @Test func `a null in an optional field is an absent field`() throws {
    let value = Value.object(["id": .int(1), "note": .null])
    let values: [Value] = [value, value, .list([value]), .bool(true)]
    for (text, expected) in [
      ("has(a.note)", Value.bool(false)), ("a.?note.hasValue()", .bool(false)),
      ("a[?'note'].orValue('x')", .string("x")),
      ("'note' in a", .bool(false)), ("items.filter(i, has(i.note)).size()", .int(0)), ("has(a.id)", .bool(true)),
    ] {
      #expect(try CompiledExpression.compile(text, in: Self.scope).get().evaluate(values) == expected)
    }
  }

  @Test func `tells which variables and fields an expression reads`() throws {
    let text =
      "has(a.part) && items.exists(i, i.id == a.part.name.size()) || b[\"note\"] == a.?note.orValue('') || flag"
    var scope = Self.scope
    scope.assumePresence(of: "b", ["note"])
    let program = try CompiledExpression.compile(text, in: scope).get()
    #expect(program.readVariables == ["a", "b", "items", "flag"])
    #expect(program.references("a").map(\.path) == [["part"], ["part", "name"], ["note"]])
    #expect(program.references("b").map(\.path) == [["note"]])
    #expect(program.references("items").map(\.path) == [[]])
    let first = try #require(program.references("a").first).range
    #expect(first == 4..<10)
  }
}
