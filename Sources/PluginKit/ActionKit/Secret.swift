/// A value that no log, message or page shows: it prints as `•••`, and only `reveal()` reads it.
///
///     @Field("The token that the service gave this school.") var token: Secret<String>
public struct Secret<Wrapped: FieldValue>: Sendable {
  private let wrapped: Wrapped

  /// Hides a value.
  public init(_ wrapped: Wrapped) { self.wrapped = wrapped }

  /// The value itself, for the one place that sends it.
  public func reveal() -> Wrapped { wrapped }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Three dots in place of the value.
  public var description: String { "•••" }
  /// Three dots in place of the value.
  public var debugDescription: String { "•••" }
  /// Empty, so that `dump` and test failures don't show the value either.
  public var customMirror: Mirror { Mirror(self, children: [Mirror.Child]()) }
}

extension Secret: Equatable where Wrapped: Equatable {}

extension Secret: FieldValue {
  /// Limits apply to the wrapped type.
  public typealias Limited = Wrapped.Limited
  /// `secret(T)`; values that are computed from it are secrets, too.
  public static var fieldType: FieldType { .secret(Wrapped.fieldType) }
  /// Reads and hides a value.
  public init(reading value: Value) throws(ValueError) { self.init(try Wrapped(reading: value)) }
  /// The bare value; encoding a secret reveals it, so no output may hold one.
  public func encoded() throws(ValueError) -> Value { try wrapped.encoded() }
}
