/// The fields of another set, as if they were declared in this one: `@Included var head: MarkbookHead`.
///
/// Recipes see one flat set, in which the included fields stand where the property does. Rules between the included
/// fields (`ValidatedFieldSet`) are asked only if the outer set asks them.
@propertyWrapper
public struct Included<Part: FieldSet>: Sendable {
  /// The included set.
  public var wrappedValue: Part

  /// Declares the part's fields, without their values.
  public init() { wrappedValue = Part() }
}

extension Included: Codable {
  /// Reads the part from the same map as the outer set; only `FieldSet` calls it.
  public init(from decoder: any Decoder) throws { wrappedValue = try Part(from: decoder) }

  /// Shows the part's fields in place of itself; only `FieldSet` calls it.
  public func encode(to encoder: any Encoder) throws {
    guard let visitor = encoder as? FieldVisitor else { throw ValueError("a FieldSet is written by 'encoded()'") }
    visitor.include(wrappedValue)
  }
}

/// An `Included` whose type is not known.
protocol AnyIncluded {
  /// The names of the included fields.
  var names: [String] { get }
}

extension Included: AnyIncluded {
  var names: [String] { wrappedValue.fields().map(\.name) }
}

extension Included: Equatable where Part: Equatable {}
extension Included: Hashable where Part: Hashable {}
