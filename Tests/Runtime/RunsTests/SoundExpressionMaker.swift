import Basics
import Expressions
import RunTestKit

/// Writes expressions over variables whose types are known; most of the expressions check.
///
/// An expression grows from a readable value by operations on its type: fields, items, operators, macros, and every
/// function whose declaration accepts it. The type of each part is tracked by separate rules. It needn't be exact,
/// because each whole expression is compiled before it is used: the check decides, and an expression that checks has to
/// run.
struct SoundExpressionMaker {
  /// A part of an expression and the type that it probably has.
  struct Piece {
    var text: String
    var type: ValueType
    /// Whether it may be an optional that only data makes empty; `value()` on it checks, and then fails.
    var isLookup = false
  }

  var random: SeededGenerator
  /// Whether values of any type may occur; only data can decide which operations they allow.
  let meetsAnything: Bool
  private(set) var scope = ExpressionScope()
  /// Names that can be read bare.
  private(set) var readable: [Piece] = []
  /// Optional values: the condition that asks for one, and the value that can be read where the condition holds.
  private(set) var absent: [(condition: String, piece: Piece)] = []
  private static let pool = FunctionPool()

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    meetsAnything = seed % 8 == 0
  }

  // MARK: Readable values

  /// The knowledge at a place of a recipe; restored when the place is left.
  typealias Place = (ExpressionScope, [Piece], [(condition: String, piece: Piece)])

  var place: Place {
    get { (scope, readable, absent) }
    set { (scope, readable, absent) = newValue }
  }

  mutating func declare(_ name: String, _ type: ValueType) {
    scope.shadow(name, type)
    readable.removeAll { $0.text == name || $0.text.hasPrefix("\(name).") }
    note(Piece(text: name, type: type), depth: 0)
  }

  /// Declares all steps again, including a new last one.
  mutating func declare(steps: [ObjectType.Field]) {
    scope.declare("steps", .object(ObjectType("steps", fields: steps)))
    guard let last = steps.last else { return }
    noteField(last, of: "steps", depth: 0)
  }

  /// Declares what only the check sees, such as all secrets.
  mutating func declareSilently(_ name: String, _ type: ValueType) { scope.declare(name, type) }

  mutating func note(_ piece: Piece, depth: Int = 1) {
    if !meetsAnything, piece.type.holdsAnything, !piece.type.isObject { return }
    readable.append(piece)
    guard depth < 3, case .object(let object) = piece.type else { return }
    for field in object.fields.count > 8 ? Array(object.fields.shuffled(using: &random).prefix(8)) : object.fields {
      noteField(field, of: piece.text, depth: depth)
    }
  }

  private mutating func noteField(_ field: ObjectType.Field, of text: String, depth: Int) {
    guard field.isOptional else {
      return note(Piece(text: "\(text).\(field.name)", type: field.type), depth: depth + 1)
    }
    if !meetsAnything, field.type.holdsAnything, !field.type.isObject { return }
    readable.append(Piece(text: "\(text).?\(field.name)", type: .optional(field.type)))
    absent.append(("has(\(text).\(field.name))", Piece(text: "\(text).\(field.name)", type: field.type)))
  }

  // MARK: Whole expressions

  mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
  mutating func pick<Item>(_ items: [Item]) -> Item { items[Int.random(in: 0..<items.count, using: &random)] }

  /// Compiles an expression; nil unless it checks.
  func program(_ text: String, as wanted: ValueType? = nil) -> CompiledExpression? {
    if case .success(let program) = CompiledExpression.compile(text, in: scope, expecting: wanted) {
      program
    } else {
      nil
    }
  }

  /// An expression of any type that checks, and the type that the check gives it.
  mutating func anything(secrets: Bool = false) -> Piece {
    for _ in 0..<4 {
      var piece = grown(start(secrets: secrets), steps: Int.random(in: 1...6, using: &random))
      guard let program = program(piece.text) else { continue }
      if !meetsAnything, program.type.holdsAnything { continue }
      if !secrets, program.type.holdsSecret { continue }
      piece.type = program.type
      return piece
    }
    return Piece(text: "3", type: .int)
  }

  /// An expression of a type that checks where that is wanted.
  mutating func expression(of wanted: ValueType) -> String {
    for _ in 0..<3 {
      let text = piece(of: wanted).text
      if text.utf8.count < 600, program(text, as: wanted) != nil { return text }
    }
    return literal(wanted)
  }

  /// A condition; the expressions from here on may rely on it.
  mutating func condition() -> String {
    for _ in 0..<3 where !absent.isEmpty {
      let (asked, piece) = pick(absent)
      let text =
        one(in: 2) ? asked : pick(["\(asked) && \(expression(of: .bool))", "(\(expression(of: .bool))) && \(asked)"])
      guard let program = program(text, as: .bool) else { continue }
      scope.assume(program, is: true)
      note(piece)
      return text
    }
    let text = expression(of: .bool)
    if let program = program(text, as: .bool) { scope.assume(program, is: true) }
    return text
  }

  /// A condition for leaving early: the expressions from here on may rely on its opposite.
  mutating func guardCondition() -> String? {
    guard !absent.isEmpty else { return nil }
    let (asked, piece) = pick(absent)
    guard let program = program("!\(asked)", as: .bool) else { return nil }
    scope.assume(program, is: false)
    note(piece)
    return "!\(asked)"
  }

  /// The first piece of every expression.
  private mutating func start(secrets: Bool) -> Piece {
    if secrets, one(in: 2) { return Piece(text: "secrets.TOKEN", type: .secret(.string)) }
    // Recent declarations are read more often.
    let count = readable.count
    return readable[max(Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random))]
  }

  // MARK: Literals

  func literal(_ type: ValueType) -> String {
    switch type {
    case .bool: return "true"
    case .int, .dyn: return "3"
    case .uint: return "3u"
    case .double: return "1.5"
    case .string: return "'x'"
    case .bytes: return "b'x'"
    case .timestamp: return "timestamp('2026-01-01T00:00:00Z')"
    case .duration: return "duration('90s')"
    case .choice(let options): return "'\(options.first ?? "on")'"
    case .list(let element): return "[\(literal(element))]"
    case .map(_, let value): return "{'k': \(literal(value))}"
    case .optional(let wrapped): return "optional.of(\(literal(wrapped)))"
    case .wrapper, .null: return "null"
    case .secret(let of): return literal(of)
    case .object(let object):
      let fields = object.fields.filter { !$0.isOptional }.map { "'\($0.name)': \(literal($0.type))" }
      return "{\(fields.joined(separator: ", "))}"
    case .opaque(_, let parts): return parts.first.map(literal) ?? "3"
    case .type, .parameter: return "3"
    }
  }

  // MARK: Growth

  /// Something of a type, as far as that can be made.
  mutating func piece(of wanted: ValueType, locals: [Piece] = [], depth: Int = 0) -> Piece {
    func made(_ text: String) -> Piece { Piece(text: text, type: wanted) }
    if depth > 2 || one(in: 6) { return made(literal(wanted)) }
    if !one(in: 3), let known = known(wanted, locals) { return one(in: 2) ? known : preserved(known, depth) }
    let any = grown(locals.isEmpty || one(in: 3) ? start(secrets: false) : pick(locals), steps: 2, depth: depth + 1)
    if any.type == wanted { return any }
    switch wanted {
    case .bool: return made(predicate(any, depth))
    case .string: return made(pick(["'%s'.format([\(any.text)])", "json.format(\(any.text))", textOf(any)]))
    case .int: return made("size([\(any.text)])")
    case .double: return made("double(\(piece(of: .int, locals: locals, depth: depth + 1).text))")
    case .list(.dyn): return Piece(text: "[\(any.text)]", type: .list(any.type))
    case .dyn: return any
    case .list(let element): return made("[\(piece(of: element, locals: locals, depth: depth + 1).text)]")
    case .map(_, let value): return made("{'k': \(piece(of: value, locals: locals, depth: depth + 1).text)}")
    case .optional(let wrapped):
      return made("optional.of(\(piece(of: wrapped, locals: locals, depth: depth + 1).text))")
    case .object(let object):
      let fields = object.fields.filter { !$0.isOptional }.map {
        "'\($0.name)': \(piece(of: $0.type, locals: locals, depth: depth + 1).text)"
      }
      return made("{\(fields.joined(separator: ", "))}")
    case .bytes: return made("bytes(\(piece(of: .string, locals: locals, depth: depth + 1).text))")
    default: return made(literal(wanted))
    }
  }

  /// Something of exactly that type that can be read.
  private mutating func known(_ wanted: ValueType, _ locals: [Piece]) -> Piece? {
    if let local = locals.last(where: { $0.type == wanted }) { return local }
    var found: Piece?
    var count = 0
    for piece in readable where piece.type == wanted {
      count += 1
      if one(in: count) { found = piece }
    }
    return found
  }

  /// The same in another form.
  private mutating func preserved(_ piece: Piece, _ depth: Int) -> Piece {
    let text = piece.text
    let other = known(piece.type, [])?.text ?? text
    return Piece(
      text: pick([
        "(inputs.flag ? \(text) : \(other))", "[\(text)][0]", "optional.of(\(text)).orValue(\(other))",
        "{'k': \(text)}.k", "cel.bind(x\(depth), \(text), x\(depth))", "[\(text), \(other)].reverse()[0]",
        "optional.of(optional.of(\(text))).orValue(optional.of(\(other))).orValue(\(other))",
        "{?'k': optional.of(\(text))}.?k.orValue(\(other))",
      ]), type: piece.type)
  }

  private mutating func predicate(_ piece: Piece, _ depth: Int) -> String {
    let text = piece.text
    switch piece.type {
    case .bool: return pick([text, "!(\(text))", "(\(text) || inputs.flag)", "(inputs.flag && \(text))"])
    case .optional: return pick(["\(text).hasValue()", "\(text) == \(text)"])
    case .list, .map: return pick(["size(\(text)) > 0", "\(text) == \(text)"])
    case .int: return "\(text) > 1"
    case .double: return "\(text) <= 1.5"
    case .string: return pick(["\(text) != ''", "\(text).startsWith('a')", "\(text) < 'b'"])
    case .wrapper: return "\(text) != null"
    case .object(let object):
      if let field = object.fields.first(where: \.isOptional) { return "has(\(text).\(field.name))" }
      return "\(text) == \(text)"
    default: return pick(["\(text) == \(text)", "\(text) in [\(text)]"])
    }
  }

  private mutating func textOf(_ piece: Piece) -> String {
    switch piece.type {
    case .int, .uint, .double, .bool, .string, .timestamp, .duration: "string(\(piece.text))"
    case .optional(let wrapped): textOf(Piece(text: "\(piece.text).orValue(\(literal(wrapped)))", type: wrapped))
    case .choice: piece.text + " + '-'"
    default: "'%s'.format([\(piece.text)])"
    }
  }

  /// The expression with operations added, most of them such as its type allows.
  mutating func grown(_ start: Piece, steps: Int, locals: [Piece] = [], depth: Int = 0) -> Piece {
    var piece = start
    for _ in 0..<steps where piece.text.utf8.count < 260 {
      guard let next = operation(on: piece, locals, depth) else { continue }
      if !meetsAnything, next.type.holdsAnything { continue }
      var grown = next
      grown.isLookup = next.isLookup || piece.isLookup
      piece = grown
    }
    return piece
  }

  private mutating func operation(on piece: Piece, _ locals: [Piece], _ depth: Int) -> Piece? {
    if case .secret(let of) = piece.type {
      let inner = Piece(text: piece.text, type: of, isLookup: piece.isLookup)
      return operation(on: inner, locals, depth).map {
        Piece(text: $0.text, type: .secret($0.type), isLookup: $0.isLookup)
      }
    }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<58: return ofItsType(piece, locals, depth) ?? around(piece, locals, depth)
    case 58..<80: return call(on: piece, locals, depth) ?? around(piece, locals, depth)
    case 80..<97: return around(piece, locals, depth)
    // Operations that the type doesn't allow.
    case 97: return call(on: Piece(text: piece.text, type: pick(Self.simple)), locals, depth)
    default:
      return ofItsType(Piece(text: piece.text, type: pick(Self.simple), isLookup: piece.isLookup), locals, depth)
    }
  }

  private static let simple: [ValueType] = [
    .int, .string, .bool, .list(.int), .map(.string, .int), .optional(.string), .timestamp, .optional(.optional(.int)),
    .object(ObjectType(fields: [.init("b", .string, isOptional: true), .init("k", .int)])),
  ]

  /// The body of a macro, for one item.
  private mutating func body(_ name: String, _ type: ValueType, _ locals: [Piece], _ depth: Int) -> Piece {
    let local = Piece(text: name, type: type)
    guard depth < 2 else { return local }
    return grown(local, steps: Int.random(in: 0...3, using: &random), locals: locals + [local], depth: depth + 1)
  }

  private mutating func ofItsType(_ piece: Piece, _ locals: [Piece], _ depth: Int) -> Piece? {
    let text = piece.text
    let name = "x\(depth)"
    func made(_ text: String, _ type: ValueType, lookup: Bool = false) -> Piece {
      Piece(text: text, type: type, isLookup: lookup)
    }
    switch piece.type {
    case .object(let object):
      guard !object.fields.isEmpty else { return nil }
      let field = pick(object.fields)
      let optional: ValueType = .optional(field.type)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: return made("\(text).?\(field.name)", optional)
      case 1: return made("\(text)[?'\(field.name)']", optional)
      case 2: return made("has(\(text).\(field.name))", .bool)
      case 3 where field.isOptional:
        return made("(has(\(text).\(field.name)) ? \(text).\(field.name) : \(literal(field.type)))", field.type)
      case 4 where field.isOptional:
        return made(
          "(\(text).?\(field.name).hasValue() ? \(text).?\(field.name).value() : \(literal(field.type)))", field.type)
      case 5: return made("'\(field.name)' in \(text)", .bool)
      default: break
      }
      if field.isOptional, !one(in: 6) { return made("\(text).?\(field.name)", optional) }
      return made(pick(["\(text).\(field.name)", "\(text)['\(field.name)']"]), field.type)
    case .optional(let wrapped):
      var held = wrapped
      while case .optional(let inner) = held { held = inner }
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1:
        let other = one(in: 2) ? literal(wrapped) : self.piece(of: wrapped, locals: locals, depth: depth + 1).text
        return made("\(text).orValue(\(other))", wrapped)
      case 2: return made("\(text).hasValue()", .bool)
      case 3:
        let body = body(name, wrapped, locals, depth)
        return made("\(text).optMap(\(name), \(body.text))", .optional(body.type), lookup: body.isLookup)
      case 4:
        let body = body(name, wrapped, locals, depth)
        if case .optional = body.type { return made("\(text).optFlatMap(\(name), \(body.text))", body.type) }
        return made("\(text).optFlatMap(\(name), optional.of(\(body.text)))", .optional(body.type))
      case 5: return made("\(text).or(\(pick(["optional.none()", text])))", piece.type)
      case 6: return made("[?\(text)]", .list(wrapped))
      case 7: return made("[\(text)].unwrapOpt()", .list(wrapped))
      case 8 where !piece.isLookup: return made("\(text).value()", wrapped)
      case 9 where !piece.isLookup:
        return made("(\(text).hasValue() ? \(text).value() : \(literal(wrapped)))", wrapped)
      case 10:
        return made(
          "{'k': 1, ?'b': \(text)}",
          .object(ObjectType(fields: [.init("k", .int), .init("b", wrapped, isOptional: true)])))
      default: break
      }
      switch held {
      case .object(let object):
        guard !object.fields.isEmpty else { return nil }
        let field = pick(object.fields)
        return made(
          pick([
            "\(text).?\(field.name)", "\(text).\(field.name)", "\(text)['\(field.name)']", "\(text)[?'\(field.name)']",
          ]),
          .optional(field.type))
      case .list(let element): return made(pick(["\(text)[0]", "\(text)[?0]"]), .optional(element), lookup: true)
      case .map(_, let value):
        return made(pick(["\(text).k", "\(text).?k", "\(text)[?'k']"]), .optional(value), lookup: true)
      default: return made("\(text).orValue(\(literal(wrapped)))", wrapped)
      }
    case .list(let element):
      switch Int.random(in: 0..<14, using: &random) {
      case 0: return made("\(text)[0]", element)
      case 1, 2: return made("\(text)[?0]", .optional(element), lookup: true)
      case 3: return made("\(text)[\(self.piece(of: .int, locals: locals, depth: depth + 1).text)]", element)
      case 4, 5:
        let body = body(name, element, locals, depth)
        return made("\(text).map(\(name), \(body.text))", .list(body.type), lookup: body.isLookup)
      case 6:
        let body = body(name, element, locals, depth)
        return made("\(text).filter(\(name), \(predicate(body, depth + 1)))", piece.type)
      case 7:
        let body = body(name, element, locals, depth)
        let other = self.body(name, element, locals, depth)
        return made("\(text).map(\(name), \(predicate(body, depth + 1)), \(other.text))", .list(other.type))
      case 8:
        let body = body(name, element, locals, depth)
        return made(
          "\(text).\(pick(["all", "exists", "existsOne"]))(\(name), \(predicate(body, depth + 1)))", .bool)
      case 9:
        let body = body(name, element, locals, depth)
        return made("\(text).sortBy(\(name), \(body.type.hasOrder ? body.text : "size([\(body.text)])"))", piece.type)
      case 10:
        let body = body(name, element, locals, depth)
        return made("\(text).transformList(\(name)k, \(name), \(body.text))", .list(body.type), lookup: body.isLookup)
      case 11: return made("\(text) + \(text)", piece.type)
      case 12:
        guard case .object(let object) = element, let field = object.fields.first(where: \.isOptional) else {
          return made("size(\(text))", .int)
        }
        return made(
          pick([
            "\(text).filter(\(name), has(\(name).\(field.name))).map(\(name), \(name).\(field.name))",
            "\(text).map(\(name), has(\(name).\(field.name)), \(name).\(field.name))",
            "\(text).map(\(name), \(name).?\(field.name)).unwrapOpt()",
          ]), .list(field.type))
      default: return made("\(literal(element)) in \(text)", .bool)
      }
    case .map(_, let value):
      switch Int.random(in: 0..<9, using: &random) {
      case 0: return made("\(text).?k", .optional(value), lookup: true)
      case 1: return made("\(text)[?'k']", .optional(value), lookup: true)
      case 2: return made(pick(["\(text).k", "\(text)['k']"]), value)
      case 3: return made("\(text).map(\(name), \(name))", .list(.string))
      case 4:
        let body = body(name, value, locals, depth)
        return made("\(text).transformList(\(name)k, \(name), \(body.text))", .list(body.type), lookup: body.isLookup)
      case 5:
        let body = body(name, value, locals, depth)
        return made(
          "\(text).transformMap(\(name)k, \(name), \(body.text))", .map(.string, body.type), lookup: body.isLookup)
      case 6: return made("'k' in \(text)", .bool)
      case 7: return made("(has(\(text).k) ? \(text).k : \(literal(value)))", value)
      default: return made("\(text).\(pick(["all", "exists"]))(\(name), \(name) != 'q')", .bool)
      }
    case .int:
      let other = self.piece(of: .int, locals: locals, depth: depth + 1).text
      return pick([
        made("(\(text) \(pick(["+", "-", "*", "/", "%"])) \(other))", .int), made("double(\(text))", .double),
        made("(\(text) \(pick(["<", ">=", "!="])) \(other))", .bool), made("inputs.xs[\(text)]", .int),
        made("inputs.xs[?\(text)]", .optional(.int), lookup: true), made("-\(text)", .int),
        made("string(\(text))", .string),
      ])
    case .double:
      let other = self.piece(of: .double, locals: locals, depth: depth + 1).text
      return pick([
        made("(\(text) \(pick(["+", "-", "*", "/"])) \(other))", .double), made("int(\(text))", .int),
        made("(\(text) < \(other))", .bool), made("-\(text)", .double),
      ])
    case .string, .choice:
      let other = self.piece(of: .string, locals: locals, depth: depth + 1).text
      return pick([
        made("(\(text) + \(other))", .string), made("(\(text) == \(other))", .bool), made("size(\(text))", .int),
        made("\(text).split(',')", .list(.string)), made("int(\(text))", .int), made("(\(text) in [\(other)])", .bool),
      ])
    case .bool:
      let other = self.piece(of: .bool, locals: locals, depth: depth + 1).text
      return pick([
        made("(\(text) && \(other))", .bool), made("(\(text) || \(other))", .bool), made("!(\(text))", .bool),
        made("(\(text) ? 1 : 2)", .int),
      ])
    case .timestamp:
      return pick([
        made("(\(text) + \(self.piece(of: .duration, locals: locals, depth: depth + 1).text))", .timestamp),
        made("(\(text) - \(self.piece(of: .timestamp, locals: locals, depth: depth + 1).text))", .duration),
        made("string(\(text))", .string),
      ])
    case .duration:
      return pick([
        made("(\(text) + \(self.piece(of: .duration, locals: locals, depth: depth + 1).text))", .duration),
        made("string(\(text))", .string),
      ])
    default: return nil
    }
  }

  /// Operations on values of any type.
  private mutating func around(_ piece: Piece, _ locals: [Piece], _ depth: Int) -> Piece? {
    let (text, type) = (piece.text, piece.type)
    func made(_ text: String, _ type: ValueType, lookup: Bool = false) -> Piece {
      Piece(text: text, type: type, isLookup: lookup)
    }
    let nullable: ValueType =
      switch type {
      case .wrapper, .null, .dyn: type
      default: .wrapper(type)
      }
    switch Int.random(in: 0..<20, using: &random) {
    case 0: return made("[\(text)]", .list(type))
    case 1: return made("{'k': \(text)}", .object(ObjectType(fields: [.init("k", type)])))
    case 2: return made("[\(text)][?0]", .optional(type), lookup: true)
    case 3: return made("{'k': \(text)}.?k", .optional(type))
    case 4: return made("(inputs.flag ? \(text) : \(literal(type)))", type)
    case 5: return made("(inputs.flag ? \(text) : null)", nullable)
    case 6: return made("'%s'.format([\(text)])", .string)
    case 7: return made("json.format(\(text))", .string)
    case 8, 9: return made("optional.of(\(text))", .optional(type))
    case 10: return made("optional.ofNonZeroValue(\(text))", .optional(type), lookup: true)
    case 11:
      let body = body("x\(depth)", type, locals, depth)
      return made("cel.bind(x\(depth), \(text), \(body.text))", body.type, lookup: body.isLookup)
    case 12: return made("[\(text), \(literal(type))]", .list(type))
    case 13: return made("(\(text) == \(text))", .bool)
    case 14: return made("[[\(text)]]", .list(.list(type)))
    case 15:
      let other = known(type, locals)?.text ?? literal(type)
      return made("[\(text), \(other)][0]", type)
    case 16: return made("csv.format([{'a': \(text)}])", .string)
    case 17: return made("'\(pick(["%d", "%.1f", "%s", "%e"]))'.format([\(text)])", .string)
    case 18: return made("[\(text), \(pick(["null", "'x'", "1"]))]", .list(nullable))
    default:
      let other = self.piece(of: pick([.int, .string, .bool]), locals: locals, depth: depth + 1).text
      return made(
        "{'a': \(text), 'b': \(other)}", .object(ObjectType(fields: [.init("a", type), .init("b", .string)])))
    }
  }

  /// A function that takes it as the first of its arguments.
  private mutating func call(on piece: Piece, _ locals: [Piece], _ depth: Int) -> Piece? {
    let forms = Self.pool.forms(taking: piece.type)
    guard !forms.isEmpty else { return nil }
    let form = pick(forms)
    var bound: [String: ValueType] = [:]
    let parameters = (form.receiver.map { [$0] } ?? []) + form.parameters
    guard let first = parameters.first, first.takes(piece.type, &bound) else { return nil }
    var arguments: [String] = []
    for parameter in parameters.dropFirst() {
      let wanted = parameter.filled(bound)
      if wanted == .string, let text = FunctionPool.texts[form.name]?[safe: arguments.count], !one(in: 8) {
        arguments.append(text)
      } else if wanted == .string, one(in: 2) {
        arguments.append(pick(["'x'", "','", "'a'", "'12'"]))
      } else {
        arguments.append(self.piece(of: wanted, locals: locals, depth: depth + 1).text)
      }
    }
    // Flattening a list without lists inside gives the same list.
    let result = form.name == "flatten" && form.result.holdsAnything ? piece.type : form.result.filled(bound)
    let isLookup = if case .optional = result { true } else { piece.isLookup }
    let text =
      form.receiver != nil
      ? "\(piece.text).\(form.name)(\(arguments.joined(separator: ", ")))"
      : "\(form.name)(\(([piece.text] + arguments).joined(separator: ", ")))"
    return Piece(text: text, type: result, isLookup: isLookup)
  }
}

