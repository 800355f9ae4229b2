import Basics
import Expressions
import Testing

/// The values of expressions, in tables; the conformance suite beside the project has far more.
@Suite struct LanguageTests {
  private static let scope: ExpressionScope = {
    var scope = ExpressionScope(rules: .plain)
    for name in ["i", "d", "u", "s", "l", "m"] { scope.declare(name, .dyn) }
    return scope
  }()

  private static let values: [Value] = [
    .int(7), .double(2.5), .uint(3), .string("añb"), .list([.int(1), .double(2), .string("x")]),
    .object(["a": .int(1), "if": .null, "b c": .list([])]),
  ]

  /// The value of an expression as text, or its error.
  private static func outcome(_ text: String, in scope: ExpressionScope = scope) -> String {
    switch CompiledExpression.compile(text, in: scope) {
    case .failure(let faults): return "fault: " + faults.list.map(\.message).joined(separator: " | ")
    case .success(let program):
      do throws(EvaluationError) { return displayed(try program.evaluate(values)) } catch {
        return "error: \(error.message)"
      }
    }
  }

  private static func displayed(_ value: Value) -> String {
    switch value.content {
    case .list(let items): "[\(items.map(displayed).joined(separator: ", "))]"
    case .map(let map):
      "{\(map.members.map { "\(displayed($0.key)): \(displayed($0.value))" }.joined(separator: ", "))}"
    case .string(let text): "'\(text)'"
    case .bytes(let bytes): "b\(bytes)"
    case .uint(let number): "\(number)u"
    case .optional(let wrapped): wrapped.map { "some(\(displayed($0)))" } ?? "none"
    case .null: "null"
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .double(let value): "\(value)"
    case .timestamp(let value): "\(value)"
    case .duration(let value): "\(value)"
    case .type(let name): name
    case .masked(let text): text.displayed
    }
  }

  @Test(arguments: [
    ("1 + 2 * 3 - 4 / 2 % 3", "5"), ("2 - 3 - 4", "-5"), ("true ? 1 : false ? 2 : 3", "1"), ("1 == 1 == true", "true"),
    ("!true || true && false", "false"), ("-2 * -3", "6"), ("--1", "1"), ("!!true", "true"), ("- 5", "-5"),
    ("-9223372036854775808", "-9223372036854775808"), ("0xFF", "255"), ("0x10u", "16u"), ("007", "7"), (".5", "0.5"),
    ("1e3", "1000.0"), ("1.5e-1", "0.15"), ("[1, 2,]", "[1, 2]"), ("{'a': 1,}", "{'a': 1}"), ("// c\n1 // d", "1"),
    ("m.if", "null"), ("m.`b c`", "[]"), ("(((1)))", "1"), ("[[1], [2]][1][0]", "2"), ("{'a': {'b': 3}}.a.b", "3"),
    ("'a' 'b'", "fault: an operator is missing before this text; texts are joined with `+`"),
  ])
  func `operators bind as the grammar says`(_ text: String, _ value: String) {
    #expect(Self.outcome(text) == value)
  }

