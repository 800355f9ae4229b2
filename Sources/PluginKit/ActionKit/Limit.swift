// The limits on a field's values. Each limit is one case; the check, its message, the words on the page and the JSON
// Schema are all made from it, so that they can't differ.

/// A limit of a field of any type.
public indirect enum Limit: Sendable {
  /// Not less than this number, instant or length of time.
  case atLeast(Value)
  /// Not more than this number, instant or length of time.
  case atMost(Value)
  /// At least that many Unicode scalars, items, members or octets.
  case minLength(Int)
  /// At most that many Unicode scalars, items, members or octets.
  case maxLength(Int)
  /// A text of that form.
  case pattern(TextPattern)
  /// Anything but null; `instead` is the advice, as a clause.
  case notNull(instead: String)
  /// Each item of a list, or value of a map, has this limit.
  case each(Limit)
}

/// A limit that fits fields of one type: `@Field("…", .range(1...500)) var pageSize = 50`.
public struct FieldLimit<Limited: Sendable>: Sendable {
  var limits: [Limit] = []
  /// Whether it marks the field as volatile; it then limits no values.
  var isVolatile = false
  /// Whether it marks the field as the path of a file; it then limits no values.
  var isFile = false
  /// The secrecy that it gives the field; it then limits no values.
  var secrecy = FieldSecrecy.none
}

extension FieldLimit {
  init(_ limits: Limit...) { self.init(limits: limits) }
}

/// Types whose values have an order, so that limits can be bounds.
public protocol BoundedFieldValue: FieldValue, Comparable {
  /// The value as a bound of others.
  var bound: Value { get }
}
extension Int: BoundedFieldValue {
  /// The int.
  public var bound: Value { .int(self) }
}
extension Double: BoundedFieldValue {
  /// The double.
  public var bound: Value { .double(self) }
}
extension Timestamp: BoundedFieldValue {
  /// The instant.
  public var bound: Value { .timestamp(self) }
}
extension TimeSpan: BoundedFieldValue {
  /// The length of time.
  public var bound: Value { .duration(self) }
}

extension FieldLimit {
  /// Not a limit, but a mark for an output that says how or when a response came.
  ///
  /// It differs from one response to the next, even for the same request; a plan stays valid when it changes.
  public static var volatile: Self { Self(isVolatile: true) }
}

extension FieldLimit where Limited == String {
  /// Not a limit, but a mark for an output that is the full path of a file that the action wrote.
  ///
  /// Pages offer the file as long as nothing has changed it.
  public static var isFile: Self { Self(isFile: true) }
}

extension FieldLimit {
  /// Not a limit, but a mark for an input that isn't a secret but may be computed from one, such as a body that logs
  /// in.
  ///
  /// Texts computed from a secret are then masked where the input is shown, and nothing else of it.
  public static var mayHoldSecret: Self { Self(secrecy: .possible) }

  /// Not a limit, but a mark for a setting that is a secret unless another one is given.
  public static func secretUnless(_ other: String) -> Self { Self(secrecy: .unless(other)) }
}

extension FieldLimit where Limited: BoundedFieldValue {
  /// Not less than that.
  public static func min(_ least: Limited) -> Self { Self(.atLeast(least.bound)) }
  /// Not more than that.
  public static func max(_ most: Limited) -> Self { Self(.atMost(most.bound)) }
  /// At least the lower bound, and at most the upper one.
  public static func range(_ bounds: ClosedRange<Limited>) -> Self {
    Self(.atLeast(bounds.lowerBound.bound), .atMost(bounds.upperBound.bound))
  }
}

/// Types whose values have a length, so that limits can apply to it.
public protocol SizedFieldValue: FieldValue {}
extension String: SizedFieldValue {}
extension Array: SizedFieldValue where Element: FieldElement {}
extension Dictionary: SizedFieldValue where Key == String, Value: FieldValue {}

extension FieldLimit where Limited: SizedFieldValue {
  /// At least that many Unicode scalars, items, members or octets.
  public static func minLength(_ length: Int) -> Self { Self(.minLength(length)) }
  /// At most that many Unicode scalars, items, members or octets.
  public static func maxLength(_ length: Int) -> Self { Self(.maxLength(length)) }
  /// Not empty.
  public static var notEmpty: Self { minLength(1) }
}

extension FieldLimit where Limited == String {
  /// A text of that form.
  public static func pattern(_ pattern: TextPattern) -> Self { Self(.pattern(pattern)) }
}

extension FieldLimit where Limited == Value {
  /// Anything but null; the argument is the advice, as a clause: `use store.delete to remove a value`.
  public static func notNull(_ instead: String) -> Self { Self(.notNull(instead: instead)) }
}

