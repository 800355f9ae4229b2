import Synchronization

/// A type whose every stored property is a `Field`: an action's input or output, a plugin's configuration, or a part.
///
/// To conform, declare the fields; `Included` takes over those of another set. The compiler writes `init()`, which makes
/// a set that declares its fields and gives no values, and the way through the fields that reading, writing and the pages
/// use. A set cannot hold itself.
///
/// Runs that last for days hold inputs and outputs of older programs, so a released field keeps its name and never
/// becomes required, and a new one has a default or is optional.
public protocol FieldSet: Codable, FieldValue {
  /// Declares the fields, without their values.
  init()
}

/// A set with rules between its fields, such as "from is before until".
public protocol ValidatedFieldSet: FieldSet {
  /// What is wrong between fields that are each right.
  ///
  /// It is asked when a recipe is checked, if all values are literal, and again before the action runs. It must
  /// depend on the fields alone.
  func conflicts() -> [Conflict]
}

/// Something wrong between the fields of a set.
public struct Conflict: Sendable {
  /// The rest of the sentence that begins with the field's or the set's name: `must come after 'from'`.
  public var message: String
  /// The field to mark, or nil for the set as a whole.
  public var field: String?

  /// Creates a conflict.
  public init(_ message: String, at field: String? = nil) {
    self.message = message
    self.field = field
  }
}

/// What sets declare, by their types; kept, because to make it takes longer than to read a value.
private let declared = Mutex(
  (schemas: [ObjectIdentifier: ObjectSchema](), fields: [ObjectIdentifier: [(name: String, field: any AnyField)]]()))

extension FieldSet {
  /// An object with the set's fields.
  public static var fieldType: FieldType { .object(schema) }

  /// The fields, in the order they are declared, and the rules between them.
  public static var schema: ObjectSchema {
    let id = ObjectIdentifier(Self.self)
    if let known = declared.withLock({ $0.schemas[id] }) { return known }
    // Outside of the lock, because a set inside this one asks for its own.
    let schema = ObjectSchema(fields: Self().fields().map { $0.field.schema(named: $0.name) }, of: Self.self)
    declared.withLock { $0.schemas[id] = schema }
    return schema
  }

  /// The fields without values but their defaults.
  private static var declarations: [(name: String, field: any AnyField)] {
    let id = ObjectIdentifier(Self.self)
    if let known = declared.withLock({ $0.fields[id] }) { return known }
    let fields = Self().fields()
    declared.withLock { $0.fields[id] = fields }
    return fields
  }

  /// Reads a value that the schema has been checked against; what it cannot read it throws, one fault at a time.
  public init(reading value: Value) throws(ValueError) {
    guard let map = value.map else { throw .mismatch(Self.self, value) }
    do {
      try self.init(from: MemberDecoder(map, at: value.place) { Self.declarations })
    } catch let faults as ValueError {
      throw faults
    } catch {
      throw ValueError("\(Self.self) cannot be read: \(error)", at: value.place)
    }
  }

  /// Checks a value against the schema and reads it, or throws all that is wrong in it.
  ///
  /// - Parameter path: What messages call the value.
  public init(checking value: Value, as path: String = "input") throws(ValueError) {
    let errors = Self.schema.check(value, as: path).filter { $0.severity == .error }
    guard errors.isEmpty else { throw ValueError(errors) }
    try self.init(reading: value)
  }

  /// Creates a set by assigning to its fields, and throws if one that must be given was not.
  public init(_ assign: (inout Self) throws -> Void) throws {
    self.init()
    try assign(&self)
    let unset = fields().filter { !$0.field.isSet }
    guard unset.isEmpty else { throw ValueError(unset.map { Fault("\(Self.self).\($0.name) was never set") }) }
  }

  /// The set as a map, without the optional fields that are nil.
  public func encoded() throws(ValueError) -> Value {
    var map = ValueMap()
    for (name, field) in fields() {
      guard let value = try field.encoded() else { throw ValueError("\(Self.self).\(name) was never set") }
      if value.isNull, !field.fieldType.takesNull { continue }
      map[name] = value
    }
    return .map(map)
  }

  /// The fields with their names, in the order they are declared.
  func fields() -> [(name: String, field: any AnyField)] {
    let visitor = FieldVisitor()
    try? encode(to: visitor)
    return visitor.fields
  }

  /// Stored properties that reading does not fill: no fields, or left out of hand-written coding keys.
  static var undeclared: [String] {
    let declared = Self()
    let visitor = FieldVisitor()
    try? declared.encode(to: visitor)
    var strangers: [String] = []
    var stored: [String] = []
    for child in Mirror(reflecting: declared).children {
      guard let label = child.label else { continue }
      switch child.value {
      // A wrapper is stored under the property's name with an underscore before it.
      case is any AnyField: stored.append(String(label.dropFirst()))
      case let part as any AnyIncluded: stored += part.names
      default: strangers.append(label)
      }
    }
    strangers += visitor.strangers.filter { !strangers.contains($0) }
    if stored.count > visitor.fields.count {
      strangers += stored.filter { name in !visitor.fields.contains { $0.name == name } }
    }
    return strangers
  }
}

extension ValidatedFieldSet {
  /// The conflicts in a value; what cannot be read has been reported field by field.
  static func conflicts(in value: Value) -> [Conflict] { (try? Self(reading: value))?.conflicts() ?? [] }
}
