/// The fields of another set, as if they were declared in this one: `@Included var head: MarkbookHead`.
///
/// Recipes see one flat set, in which the included fields stand where the property does. Rules between the included
/// fields (`ValidatedFieldSet`) are asked only if the outer set asks them.
@propertyWrapper
public struct Included<Part: FieldSet>: Sendable {
  // What `FieldTable` reads of any part, and so the first.
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
