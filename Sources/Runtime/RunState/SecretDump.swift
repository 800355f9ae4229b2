// How hexadecimal dumps continue after a byte.
//
//      74 6f 6b 2d                                         od -An -tx1: a blank before each byte
//     0000000 74 6f 6b 2d  >tok-<                          od -tx1z: an offset, and the characters
//     00000000: 746f 6b2d  tok-                            xxd: a blank after each two bytes
//     00000000  74 6f 6b 2d  78 79 7a 75  |tok-xyzu|       hexdump -C: two blanks in the middle
//
// In a text that is only shown, the characters at the end of a line belong to the bytes before them: they are skipped
// between two lines, and hidden with a secret. A reference has no such place for them, because what is between the
// digits is kept as it is; so a value with such a dump of several lines isn't kept.
import Basics

enum SecretDump {
  private static let mostBlanks = 3
  private static let offsets = 6...16
  /// The most bytes of the characters of a line, with their frame.
  private static let mostCharacters = 40
  private static let longestLine = 100

  /// Where the next byte may begin after blanks, or in the next line; the end of the text if the next line isn't there.
  static func nextBytes(in bytes: UnsafeBufferPointer<UInt8>, at start: Int, isShown: Bool) -> [Int] {
    guard start < bytes.count, Needle.isBlank(bytes[start]) else { return [] }
    var index = endOfSpaces(in: bytes, from: start)
    var found: [Int] = []
    if index < bytes.count, isDigit(bytes[index]), index - start <= mostBlanks {
      found.append(index)
      // The characters may begin with a digit, too.
      guard isShown, index - start >= 2 else { return found }
    }
    if isShown,
      index - start >= 2 || bytes[start] == ASCII.space && index < bytes.count && bytes[index] == ASCII.greater
    {
      let most = min(bytes.count, index + mostCharacters)
      while index < most, !Needle.isLineEnd(bytes[index]) { index += 1 }
    }
    guard index < bytes.count, Needle.isLineEnd(bytes[index]) else { return found }
    index += bytes[index] == ASCII.carriageReturn ? 2 : 1
    guard index < bytes.count else { return found + [bytes.count] }
    let first = endOfSpaces(in: bytes, from: index)
    // Without an offset, the first byte.
    if first > index, first < bytes.count { found.append(first) }
    var offset = first
    while offset < bytes.count, isDigit(bytes[offset]), offset - first <= offsets.upperBound { offset += 1 }
    guard offsets.contains(offset - first), offset < bytes.count else { return found }
    if bytes[offset] == ASCII.colon { offset += 1 }
    let next = endOfSpaces(in: bytes, from: offset)
    if next > offset, next < bytes.count { found.append(next) }
    return found
  }

  /// Whether a text may be a multi-line dump with characters: it has line ends, and a gap that precedes the characters.
  static func mayHaveCharacters(_ bytes: some Collection<UInt8>) -> Bool {
    var (hasGap, hasLineEnd) = (false, false)
    var last: UInt8 = 0
    for byte in bytes {
      if last == ASCII.space, byte == ASCII.space || byte == ASCII.greater { hasGap = true }
      if Needle.isLineEnd(byte) { hasLineEnd = true }
      if hasGap, hasLineEnd { return true }
      last = byte
    }
    return false
  }

  /// Where the characters end that a dump shows after the bytes of a line; the index itself if there are none.
  static func endOfCharacters(in bytes: UnsafeBufferPointer<UInt8>, after start: Int) -> Int {
    var end = start
    let most = min(bytes.count, start + longestLine)
    while end < most, !Needle.isLineEnd(bytes[end]) { end += 1 }
    guard end == bytes.count || Needle.isLineEnd(bytes[end]) else { return start }
    // Two blanks are before them, after nothing but bytes.
    let line = bytes[start..<end]
    let other = line.firstIndex { $0 != ASCII.space && !isDigit($0) } ?? end
    return hasTwoSpaces(bytes[start..<other]) ? end : start
  }

  private static func hasTwoSpaces(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    zip(line, line.dropFirst()).contains { $0 == ASCII.space && $1 == ASCII.space }
  }

  private static func endOfSpaces(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start
    while index < bytes.count, bytes[index] == ASCII.space { index += 1 }
    return index
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    ASCII.digits.contains(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
      || UInt8(ascii: "A")...UInt8(ascii: "F") ~= byte
  }
}
