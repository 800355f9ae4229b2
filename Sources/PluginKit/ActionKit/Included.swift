/// The fields of another set, as if they were declared in this one: `@Included var head: MarkbookHead`.
///
/// Recipes see one flat set, with the included fields in the place of the property. Rules between the included fields
/// (`ValidatedFieldSet`) are checked only if the outer set checks them.
@propertyWrapper
public struct Included<Part: FieldSet>: Sendable {
  // Must be the first property, because `FieldTable` reads it from parts of any type.
  private let part: any FieldSet.Type = Part.self
  /// The included set.
  public var wrappedValue: Part

  /// Declares the part's fields, without their values.
  public init() { wrappedValue = Part() }
}

extension Included: Equatable where Part: Equatable {
  /// Whether both hold the same fields.
  public static func == (left: Included, right: Included) -> Bool { left.wrappedValue == right.wrappedValue }
}
extension Included: Hashable where Part: Hashable {
  /// Hashes the fields.
  public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}
