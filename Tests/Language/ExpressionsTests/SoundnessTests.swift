import Basics
import Expressions
import Testing

/// Numbers from a seed, the same on every machine.
private struct Generator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// An expression that checks never fails for a reason that the expression alone shows.
@Suite struct SoundnessTests {
  /// Errors that depend on data, by the beginning or the middle of the message.
  private static let decidedByData = [
    "is outside the range", "is outside the list", "cannot be divided by zero", "the map has no key",
    "cannot be read as",
    "holds no value", "steps", "MiB", "comes twice", "there is no field `k`",
  ]

  private static let kinds: [(type: ValueType, words: [String])] = [
    (
      .int, ["n", "a.id", "items[0].id", "3", "size(items)", "a.?size.orValue(0)", "a.size", "counts.k", "counts['k']"]
    ),
    (.double, ["d", "1.5", "double(n)", "a.mark", "items[0].mark"]),
    (.string, ["s", "'x'", "a.name", "string(n)", "a.note", "a.?note.orValue('')", "items[1].note", "a.state"]),
    (
      .bool,
      [
        "flag", "true", "has(a.note)", "has(a.size)", "has(a.sub)", "has(a.sub.deep)", "has(items[0].note)",
        "a.state == 'on'",
      ]
    ),
    (
      .list(.int),
      [
        "[1, n]", "items.map(i, i.id)", "items.map(i, has(i.size), i.size)",
        "items.filter(i, has(i.size)).map(i, i.size)", "items.map(i, i.size)",
      ]
    ),
  ]

  private static let scope: ExpressionScope = {
    let sub = ObjectType("sub", fields: [.init("deep", .int, isOptional: true)])
    let item = ObjectType(
      "item",
      fields: [
        .init("id", .int), .init("name", .string), .init("mark", .double, isOptional: true),
        .init("size", .int, isOptional: true), .init("note", .string, isOptional: true),
        .init("state", .choice(["on", "off"])), .init("sub", .object(sub), isOptional: true),
      ])
    var scope = ExpressionScope()
    scope.declare("n", .int)
    scope.declare("d", .double)
    scope.declare("s", .string)
    scope.declare("flag", .bool)
    scope.declare("a", .object(item))
    scope.declare("items", .list(.object(item)))
    scope.declare("counts", .map(.string, .int))
    return scope
  }()

  /// A random expression that is often of the type, and often not.
  private func expression(_ kind: Int, _ depth: Int, _ random: inout Generator) -> String {
    func one(_ kind: Int) -> String { expression(kind, depth - 1, &random) }
    func any() -> String { expression(Int.random(in: 0..<5, using: &random), depth - 1, &random) }
    let kind = Int.random(in: 0..<25, using: &random) == 0 ? Int.random(in: 0..<5, using: &random) : kind
    if depth == 0 { return Self.kinds[kind].words.randomElement(using: &random) ?? "n" }
    let choice = Int.random(in: 0..<8, using: &random)
    switch choice {
    case 0: return "(\(one(3)) ? \(one(kind)) : \(one(kind)))"
    case 1: return "cel.bind(v, \(any()), \(one(kind)))"
    case 2: return "[\(one(kind)), \(one(kind))][\(Int.random(in: 0..<2, using: &random))]"
    default: break
    }
    switch (kind, choice) {
    case (0, 3): return "(\(one(0)) \(["+", "-", "*", "/", "%"].randomElement(using: &random) ?? "+") \(one(0)))"
    case (0, 4): return "size(\(one(4)))"
    case (0, 5): return "\(one(4))[\(one(0))]"
    case (0, _): return "int(\(one(Int.random(in: 0..<3, using: &random))))"
    case (1, 3): return "(\(one(1)) * \(one(1)))"
    case (1, _): return "double(\(one(0)))"
    case (2, 3): return "(\(one(2)) + \(one(2)))"
    case (2, 4): return "items.filter(i, has(i.note) && \(one(3))).map(i, i.note)[0]"
    case (2, 5):
      let clause = ["%d", "%.1f", "%s", "%x", "%e"].randomElement(using: &random) ?? "%s"
      return "'\(clause)'.format([\(any())])"
    case (2, _): return "string(\(one(0)))"
    case (3, 3): return "(\(one(3)) && \(one(3)))"
    case (3, 4): return "(\(one(3)) || \(one(3)))"
    case (3, 5): return "!\(one(3))"
    case (3, 6): return "(\(one(0)) \(["<", "==", ">="].randomElement(using: &random) ?? "<") \(one(0)))"
    case (3, _): return "items.exists(a, \(one(3)))"
    case (_, 3): return "\(one(4)).filter(n, \(one(3)))"
    case (_, 4): return "(\(one(4)) + \(one(4)))"
    default: return "items.map(a, \(one(3)), \(one(0)))"
    }
  }

