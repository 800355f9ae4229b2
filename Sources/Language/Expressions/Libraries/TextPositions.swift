import Basics
import Glibc

// CEL counts positions in texts in code points; this file finds them in UTF-8 bytes. If everything before a position is
// ASCII, the position is the byte offset; otherwise the bytes that begin a code point are counted. Searches compare
// bytes, which finds the same matches as comparing code points. They take time linear in both texts (Knuth, Morris and
// Pratt), and use memchr while no part of the search text has matched.

/// The bytes of a text, with positions in code points.
struct TextBytes {
  let bytes: [UInt8]

  init(_ text: String) { bytes = Array(text.utf8) }

  /// The number of code points.
  var count: Int { count(before: bytes.count) }

  /// The number of code points that begin before a byte offset.
  func count(before offset: Int) -> Int {
    bytes.withUnsafeBufferPointer { $0[..<offset].reduce(0) { $0 &+ ($1 & 0xC0 != 0x80 ? 1 : 0) } }
  }

  /// The byte offset of a position, which may be at the end of the text; nil outside the text.
  func offset(of position: Int) -> Int? {
    guard position >= 0, position <= bytes.count else { return nil }
    return bytes.withUnsafeBufferPointer { bytes in
      if bytes[..<position].reduce(0, |) < 0x80, position == bytes.count || bytes[position] & 0xC0 != 0x80 {
        return position
      }
      var left = position
      for (offset, byte) in bytes.enumerated() where byte & 0xC0 != 0x80 {
        if left == 0 { return offset }
        left -= 1
      }
      return left == 0 ? bytes.count : nil
    }
  }

  /// The offset of a position; the error says how long the text is.
  func offset(_ position: Int) throws(EvaluationError) -> Int {
    if let offset = offset(of: position) { return offset }
    throw EvaluationError("position \(position) is outside the text of \(counted(count, "character"))")
  }

  func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// The offset of the first occurrence at or after an offset.
  func first(_ needle: TextBytes, from start: Int = 0) -> Int? {
    Search(for: needle.bytes).first(in: bytes, from: start)
  }

  /// The offset of the last occurrence that begins at or before an offset.
  func last(_ needle: TextBytes, upTo start: Int) -> Int? {
    // In the reversed text, the last occurrence is the first, so one search finds it.
    let end = min(start + needle.bytes.count, bytes.count)
    let backwards = TextBytes(bytes: bytes[..<end].reversed())
    return backwards.first(TextBytes(bytes: needle.bytes.reversed())).map { end - $0 - needle.bytes.count }
  }

  /// The offsets of all occurrences that don't overlap, at most `limit`.
  ///
  /// An empty text occurs around every code point.
  func occurrences(of needle: TextBytes, atMost limit: Int = .max) -> [Int] {
    var found: [Int] = []
    if needle.bytes.isEmpty {
      for (offset, byte) in bytes.enumerated() where byte & 0xC0 != 0x80 {
        if found.count >= limit { return found }
        found.append(offset)
      }
      if found.count < limit { found.append(bytes.count) }
      return found
    }
    let search = Search(for: needle.bytes)
    var start = 0
    while found.count < limit, let next = search.first(in: bytes, from: start) {
      found.append(next)
      start = next + needle.bytes.count
    }
    return found
  }

  private init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
}

/// A prepared search text.
private struct Search {
  private let needle: [UInt8]
  /// For each length of a matched prefix, the length of its longest proper suffix that is also a prefix.
  private let borders: [Int]

  init(for needle: [UInt8]) {
    self.needle = needle
    var borders = [Int](repeating: 0, count: needle.count)
    var length = 0
    for index in needle.indices.dropFirst() {
      while length > 0, needle[index] != needle[length] { length = borders[length - 1] }
      if needle[index] == needle[length] { length += 1 }
      borders[index] = length
    }
    self.borders = borders
  }

  /// The offset of the first occurrence at or after an offset.
  func first(in bytes: [UInt8], from start: Int) -> Int? {
    guard let first = needle.first else { return start }
    return bytes.withUnsafeBufferPointer { bytes in
      var met = 0
      var index = start
      while index < bytes.count {
        if met == 0 {
          guard let base = bytes.baseAddress, let next = memchr(base + index, Int32(first), bytes.count - index) else {
            return nil
          }
          index = UnsafeRawPointer(next) - UnsafeRawPointer(base)
        }
        while met > 0, bytes[index] != needle[met] { met = borders[met - 1] }
        if bytes[index] == needle[met] { met += 1 }
        index += 1
        if met == needle.count { return index - met }
      }
      return nil
    }
  }
}

extension EvaluationContext {
  /// Charges for reading that many bytes.
  mutating func charge(reading bytes: Int) throws(EvaluationError) { try charge(steps: bytes >> 6) }

  /// Charges for reading a text, and returns its bytes.
  mutating func read(_ text: String) throws(EvaluationError) -> TextBytes {
    try charge(reading: text.utf8.count)
    return TextBytes(text)
  }

  /// Charges for a new text, and returns it as a value.
  mutating func made(_ text: String) throws(EvaluationError) -> Value {
    try charge(bytes: text.utf8.count)
    return .string(text)
  }

  /// Charges for a new list, and returns it as a value; the contents of the items are charged where they are made.
  mutating func made(_ items: [Value]) throws(EvaluationError) -> Value {
    try charge(bytes: items.count * MemoryLayout<Value>.stride)
    return .list(items)
  }
}
