// The reader goes over the bytes once. Strings are scanned a word at a time; items and members are gathered on two
// stacks shared by all levels and moved, when their list or map ends, into an array of exactly their number; keys that
// were met before are taken from a small cache, so that a list of a thousand equal objects holds each long key once.
// Nothing is read outside the buffer, and the depth of the recursion is limited.

import Glibc

/// Reads one JSON document from a buffer that outlives it.
struct JSONReader: ~Copyable {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let limits: JSON.Limits
  private let tolerance: JSON.Tolerance
  private var index = 0
  private var items = Stack<Value>()
  private var members = Stack<ValueMap.Member>()
  /// A fingerprint for each key on the stack of members; equal keys have equal fingerprints.
  private var fingerprints = Stack<UInt64>()
  private var keys = JSONKeyCache()

  init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSON.Limits, allowing tolerance: JSON.Tolerance) {
    self.bytes = bytes
    self.limits = limits
    self.tolerance = tolerance
  }

  mutating func document() throws(JSONError) -> Value {
    guard bytes.count <= limits.bytes, bytes.count < Int(UInt32.max) else {
      throw error("the text has \(bytes.count) bytes, more than the \(limits.bytes) that are allowed", at: 0)
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    skipBlanks()
    let value = try value(depth: 0)
    skipBlanks()
    guard index == bytes.count else {
      throw error("nothing may follow the value, but \(found)", at: index)
    }
    return value
  }

  private mutating func value(depth: Int) throws(JSONError) -> Value {
    guard index < bytes.count else { throw error("a value is expected, but \(found)", at: index) }
    let place = Place(offset: index)
    switch bytes[index] {
    case ASCII.quote: return Value(.string(try string()), at: place)
    case ASCII.openBrace: return Value(.map(try map(depth: depth + 1)), at: place)
    case ASCII.openBracket: return Value(.list(try list(depth: depth + 1)), at: place)
    case ASCII.digits, ASCII.minus: return Value(try number(), at: place)
    case UInt8(ascii: "t") where isWord("true"): return Value(.bool(true), at: place)
    case UInt8(ascii: "f") where isWord("false"): return Value(.bool(false), at: place)
    case UInt8(ascii: "n") where isWord("null"): return Value(.null, at: place)
    default: throw unknownValue()
    }
  }

  // MARK: Lists and maps

  private mutating func list(depth: Int) throws(JSONError) -> [Value] {
    let opening = try open(depth)
    let first = items.count
    if !close(ASCII.closeBracket) {
      repeat {
        items.push(try value(depth: depth))
      } while try hasNext(ASCII.closeBracket, "list", opening)
    }
    return items.removeElements(from: first)
  }

  private mutating func map(depth: Int) throws(JSONError) -> ValueMap {
    let opening = try open(depth)
    let first = members.count
    if !close(ASCII.closeBrace) {
      repeat {
        guard index < bytes.count, bytes[index] == ASCII.quote else {
          throw error("a key in double quotes is expected, but \(found)", at: index)
        }
        let place = Place(offset: index)
        let key = try key()
        skipBlanks()
        guard index < bytes.count, bytes[index] == ASCII.colon else {
          throw error("':' is expected after a key, but \(found)", at: index)
        }
        index += 1
        skipBlanks()
        members.push(ValueMap.Member(key: Value(.string(key), at: place), value: try value(depth: depth)))
      } while try hasNext(ASCII.closeBrace, "map", opening)
    }
    if tolerance.contains(.doubledKeys) {
      fingerprints.drop(from: first)
      var map = ValueMap()
      for member in members.removeElements(from: first) { map[member.key] = member.value }
      return map
    }
    // A map of few members doesn't check for equal keys itself.
    for later in first..<members.count where members.count - first <= 8 {
      for earlier in first..<later where fingerprints[earlier] == fingerprints[later] {
        try refuseEqual(members[earlier], members[later])
      }
    }
    fingerprints.drop(from: first)
    var duplicate: Int?
    let map = ValueMap(members.removeElements(from: first), duplicate: &duplicate)
    if let duplicate, let earlier = map.index(of: map.members[duplicate].key) {
      try refuseEqual(map.members[earlier], map.members[duplicate])
    }
    return map
  }

  private func refuseEqual(_ earlier: ValueMap.Member, _ later: ValueMap.Member) throws(JSONError) {
    guard let name = earlier.name, let other = later.name, name.hasSameScalars(as: other) else { return }
    var duplicate = error("the key '\(name)' is given twice", at: later.key.place.offset ?? 0)
    duplicate.note = .init(message: "first given", spot: .init(earlier.key.place.offset ?? 0, in: bytes))
    throw duplicate
  }

  /// Goes past the opening bracket and gives its offset.
  private mutating func open(_ depth: Int) throws(JSONError) -> Int {
    guard depth <= min(limits.depth, JSON.deepest) else {
      throw error("the text is nested deeper than the \(min(limits.depth, JSON.deepest)) levels allowed", at: index)
    }
    index += 1
    skipBlanks()
    return index - 1
  }

  /// Goes past the bracket if it is next.
  private mutating func close(_ bracket: UInt8) -> Bool {
    guard index < bytes.count, bytes[index] == bracket else { return false }
    index += 1
    return true
  }

  /// Reads a comma, or the closing bracket; returns whether another item follows.
  private mutating func hasNext(_ bracket: UInt8, _ kind: String, _ opening: Int) throws(JSONError) -> Bool {
    skipBlanks()
    guard index < bytes.count, bytes[index] == ASCII.comma else {
      if close(bracket) { return false }
      let sign = Unicode.Scalar(bracket)
      if index < bytes.count { throw error("',' or '\(sign)' is expected, but \(found)", at: index) }
      var open = error("the text ends inside a \(kind); '\(sign)' is missing", at: index)
      open.note = .init(message: "the \(kind) begins", spot: .init(bracketBefore(opening), in: bytes))
      throw open
    }
    let comma = index
    index += 1
    skipBlanks()
    guard index < bytes.count, bytes[index] == bracket else { return true }
    guard tolerance.contains(.trailingCommas) else {
      throw error("a comma before '\(Unicode.Scalar(bracket))' is not allowed in JSON; remove it", at: comma)
    }
    index += 1
    return false
  }

  /// The offset of the bracket before the blanks that end at `index`.
  private func bracketBefore(_ index: Int) -> Int {
    var index = index
    while index > 0, isBlank(bytes[index]) { index -= 1 }
    return index
  }

  private func isBlank(_ byte: UInt8) -> Bool {
    byte == ASCII.space || byte == ASCII.newline || byte == ASCII.carriageReturn || byte == ASCII.tab
  }

  @inline(__always) private mutating func skipBlanks() {
    while index < bytes.count, bytes[index] <= 0x20, isBlank(bytes[index]) { index += 1 }
  }

  // MARK: Strings

  private mutating func key() throws(JSONError) -> String {
    let start = index + 1
    let scan = try endOfString()
    let end = scan.end
    guard scan.isPlain else {
      let key = try text(from: start, scan)
      var copy = key
      fingerprints.push(copy.withUTF8 { fingerprint($0, 0..<$0.count) })
      return key
    }
    let print = fingerprint(bytes, start..<end)
    fingerprints.push(print)
    let slot = JSONKeyCache.slot(print)
    if let key = keys.key(slot, print, start..<end, in: bytes) { return key }
    let key = try text(from: start, scan)
    keys.remember(key, slot, print, start..<end)
    return key
  }

  private mutating func string() throws(JSONError) -> String {
    let start = index + 1
    return try text(from: start, endOfString())
  }

  /// The facts about a string that are known before it is made.
  private struct Scan {
    /// The offset of its closing quote.
    var end = 0
    /// Whether it has no escapes.
    var isPlain = true
    /// Its bytes and words, or-ed.
    var bits: UInt64 = 0

    var isASCII: Bool { bits & 0x8080_8080_8080_8080 == 0 }
  }

  /// Goes past the string that begins here.
  private mutating func endOfString() throws(JSONError) -> Scan {
    let opening = index
    var scan = Scan()
    index += 1
    while true {
      // A word at a time, up to the first quote, backslash or control character.
      while index &+ 8 <= bytes.count {
        let word = UInt64(littleEndian: bytes.word(at: index))
        let hits = special(word)
        if hits != 0 {
          // The bytes before the first hit.
          scan.bits |= word & (hits & (0 &- hits) &- 1)
          index += hits.trailingZeroBitCount / 8
          break
        }
        scan.bits |= word
        index += 8
      }
      guard index < bytes.count else {
        var open = error("the text ends inside a string; '\"' is missing", at: index)
        open.note = .init(message: "the string begins", spot: .init(opening, in: bytes))
        throw open
      }
      switch bytes[index] {
      case ASCII.quote:
        scan.end = index
        index += 1
        return scan
      case ASCII.backslash:
        scan.isPlain = false
        index = min(index + 2, bytes.count)
      case 0x00..<0x20:
        let escape =
          bytes[index] == ASCII.newline ? "\\n" : bytes[index] == ASCII.tab ? "\\t" : "\\u00" + hex(bytes[index])
        throw error("a string may hold no bare control character; write \(escape)", at: index)
      default:
        scan.bits |= UInt64(bytes[index])
        index += 1
      }
    }
  }

  private func text(from start: Int, _ scan: Scan) throws(JSONError) -> String {
    let range = start..<scan.end
    if scan.isPlain {
      let plain = UnsafeBufferPointer(rebasing: bytes[range])
      if scan.isASCII { return String(decoding: plain, as: UTF8.self) }
      if let text = valid(plain) { return text }
      throw invalidText(range)
    }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(range.count)
    var index = range.lowerBound
    while index < range.upperBound {
      let byte = bytes[index]
      guard byte == ASCII.backslash else {
        decoded.append(byte)
        index += 1
        continue
      }
      // The scan has seen that something follows a backslash.
      let letter = bytes[index + 1]
      switch letter {
      case ASCII.quote, ASCII.backslash, ASCII.slash: decoded.append(letter)
      case UInt8(ascii: "b"): decoded.append(0x08)
      case UInt8(ascii: "f"): decoded.append(ASCII.formFeed)
      case UInt8(ascii: "n"): decoded.append(ASCII.newline)
      case UInt8(ascii: "r"): decoded.append(ASCII.carriageReturn)
      case UInt8(ascii: "t"): decoded.append(ASCII.tab)
      case UInt8(ascii: "u"):
        let (scalar, length) = try escapedScalar(at: index, before: range.upperBound)
        decoded.append(contentsOf: String(scalar).utf8)
        index += length - 2
      default:
        throw error("a backslash may be followed by one of \"\\/bfnrtu only; write \\\\ for a backslash", at: index)
      }
      index += 2
    }
    if let text = decoded.withUnsafeBufferPointer(valid) { return text }
    throw invalidText(range)
  }

  /// The scalar of the `\uXXXX` at an offset, or of the pair that begins there, and its length in bytes.
  private func escapedScalar(
    at index: Int, before end: Int
  ) throws(JSONError) -> (scalar: Unicode.Scalar, length: Int) {
    guard let unit = codeUnit(at: index, before: end) else {
      throw error("four hexadecimal digits are expected after \\u", at: index)
    }
    if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
    guard unit < 0xDC00, let low = codeUnit(at: index + 6, before: end), (0xDC00...0xDFFF).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    else {
      if tolerance.contains(.halfPairs) { return ("\u{FFFD}", 6) }
      throw error("this is half of a surrogate pair; the other half is missing", at: index)
    }
    return (scalar, 12)
  }

  private func codeUnit(at index: Int, before end: Int) -> UInt32? {
    guard index + 6 <= end, bytes[index] == ASCII.backslash, bytes[index + 1] == UInt8(ascii: "u") else {
      return nil
    }
    var unit: UInt32 = 0
    for byte in bytes[index + 2..<index + 6] {
      guard let digit = hexDigit(byte) else { return nil }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }

  // MARK: Numbers

  private mutating func number() throws(JSONError) -> Value.Content {
    let start = index
    let isNegative = bytes[index] == ASCII.minus
    if isNegative { index += 1 }
    var decimal = JSONNumber()
    let whole = index
    scan(&decimal)
    guard index > whole else { throw error("a digit is expected after '-', but \(found)", at: index) }
    if index > whole + 1, bytes[whole] == ASCII.zero {
      throw error("a number may not begin with a zero", at: whole)
    }
    var isInteger = true
    if index < bytes.count, bytes[index] == ASCII.dot {
      isInteger = false
      index += 1
      let fraction = index
      scan(&decimal)
      guard index > fraction else { throw error("a digit is expected after the point, but \(found)", at: index) }
      decimal.exponent -= index - fraction
    }
    if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      index += 1
      var isDown = false
      if index < bytes.count, bytes[index] == ASCII.plus || bytes[index] == ASCII.minus {
        isDown = bytes[index] == ASCII.minus
        index += 1
      }
      let digits = index
      var exponent = 0
      while index < bytes.count, case let digit = bytes[index] &- ASCII.zero, digit < 10 {
        // Far beyond any double; what counts is only that it is.
        exponent = min(exponent * 10 + Int(digit), 1_000_000)
        index += 1
      }
      guard index > digits else { throw error("a digit is expected in the exponent, but \(found)", at: index) }
      decimal.exponent += isDown ? -exponent : exponent
    }
    if isInteger {
      if let int = decimal.int(isNegative: isNegative) { return .int(int) }
      // Identifiers of some services are unsigned.
      if let uint = UInt(String(decoding: bytes[start..<index], as: UTF8.self)) { return .uint(uint) }
    }
    if let double = decimal.double { return .double(isNegative ? -double : double) }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    return .double(Double(text) ?? (isNegative ? -.infinity : .infinity))
  }

  private mutating func scan(_ decimal: inout JSONNumber) {
    while index < bytes.count, case let digit = bytes[index] &- ASCII.zero, digit < 10 {
      decimal.append(digit)
      index += 1
    }
  }

  // MARK: Errors

  private mutating func isWord(_ word: StaticString) -> Bool {
    let end = index + word.utf8CodeUnitCount
    guard end <= bytes.count else { return false }
    for offset in 0..<word.utf8CodeUnitCount where bytes[index + offset] != word.utf8Start[offset] { return false }
    if end < bytes.count, JSONReader.isWordByte(bytes[end]) { return false }
    index = end
    return true
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.lowercase, ASCII.uppercase, ASCII.underscore,
      ASCII.digits:
      true
    default: false
    }
  }

  private func unknownValue() -> JSONError {
    let word = String(decoding: bytes[index...].prefix(while: JSONReader.isWordByte), as: UTF8.self)
    if !word.isEmpty {
      let guess =
        word.utf8.count > 32
        ? "" : word.nearest(among: ["true", "false", "null"]).map { "; did you mean '\($0)'?" } ?? ""
      return error("'\(word.excerpt(32, of: bytes))' isn't a JSON value\(guess)", at: index)
    }
    let hint =
      switch bytes[index] {
      case ASCII.apostrophe: "; strings need double quotes"
      case ASCII.dot, ASCII.plus: "; a number begins with a digit or '-'"
      case ASCII.slash, ASCII.hash: "; JSON has no comments"
      default: ""
      }
    return error("a value is expected, but \(found)\(hint)", at: index)
  }

  /// The next character, as a clause for messages.
  private var found: String {
    guard index < bytes.count else { return "the text ends" }
    var parser = UTF8.ForwardParser()
    var rest = bytes[index...].makeIterator()
    guard case .valid(let encoded) = parser.parseScalar(from: &rest) else { return "a byte isn't valid UTF-8" }
    let scalar = UTF8.decode(encoded)
    return scalar.value < 0x20 || scalar.value == 0x7F
      ? "the control character U+00\(hex(bytes[index])) was found" : "'\(scalar)' was found"
  }

  private func invalidText(_ range: Range<Int>) -> JSONError {
    var parser = UTF8.ForwardParser()
    var rest = bytes[range].makeIterator()
    var offset = range.lowerBound
    while case .valid(let encoded) = parser.parseScalar(from: &rest) { offset += encoded.count }
    return error("the text is not valid UTF-8 here", at: offset)
  }

  private func error(_ message: String, at offset: Int) -> JSONError {
    JSONError(message: message, spot: .init(offset, in: bytes))
  }
}

/// Nonzero if one of eight bytes is a quote, a backslash or a control character; the lowest set bit is in the first.
@inline(__always) func special(_ word: UInt64) -> UInt64 {
  let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
  let quotes = word ^ (ones &* 0x22)
  let backslashes = word ^ (ones &* 0x5C)
  let hits =
    (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (word &- ones &* 0x20) & ~word
  return hits & tops
}

extension UnsafeBufferPointer<UInt8> {
  /// The eight bytes at an offset, in the order of memory; the caller has checked that they are there.
  @inline(__always) func word(at offset: Int) -> UInt64 {
    UnsafeRawBufferPointer(self).loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}

/// A text from bytes that are UTF-8, else nil.
///
/// The repairing initializer is several times faster than the validating one, and leaves valid bytes as they are.
@inline(__always) private func valid(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
  guard let start = bytes.baseAddress else { return "" }
  var text = String(decoding: bytes, as: UTF8.self)
  let isSame = text.withUTF8 { copy in
    copy.count == bytes.count && copy.baseAddress.map { memcmp($0, start, bytes.count) == 0 } ?? bytes.isEmpty
  }
  return isSame ? text : nil
}
