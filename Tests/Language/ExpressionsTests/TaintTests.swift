import Basics
import Expressions
import Testing

// Whatever is made with a secret is a secret, or is refused: for every form of every function with the secret in each of
// its places, and for every operator, macro and literal.

@Suite struct TaintTests {
  // MARK: Functions

  /// One form of a function, with a secret in the place of one argument.
  struct Use: Sendable, CustomTestStringConvertible {
    var form: FunctionDeclaration
    var place: Int

    var testDescription: String { "\(form.signature), \(place)" }
    private var types: [ValueType] { (form.receiver.map { [$0] } ?? []) + form.parameters }

    /// The call, with a secret in it or without.
    func program(isSecret: Bool) -> Result<CompiledExpression, ExpressionError> {
      var scope = ExpressionScope()
      scope.declare("secrets", .object(ObjectType(fields: [.init("token", .secret(.string))])))
      for (index, type) in types.enumerated() {
        let type = type.instance
        scope.declare("a\(index)", isSecret && index == place ? .secret(type) : type)
      }
      let names = types.indices.map { "a\($0)" }
      let call =
        form.receiver == nil
        ? "\(form.name)(\(names.joined(separator: ", ")))"
        : "\(names[0]).\(form.name)(\(names.dropFirst().joined(separator: ", ")))"
      // An optional value is first checked for presence.
      return CompiledExpression.compile(form.name == "value" ? "a0.hasValue() ? [\(call)] : []" : call, in: scope)
    }

    static let all = FunctionLibrary.standard.declarations
      // It gives up checking, and is refused in recipes.
      .filter { $0.name != "dyn" }
      .flatMap { form in (0..<form.parameters.count + (form.receiver == nil ? 0 : 1)).map { Use(form: form, place: $0) }
      }
  }

  @Test(arguments: Use.all)
  func `what a function makes of a secret is secret`(_ use: Use) throws {
    _ = try use.program(isSecret: false).get()
    #expect(try use.program(isSecret: true).get().type.holdsSecret)
  }

  // MARK: Operators, macros, literals

  private static let scope: ExpressionScope = {
    var scope = ExpressionScope()
    let person = ObjectType(
      "person", fields: [.init("name", .string), .init("token", .secret(.string), isOptional: true)])
    for (name, type) in [
      ("b", ValueType.secret(.bool)), ("i", .secret(.int)), ("s", .secret(.string)), ("u", .secret(.uint)),
      ("d", .secret(.double)), ("t", .secret(.timestamp)), ("p", .secret(.duration)), ("l", .secret(.list(.int))),
      ("m", .secret(.map(.string, .int))), ("o", .secret(.optional(.int))), ("j", .secret(.dyn)),
      ("keys", .map(.secret(.string), .int)), ("person", .object(person)), ("any", .dyn), ("anyList", .list(.dyn)),
      ("text", .string), ("n", .int), ("xs", .list(.int)), ("flag", .bool),
    ] { scope.declare(name, type) }
    return scope
  }()

