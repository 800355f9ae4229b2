import ActionKit
import Basics
import Expressions
import PluginList
import RunTestKit

@testable import Recipes

/// Writes recipes of every kind of step, with expressions in every place that takes one.
///
/// The names known at each place are tracked beside the recipe. They needn't be exact: the check of the recipe decides,
/// and a recipe that checks has to run.
struct SoundRecipeMaker {
  private var maker: SoundExpressionMaker
  private var lastID = 0
  private var steps: [ObjectType.Field] = []
  /// The names of the top level, which may be absent when everything is over.
  private var names: [(String, ValueType)] = []
  /// Whether secrets are put into every place of an expression.
  let spreadsSecrets: Bool
  /// The places that were given an expression.
  private(set) var places: Set<String> = []

  static let catalog = ActionCatalog(
    [AnythingPlugin.self] + everyPlugin.filter { ["json", "csv", "text", "store", "file"].contains($0.name) })
  /// Where the actions on files are.
  static let folder = "/tmp/errand-sound-\(UInt64.random(in: 0 ... .max))"
  /// The actions that have an output, each with its type.
  private let actions: [(name: String, type: ValueType)]
  private let giveType: ValueType
  /// Whether there is an action with open fields.
  private let hasOpen: Bool
  /// The output of an action of the program; nil if this recipe doesn't have the action.
  private let realType: @Sendable (String) -> ValueType?

  static let inputs =
    "{ o: { type: { a: int, b: string?, n: int?, deep: { x: double?, items: [{ id: int, note: string? }] } } }, "
    + "xs: list(int), m: \"map(string, int)\", s: string, z: double, flag: bool, at: timestamp, long: duration, "
    + "word: { type: string, choices: [on, off, later] }, day: date, "
    + "colour: \"choice(red, blue)\", pin: { type: string, secret: true } }"

  private static let inputType: ValueType = {
    let item = ObjectType(fields: [.init("id", .int), .init("note", .string, isOptional: true)])
    let deep = ObjectType(fields: [.init("x", .double, isOptional: true), .init("items", .list(.object(item)))])
    let o = ObjectType(fields: [
      .init("a", .int), .init("b", .string, isOptional: true), .init("n", .int, isOptional: true),
      .init("deep", .object(deep)),
    ])
    return .object(
      ObjectType(
        "inputs",
        fields: [
          .init("o", .object(o)), .init("xs", .list(.int)), .init("m", .map(.string, .int)), .init("s", .string),
          .init("z", .double), .init("flag", .bool), .init("at", .timestamp), .init("long", .duration),
          .init("word", .choice(["on", "off", "later"])), .init("day", .string),
          .init("colour", .choice(["red", "blue"])),
        ]))
  }()

  static let called = """
    recipe: called
    inputs: { b: { type: { t: string? } }, n: int, w: { type: string, choices: [on, off], default: on } }
    steps: [{ id: give, if: inputs.n > 1, uses: any.give, with: { seed: 5 } }]
    outputs: { t: "${{ inputs.b.?t }}", n: "${{ inputs.n }}", first: "${{ steps.?give.?first }}", w: "${{ inputs.w }}" }
    """

  private var calledType: ValueType {
    guard case .object(let give) = giveType, let first = give["first"]?.type else { return .dyn }
    return .object(
      ObjectType(fields: [
        .init("t", .optional(.string)), .init("n", .int), .init("first", .optional(first)),
        .init("w", .choice(["on", "off"])),
      ]))
  }

  init(seed: UInt64, catalog: ActionCatalog = Self.catalog) {
    maker = SoundExpressionMaker(seed: seed)
    spreadsSecrets = seed % 10 == 3
    actions = catalog.actionIDs.filter { $0.hasPrefix("any.") && $0 != "any.refuse" && $0 != "any.open" }.map {
      ($0, catalog.action($0)?.outputType(for: .map(ValueMap())) ?? .dyn)
    }
    hasOpen = catalog.action("any.open") != nil
    let catalog = catalog
    realType = { catalog.action($0)?.outputType(for: .map(ValueMap())) }
    giveType = catalog.action("any.give")?.outputType(for: .map(ValueMap())) ?? .dyn
  }