  @Test(arguments: [
    (#"'\a\b\f\n\r\t\v'"#, "'\u{7}\u{8}\u{C}\n\r\t\u{B}'"), (#"'\\\?\"\'\`'"#, #"'\?"'`'"#), (#"'\x41\X42'"#, "'AB'"),
    (#"'\u00e9\U0001F600'"#, "'é😀'"), (#"'\101\377'"#, "'Aÿ'"), (#"b'\377\xff'"#, "b[255, 255]"),
    (#"r'\n'"#, #"'\n'"#), (#"br'\x'"#, "b[92, 120]"), (#""""a"b""c""""#, #"'a"b""c'"#), ("'''a\nb'''", "'a\nb'"),
    ("b'é'", "b[195, 169]"), (#"R"\""#, #"'\'"#), ("''", "''"),
    (#"'\ud800'"#, "fault: this code point does not exist or is a surrogate"),
    (#"'\U00110000'"#, "fault: this code point does not exist or is a surrogate"),
  ])
  func `texts and bytes have CEL's escapes`(_ text: String, _ value: String) {
    #expect(Self.outcome(text) == value)
  }

  @Test(arguments: [
    ("1 / 0 == 1 || true", "true"), ("true || 1 / 0 == 1", "true"), ("1 / 0 == 1 && false", "false"),
    ("false && 1 / 0 == 1", "false"), ("1 / 0 == 1 && true", "error: 1 cannot be divided by zero"),
    ("1 / 0 == 1 || 2 / 0 == 1", "error: 1 cannot be divided by zero"), ("s && false", "false"),
    ("s && true", "error: a bool is needed here, but this is a string"),
    ("[0, 1].exists(x, 1 / x == 1)", "true"), ("[1, 0].all(x, 1 / x == 2)", "false"),
    ("[0, 1].all(x, 1 / x == 1)", "error: 1 cannot be divided by zero"),
    ("[0, 1].exists_one(x, 1 / x == 1)", "error: 1 cannot be divided by zero"),
    ("true ? 1 : 1 / 0", "1"), ("cel.bind(x, 1 / 0, true)", "true"), ("cel.bind(x, 1 / 0, x > 0 || true)", "true"),
    ("optional.of(1).orValue(1 / 0)", "1"), ("[].map(x, 1 / 0)", "[]"),
  ])
  func `errors are absorbed where the result does not depend on them`(_ text: String, _ value: String) {
    #expect(Self.outcome(text) == value)
  }

  @Test(arguments: [
    ("9223372036854775807 + 1", "error: 9223372036854775807 + 1 is outside the range of an int"),
    ("-9223372036854775808 - 1", "error: -9223372036854775808 - 1 is outside the range of an int"),
    ("-9223372036854775808 / -1", "error: -9223372036854775808 / -1 is outside the range of an int"),
    ("-9223372036854775808 % -1", "error: -9223372036854775808 % -1 is outside the range of an int"),
    ("-(-9223372036854775808)", "error: -(-9223372036854775808) is outside the range of an int"),
    ("0u - 1u", "error: 0 - 1 is outside the range of a uint"), ("5 % 0", "error: 5 cannot be divided by zero"),
    ("-7 / 2", "-3"), ("-7 % 2", "-1"), ("1.0 / 0.0", "inf"), ("int(-3.9)", "-3"),
    ("int(9223372036854775808.0)", "error: 9.223372036854776e+18 is outside the range of an int"),
    ("uint(-1)", "error: -1 is outside the range of a uint"),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: the result is outside the range of a timestamp"),
    (
      "timestamp('9999-12-31T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')",
      "error: the result is outside the range of a duration"
    ),
    ("timestamp('0001-01-01T00:00:00Z') - duration('-1s')", "0001-01-01T00:00:01Z"),
    ("string(1.0)", "'1'"), ("string(123456789.0)", "'1.23456789e+08'"), ("string(1e-7)", "'1e-07'"),
    ("string(0.0001)", "'0.0001'"),
    ("string(-1.5)", "'-1.5'"), ("string(1e300)", "'1e+300'"), ("string(123456.7)", "'123456.7'"),
  ])
  func `numbers never trap`(_ text: String, _ value: String) {
    #expect(Self.outcome(text) == value)
  }

  @Test(arguments: [
    ("d == 2.5", "true"), ("i == dyn(7.0)", "true"), ("u == dyn(3)", "true"), ("i > d", "true"),
    ("dyn(-1) < u", "true"),
    ("dyn(9223372036854775807) < 9223372036854775808.0", "false"),
    ("dyn(9223372036854775807) >= 9223372036854775808.0", "true"),
    ("9007199254740993 == dyn(9007199254740992.0)", "true"), ("dyn(18446744073709551615u) > -1", "true"),
    ("0.0 / 0.0 == 0.0 / 0.0", "false"), ("0.0 / 0.0 < 1.0", "false"), ("0.0 / 0.0 >= 1.0", "false"),
    ("i == s", "false"),
    ("i < s", "error: an int and a string have no order, so `<` cannot compare them"), ("l == [1, 2, 'x']", "true"),
    ("'\u{FFFF}' < '\u{1F600}'", "true"), ("b'a' < b'ab'", "true"), ("false < true", "true"),
    ("[1] == [1.0]", "fault: `==` does not compare a list(int) with a list(double)"),
    ("dyn([1]) == [1.0]", "true"), ("1 in l", "true"), ("2 in l", "true"), ("'a' in m", "true"),
    ("{1: 'a'}[dyn(1.0)]", "'a'"),
    ("{1: 'a'}[dyn(1.5)]", "error: the map has no key 1.5"), ("{1: 'a', 1u: 'b'}", "error: the key 1u comes twice"),
    ("type(1) == int && type(type(1)) == type && type(l) == list && type(null) == null_type", "true"),
    ("type(timestamp(0)) == google.protobuf.Timestamp", "true"),
  ])
  func `numbers lie on one line, and equality is total`(_ text: String, _ value: String) {
    #expect(Self.outcome(text) == value)
  }

  @Test(arguments: [
    ("size(s)", "3"), ("l[5]", "error: index 5 is outside the list of 3 items"),
    ("l[-1]", "error: index -1 is outside the list of 3 items"),
    ("l[dyn(1.0)]", "2.0"), ("l[dyn('x')]", "error: a list is read at an int, and this is a string"),
    ("m.x", "error: there is no field `x` here"), ("m['zz']", "error: the map has no key 'zz'"),
    ("s.x", "error: a string has no fields, so no `x`"),
    ("has(m.a) && has(m.if) && !has(m.c)", "true"),
    ("has(m.c.d)", "error: there is no field `c` here"),
    ("m.?c.d", "none"), ("m.?a", "some(1)"), ("m[?'a'].orValue(0)", "1"), ("l[?9]", "none"),
    ("[?m.?c, ?m.?a, 3]", "[1, 3]"),
    ("{?'x': m.?c, ?'y': m.?a}", "{'y': 1}"), ("m.map(k, k)", "['a', 'if', 'b c']"),
    ("l.map(x, type(x) == int, x + 1)", "[2]"), ("l.exists_one(x, x == 'x')", "true"),
    ("[3, 1, 2].sortBy(x, -x)", "[3, 2, 1]"),
    ("['b', 'a', 'c'].sortBy(x, x == 'c')", "['b', 'a', 'c']"),
    ("[1, 2].transformMap(i, v, v * 10)", "{0: 10, 1: 20}"), ("{'a': 1}.transformMapEntry(k, v, {v: k})", "{1: 'a'}"),
    ("[1, 1].transformMapEntry(i, v, {v: i})", "error: the key 1 comes twice"),
    ("[[1, 2], [3]].map(x, x.map(y, y + x.size()))", "[[3, 4], [4]]"),
    ("cel.bind(x, [1].map(y, y), [5].map(z, x[0] + z))", "[6]"),
    ("optional.of(1).optMap(x, x + 1)", "some(2)"), ("optional.none().value()", "error: the optional holds no value"),
    ("i.map(x, x)", "error: map() goes through a list or a map, and this is an int"),
    ("s.matches('ñ.$')", "true"), ("s.matches(s + '(')", "error: 'añb(' isn't a pattern: missing ): añb("),
  ])
  func `items, fields, macros and optionals`(_ text: String, _ value: String) {
    #expect(Self.outcome(text) == value)
  }

  @Test func `an error is at its place in the text`() throws {
    let text = "i > 3 && l[i] == 1"
    let program = try CompiledExpression.compile(text, in: Self.scope).get()
    let error = #expect(throws: EvaluationError.self) { try program.evaluate(Self.values) }
    #expect(error?.range == 11..<12)
  }

  @Test func `without the checker names and functions are found out when they are needed`() {
    let scope = ExpressionScope(rules: .unchecked)
    #expect(Self.outcome("a.if() || true", in: scope) == "true")
    #expect(Self.outcome("nope(1)", in: scope) == "error: there is no function `nope`")
    #expect(Self.outcome("1 + 1u", in: scope) == "error: `+` does not take an int and a uint")
    #expect(Self.outcome("'a'.size() + 1", in: scope) == "2")
  }

  @Test func `names are looked up in the container, the longest first`() throws {
    var scope = ExpressionScope(rules: .plain, container: "a.b")
    for (name, type) in [("x", ValueType.int), ("a.x", .string), ("a.b.y.z", .bool), ("y", .map(.string, .int))] {
      scope.declare(name, type)
    }
    func type(_ text: String) throws -> ValueType { try CompiledExpression.compile(text, in: scope).get().type }
    #expect(try type("x") == .string)
    #expect(try type(".x") == .int)
    #expect(try type("y.z") == .bool)
    #expect(try type("y.w") == .int)
    #expect(try type("[{'z': 1.5}].map(y, y.z)") == .list(.double))
  }

  @Test func `the example of the reference page says what it prints`() throws {
    var scope = ExpressionScope()
    scope.declare("price", .double)
    scope.declare("items", .list(.int))
    let program = try CompiledExpression.compile("price * double(size(items)) > 10.0", in: scope).get()
    #expect(program.type == .bool)
    #expect(try program.evaluate([.double(2.5), .list([.int(1), .int(2), .int(3)])]) == .bool(false))
  }
}
