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

  let declaration: FieldDeclaration
  /// The value, or nil while the field is only declared.
  private var value: Wrapped?

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
    declaration = FieldDeclaration(summary, limits, aliases, deprecated)
    value = Wrapped.absent
  }

  /// Declares a field that takes `wrappedValue` when it is left out.
  public init(
    wrappedValue: Wrapped, _ summary: String, _ limits: FieldLimit<Wrapped.Limited>..., aliases: [String] = [],
    deprecated: String? = nil
  ) {
    declaration = FieldDeclaration(summary, limits, aliases, deprecated)
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
  let summary: String
  let limits: [Limit]
  let aliases: [String]
  let deprecation: String?
  let isVolatile: Bool
  let secrecy: FieldSecrecy

  init<Limited>(_ summary: String, _ limits: [FieldLimit<Limited>], _ aliases: [String], _ deprecation: String?) {
    self.summary = summary
    self.aliases = aliases
    self.deprecation = deprecation
    // Most fields have none, and each call of an action declares all its fields.
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

  /// The declaration of a field that was read, of which only the value counts.
  static let read = FieldDeclaration("", [] as [FieldLimit<String>], [], nil)
}

/// A `Field` whose type is not known.
protocol AnyField: Sendable {
  var declaration: FieldDeclaration { get }
  var fieldType: FieldType { get }
  var isSet: Bool { get }
  func schema(named name: String) -> FieldSchema
  /// The value, or nil if it was never set.
  func encoded() throws(ValueError) -> Value?
}

extension Field: AnyField where Wrapped: FieldValue {
  var isSet: Bool { value != nil }
  var fieldType: FieldType { Wrapped.fieldType }

  func schema(named name: String) -> FieldSchema {
    var isOptional = false
    if case .optional = fieldType { isOptional = true }
    // The default of an optional field is to be absent, which `isOptional` says already.
    let fallback = (try? value?.encoded()).flatMap { isOptional && $0.isNull ? nil : $0 }
    return FieldSchema(
      name, fieldType.required, declaration.summary, isOptional: isOptional, fallback: fallback,
      limits: declaration.limits, aliases: declaration.aliases, deprecation: declaration.deprecation,
      isVolatile: declaration.isVolatile, secrecy: declaration.secrecy)
  }

  func encoded() throws(ValueError) -> Value? { try value?.encoded() }
}

extension Field: Codable where Wrapped: FieldValue {
  /// Reads the field's value; only `FieldSet` calls it.
  public init(from decoder: any Decoder) throws {
    guard let decoder = decoder as? FieldDecoder else { throw ValueError("a FieldSet is read by its own initializers") }
    declaration = .read
    value = try Wrapped(reading: decoder.value)
  }

  /// Shows itself to the visitor of a set's fields; only `FieldSet` calls it.
  public func encode(to encoder: any Encoder) throws {
    guard let visitor = encoder as? FieldVisitor else { throw ValueError("a FieldSet is written by 'encoded()'") }
    visitor.visit(self)
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