  /// Values of the inputs.
  mutating func values() -> ValueMap {
    var o = ValueMap([("a", .int(pick([0, 1, 3])))])
    if one(in: 2) { o["b"] = .string(pick(["", "b", "3"])) }
    if one(in: 2) { o["n"] = .int(pick([-1, 0, 2])) }
    var deep = ValueMap()
    if one(in: 2) { deep["x"] = .double(0.5) }
    deep["items"] = .list(
      (0..<pick([0, 1, 2])).map { id in
        .map(ValueMap([("id", .int(id))] + (one(in: 2) ? [("note", .string("n"))] : [])))
      })
    o["deep"] = .map(deep)
    return ValueMap([
      ("o", .map(o)), ("xs", .list((0..<pick([0, 1, 3])).map { .int($0) })),
      ("m", .map(ValueMap(one(in: 2) ? [("k", .int(1))] : []))), ("s", .string(pick(["", "s", "7"]))),
      ("z", .double(pick([0, 1.5]))), ("flag", .bool(one(in: 2))),
      ("at", .timestamp(Timestamp("2026-11-22T10:00:00Z") ?? .earliest)),
      ("long", .duration(.seconds(60))), ("word", .string(pick(["on", "later"]))),
      ("day", .string("2026-11-22")), ("colour", .string(pick(["red", "blue"]))),
      ("pin", .object(["secret": .string("PIN")])),
    ])
  }

