import Synchronization

/// The place where a value begins in its text: a byte offset, which the source converts to a line and column.
public struct Place: Hashable, Sendable {
  /// The byte offset plus one, or zero for a value that was read from no text.
  let number: UInt32

  /// No place: the value was computed.
  public static let none = Place(number: 0)

  @usableFromInline init(number: UInt32) { self.number = number }

  /// The place at a byte offset; beyond 4 GiB there is none.
  @inlinable public init(offset: Int) {
    self.init(number: offset >= 0 && offset < Int(UInt32.max) ? UInt32(truncatingIfNeeded: offset + 1) : 0)
  }

  /// The byte offset, if there is one.
  public var offset: Int? { number == 0 ? nil : Int(number) - 1 }
}

/// A text that a person wrote, with its name in messages.
public final class Source: Sendable {
  /// The path as the user gave it, or words in angle brackets for text that isn't in a file, such as `<expression>`.
  public let name: String
  /// The text's bytes, as read; they need not be UTF-8.
  public let bytes: [UInt8]
  /// The parts that messages don't show because they are secrets, in ascending order and apart.
  package let hidden: [Range<Int>]

  /// The place that was asked for last: many faults of one text are told in its order, each from where the last one is.
  private let latest = Mutex<Position.Mark>(Position.Mark())

  /// Creates a source.
  public convenience init(name: String, bytes: [UInt8]) {
    self.init(name: name, bytes: bytes, hidden: [])
  }

  init(name: String, bytes: [UInt8], hidden: [Range<Int>]) {
    self.name = name
    self.bytes = bytes
    self.hidden = hidden
  }

  /// Creates a source from a text.
  public convenience init(name: String, text: String) {
    self.init(name: name, bytes: Array(text.utf8))
  }

  /// Line and column from 1; columns count Unicode scalars, as editors and libyaml do.
  public struct Position: Hashable, Sendable {
    /// The line, from 1.
    public var line: Int
    /// The column in Unicode scalars, from 1.
    public var column: Int

    /// Creates a position.
    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }

    /// The position of a byte offset in a text.
    init(of offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
      var mark = Mark()
      mark.move(to: offset, in: bytes)
      self = mark.position
    }

    /// A byte offset with its position.
    struct Mark: Sendable {
      private var offset = 0
      private(set) var position = Position(line: 1, column: 1)

      mutating func move(to offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
        let end = min(max(offset, 0), bytes.count)
        if end < self.offset { self = Mark() }
        for index in self.offset..<end {
          let byte = bytes[index]
          if byte == ASCII.newline
            || byte == ASCII.carriageReturn && !(index + 1 < bytes.count && bytes[index + 1] == ASCII.newline)
          {
            position = Position(line: position.line + 1, column: 1)
          } else if byte & 0xC0 != 0x80 {
            // Continuation bytes of UTF-8 begin no scalar.
            position.column += 1
          }
        }
        self.offset = end
      }
    }
  }

  /// The line and column of a byte offset.
  ///
  /// Lines end with LF, CR LF or CR.
  public func position(at offset: Int) -> Position {
    bytes.withUnsafeBufferPointer { bytes in
      latest.withLock { mark in
        mark.move(to: offset, in: bytes)
        return mark.position
      }
    }
  }

  /// The bytes of the line that holds an offset, as text without its line break, and the offset of its first byte.
  public func line(at offset: Int) -> (text: String, start: Int) {
    let offset = min(max(offset, 0), bytes.count)
    let isBreak: (UInt8) -> Bool = { $0 == ASCII.newline || $0 == ASCII.carriageReturn }
    var start = offset
    while start > 0, !isBreak(bytes[start - 1]) { start -= 1 }
    var end = offset
    while end < bytes.count, !isBreak(bytes[end]) { end += 1 }
    return (String(decoding: bytes[start..<end], as: UTF8.self), start)
  }
}
