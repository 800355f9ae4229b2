/// One named, typed, documented value of an action's input or output.
///
/// The declaration holds all information about the field: the property's name is the field's name, its type the field's
/// type, the text the field's sentence, and its initial value, if it has one, the field's default.
///
///     @Field("Key of the markbook that holds the task.") var markbookKey: Int
///     @Field("How many results to ask for at a time.", .range(1...500)) var pageSize = 50
///     @Field("What the teacher wrote about it.", .maxLength(2000)) var comment: String?
@propertyWrapper
public struct Field<Wrapped: Sendable>: Sendable {
  // `Wrapped` must be a `FieldValue`; the initializers require it, not the type. A requirement of the type would be
  // looked up among all conformances of the program at the first use of the type, at every start.

  // Must be the first property, because `FieldTable` reads it from fields of any type.
  let declaration: FieldDeclaration
  /// The value, or nil while the field is only declared.
  fileprivate var value: Wrapped?

  /// The field's value.
  ///
  /// Every field of a set that was read, or created by its closure initializer, has a value.
  public var wrappedValue: Wrapped {
    get {
      // Only code that reads from a bare `init()` gets here; no input does.
      guard let value else { preconditionFailure("read of a field that was never set: \(declaration.summary)") }
      return value
    }
    set { value = newValue }
  }
}

extension Field where Wrapped: FieldValue {
  /// Declares a field that must be given or, if its type is an optional, one that may be left out.
  ///
  /// - Parameters:
  ///   - summary: One sentence that says what the name cannot.
  ///   - limits: The limits on values, or marks such as `.volatile`, `.isFile` and `.mayHoldSecret`.
  ///   - aliases: Former names, which are still accepted.
  ///   - deprecated: What to do instead of giving the field.
  public init(
    _ summary: String, _ limits: FieldLimit<Wrapped.Limited>..., aliases: [String] = [], deprecated: String? = nil
  ) {
    declaration = FieldDeclaration(Wrapped.self, summary, limits, aliases, deprecated)
    value = Wrapped.absent
  }

  /// Declares a field with the default `wrappedValue`.
  public init(
    wrappedValue: Wrapped, _ summary: String, _ limits: FieldLimit<Wrapped.Limited>..., aliases: [String] = [],
    deprecated: String? = nil
  ) {
    declaration = FieldDeclaration(Wrapped.self, summary, limits, aliases, deprecated)
    value = wrappedValue
  }

  /// Refuses a field without a sentence, at compile time.
  @available(*, unavailable, message: "say what the field is for: @Field(\"Key of the markbook.\")")
  public init() { preconditionFailure("unavailable") }
}

/// The parts of a field's declaration beside its name, type and default.
///
/// It is an object, because every field of every set holds one: copying a set copies one reference per field, and the
/// generated code for that is a large part of a plugin's code.
final class FieldDeclaration: Sendable {
  /// The type of the field's value.
  let wrapped: any FieldValue.Type
  let summary: String
  let limits: [Limit]
  let aliases: [String]
  let deprecation: String?
  let isVolatile: Bool
  let isFile: Bool
  let secrecy: FieldSecrecy

  init<Wrapped: FieldValue>(
    _ wrapped: Wrapped.Type, _ summary: String, _ limits: [FieldLimit<Wrapped.Limited>], _ aliases: [String],
    _ deprecation: String?
  ) {
    self.wrapped = wrapped
    self.summary = summary
    self.aliases = aliases
    self.deprecation = deprecation
    // Most fields have no limits.
    if limits.isEmpty {
      self.limits = []
      isVolatile = false
      isFile = false
      secrecy = .none
    } else {
      self.limits = limits.flatMap { $0.limits }
      isVolatile = limits.contains { $0.isVolatile }
      isFile = limits.contains { $0.isFile }
      secrecy = limits.secrecy()
    }
  }
}

// Reads and writes fields in memory; only the declaration knows their types.
extension FieldDeclaration {
  /// Whether null is a value of the field, rather than its absence.
  var takesNull: Bool { wrapped.fieldType.takesNull }

  /// Whether the field at an address has a value.
  func isSet(at place: UnsafeRawPointer) -> Bool {
    func isSet<Wrapped: FieldValue>(_: Wrapped.Type) -> Bool {
      place.assumingMemoryBound(to: Field<Wrapped>.self).pointee.value != nil
    }
    return isSet(wrapped)
  }

  /// The value of the field at an address, or nil if it was never set.
  func encoded(at place: UnsafeRawPointer) throws(ValueError) -> Value? {
    func encoded<Wrapped: FieldValue>(_: Wrapped.Type) throws(ValueError) -> Value? {
      try place.assumingMemoryBound(to: Field<Wrapped>.self).pointee.value?.encoded()
    }
    return try encoded(wrapped)
  }

  /// Sets the field at an address.
  func read(_ value: Value, into place: UnsafeMutableRawPointer) throws(ValueError) {
    func read<Wrapped: FieldValue>(_: Wrapped.Type) throws(ValueError) {
      place.assumingMemoryBound(to: Field<Wrapped>.self).pointee.value = try Wrapped(reading: value)
    }
    try read(wrapped)
  }

  /// The schema of the field at an address, including its default, which is the value there.
  func schema(named name: String, at place: UnsafeRawPointer) -> FieldSchema {
    let type = wrapped.fieldType
    var isOptional = false
    if case .optional = type { isOptional = true }
    // An optional field without a value is absent, which `isOptional` says already.
    let fallback = (try? encoded(at: place)).flatMap { isOptional && $0.isNull ? nil : $0 }
    var schema = FieldSchema(
      name, type.required, summary, isOptional: isOptional, fallback: fallback, limits: limits, aliases: aliases,
      deprecation: deprecation, isVolatile: isVolatile, secrecy: secrecy)
    schema.isFile = isFile
    return schema
  }
}

/// Fields are compared by their values, so that sets can be compared.
extension Field: Equatable where Wrapped: Equatable {
  /// Whether both hold the same value.
  public static func == (left: Field, right: Field) -> Bool { left.value == right.value }
}

extension Field: Hashable where Wrapped: Hashable {
  /// Hashes the value.
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