  mutating func recipe() -> String {
    var fields: [ObjectType.Field] = []
    if case .object(let object) = Self.inputType { fields = object.fields }
    // Declared to the check, and read by name only where a secret is wanted.
    maker.declare("inputs", Self.inputType)
    maker.declareSilently(
      "inputs", .object(ObjectType("inputs", fields: fields + [ObjectType.Field("pin", .secret(.string))])))
    maker.declareSilently("steps", .object(ObjectType("steps", fields: [])))
    maker.declare("run", .object(RecipeTypes.run))
    maker.declareSilently("secrets", .map(.string, .secret(.string)))
    maker.declare("now", .timestamp)
    let first = maker.place
    var lines = ["inputs: \(Self.inputs)"]
    if one(in: 4) {
      lines.append("defaults: { retry: { maxAttempts: 2, if: \"error.retryable || error.?status.orValue(0) > 400\" } }")
      places.insert("defaults.retry.if")
    }
    lines.append("steps:")
    for _ in 0..<Int.random(in: 2...5, using: &maker.random) { lines.append("  - \(step(depth: 0))") }
    let outputs = (0..<2).map { "o\($0): \(hole("outputs", isKept: true).text)" }.joined(separator: ", ")
    lines.append("outputs: { \(outputs) }")
    let (all, bound) = (steps, names)
    for key in ["onFailure", "finally"] where one(in: 3) {
      maker.place = first
      for (name, type) in bound { maker.declare(name, type.asOptional) }
      steps = all.map { ObjectType.Field($0.name, $0.type, isOptional: true) }
      maker.declare(steps: steps)
      let error = ValueType.object(RecipeTypes.error)
      maker.declare("error", key == "finally" ? .optional(error) : error)
      lines.append("\(key): [{ let: { late\(key): \(hole(key).text) } }, \(uses(newID(), onto: ""))]")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Parts

  private mutating func pick<Item>(_ items: [Item]) -> Item { maker.pick(items) }
  private mutating func one(in count: Int) -> Bool { maker.one(in: count) }

  private mutating func newID() -> String {
    lastID += 1
    return "s\(lastID)"
  }

  private mutating func give(_ id: String, _ type: ValueType, isOptional: Bool = false) {
    steps.append(ObjectType.Field(id, type, isOptional: isOptional))
    maker.declare(steps: steps)
  }

  private mutating func leave(to outer: (SoundExpressionMaker.Place, [ObjectType.Field])) {
    (maker.place, steps) = outer
  }

  /// Declares a name of `let`.
  private mutating func bind(_ name: String, _ type: ValueType, _ depth: Int) {
    maker.declare(name, type)
    if depth == 0 { names.append((name, type)) }
  }

  private func quoted(_ expression: String) -> String { "\"${{ \(expression) }}\"" }

  /// A template of any type, in the quotes of YAML.
  ///
  /// - Parameter isKept: Whether no secret may be in it, which the check refuses.
  private mutating func hole(_ place: String, isKept: Bool = false) -> SoundExpressionMaker.Piece {
    places.insert(place)
    var piece = maker.anything(secrets: spreadsSecrets && (!isKept || one(in: 8)))
    switch piece.type {
    case .int, .uint, .double, .bool, .string, .timestamp, .duration, .choice:
      if one(in: 4) {
        piece.text = "\"a ${{ \(piece.text) }} b ${{ now }}\""
        piece.type = .string
        return piece
      }
    default: break
    }
    piece.text = quoted(piece.text)
    return piece
  }

  private mutating func condition(_ place: String) -> String {
    places.insert(place)
    let text = maker.condition()
    return one(in: 3) ? quoted(text) : "\"\(text)\""
  }

  private mutating func expression(_ place: String, of type: ValueType) -> String {
    places.insert(place)
    if spreadsSecrets, type == .string, one(in: 20) { return "'x' + secrets.TOKEN" }
    if spreadsSecrets, type == .bool, one(in: 40) { return "inputs.pin == 'a'" }
    return maker.expression(of: type)
  }

  /// A text with an expression in it.
  private mutating func text(_ place: String, _ start: String) -> String {
    "\"\(start) ${{ \(expression(place, of: pick([.string, .int, .double, .bool, .timestamp, .duration]))) }}\""
  }

  private mutating func retry() -> String {
    guard one(in: 4) else { return "" }
    let outer = (maker.place, steps)
    maker.declare("error", .object(RecipeTypes.error))
    let text = condition("retry.if")
    leave(to: outer)
    return ", retry: { maxAttempts: 2, initial: 1s, if: \(text) }"
  }

  /// An action, and its output under the id.
  private mutating func uses(_ id: String, onto clauses: String, isOptional: Bool = false) -> String {
    var clauses = clauses + retry()
    if hasOpen, one(in: 6) { return open(id, onto: clauses, isOptional: isOptional) }
    let action = one(in: 2) ? ("any.give", giveType) : pick(actions)
    var fields = "seed: \(Int.random(in: 0..<64, using: &maker.random))"
    if action.0 == "any.give" {
      fields = input()
      if one(in: 6) { clauses += ", key: \(text("key", "k"))" }
    }
    let isCaught = one(in: 6)
    if isCaught { clauses += ", onError: \(pick(["continue", handler()]))" }
    give(id, action.1, isOptional: isOptional || isCaught)
    return "{ id: \(id), uses: \(action.0), with: { \(fields) }\(clauses) }"
  }

  /// An action with open fields, and a `shape` that gives some of them a type.
  private mutating func open(_ id: String, onto clauses: String, isOptional: Bool) -> String {
    places.insert("shape")
    func object() -> (text: String, type: ValueType) {
      var parts: [String] = []
      var fields: [ObjectType.Field] = []
      for (index, member) in Open.members.enumerated() where one(in: 3) {
        let mayBeAbsent = one(in: 2)
        let name = mayBeAbsent ? "n\(index)" : "m\(index)"
        parts.append("\(name): \"\(member.type)\(mayBeAbsent ? "?" : "")\"")
        fields.append(.init(name, member.shaped, isOptional: mayBeAbsent))
      }
      return ("{ \(parts.joined(separator: ", ")) }", .object(ObjectType(fields: fields)))
    }
    var parts: [String] = []
    var (body, rows, value) = (ValueType.dyn, ValueType.list(.dyn), ValueType.dyn)
    if one(in: 2) {
      let shape = object()
      parts.append("body: \(shape.text)")
      body = shape.type
    }
    if parts.isEmpty || one(in: 2) {
      let shape = object()
      parts.append("rows: [\(shape.text)]")
      rows = .list(shape.type)
    }
    if one(in: 2) {
      let shape = object()
      parts.append("value?: \(shape.text)")
      value = shape.type
    }
    give(
      id,
      .object(
        ObjectType(fields: [.init("body", body), .init("rows", rows), .init("value", value, isOptional: true)])),
      isOptional: isOptional)
    let seed = Int.random(in: 0..<64, using: &maker.random)
    return
      "{ id: \(id), uses: any.open, with: { seed: \(seed) }, shape: { \(parts.joined(separator: ", ")) }\(clauses) }"
  }

  private mutating func input() -> String {
    var fields = ["seed: \(Int.random(in: 0..<64, using: &maker.random))"]
    let part = ObjectType(fields: [.init("id", .int), .init("note", .string, isOptional: true)])
    let others: [(String, ValueType)] = [
      ("text", .string), ("number", .int), ("measure", .double), ("flag", .bool), ("at", .timestamp),
      ("long", .duration), ("octets", .bytes), ("texts", .list(.string)), ("counts", .map(.string, .int)),
      ("value", .dyn), ("word", .choice(["on", "off"])), ("parts", .list(.object(part))),
    ]
    for (name, type) in others where one(in: 6) {
      switch name {
      case "value": fields.append("value: \(hole("with", isKept: true).text)")
      case "texts" where one(in: 2):
        fields.append("texts: [a, \(quoted(expression("with", of: .string)))]")
      case "parts" where one(in: 2):
        fields.append("parts: [{ id: \(quoted(expression("with", of: .int))) }]")
      default: fields.append("\(name): \(quoted(expression("with", of: type)))")
      }
    }
    if one(in: 8) {
      places.insert("a field that takes a secret")
      fields.append("pass: \(quoted(pick(["secrets.TOKEN", "inputs.pin", "secrets.TOKEN + inputs.s", "inputs.s"])))")
    }
    return fields.joined(separator: ", ")
  }

  /// Steps that see an error.
  private mutating func handler() -> String {
    let outer = (maker.place, steps)
    maker.declare("error", .object(RecipeTypes.error))
    let name = "e\(newID())"
    let text = hole("onError").text
    leave(to: outer)
    return "[{ let: { \(name): \(text), m\(name): \"${{ error.?detail.orValue('x') + error.message }}\" } }]"
  }

  // MARK: Steps

  private mutating func step(depth: Int) -> String {
    let outer = (maker.place, steps)
    let id = newID()
    switch Int.random(in: 0..<(depth < 2 ? 31 : 12), using: &maker.random) {
    case 0, 1:
      let piece = hole("let")
      bind("v\(lastID)", piece.type, depth)
      return "{ let: { v\(lastID): \(piece.text) } }"
    case 2:
      let name = "v\(lastID)"
      let holds = condition("if")
      let piece = hole("let")
      leave(to: outer)
      bind(name, .optional(piece.type), depth)
      return "{ if: \(holds), let: { \(name): \(piece.text) } }"
    case 3:
      let name = "v\(lastID)"
      let (one, other) = (hole("let"), hole("let"))
      // An absent optional leaves its key out.
      let first = ObjectType.Field("a", one.type.heldIfPresent ?? one.type, isOptional: one.type.heldIfPresent != nil)
      bind(name, .object(ObjectType(fields: [first, .init("b", .list(other.type))])), depth)
      return "{ let: { \(name): { a: \(one.text), b: [\(other.text)] } } }"
    case 4, 5: return uses(id, onto: "")
    case 6:
      let holds = condition("if")
      let text = uses(id, onto: ", if: \(holds)", isOptional: true)
      let last = steps.last
      leave(to: outer)
      if let last { give(id, last.type, isOptional: true) }
      return text
    case 7:
      let message = text("fail", "stop")
      if one(in: 2), let holds = maker.guardCondition() { return "{ if: \"\(holds)\", fail: \(message) }" }
      return "{ if: \"(\(expression("if", of: .bool))) && inputs.z > 90.0\", fail: \(message) }"
    case 8: return "{ wait: \(quoted(expression("wait", of: .duration))) }"
    case 9: return "{ wait: { until: \"\(expression("wait.until", of: .timestamp))\" } }"
    case 10:
      maker.declare("event", EventForm().type)
      places.insert("wait.match")
      let match = maker.expression(of: .bool)
      leave(to: outer)
      if maker.meetsAnything {
        give(id, .object(ObjectType(fields: [.init("event", EventForm().type, isOptional: true)])))
      }
      return
        "{ id: \(id), wait: { event: paid, match: \"event.data.n == 1 && ((\(match)) || true)\", timeout: 1h, onTimeout: continue } }"
    case 11:
      let prompt = text("approve.prompt", "Go on with")
      give(
        id,
        .object(
          ObjectType(fields: [
            .init("approved", .bool), .init("by", .string, isOptional: true), .init("at", .timestamp, isOptional: true),
            .init("comment", .string, isOptional: true),
          ])))
      return "{ id: \(id), approve: { prompt: \(prompt), timeout: 1h, onTimeout: continue } }"
    case 12, 13, 14: return loop(id, depth)
    case 15, 16:
      let holds = one(in: 2) ? condition("if") : nil
      let retry = retry()
      let inner = step(depth: depth + 1)
      let own = steps.dropFirst(outer.1.count)
      let hasOutputs = one(in: 2)
      let piece = hasOutputs ? hole("outputs", isKept: true) : nil
      let clause = (holds.map { ", if: \($0)" } ?? "") + retry
      leave(to: outer)
      let fields = piece.map { [ObjectType.Field("out", $0.type)] } ?? Array(own)
      give(id, .object(ObjectType(fields: fields)), isOptional: holds != nil)
      return "{ id: \(id)\(clause), steps: [\(inner)]\(piece.map { ", outputs: { out: \($0.text) }" } ?? "") }"
    case 17, 18:
      let (text, number) = (expression("call.with", of: .string), expression("call.with", of: .int))
      let word = expression("call.with", of: .choice(["on", "off"]))
      let isOptional = one(in: 2)
      give(id, calledType, isOptional: isOptional)
      return
        "{ id: \(id)\(isOptional ? ", if: inputs.flag" : ""), call: called.yaml, with: { b: { t: \(quoted(text)) }, n: \(quoted(number)), w: \(quoted(word)) } }"
    case 19:
      let left = step(depth: depth + 1)
      let one = Array(steps.dropFirst(outer.1.count))
      leave(to: outer)
      let right = step(depth: depth + 1)
      let other = Array(steps.dropFirst(outer.1.count))
      leave(to: outer)
      give(
        id,
        .object(
          ObjectType(fields: [
            .init("left", .object(ObjectType(fields: one))), .init("right", .object(ObjectType(fields: other))),
          ])))
      return "{ id: \(id), parallel: { left: [\(left)], right: [\(right)] } }"
    case 20:
      let inner = step(depth: depth + 1)
      leave(to: outer)
      return "{ onError: \(handler()), steps: [\(inner), { uses: any.refuse, with: { seed: \(lastID) } }] }"
    case 21:
      let retry = retry()
      let handled = handler()
      give(id, giveType, isOptional: true)
      return "{ id: \(id), uses: any.refuse, with: { seed: \(lastID) }\(retry), onError: \(handled) }"
    case 24..<28:
      return real(id) ?? uses(id, onto: "")
    case 28: return either(id, depth)
    case 29: return chosen(id, depth)
    case 30:
      let handled = handler()
      let type = pick([
        ValueType.int, .double, .string, .bool, .timestamp, .duration, .list(.int), .choice(["on", "off"]),
      ])
      let (given, instead) = (expression("outputs", of: type), expression("onError.value", of: type))
      let fails = "{ if: \"inputs.flag || \(expression("if", of: .bool))\", fail: no }"
      leave(to: outer)
      give(id, .object(ObjectType(fields: [.init("out", type)])))
      return
        "{ id: \(id), onError: { steps: \(handled), value: { out: \(quoted(instead)) } }, steps: [\(fails)], "
        + "outputs: { out: \(quoted(given)) } }"
    case 22 where one(in: 4):
      return "{ uses: any.refuse, with: { seed: \(lastID) }\(retry()) }"
    case 23 where depth < 2 && one(in: 2):
      let type = pick([ValueType.int, .string, .bool, .double, .timestamp, .duration])
      var first = quoted(expression("repeat.carry", of: type))
      let name = "c\(lastID)"
      // Without a first value.
      let mayBeAbsent = one(in: 3)
      if mayBeAbsent { first = "{ type: \"\(type)?\" }" }
      maker.declare(name, mayBeAbsent ? .optional(type) : type)
      let before = steps
      let inside = maker.place
      let isBlock = one(in: 2)
      let does = isBlock ? "steps: [\(step(depth: depth + 1))]" : "uses: any.give, with: { \(input()) }"
      let own = Array(steps.dropFirst(before.count))
      leave(to: (inside, before))
      maker.declare("result", isBlock ? .object(ObjectType(fields: own)) : giveType)
      let next = expression("repeat.next", of: type)
      let collect = expression("repeat.collect", of: .list(.int))
      let collected = maker.program(collect)?.type ?? .list(.dyn)
      let until = expression("repeat.until", of: .bool)
      leave(to: outer)
      give(
        id,
        .object(
          ObjectType(fields: [
            .init(name, type, isOptional: mayBeAbsent), .init("rounds", .int), .init("collected", collected),
          ])))
      return
        "{ id: \(id), \(does), repeat: { carry: { \(name): \(first) }, "
        + "next: { \(name): \(quoted(next)) }, collect: \"\(collect)\", until: \"(\(until)) || true\" } }"
    default:
      let fields = input()
      maker.declare("result", giveType)
      let until = expression("repeat.until", of: .bool)
      leave(to: outer)
      give(id, giveType)
      return
        "{ id: \(id), uses: any.give, with: { \(fields) }, repeat: { until: \"(\(until)) || true\", every: 1m } }"
    }
  }

  /// A step with `else`.
  private mutating func either(_ id: String, _ depth: Int) -> String {
    let outer = (maker.place, steps)
    let holds = condition("if")
    var fields: [ObjectType.Field] = []
    let (first, one) = content(depth, &fields)
    leave(to: outer)
    let (second, other) = content(depth, &fields)
    leave(to: outer)
    give(id, .object(ObjectType(fields: fields)))
    return "{ id: \(id), if: \(holds), steps: [\(first)]\(one), else: { steps: [\(second)]\(other) } }"
  }

  /// The step of a case and its outputs: one output is in all cases, and the other only in its own.
  private mutating func content(_ depth: Int, _ fields: inout [ObjectType.Field]) -> (step: String, outputs: String) {
    let step = step(depth: depth + 1)
    lastID += 1
    let own = "own\(lastID)"
    let piece = hole("outputs", isKept: true)
    let same = quoted(expression("outputs", of: .int))
    if fields.isEmpty { fields.append(.init("same", .int)) }
    fields.append(.init(own, piece.type, isOptional: true))
    return (step, ", outputs: { same: \(same), \(own): \(piece.text) }")
  }

  /// A step with `switch`.
  private mutating func chosen(_ id: String, _ depth: Int) -> String {
    let outer = (maker.place, steps)
    let (type, keys) = pick([
      (ValueType.int, ["0", "1"]), (.string, ["\"\"", "s"]), (.choice(["on", "off", "later"]), ["'on'", "later"]),
    ])
    let subject = expression("switch", of: type)
    var fields: [ObjectType.Field] = []
    var cases: [String] = []
    for key in keys {
      let (step, outputs) = content(depth, &fields)
      leave(to: outer)
      cases.append("\(key): { steps: [\(step)]\(outputs) }")
    }
    let (step, outputs) = content(depth, &fields)
    leave(to: outer)
    give(id, .object(ObjectType(fields: fields)))
    return
      "{ id: \(id), switch: \"\(subject)\", cases: { \(cases.joined(separator: ", ")) }, "
      + "default: { steps: [\(step)]\(outputs) } }"
  }

  /// A step of an action that the program has, which needs no service.
  private mutating func real(_ id: String) -> String? {
    let name = pick(["k", "n", "a b"])
    let file = "path: \(pick(["a.txt", "b/c.txt"]))"
    let (action, fields): (String, String)
    switch Int.random(in: 0..<14, using: &maker.random) {
    case 0: (action, fields) = ("json.format", "value: \(hole("with", isKept: true).text)")
    case 1: (action, fields) = ("json.parse", "text: \"[${{ \(expression("with", of: .int)) }}]\"")
    case 2:
      (action, fields) = ("csv.format", "rows: [{ a: \(cell()), b: \(cell()) }, { a: \(cell()) }], columns: [a, b]")
    case 3:
      (action, fields) = (
        "csv.parse", "text: \"a,b\\n${{ \(expression("with", of: .int)) }},${{ \(expression("with", of: .bool)) }}\\n\""
      )
    case 4: (action, fields) = ("text.table", "rows: [{ a: \(cell()) }, { b: \(cell()) }]")
    case 5:
      let items = quoted(expression("with", of: .list(.string)))
      (action, fields) = ("text.report", "sections: [{ items: \(items) }, { rows: [{ a: \(cell()) }] }]")
    case 6: (action, fields) = ("store.put", "name: \(name), value: { a: \(cell()) }")
    case 7: (action, fields) = ("store.get", "name: \(name)")
    case 8:
      (action, fields) = ("store.increment", "name: count, by: \(quoted("(\(expression("with", of: .int))) % 5"))")
    case 9: (action, fields) = ("store.list", "prefix: \(quoted(expression("with", of: .string)))")
    case 10: (action, fields) = ("store.delete", "name: \(name)")
    case 11: (action, fields) = ("file.write", "\(file), text: \(quoted(expression("with", of: .string)))")
    case 12: (action, fields) = ("file.append", "\(file), text: \(text("with", "line"))")
    default: (action, fields) = ("file.exists", file)
    }
    guard let type = realType(action) else { return nil }
    places.insert(action)
    give(id, type)
    return "{ id: \(id), uses: \(action), with: { \(fields) } }"
  }

  /// The text of one cell of a table.
  private mutating func cell() -> String {
    quoted(expression("with", of: pick([.string, .int, .bool, .timestamp, .duration])))
  }

  private mutating func loop(_ id: String, _ depth: Int) -> String {
    let outer = (maker.place, steps)
    places.insert("forEach")
    var elements: [ValueType] = [.int, .string]
    for piece in maker.readable {
      if case .list(let element) = piece.type, !element.holdsSecret { elements.append(element) }
    }
    var element = pick(elements)
    let list = maker.expression(of: .list(element))
    if case .list(let given)? = maker.program(list)?.type { element = given }
    let item = "i\(lastID)"
    maker.declare(item, element)
    var clauses = ""
    if one(in: 3) {
      maker.declare("n\(item)", .int)
      clauses += ", indexAs: n\(item)"
    }
    if one(in: 2) { clauses += ", where: \(condition("where"))" }
    let inner = step(depth: depth + 1)
    let output = ValueType.object(ObjectType(fields: Array(steps.dropFirst(outer.1.count))))
    leave(to: outer)
    let rest = pick(["", ", maxParallel: 2", ", onItemError: continue"])
    give(id, .list(rest == ", onItemError: continue" ? .object(RecipeTypes.outcome(of: output)) : output))
    return "{ id: \(id), forEach: \"\(list)\", as: \(item)\(clauses)\(rest), steps: [\(inner)] }"
  }
}
