import ActionKit
import Basics
import PluginList
import RunTestKit

/// Gives values of every type, decided by a seed, so that what recipes make of them can be tried.
///
/// Beside actions of its own it has one for each action of the program's plugins, with its output.
enum AnythingPlugin: Plugin {
  static let name = "any"
  static let summary = "Gives values of every type."
  static let actions: [any Action<AnythingService>.Type] =
    [Give.self, Open.self, Refuse.self] + everyPlugin.flatMap { standIns(for: $0) }

  struct Configuration: FieldSet {}

  static func connect(_ configuration: Configuration, in context: PluginContext) -> AnythingService {
    AnythingService()
  }

  private static func standIns<P: Plugin>(for plugin: P.Type) -> [any Action<AnythingService>.Type] {
    plugin.actions.map { standIn(for: $0, of: plugin) }
  }

  private static func standIn<P: Plugin, A: Action>(
    for action: A.Type, of plugin: P.Type
  ) -> any Action<AnythingService>.Type {
    StandIn<P, A, A.Output>.self
  }
}

struct AnythingService: Sendable {}

/// Gives values of every type under every kind of name; optional ones are present at random.
enum Give: KeyedAction {
  static let name = "give"
  static let summary = "Gives values of every type."
  static let effect = Effect.read
  static let examples = [Example("One", "seed: 1")]

  struct Input: FieldSet {
    @Field("Decides what is there.") var seed: Int
    @Field("A text.") var text: String?
    @Field("A number.") var number: Int?
    @Field("A measure.") var measure: Double?
    @Field("A switch.") var flag: Bool?
    @Field("An instant.") var at: Timestamp?
    @Field("A length of time.") var long: TimeSpan?
    @Field("Octets.") var octets: [UInt8]?
    @Field("Texts.") var texts: [String]?
    @Field("Numbers by name.") var counts: [String: Int]?
    @Field("Parts.") var parts: [GivenPart]?
    @Field("Anything.") var value: Value?
    @Field("A word.") var word: Word?
    @Field("Not to be shown.") var pass: Secret<String>?
  }

  enum Word: String, Choice { case on, off }

  struct GivenPart: FieldSet {
    @Field("A number.") var id: Int
    @Field("A note.") var note: String?
  }

  struct Output: FieldSet {
    @Field("A number.") var number: Int
    @Field("A measure.") var measure: Double?
    @Field("A text.") var text: String
    @Field("A note.") var note: String?
    @Field("A switch.") var flag: Bool
    @Field("A switch that may be missing.") var maybe: Bool?
    @Field("A word.") var word: Word
    @Field("A word that may be missing.") var other: Word?
    @Field("An instant.") var at: Timestamp?
    @Field("A length of time.") var long: TimeSpan
    @Field("Octets.") var octets: [UInt8]?
    @Field("Parts.") var parts: [Part]
    @Field("The first part.") var first: Part?
    @Field("Numbers by name.") var counts: [String: Int]
    @Field("Parts by name.") var named: [String: Part]?
    @Field("Lists in a list.") var table: [[Double]]
    @Field("Anything.") var value: Value?
  }

  struct Part: FieldSet {
    @Field("A number.") var id: Int
    @Field("A note.") var note: String?
    @Field("Words.") var words: [Word]
    @Field("Its measures.") var measures: [Double]?
  }

  static func run(_ input: Input, on service: AnythingService, in context: ActionContext) async throws -> Output {
    try made(input.seed)
  }
}

/// Gives values as a service sends them, in fields of no known type.
enum Open: Action {
  static let name = "open"
  static let summary = "Gives values of no known type."
  static let effect = Effect.read
  static let examples = [Example("One", "seed: 1")]

  struct Input: FieldSet {
    @Field("Decides what is there.") var seed: Int
  }

  struct Output: FieldSet {
    @Field("An object.") var body: Value
    @Field("Objects.") var rows: [Value]
    @Field("Anything.") var value: Value?
  }

  /// Types of a member of an object, each with values that fit.
  static let members: [(type: String, shaped: ValueType, values: [Value])] = [
    ("int", .int, [.int(3), .double(2)]),
    ("double", .double, [.int(3), .double(0.5)]),
    ("string", .string, [.string(""), .string("12")]),
    ("bool", .bool, [.bool(true), .bool(false)]),
    ("date", .string, [.string("2026-11-22")]),
    ("timestamp", .timestamp, [.string("2026-11-22T10:00:00Z")]),
    ("duration", .duration, [.string("90s")]),
    ("bytes", .bytes, [.string("aGk="), .string("")]),
    ("choice(on, off)", .choice(["on", "off"]), [.string("on"), .string("off")]),
    ("list(int)", .list(.int), [.list([]), .list([.int(1), .double(2)])]),
    ("map(string, double)", .map(.string, .double), [.map(ValueMap()), .object(["k": .int(1)])]),
    ("dyn", .dyn, [.int(1), .string("x"), .list([])]),
  ]

  static func run(_ input: Input, on service: AnythingService, in context: ActionContext) async throws -> Output {
    var random = SeededGenerator(seed: UInt64(truncatingIfNeeded: input.seed))
    func object() -> Value {
      var map = ValueMap()
      for (index, member) in members.enumerated() {
        let value = member.values[Int.random(in: 0..<member.values.count, using: &random)]
        map[.string("m\(index)")] = value
        // The same, which may be missing or null.
        switch Int.random(in: 0..<3, using: &random) {
        case 0: map[.string("n\(index)")] = value
        case 1: map[.string("n\(index)")] = .null
        default: break
        }
      }
      return .map(map)
    }
    return try Output {
      $0.body = object()
      $0.rows = (0..<Int.random(in: 0...2, using: &random)).map { _ in object() }
      $0.value = Bool.random(using: &random) ? object() : nil
    }
  }
}