/// The functions that expressions may call, by the kind of their first argument.
private struct FunctionPool: Sendable {
  private let byKind: [String: [FunctionDeclaration]]

  /// Texts that some functions take after their first argument, which only a few are.
  static let texts: [String: [String]] = [
    "time.next": ["'02:00'", "'UTC'"], "time.at": ["'02:00'", "'Europe/Berlin'"], "time.startOfDay": ["'UTC'"],
    "time.plusDays": ["''", "'UTC'"], "time.weekday": ["'UTC'"], "time.format": ["'%Y-%m-%d'", "'UTC'"],
    "time.parse": ["'%Y'", "'UTC'"], "matches": ["'a+'"], "regex.replace": ["'a+'", "'b'"],
    "regex.extract": ["'a+'"], "regex.extractAll": ["'a+'"], "text.padStart": ["''", "' '"],
    "text.padEnd": ["''", "' '"], "getHours": ["'UTC'"], "getFullYear": ["'UTC'"], "csv.parse": ["';'"],
    "csv.format": ["';'"],
  ]

  init() {
    var byKind: [String: [FunctionDeclaration]] = [:]
    for form in FunctionLibrary.standard.declarations {
      // The arguments that these need are known only to the places that write them directly.
      if ["dyn", "value", "optional.none"].contains(form.name) { continue }
      guard let first = form.receiver ?? form.parameters.first else { continue }
      byKind[first.kindName, default: []].append(form)
    }
    self.byKind = byKind
  }