  private func item(_ random: inout Generator) -> Value {
    func maybe(_ value: Value) -> Value? {
      [value, nil, .null].randomElement(using: &random) ?? nil
    }
    var map = ValueMap([
      ("id", .int(Int.random(in: -2...9, using: &random))), ("name", .string("x")), ("state", .string("on")),
    ])
    map["mark"] = maybe(.double(0.5))
    map["size"] = maybe(.int(4))
    map["note"] = maybe(.string("12"))
    map["sub"] = maybe(.map(ValueMap(Bool.random(using: &random) ? [("deep", .int(1))] : [])))
    return .map(map)
  }

  @Test(arguments: 0..<8)
  func `what checks has no type, name or field error, whatever the data`(_ seed: Int) {
    var random = Generator(state: UInt64(seed) &* 7919)
    var checked = 0
    for _ in 0..<1500 {
      let kind = Int.random(in: 0..<5, using: &random)
      let text = expression(kind, Int.random(in: 1...4, using: &random), &random)
      guard case .success(let program) = CompiledExpression.compile(text, in: Self.scope) else { continue }
      checked += 1
      for _ in 0..<4 {
        let values: [Value] = [
          .int(Int.random(in: -3...5, using: &random)), .double(1.5), .string("7"), .bool(Bool.random(using: &random)),
          item(&random), .list((0..<Int.random(in: 0...3, using: &random)).map { _ in item(&random) }),
          .map(ValueMap(Bool.random(using: &random) ? [("k", .int(1))] : [])),
        ]
        do throws(EvaluationError) {
          _ = try program.evaluate(values)
        } catch {
          let message = error.message
          #expect(Self.decidedByData.contains { message.contains($0) }, "seed \(seed): \(text)\n\(message)")
        }
      }
    }
    #expect(checked > 200, "the generator finds too little that checks")
  }

  private static let words = [
    "a", "n", "items", "x", "1", "2u", "1.5", "'t'", "b'b'", "null", "true", "(", ")", "[", "]", "{", "}", ".", ".?",
    "[?",
    ",", ":", "?", "??", "+", "-", "*", "/", "%", "!", "&&", "||", "==", "!=", "<", ">=", "=", "in", "has(a.b)",
    ".map(x, ",
    ".filter(x, ", ".exists(x, ", "cel.bind(x, ", ".optMap(x, ", "size(", "string(", "int(", "duration('1h')",
    "timestamp(0)",
    "optional.of(", ".orValue(", ".matches(", "'", "\"\"\"", "//", "\n", "`", "\\", "é", "$", "0x", "1e", "not ",
    " and ", "r'",
  ]

  @Test(arguments: 0..<4)
  func `no text makes the parser, the checker or the evaluator trap`(_ seed: Int) {
    var random = Generator(state: UInt64(seed) &* 104_729)
    let values: [Value] = [
      .int(.min), .double(.nan), .string("é"), .bool(true), item(&random), .list([item(&random)]), .map(ValueMap()),
    ]
    var unchecked = ExpressionScope(rules: .unchecked)
    for name in ["n", "d", "s", "flag", "a", "items", "counts"] { unchecked.declare(name, .dyn) }
    for _ in 0..<6000 {
      let count = Int.random(in: 1...14, using: &random)
      let text = (0..<count).map { _ in Self.words.randomElement(using: &random) ?? "" }.joined()
      for scope in [Self.scope, unchecked] {
        switch CompiledExpression.compile(text, in: scope) {
        case .success(let program): _ = try? program.evaluate(values, limits: EvaluationLimits(steps: 1000))
        case .failure(let faults):
          let size = text.utf8.count
          #expect(faults.list.allSatisfy { $0.range.upperBound <= size && !$0.message.isEmpty }, "\(text)")
        }
      }
      _ = Template.parse("${{\(text)}}").map { $0.compile(in: Self.scope) }
    }
  }
}
