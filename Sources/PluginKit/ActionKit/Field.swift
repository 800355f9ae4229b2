/// One named, typed, documented value that an action takes or gives.
///
/// All that is known of the field is said once, where it is declared: the property's name is the field's name, its
/// type the field's type, the text the field's sentence, and its initial value, if it has one, the field's default.
///
///     @Field("Key of the markbook that holds the task.") var markbookKey: Int
///     @Field("How many results to ask for at a time.", .range(1...500)) var pageSize = 50
///     @Field("What the teacher wrote about it.", .maxLength(2000)) var comment: String?
@propertyWrapper
public struct Field<Wrapped: Sendable>: Sendable {
  // That `Wrapped` is a `FieldValue` is asked where a field is made, not here: a requirement of the type would be
  // looked up among all conformances of the program whenever the type is first met, at every start.

  // What `FieldTable` reads of any field, and so the first.
  let declaration: FieldDeclaration
  /// The value, or nil while the field is only declared.
  fileprivate var value: Wrapped?

  /// The field's value.
  ///
  /// A set that was read or made by its closure initializer has one in each field.
  public var wrappedValue: Wrapped {
    get {
      // Only code that reads from a bare `init()` comes here; no input does.
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
  ///   - limits: What a value has to keep to; `.volatile` and `.mayHoldSecret` are said here too.
  ///   - aliases: Former names, under which the field is still read.
  ///   - deprecated: What to do instead of giving it.
  public init(
    _ summary: String, _ limits: FieldLimit<Wrapped.Limited>..., aliases: [String] = [], deprecated: String? = nil
  ) {
    declaration = FieldDeclaration(Wrapped.self, summary, limits, aliases, deprecated)
    value = Wrapped.absent
  }

  /// Declares a field that takes `wrappedValue` when it is left out.
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

/// What a field's declaration says beside its name, type and default.
///
/// An object, because every field of every set holds one: copying a set of values copies a reference for each, and the
/// code that the compiler makes for that is a good part of a plugin's.
final class FieldDeclaration: Sendable {
  /// What the field holds.
  let wrapped: any FieldValue.Type
  let summary: String
  let limits: [Limit]
  let aliases: [String]
  let deprecation: String?
  let isVolatile: Bool
  let secrecy: FieldSecrecy

  init<Wrapped: FieldValue>(
    _ wrapped: Wrapped.Type, _ summary: String, _ limits: [FieldLimit<Wrapped.Limited>], _ aliases: [String],
    _ deprecation: String?
  ) {
    self.wrapped = wrapped
    self.summary = summary
    self.aliases = aliases
    self.deprecation = deprecation
    // Most fields have none.
    if limits.isEmpty {
      self.limits = []
      isVolatile = false
      secrecy = .none
    } else {
      self.limits = limits.flatMap { $0.limits }
      isVolatile = limits.contains { $0.isVolatile }
      secrecy = limits.secrecy()
    }
  }
}

// Reading and writing a field in memory, of which only the declaration knows the type.
extension FieldDeclaration {
  /// Whether null is a value of the field, and not the absence of one.
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

  /// What is known of the field at an address, in which its default is.
  func schema(named name: String, at place: UnsafeRawPointer) -> FieldSchema {
    let type = wrapped.fieldType
    var isOptional = false
    if case .optional = type { isOptional = true }
    // The default of an optional field is to be absent, which `isOptional` says already.
    let fallback = (try? encoded(at: place)).flatMap { isOptional && $0.isNull ? nil : $0 }
    return FieldSchema(
      name, type.required, summary, isOptional: isOptional, fallback: fallback, limits: limits, aliases: aliases,
      deprecation: deprecation, isVolatile: isVolatile, secrecy: secrecy)
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
