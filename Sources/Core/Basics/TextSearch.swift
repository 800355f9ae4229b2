// Finding and replacing parts of texts, scalar by scalar.
//
// The standard library has these in a module of its own that brings the machinery of patterns, a megabyte, with it, and
// that takes canonically equivalent texts for the same. The shipped targets do without that module.

extension String {
  /// Whether the text has that part, scalar by scalar; every text has the empty one.
  public func contains(_ part: String) -> Bool {
    !part.isEmpty ? firstOffset(of: Array(part.utf8), from: 0) != nil : true
  }

  /// The text with every occurrence of a part, from the left and without overlaps, as another.
  public func replacing(_ part: String, with other: String) -> String {
    let wanted = Array(part.utf8)
    guard !wanted.isEmpty, var found = firstOffset(of: wanted, from: 0) else { return self }
    let bytes = Array(utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var start = 0
    while true {
      result += bytes[start..<found]
      result += other.utf8
      start = found + wanted.count
      guard let next = firstOffset(of: wanted, from: start) else { break }
      found = next
    }
    return String(decoding: result + bytes[start...], as: UTF8.self)
  }

  /// Where some octets, at least one, are first found at or after an offset, both in UTF-8.
  private func firstOffset(of wanted: [UInt8], from start: Int) -> Int? {
    var text = self
    return text.withUTF8 { bytes in
      guard let first = wanted.first, bytes.count - start >= wanted.count else { return nil }
      for offset in start...(bytes.count - wanted.count)
      where bytes[offset] == first && bytes[offset...].starts(with: wanted) {
        return offset
      }
      return nil
    }
  }
}

extension Substring {
  /// Whether the text has that part, scalar by scalar; every text has the empty one.
  public func contains(_ part: String) -> Bool { String(self).contains(part) }

  /// The text with every occurrence of a part, from the left and without overlaps, as another.
  public func replacing(_ part: String, with other: String) -> String { String(self).replacing(part, with: other) }
}
