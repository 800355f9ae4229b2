/// Keys met before, with where they were met, so that the bytes there can be compared.
struct JSONKeyCache {
  private struct Entry {
    var fingerprint: UInt64
    var range: Range<Int>
    var key: String
  }

  private var entries: [Entry?] = Array(repeating: nil, count: 256)

  static func slot(_ fingerprint: UInt64) -> Int {
    Int(truncatingIfNeeded: (fingerprint &* 0x9E37_79B9_7F4A_7C15) >> 56)
  }

  func key(
    _ slot: Int, _ fingerprint: UInt64, _ range: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>
  ) -> String? {
    guard let entry = entries[slot], entry.fingerprint == fingerprint, entry.range.count == range.count else {
      return nil
    }
    // The fingerprint holds all of a key up to seven bytes, and both ends of a longer one.
    if range.count > 16 {
      for offset in 0..<range.count - 8
      where bytes[entry.range.lowerBound + offset] != bytes[range.lowerBound + offset] { return nil }
    } else if range.count >= 8, bytes.word(at: entry.range.lowerBound) != bytes.word(at: range.lowerBound) {
      return nil
    }
    return entry.key
  }

  mutating func remember(_ key: String, _ slot: Int, _ fingerprint: UInt64, _ range: Range<Int>) {
    entries[slot] = Entry(fingerprint: fingerprint, range: range, key: key)
  }
}

/// A number equal for equal texts, and nearly always different for different ones.
func fingerprint(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> UInt64 {
  let count = range.count
  if count >= 8 {
    let first = bytes.word(at: range.lowerBound)
    let last = bytes.word(at: range.upperBound - 8)
    return (first &* 0x9E37_79B9_7F4A_7C15) ^ last ^ UInt64(truncatingIfNeeded: count) << 56
  }
  var word = UInt64(truncatingIfNeeded: count)
  for index in range { word = word << 8 | UInt64(bytes[index]) }
  return word
}
