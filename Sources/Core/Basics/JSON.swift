/// JSON as RFC 8259 has it, to and from values.
///
/// Reading is strict: no comments, nothing after the value, no member twice, no text that is not UTF-8, no half of a
/// surrogate pair. A byte order mark at the beginning is skipped (section 8.1). A number without fraction and
/// exponent is an int, a uint if only 64 bits without a sign hold it, and otherwise the nearest double; `-0` is the int
/// 0. Every other number is the nearest double. A number too large for a double is infinite, as IEEE 754 rounds it:
/// JSON has no limits, and one number must not make its whole text unreadable. If a type is declared, its reader
/// refuses a value that the type can't hold, and names the field.
///
/// Values that JSON doesn't have are written as text: bytes in base64, instants in RFC 3339, lengths of time as `90s`,
/// types by their name, and the keys of a map. An optional is its value or null. A double always has a point or an
/// exponent, so that it is read as a double again. A double that is not finite is an error, except in text that is only
/// shown: there it is the text `NaN`, `Infinity` or `-Infinity`, as in the JSON of protocol buffers.
public enum JSON {
  /// How much is read before a text is refused.
  public struct Limits: Sendable {
    /// The most bytes.
    public var bytes: Int
    /// How deep lists and maps may be nested; more than `JSON.deepest` counts as that.
    public var depth: Int

    /// Creates limits.
    public init(bytes: Int = 256 << 20, depth: Int = 128) {
      self.bytes = bytes
      self.depth = depth
    }
  }

  /// Faults that reading may accept, because other programs write them.
  public struct Tolerance: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Creates a set of bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A comma before `]` or `}`, as some services write it.
    public static let trailingCommas = Tolerance(rawValue: 1)
    /// Half of a surrogate pair is read as U+FFFD, as editors send what they can't encode.
    public static let halfPairs = Tolerance(rawValue: 2)
    /// A key that is given twice: the last value counts, as for most readers (RFC 8259, section 4).
    public static let doubledKeys = Tolerance(rawValue: 4)
  }

  /// How a text is laid out.
  public struct Style: Sendable {
    /// Whether every item and member has its own line, indented by two blanks a level.
    public var isIndented: Bool
    /// Whether members are in the order of their keys' scalars rather than the map's order.
    public var sortsKeys: Bool
    /// Whether what JSON cannot hold is written as a text that says it, and not refused.
    var isTotal = false

    /// Creates a style.
    public init(isIndented: Bool, sortsKeys: Bool) {
      self.isIndented = isIndented
      self.sortsKeys = sortsKeys
    }

    /// No blank, members in order.
    public static let compact = Style(isIndented: false, sortsKeys: false)
    /// No blank, members sorted: equal values give equal bytes.
    public static let sorted = Style(isIndented: false, sortsKeys: true)
    /// For people, members in order.
    public static let pretty = Style(isIndented: true, sortsKeys: false)
    /// For people, members sorted.
    public static let prettySorted = Style(isIndented: true, sortsKeys: true)
  }

  /// The deepest nesting that is ever read or written, chosen so that no thread's stack runs out.
  public static let deepest = 512

  /// Reads one value; each value and key in it knows its byte offset.
  ///
  /// - Parameter tolerance: The faults to accept.
  public static func parse(
    _ bytes: [UInt8], limits: Limits = Limits(), allowing tolerance: Tolerance = []
  ) throws(JSONError) -> Value {
    try bytes.withUnsafeBufferPointer { parse($0, limits, tolerance) }.get()
  }

  private static func parse(
    _ bytes: UnsafeBufferPointer<UInt8>, _ limits: Limits, _ tolerance: Tolerance
  ) -> Result<Value, JSONError> {
    Result { () throws(JSONError) in
      var reader = JSONReader(bytes, limits: limits, allowing: tolerance)
      return try reader.document()
    }
  }

  /// Reads one value from a named text; `JSONError.diagnostic(in:)` turns an error into a diagnostic.
  public static func parse(
    _ source: Source, limits: Limits = Limits(), allowing tolerance: Tolerance = []
  ) throws(JSONError) -> Value {
    try parse(source.bytes, limits: limits, allowing: tolerance)
  }

  /// Reads one value from a text.
  public static func parse(
    _ text: String, limits: Limits = Limits(), allowing tolerance: Tolerance = []
  ) throws(JSONError) -> Value {
    var text = text
    return try text.withUTF8 { parse($0, limits, tolerance) }.get()
  }

  /// Writes a value as UTF-8.
  public static func write(_ value: Value, _ style: Style = .compact) throws(JSONError) -> [UInt8] {
    var writer = JSONWriter(style)
    try writer.write(value)
    return writer.bytes
  }

  /// Writes a value as text.
  public static func text(_ value: Value, _ style: Style = .compact) throws(JSONError) -> String {
    var writer = JSONWriter(style)
    try writer.write(value)
    return writer.output.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Writes a value as text that is only shown: every value can be written.
  package static func displayed(_ value: Value, _ style: Style = .compact) -> String {
    var style = style
    style.isTotal = true
    do throws(JSONError) { return try text(value, style) } catch { return quoted(error.message) }
  }

  /// Writes a value as `displayed` does, in pieces for one who keeps none; a value that can't be written ends within.
  package static func show(
    _ value: Value, _ style: Style, inPieces take: @escaping (UnsafeBufferPointer<UInt8>) -> Void
  ) {
    var style = style
    style.isTotal = true
    var writer = JSONWriter(style, inPieces: take)
    do throws(JSONError) { try writer.write(value) } catch { writer.write(error.message) }
    writer.finish()
  }

  /// A text as a JSON string, in quotes.
  public static func quoted(_ text: String) -> String {
    var writer = JSONWriter(.compact)
    writer.write(text)
    return writer.output.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}

/// Why a text isn't JSON, or a value can't be JSON.
public struct JSONError: Error, Hashable, Sendable {
  /// A place in the text.
  public struct Spot: Hashable, Sendable {
    /// The byte offset.
    public var offset: Int
    /// Line and column.
    public var position: Source.Position

    init(_ offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
      self.offset = offset
      position = Source.Position(of: offset, in: bytes)
    }
  }

  /// The fault: no full stop, lower case.
  public var message: String
  /// Where in the text; nil for a value that cannot be written, whose message names the member.
  public var spot: Spot?
  /// A second place that belongs to it, such as the first of two equal keys, with a message.
  public var note: Note?

  /// A second place.
  public struct Note: Hashable, Sendable {
    /// The fact that the note points out there.
    public var message: String
    /// Where.
    public var spot: Spot
  }

  /// The error as a diagnostic about the text it was found in.
  public func diagnostic(in source: Source) -> Diagnostic {
    Diagnostic(
      message, at: spot.map { .init(source, at: $0.offset) },
      notes: note.map { [.init($0.message, at: .init(source, at: $0.spot.offset))] } ?? [])
  }
}

extension JSONError: CustomStringConvertible {
  /// The message after line and column: `line 3, column 7: …`.
  public var description: String {
    let place = spot.map { "line \($0.position.line), column \($0.position.column): " } ?? ""
    let note = note.map { " (\($0.message) at line \($0.spot.position.line), column \($0.spot.position.column))" } ?? ""
    return place + message + note
  }
}
