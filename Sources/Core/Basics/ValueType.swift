/// A type of values: CEL's types, objects with named fields that may be optional, choices, and secrets.
///
/// Recipes are checked against these before they run; the JSON Schema and the pages are made from them.
public indirect enum ValueType: Hashable, Sendable {
  /// Null alone.
  case null
  /// True or false.
  case bool
  /// Signed 64-bit integers.
  case int
  /// Unsigned 64-bit integers.
  case uint
  /// IEEE 754 doubles.
  case double
  /// Texts.
  case string
  /// Octets.
  case bytes
  /// Instants.
  case timestamp
  /// Lengths of time.
  case duration
  /// Anything, decided when it is there; only where a plugin or `json.parse` says so.
  case dyn
  /// A text that is one of these; comparing it with any other literal does not check.
  case choice([String])
  /// Lists of one type.
  case list(ValueType)
  /// Maps from a key type (string, int, uint, bool, dyn) to one type.
  case map(ValueType, ValueType)
  /// Maps with known names.
  case object(ObjectType)
  /// CEL's `optional_type(T)`: a value that may not be there, to be unwrapped before use.
  case optional(ValueType)
  /// CEL's `wrapper(T)`: a primitive or null.
  case wrapper(ValueType)
  /// The type of a type's own value, as `type(1)` gives.
  case type(ValueType)
  /// A value that may be handed to a field that takes a secret, and to nothing else. Taints what is made of it.
  case secret(ValueType)
  /// A type parameter, in declarations of functions.
  case parameter(String)
  /// A type known by its name only.
  case opaque(String, [ValueType])
}

/// The type of a map with known names, which may have optional fields.
///
/// A final class, because types are copied far more often than made.
public final class ObjectType: Sendable {
  /// One field.
  public struct Field: Hashable, Sendable {
    /// The name.
    public var name: String
    /// The type of the value, if it is there.
    public var type: ValueType
    /// Whether the field may be absent, so that it cannot be read bare unless narrowed.
    public var isOptional: Bool
    /// One sentence that says what the name cannot; may be empty.
    public var summary: String

    /// Creates a field.
    public init(_ name: String, _ type: ValueType, isOptional: Bool = false, summary: String = "") {
      self.name = name
      self.type = type
      self.isOptional = isOptional
      self.summary = summary
    }
  }

  /// The object's name in messages, such as `steps.book`; may be empty, and takes no part in equality.
  public let name: String
  /// The fields, in order of declaration.
  public var fields: [Field] {
    grown.map { $0.entries.sorted { $0.position < $1.position }.compactMap(\.field) } ?? listed
  }
  private let listed: [Field]
  /// The fields of an object that grew one by one, which shares them with the objects that it grew from.
  private let grown: LayeredMap<Grown>?
  private let position: Int
  /// Whether a field may hold a secret anywhere; found out once, because every expression that sees the object asks.
  public let holdsSecret: Bool

  /// Creates an object type.
  public init(_ name: String = "", fields: [Field]) {
    self.name = name
    listed = fields
    grown = nil
    position = 0
    holdsSecret = fields.contains { $0.type.holdsSecret }
  }

  /// The field of that name.
  public subscript(name: String) -> Field? {
    if let grown { return grown[name]?.field }
    return listed.first { $0.name.hasSameScalars(as: name) }
  }

  private struct Grown: Sendable {
    let position: Int
    /// Nil for one that was taken away.
    let field: Field?
  }

  private init(_ name: String, _ grown: LayeredMap<Grown>, position: Int, holdsSecret: Bool) {
    self.name = name
    listed = []
    self.grown = grown
    self.position = position
    self.holdsSecret = holdsSecret
  }

  /// The object with one field more at its end, in place of one of the same name; takes about the same time for any size.
  package func adding(_ field: Field) -> ObjectType { growing(field.name, field) }

  /// The object without a field.
  package func removing(_ name: String) -> ObjectType { self[name] == nil ? self : growing(name, nil) }

  private func growing(_ name: String, _ field: Field?) -> ObjectType {
    var map = grown ?? LayeredMap()
    var position = position
    if grown == nil {
      for field in listed {
        map.insert(Grown(position: position, field: field), for: field.name)
        position += 1
      }
    }
    map.insert(Grown(position: position, field: field), for: name)
    return ObjectType(
      self.name, map, position: position + 1, holdsSecret: holdsSecret || field?.type.holdsSecret ?? false)
  }
}

extension ObjectType: Hashable {
  /// Whether the fields are equal, in the same order; names of objects do not count.
  public static func == (left: ObjectType, right: ObjectType) -> Bool {
    left === right || left.fields == right.fields
  }

  /// Hashes the fields.
  public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

extension ValueType {
  /// Whether a value of the type may hold a secret anywhere.
  public var holdsSecret: Bool {
    switch self {
    case .secret: true
    case .list(let of), .optional(let of), .wrapper(let of), .type(let of): of.holdsSecret
    case .map(let key, let value): key.holdsSecret || value.holdsSecret
    case .opaque(_, let arguments): arguments.contains(where: \.holdsSecret)
    case .object(let object): object.holdsSecret
    default: false
    }
  }
}

extension ValueType: CustomStringConvertible {
  /// The type as messages and pages write it: `list(int)`, `map(string, dyn)`, `'a' or 'b'`.
  public var description: String {
    switch self {
    case .null: "null_type"
    case .bool: "bool"
    case .int: "int"
    case .uint: "uint"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .timestamp: "timestamp"
    case .duration: "duration"
    case .dyn: "dyn"
    case .choice(let options): options.map { "'\($0)'" }.joined(separator: " or ")
    case .list(let element): "list(\(element))"
    case .map(let key, let value): "map(\(key), \(value))"
    case .object(let object): object.name.isEmpty ? "object" : object.name
    case .optional(let wrapped): "optional_type(\(wrapped))"
    case .wrapper(let wrapped): "wrapper(\(wrapped))"
    case .type(let of): "type(\(of))"
    case .secret(let of): "secret(\(of))"
    case .parameter(let name): name
    case .opaque(let name, let arguments):
      arguments.isEmpty ? name : "\(name)(\(arguments.map(\.description).joined(separator: ", ")))"
    }
  }
}

extension ValueType {
  package static let mixedName = "mixed"

  /// The possible types of a value of a mixed literal.
  package var mixedParts: [ValueType]? {
    if case .opaque(ValueType.mixedName, let parts) = self { parts } else { nil }
  }
}