  func forms(taking type: ValueType) -> [FunctionDeclaration] {
    (byKind[type.kindName] ?? []) + (byKind["any"] ?? [])
  }
}

extension Array {
  fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

extension ValueType {
  fileprivate var isObject: Bool { if case .object = self { true } else { false } }

  fileprivate var hasOrder: Bool {
    switch self {
    case .int, .uint, .double, .bool, .string, .choice, .bytes, .timestamp, .duration: true
    default: false
    }
  }

  fileprivate var kindName: String {
    switch self {
    case .list: "list"
    case .map, .object: "map"
    case .optional: "optional"
    case .choice, .string: "string"
    case .dyn, .parameter, .opaque: "any"
    case .secret(let of): of.kindName
    default: "\(self)"
    }
  }

  /// Whether anything may be in a value of the type, whose type nothing has checked.
  var holdsAnything: Bool {
    switch self {
    case .dyn: true
    case .list(let of), .optional(let of), .wrapper(let of), .secret(let of): of.holdsAnything
    case .map(let key, let value): key.holdsAnything || value.holdsAnything
    case .object(let object): object.fields.contains { $0.type.holdsAnything }
    case .opaque(_, let parts): parts.contains { $0.holdsAnything }
    default: false
    }
  }

  /// Whether a parameter of this type takes a value of another, roughly.
  fileprivate func takes(_ given: ValueType, _ bound: inout [String: ValueType]) -> Bool {
    switch (self, given) {
    case (.parameter(let name), _):
      if let known = bound[name] { return known == given }
      bound[name] = given
      return true
    case (.dyn, _): return true
    case (.opaque(_, let parts), _):
      for part in parts where part.takes(given, &bound) { return true }
      return false
    case (.list(let wanted), .list(let given)), (.optional(let wanted), .optional(let given)):
      return wanted.takes(given, &bound)
    case (.map(_, let wanted), .map(_, let given)): return wanted.takes(given, &bound)
    case (.map(_, let wanted), .object(let object)):
      return object.fields.allSatisfy { wanted.takes($0.type, &bound) }
    case (.string, .choice): return true
    default: return self == given
    }
  }

  /// The type with its parameters replaced.
  fileprivate func filled(_ bound: [String: ValueType]) -> ValueType {
    switch self {
    case .parameter(let name): bound[name] ?? .int
    case .list(let of): .list(of.filled(bound))
    case .optional(let of): .optional(of.filled(bound))
    case .map(let key, let value): .map(key.filled(bound), value.filled(bound))
    case .type: .type(.dyn)
    default: self
    }
  }
}
