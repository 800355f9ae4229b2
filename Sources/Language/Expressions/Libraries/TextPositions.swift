import Basics
import Glibc

// Positions in texts are counted in code points, as CEL asks for, and found in UTF-8 bytes. Where everything before a
// position is ASCII, it is the byte offset; elsewhere the bytes that begin a code point are counted. Searching is that of
// bytes, which finds the same as that of code points, in time linear in both texts (Knuth, Morris and Pratt), with
// memchr where no part of the text sought has been met yet.

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

  /// The byte offset of a position, the one after the last code point included; nil outside the text.
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

  /// The offset of a position, or the error that says how long the text is.
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
    // Backwards, the last occurrence is the first one, and one search finds it.
    let end = min(start + needle.bytes.count, bytes.count)
    let backwards = TextBytes(bytes: bytes[..<end].reversed())
    return backwards.first(TextBytes(bytes: needle.bytes.reversed())).map { end - $0 - needle.bytes.count }
  }

  /// The offsets of all occurrences that do not overlap, at most so many; of an empty text, those around every code
  /// point.
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

/// A text to search for, prepared.
private struct Search {
  private let needle: [UInt8]
  /// For each length of a met beginning, that of its longest proper end which is a beginning too.
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
  /// Takes what it costs to go through that many bytes.
  mutating func charge(reading bytes: Int) throws(EvaluationError) { try charge(steps: bytes >> 6) }

  /// Takes what it costs to go through a text.
  mutating func read(_ text: String) throws(EvaluationError) -> TextBytes {
    try charge(reading: text.utf8.count)
    return TextBytes(text)
  }

  /// A text as a value, at its cost.
  mutating func made(_ text: String) throws(EvaluationError) -> Value {
    try charge(bytes: text.utf8.count)
    return .string(text)
  }

  /// A list as a value, at the cost of its items; what the items hold is charged where it is made.
  mutating func made(_ items: [Value]) throws(EvaluationError) -> Value {
    try charge(bytes: items.count * MemoryLayout<Value>.stride)
    return .list(items)
  }
}
