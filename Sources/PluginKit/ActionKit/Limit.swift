// What a field's values have to keep to. Each limit is one case; from it come the check, its message, the words on the
// page and the JSON Schema, so that none of them can say something else.

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
  /// Anything but null; with what to do instead, in a clause.
  case notNull(instead: String)
  /// Each item of a list, or value of a map, keeps to this.
  case each(Limit)
}

/// A limit that fits fields of one type: `@Field("…", .range(1...500)) var pageSize = 50`.
public struct FieldLimit<Limited: Sendable>: Sendable {
  var limits: [Limit] = []
  /// What is said in the place of a limit, and keeps no value out.
  var isVolatile = false
  /// What is said of secrets in the place of a limit, and keeps no value out.
  var secrecy = FieldSecrecy.none
}

extension FieldLimit {
  init(_ limits: Limit...) { self.init(limits: limits) }
}

/// Types whose values have an order that limits can speak of.
public protocol BoundedFieldValue: FieldValue, Comparable {
  /// The value as a limit of others.
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
  /// No limit, but a word about an output that says how or when an answer came.
  ///
  /// It differs from one answer to the next though what was asked for is the same, so that what was planned holds though
  /// it has moved.
  public static var volatile: Self { Self(isVolatile: true) }
}

extension FieldLimit {
  /// No limit, but a word about an input that isn't a secret and may be made with one, as a body that logs in.
  ///
  /// What is made with a secret is then masked where the input is shown, and nothing else of it.
  public static var mayHoldSecret: Self { Self(secrecy: .possible) }

  /// No limit, but a word about a setting that is a secret unless another one is given.
  public static func secretUnless(_ other: String) -> Self { Self(secrecy: .unless(other)) }
}

extension FieldLimit where Limited: BoundedFieldValue {
  /// Not less than that.
  public static func min(_ least: Limited) -> Self { Self(.atLeast(least.bound)) }
  /// Not more than that.
  public static func max(_ most: Limited) -> Self { Self(.atMost(most.bound)) }
  /// Neither less than the first nor more than the last.
  public static func range(_ bounds: ClosedRange<Limited>) -> Self {
    Self(.atLeast(bounds.lowerBound.bound), .atMost(bounds.upperBound.bound))
  }
}

/// Types whose values have a length that limits can speak of.
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
  /// Anything but null; with what to do instead, in a clause: `use store.delete to remove a value`.
  public static func notNull(_ instead: String) -> Self { Self(.notNull(instead: instead)) }
}

extension FieldLimit {
  /// Each item keeps to the limit.
  public static func each<Element: FieldValue>(_ limit: FieldLimit<Element.Limited>) -> Self
  where Limited == [Element] { Self(limits: limit.limits.map { .each($0) }) }
  /// Each value keeps to the limit.
  public static func each<Element: FieldValue>(_ limit: FieldLimit<Element.Limited>) -> Self
  where Limited == [String: Element] { Self(limits: limit.limits.map { .each($0) }) }
}

extension Limit {
  /// What a value of the right type must be and is not, or nil if it keeps to the limit.
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
    // Of a secret not even the length is shown.
    if isHidden { return words(for: type) }
    switch self {
    case .minLength(1): return words(for: type)
    case .minLength, .maxLength: return "\(words(for: type)), but has \(value.size)"
    default: return "\(words(for: type)), but is \(value.written)"
    }
  }

  /// Whether one number, instant or length of time is not after another; NaN is in no order.
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

  /// The limit as it follows "must" in messages and on pages.
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
  /// What is said after "must" of null, if it is refused though the type takes it.
  package var refusalOfNull: String? {
    for limit in limits { if case .notNull = limit { return limit.words(for: type) } }
    return nil
  }
}

extension FieldType {
  /// What a length counts.
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
    case .duration(let span): span.spelled
    case .bytes, .list, .map, .optional, .type, .masked: kindName
    }
  }
}

extension Array {
  /// What the words of a declaration say of secrets.
  func secrecy<Limited>() -> FieldSecrecy where Element == FieldLimit<Limited> {
    first { $0.secrecy != .none }?.secrecy ?? .none
  }
}