extension FieldLimit {
  /// Each item has the limit.
  public static func each<Element: FieldValue>(_ limit: FieldLimit<Element.Limited>) -> Self
  where Limited == [Element] { Self(limits: limit.limits.map { .each($0) }) }
  /// Each value has the limit.
  public static func each<Element: FieldValue>(_ limit: FieldLimit<Element.Limited>) -> Self
  where Limited == [String: Element] { Self(limits: limit.limits.map { .each($0) }) }
}

extension Limit {
  /// The violated requirement, as the words after "must", for a value of the right type; nil if it is within the limit.
  func objection(to value: Value, of type: FieldType, isHidden: Bool) -> String? {
    switch self {
    case .atLeast(let bound): if isInOrder(bound, value) { return nil }
    case .atMost(let bound): if isInOrder(value, bound) { return nil }
    case .minLength(let least): if value.size >= least { return nil }
    case .maxLength(let most): if value.size <= most { return nil }
    case .pattern(let pattern): if pattern.matches(value.string ?? "") { return nil }
    case .notNull: return value.isNull ? words(for: type) : nil
    case .each: return nil
    }
    // Not even the length of a secret is shown.
    if isHidden { return words(for: type) }
    switch self {
    case .minLength(1): return words(for: type)
    case .minLength, .maxLength: return "\(words(for: type)), but has \(value.size)"
    default: return "\(words(for: type)), but is \(value.written)"
    }
  }

  /// Whether two numbers, instants or lengths of time are in order; false for NaN.
  private func isInOrder(_ lower: Value, _ upper: Value) -> Bool {
    switch (lower.content, upper.content) {
    case (.int(let lower), .int(let upper)): lower <= upper
    case (.uint(let lower), .uint(let upper)): lower <= upper
    case (.double(let lower), .double(let upper)): lower <= upper
    case (.int(let lower), .double(let upper)): Double(lower) <= upper
    case (.double(let lower), .int(let upper)): lower <= Double(upper)
    case (.timestamp(let lower), .timestamp(let upper)): lower <= upper
    case (.duration(let lower), .duration(let upper)): lower <= upper
    default: false
    }
  }

  /// The words after "must" in messages and on pages.
  package func words(for type: FieldType) -> String {
    switch self {
    case .atLeast(let bound): "be at least \(bound.written)"
    case .atMost(let bound): "be at most \(bound.written)"
    case .minLength(1): "not be empty"
    case .minLength(let least): "have at least \(counted(least, type.unit))"
    case .maxLength(let most): "have at most \(counted(most, type.unit))"
    case .pattern(let pattern): "be \(pattern.wanted)"
    case .notNull(let instead): "not be null; \(instead)"
    case .each(let limit): "hold only what must \(limit.words(for: type.element))"
    }
  }
}

extension FieldSchema {
  /// The words after "must" in a message about null, if null is refused though the type accepts it.
  package var refusalOfNull: String? {
    for limit in limits { if case .notNull = limit { return limit.words(for: type) } }
    return nil
  }
}

extension FieldType {
  /// The unit of a length.
  fileprivate var unit: String {
    switch self {
    case .list: "item"
    case .map: "member"
    case .bytes: "byte"
    case .optional(let wrapped), .secret(let wrapped): wrapped.unit
    default: "character"
    }
  }

  /// The type of the items or of a map's values.
  var element: FieldType {
    switch self {
    case .list(let element), .map(let element): element
    case .optional(let wrapped), .secret(let wrapped): wrapped.element
    default: .dyn
    }
  }
}

extension Value {
  /// The number of scalars, items, members or octets.
  var size: Int {
    switch content {
    case .string(let text): text.unicodeScalars.count
    case .bytes(let bytes): bytes.count
    case .list(let items): items.count
    case .map(let map): map.count
    default: 0
    }
  }

  /// The value in a message, shortened if it is long.
  package var written: String {
    switch content {
    case .null: "null"
    case .bool(let flag): "\(flag)"
    case .int(let number): "\(number)"
    case .uint(let number): "\(number)"
    case .double(let number): "\(number)"
    case .string(let text): "'\(text.excerpt(60))'"
    case .timestamp(let instant): "\(instant)"
    case .duration(let span): span.written
    case .bytes, .list, .map, .optional, .type, .masked: kindName
    }
  }
}

extension Array {
  /// The secrecy that the declaration gives the field.
  func secrecy<Limited>() -> FieldSecrecy where Element == FieldLimit<Limited> {
    first { $0.secrecy != .none }?.secrecy ?? .none
  }
}
