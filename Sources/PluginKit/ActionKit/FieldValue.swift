/// A Swift type that a field can hold.
public protocol FieldValue: FieldElement {
  /// The type that limits apply to: the type itself, or the wrapped type of an optional or a secret.
  associatedtype Limited: Sendable = Self
  /// The type as recipes know it.
  static var fieldType: FieldType { get }
  /// The value of a field that was left out, for types that have one.
  static var absent: Self? { get }
  /// Reads a value that was checked against the type.
  init(reading value: Value) throws(ValueError)
  /// The value as recipes see it.
  func encoded() throws(ValueError) -> Value
}

extension FieldValue {
  /// None: a value must be given.
  public static var absent: Self? { nil }
}

extension ValueError {
  static func mismatch<T: FieldValue>(_ type: T.Type, _ value: Value) -> ValueError {
    ValueError("must be \(T.fieldType.wanted), but found \(value.kindName)", at: value.place)
  }
}

extension Bool: FieldValue {
  /// `bool`.
  public static var fieldType: FieldType { .bool }
  /// Reads a truth value.
  public init(reading value: Value) throws(ValueError) {
    guard let flag = value.bool else { throw .mismatch(Self.self, value) }
    self = flag
  }
  /// The truth value.
  public func encoded() -> Value { .bool(self) }
}

extension Int: FieldValue {
  /// `int`.
  public static var fieldType: FieldType { .int }
  /// Reads an int.
  public init(reading value: Value) throws(ValueError) {
    guard let number = value.int else { throw .mismatch(Self.self, value) }
    self = number
  }
  /// The int.
  public func encoded() -> Value { .int(self) }
}

extension Double: FieldValue {
  /// `double`.
  public static var fieldType: FieldType { .double }
  /// Reads a double, or an int as one.
  public init(reading value: Value) throws(ValueError) {
    switch value.content {
    case .double(let number): self = number
    case .int(let number): self = Double(number)
    case .uint(let number): self = Double(number)
    default: throw .mismatch(Self.self, value)
    }
  }
  /// The double; it must be finite, because neither the state nor a service can write other values.
  public func encoded() throws(ValueError) -> Value {
    guard isFinite else { throw ValueError("a double must be finite, but is \(self)") }
    return .double(self)
  }
}

extension String: FieldValue {
  /// `string`.
  public static var fieldType: FieldType { .string }
  /// Reads a text.
  public init(reading value: Value) throws(ValueError) {
    guard let text = value.string else { throw .mismatch(Self.self, value) }
    self = text
  }
  /// The text.
  public func encoded() -> Value { .string(self) }
}

extension Timestamp: FieldValue {
  /// `timestamp`.
  public static var fieldType: FieldType { .timestamp }
  /// Reads an instant, or a text in RFC 3339.
  public init(reading value: Value) throws(ValueError) {
    guard let instant = value.timestamp ?? value.string.flatMap({ Timestamp($0) }) else {
      throw .mismatch(Self.self, value)
    }
    self = instant
  }
  /// The instant.
  public func encoded() -> Value { .timestamp(self) }
}

extension TimeSpan: FieldValue {
  /// `duration`.
  public static var fieldType: FieldType { .duration }
  /// Reads a length of time, or a text such as `1h30m` or `2d`.
  public init(reading value: Value) throws(ValueError) {
    guard let span = value.duration ?? value.string.flatMap({ TimeSpan($0) }) else {
      throw .mismatch(Self.self, value)
    }
    self = span
  }
  /// The length of time.
  public func encoded() -> Value { .duration(self) }
}

extension Value: FieldValue {
  /// `dyn`.
  public static var fieldType: FieldType { .dyn }
  /// Takes the value unchanged.
  public init(reading value: Value) { self = value }
  /// The unchanged value.
  public func encoded() -> Value { self }
}
