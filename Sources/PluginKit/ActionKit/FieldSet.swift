/// A type whose every stored property is a `Field`: an action's input or output, a plugin's configuration, or a part.
///
/// To conform, declare the fields; `Included` adds the fields of another set. The compiler writes `init()`, which
/// creates a set that declares its fields and has no values. A set is a struct, and can't contain itself.
///
/// The state of long runs holds inputs and outputs of older programs. So a released field keeps its name and never
/// becomes required, and a new one has a default or is optional.
public protocol FieldSet: FieldValue {
  /// Declares the fields, without their values.
  init()
}

/// A set with rules between its fields, such as "from is before until".
public protocol ValidatedFieldSet: FieldSet {
  /// Returns conflicts between fields that are valid each.
  ///
  /// It is called when a recipe is checked, if all values are literal, and again before the action runs. It must depend
  /// only on the fields.
  func conflicts() -> [Conflict]
}

/// A conflict between the fields of a set.
public struct Conflict: Sendable {
  /// The rest of the sentence after the field's or the set's name: `must come after 'from'`.
  public var message: String
  /// The field to mark, or nil for the set as a whole.
  public var field: String?

  /// Creates a conflict.
  public init(_ message: String, at field: String? = nil) {
    self.message = message
    self.field = field
  }
}

extension FieldSet {
  /// An object with the set's fields.
  public static var fieldType: FieldType { .object(schema) }

  /// Reads a value that was checked against the schema; throws the first error if it can't be read.
  public init(reading value: Value) throws(ValueError) {
    guard let map = value.map else { throw .mismatch(Self.self, value) }
    let table = Self.table
    if let fault = table.faults.first { throw ValueError("\(Self.self): \(fault)", at: value.place) }
    self = table.bare()
    try withUnsafeMutablePointer(to: &self) { (start) throws(ValueError) in
      for member in table.members {
        let place = UnsafeMutableRawPointer(start) + member.offset
        if let given = member.given(in: map) {
          try member.declaration.read(given, into: place)
        } else if try member.declaration.encoded(at: place) == nil {
          throw ValueError("'\(member.name)' is missing", at: value.place)
        }
      }
    }
  }

  /// Checks a value against the schema and reads it, or throws all errors in it.
  ///
  /// - Parameter path: The name of the value in messages.
  public init(checking value: Value, as path: String = "input") throws(ValueError) {
    let errors = Self.schema.check(value, as: path).filter { $0.severity == .error }
    guard errors.isEmpty else { throw ValueError(errors) }
    try self.init(reading: value)
  }

  /// Creates a set by assigning its fields, and throws if a required one has no value.
  public init(_ assign: (inout Self) throws -> Void) throws {
    let table = Self.table
    if let fault = table.faults.first { throw ValueError("\(Self.self): \(fault)") }
    self = table.bare()
    try assign(&self)
    let unset = withBytes { start in
      table.members.filter { !$0.declaration.isSet(at: start + $0.offset) }
    }
    guard unset.isEmpty else { throw ValueError(unset.map { Fault("\(Self.self).\($0.name) was never set") }) }
  }

  /// The set as a map, without the optional fields that are nil.
  public func encoded() throws(ValueError) -> Value {
    let table = Self.table
    if let fault = table.faults.first { throw ValueError("\(Self.self): \(fault)") }
    let map = try withBytes { (start) throws(ValueError) in
      var map = ValueMap()
      for member in table.members {
        guard let value = try member.declaration.encoded(at: start + member.offset) else {
          throw ValueError("\(Self.self).\(member.name) was never set")
        }
        if value.isNull, !member.declaration.takesNull { continue }
        map[member.name] = value
      }
      return map
    }
    return .map(map)
  }

  /// Faults of the set's declaration that the compiler doesn't catch.
  static var declarationFaults: [String] { table.faults }
}

extension FieldTable.Member {
  /// The field's value in a map, under its name or a former one; a null counts as absent, unless null is a value of the
  /// field.
  fileprivate func given(in map: ValueMap) -> Value? {
    let value = map[name]
    if let value, !value.isNull || declaration.takesNull { return value }
    for alias in declaration.aliases {
      if let value = map[alias], !value.isNull { return value }
    }
    return nil
  }
}

extension ValidatedFieldSet {
  /// The conflicts in a value; if it can't be read, its fields' faults have been reported already.
  static func conflicts(in value: Value) -> [Conflict] { (try? Self(reading: value))?.conflicts() ?? [] }
}