  @Test(arguments: [
    "-i", "-d", "!b", "i + 1", "1 - i", "i * 2", "4 / i", "i % 2", "'a' + s", "[s] + ['a']", "xs + l", "t + p", "t - t",
    "s < 'a'", "i <= 1", "i > 1", "d >= 1.0", "s == 'a'", "'a' != s", "l == [1]", "m == {'a': 1}", "[s] == ['a']",
    "{'a': s} == {'a': 'b'}", "person == person", "1 in l", "i in xs", "s in ['a']", "s in {'a': 1}", "'a' in m",
    "'a' in keys", "'a' in {s: 1}", "b && flag", "flag && b", "b || flag", "flag || b", "b ? 1 : 2", "flag ? s : 'a'",
    "flag ? 'a' : s", "flag ? [s] : any", "flag ? any : [s]", "flag ? {'a': s} : any", "flag ? any : {'a': s}",
    "flag ? any : person", "flag ? anyList : [s]", "flag ? [s] : anyList", "[[s], any]", "[any, [s]]",
    "[any, {'a': s}]",
    "[{'a': s}, any]", "[{'a': s}, any][1]", "{'a': any, 'b': [s]}", "{text: any, 'b': [s]}", "{text: [s], 'b': any}",
    "[s]", "[1, s]", "[s][0]", "[xs, l]", "xs[i]", "l[0]", "m['a']", "m.a", "{'a': 1, 'b': 1}[s]", "xs[?i]", "l[?0]",
    "m[?'a']", "m.?a", "has(m.a)", "{s: 1}", "{s: 1}['a']", "{s: 1}.a", "{s: 1}[?'a']", "{s: 1}.?a", "has({s: 1}.a)",
    "keys['a']", "keys.a", "keys[?'a']", "keys.?a", "has(keys.a)", "keys[?'a'].hasValue()", "{'a': s}", "{'a': s}.a",
    "{'a': s}['a']", "person.?token", "person.?token.orValue('')", "person", "[person].map(x, x.?token)", "j", "j.a.b",
    "j[0]", "has(j.a)", "j.map(x, x)", "size(j)", "o.hasValue()", "o.orValue(0)", "o.or(optional.of(1))", "o.value()",
    "o.optMap(x, 1)", "o.optMap(x, x)", "optional.of(1).optMap(x, s)", "optional.of(s)", "optional.of(s).hasValue()",
    "optional.of(1).optFlatMap(x, optional.of(s))", "o.optFlatMap(x, optional.of(x))", "cel.bind(x, s, x)",
    "cel.bind(x, s, x.size())", "cel.bind(x, 1, s)", "cel.bind(x, [s], x[0])", "l.all(x, x > 0)", "xs.all(x, x > i)",
    "l.exists(x, x > 0)", "xs.exists(x, x == i)", "l.existsOne(x, true)", "xs.existsOne(x, x == i)",
    "l.exists_one(x, x > 0)",
    "l.filter(x, x > 0)", "xs.filter(x, x == i)", "xs.filter(x, x == i).size()", "xs.filter(x, b).map(x, 1)",
    "l.map(x, 1)",
    "xs.map(x, s)", "xs.map(x, x + i)", "xs.map(x, b, 1)", "xs.map(x, x > 0, s)", "l.map(x, x > 1, x)",
    "xs.sortBy(x, x * i)",
    "xs.sortBy(x, b)", "l.sortBy(x, x)", "l.transformList(k, x, x)", "xs.transformList(k, x, s)",
    "xs.transformList(k, x, b, x)", "m.transformMap(k, v, v)", "m.transformMap(k, v, 1)",
    "{'a': 1}.transformMap(k, v, s)",
    "{'a': 1}.transformMap(k, v, b, v)", "keys.transformMap(k, v, v)", "m.transformMapEntry(k, v, {k: v})",
    "{'a': 1}.transformMapEntry(k, v, {s: v})", "{'a': 1}.transformMapEntry(k, v, {k: s})",
    "{'a': 1}.transformMapEntry(k, v, {s: v})['a']", "{'a': 1}.transformMapEntry(k, v, b, {k: v})", "keys.map(k, k)",
    "keys.filter(k, k == 'a')", "keys.exists(k, k == 'a')", "m.exists(k, k == 'a')", "m.all(k, v, v > 0)",
    "m.exists(k, v, true)", "[s].map(x, x)", "[s].exists(x, x == 'a')", "[s].filter(x, x == 'a').size()",
    "[[s]].map(x, x.map(y, y))", "[{'a': s}].map(x, x.a)", "[{'a': s}].filter(x, x.a == 'b').size()",
    "s.split('').map(c, c)", "s.split('').size()", "s.matches('^a')", "s.reverse()", "s.size()", "s.charAt(0)",
    "s.indexOf('a')", "'%s'.format([s])", "string(i)", "int(s)", "type(s) == string", "json.parse(s).a",
    "json.format({'a': s})", "json.format([any, [s]])", "stats.mean([1.0, d])", "lists.range(i)",
    "[1, 2, 3].slice(0, i)",
    "math.greatest(1, i)", "s.lowerAscii()", "base64.encode(bytes(s))", "text.replace(s, '')", "text.matches(s)",
    "[?o]", "{?'a': o}", "[?o].size()", "{?'a': o}.?a", "[?optional.of(s)]", "{?'a': optional.of(s)}",
    "{'a': 1}[?s].orValue(1)", "[1][?i].hasValue()", "b ? optional.of(1) : optional.none()", "[flag ? 1 : i]",
    "cel.bind(x, b ? 1 : 2, x)", "(b ? xs : [1]).size()", "(b ? {'a': 1} : {'a': 2}).a",
  ])
  func `what an operator or a macro makes of a secret is secret or refused`(_ text: String) {
    guard case .success(let program) = CompiledExpression.compile(text, in: Self.scope) else { return }
    #expect(program.type.holdsSecret, "\(text) is \(program.type)")
  }

  @Test func `what is told of the values that are read leaves secrets out`() throws {
    let program = try CompiledExpression.compile("has(person.token) && person.name == 'a' && flag", in: Self.scope)
      .get()
    let values = [Value](repeating: .null, count: 20)
    #expect(program.reads(in: values).map(\.name) == ["person.name", "flag"])
  }

  // MARK: Where anything is taken

  @Test(arguments: [
    "s", "[s]", "{'a': s}", "{'a': {'b': [s]}}", "{s: 1}", "l", "m", "o", "j", "person", "optional.of(s)", "[any, [s]]",
    "flag ? any : [s]", "flag ? {'a': s} : any", "s.size()", "s == 'a'", "[s].map(x, x)", "keys", "[[], [s]]",
    "cel.bind(x, [], [x, [s]])",
  ])
  func `what takes anything takes no secret`(_ text: String) throws {
    _ = try CompiledExpression.compile(text, in: Self.scope).get()
    guard case .failure(let faults) = CompiledExpression.compile(text, in: Self.scope, expecting: .dyn) else {
      Issue.record("\(text) is taken")
      return
    }
    #expect(
      faults.list.map(\.message) == [
        "this is made with a secret, which can be given only to a field that takes a secret"
      ])
    for type in [ValueType.list(.dyn), .map(.string, .dyn), .optional(.dyn)] {
      if case .success = CompiledExpression.compile(text, in: Self.scope, expecting: type) {
        Issue.record("\(text) is a \(type)")
      }
    }
    // A parameter that accepts a secret accepts any value made from one.
    _ = try CompiledExpression.compile(text, in: Self.scope, expecting: .secret(.dyn)).get()
  }
}

extension ValueType {
  /// The type with a text for each of its parameters.
  fileprivate var instance: ValueType {
    switch self {
    case .parameter: .string
    case .list(let of): .list(of.instance)
    case .map(let key, let value): .map(key.instance, value.instance)
    case .optional(let of): .optional(of.instance)
    case .wrapper(let of): .wrapper(of.instance)
    case .type(let of): .type(of.instance)
    case .opaque(let name, let arguments): .opaque(name, arguments.map(\.instance))
    default: self
    }
  }
}