/// Fails, in a way that a seed decides.
enum Refuse: Action {
  static let name = "refuse"
  static let summary = "Fails."
  static let effect = Effect.read
  static let examples = [Example("One", "seed: 1")]
  static let message = "it was refused"

  struct Input: FieldSet {
    @Field("Decides how.") var seed: Int
  }

  static func run(_ input: Input, on service: AnythingService, in context: ActionContext) async throws -> Give.Output {
    let kinds: [ErrorKind] = [.notFound, .conflict, .rateLimited, .server, .plugin, .authentication]
    throw ActionError(
      kinds[input.seed % kinds.count], message, detail: input.seed % 2 == 0 ? "a detail" : nil,
      status: input.seed % 3 == 0 ? 404 : nil, retryAfter: input.seed % 5 == 0 ? .seconds(2) : nil,
      effect: ActionError.Effect.none)
  }
}

/// An action with the output that another declares.
enum StandIn<P: Plugin, A: Action, Output: FieldSet>: Action {
  typealias Service = AnythingService
  typealias Input = Refuse.Input

  static var name: String { "\(P.name)\(A.name.prefix(1).uppercased())\(A.name.dropFirst())" }
  static var summary: String { A.summary }
  static var effect: Effect { .read }
  static var examples: [Example] { [] }

  static func run(_ input: Input, on service: AnythingService, in context: ActionContext) async throws -> Output {
    try made(input.seed)
  }
}

/// Says of the same action that it gives something else than it does, so that a check of its recipes is wrong.
enum MistakenPlugin<Declared: FieldSet>: Plugin {
  static var name: String { AnythingPlugin.name }
  static var summary: String { AnythingPlugin.summary }
  static var actions: [any Action<AnythingService>.Type] { [MistakenGive<Declared>.self, Refuse.self] }

  static func connect(
    _ configuration: AnythingPlugin.Configuration, in context: PluginContext
  ) -> AnythingService { AnythingService() }
}

enum MistakenGive<Declared: FieldSet>: KeyedAction, ShapedAction {
  typealias Input = Give.Input
  typealias Output = Give.Output

  static var name: String { Give.name }
  static var summary: String { Give.summary }
  static var effect: Effect { Give.effect }
  static var examples: [Example] { [] }

  static func output(for input: Value) -> ObjectSchema { Declared.schema }

  static func run(_ input: Input, on service: AnythingService, in context: ActionContext) async throws -> Output {
    try made(input.seed)
  }
}

/// As if optional fields were always present.
struct SureOutput: FieldSet {
  @Field("A number.") var number: Int
  @Field("A note.") var note: String
  @Field("The first part.") var first: Give.Part
}

/// As if a number were a text.
struct WrongOutput: FieldSet {
  @Field("A number.") var number: String
  @Field("The first part.") var first: Give.Part?
}

/// A set of fields that a seed fills.
private func made<Set: FieldSet>(_ seed: Int) throws -> Set {
  var random = SeededGenerator(seed: UInt64(truncatingIfNeeded: seed))
  return try Set(reading: Set.schema.anything(&random))
}

extension ObjectSchema {
  /// A value of the schema; each optional field is present half the time.
  func anything(_ random: inout SeededGenerator) -> Value {
    var map = ValueMap()
    for field in fields where !field.isOptional || Bool.random(using: &random) {
      map[.string(field.name)] = field.type.anything(&random)
    }
    return .map(map)
  }
}

extension FieldType {
  func anything(_ random: inout SeededGenerator) -> Value {
    func one(of values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
    switch self {
    case .bool: return one(of: [.bool(true), .bool(false)])
    case .int: return one(of: [.int(0), .int(1), .int(-2), .int(7)])
    case .uint: return one(of: [.uint(0), .uint(1), .uint(.max)])
    case .double: return one(of: [.double(0), .double(1.5), .double(-2)])
    case .date: return one(of: [.string("2026-11-22"), .string("2024-02-29")])
    case .string: return one(of: [.string(""), .string("12"), .string("a, b"), .string("é")])
    case .bytes: return one(of: [.bytes([]), .bytes([65, 66]), .bytes([0xFF])])
    case .timestamp: return .timestamp(Timestamp("2026-11-22T10:00:00Z") ?? .earliest)
    case .duration: return one(of: [.duration(.zero), .duration(.seconds(90))])
    case .dyn:
      return one(of: [.null, .int(1), .string("x"), .list([.int(1), .string("x")]), .map(ValueMap([("k", .int(1))]))])
    case .choice(let options): return .string(options[Int.random(in: 0..<options.count, using: &random)])
    case .list(let element):
      return .list((0..<Int.random(in: 0...2, using: &random)).map { _ in element.anything(&random) })
    case .map(let type):
      return .map(ValueMap(Bool.random(using: &random) ? [("k", type.anything(&random))] : []))
    case .object(let schema): return schema.anything(&random)
    case .optional(let wrapped), .secret(let wrapped): return wrapped.anything(&random)
    }
  }
}
