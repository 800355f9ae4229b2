// How secrets are found in texts.
//
// A secret is found however its characters are written, each by itself: as they are, percent-encoded, escaped as in JSON
// (any number of times), or as HTML's entities; and in hexadecimal digits or in base64 of either alphabet, also where it
// stands within something longer that was encoded, and where the digits are escaped in turn. What is found goes as a
// whole, overlapping finds together. A secret of fewer than four bytes is left alone: it would take half of every text
// with it.
import Basics

/// Looks for several secrets in one go.
package struct SecretFinder: Sendable {
  private(set) var needles: [Needle]
  /// Whether a number could be a secret, or hold one.
  private(set) var hasNumbers = false
  /// Which two bytes a find can begin with, a bit for each; empty if nothing is looked for.
  private let pairs: [UInt64]

  /// - Parameter secrets: By name; several names may stand for one text, and one name for an old text and a new one.
  package init(_ secrets: [(name: String, text: String)]) {
    self.init(
      secrets.filter { $0.text.utf8.count >= SecretFinder.shortest }.map { Needle($0.text, named: $0.name) })
  }

  init(_ all: [Needle]) {
    // By bytes: canonically equivalent texts are two.
    var seen: Set<[UInt8]> = []
    needles = all.filter { seen.insert(Array($0.text.utf8)).inserted }
    // How numbers, instants and spans are written, of which none has more digits.
    hasNumbers = needles.contains { needle in
      needle.forms.contains { form in
        form.scalars.count <= 32
          && form.scalars.allSatisfy { "0123456789.-+eE:TZs".unicodeScalars.map(\.value).contains($0.value) }
      }
    }
    var pairs: [UInt64] = []
    if !needles.isEmpty {
      pairs = [UInt64](repeating: 0, count: 1024)
      for form in needles.flatMap(\.forms) {
        for (first, second) in form.beginnings {
          let pair = Int(first) << 8 | Int(second)
          pairs[pair >> 6] |= 1 << UInt64(pair & 63)
        }
      }
    }
    self.pairs = pairs
  }

  /// A secret of fewer bytes is left alone: it would take half of every text with it.
  package static let shortest = 4

  package var isEmpty: Bool { pairs.isEmpty }

  /// What is found at a place: of which secret, in which form, and from which of its bytes on.
  struct Find {
    var range: Range<Int>
    var needle: Int
    var form: Int
    /// Where the whole of it begins, before what an overlapping find has taken already.
    var start: Int
  }

  /// All finds, without overlaps.
  ///
  /// - Parameter isCut: Whether the text may break off within a secret, whose beginning at its end then is found as well.
  func finds(in text: String, isCut: Bool = false) -> [Find] {
    if pairs.isEmpty { return [] }
    return text.utf8.withContiguousStorageIfAvailable { finds(in: $0, isCut: isCut) }
      ?? finds(in: Array(text.utf8), isCut: isCut)
  }

  func finds(in bytes: [UInt8], isCut: Bool = false) -> [Find] {
    pairs.isEmpty ? [] : bytes.withUnsafeBufferPointer { finds(in: $0, isCut: isCut) }
  }

  private func finds(in bytes: UnsafeBufferPointer<UInt8>, isCut: Bool) -> [Find] {
    var finds: [Find] = []
    var end = 0
    pairs.withUnsafeBufferPointer { pairs in
      for index in bytes.indices {
        if index + 1 < bytes.count {
          let pair = Int(bytes[index]) << 8 | Int(bytes[index + 1])
          guard pairs[pair >> 6] & 1 << UInt64(pair & 63) != 0 else { continue }
        } else if !isCut {
          break
        }
        var found: Find?
        for (number, needle) in needles.enumerated() {
          guard let (form, last) = needle.end(in: bytes, at: index, isCut: isCut),
            last > max(end, found?.range.upperBound ?? 0)
          else { continue }
          found = Find(range: max(index, end)..<last, needle: number, form: form, start: index)
        }
        guard let found else { continue }
        finds.append(found)
        end = found.range.upperBound
      }
    }
    return finds
  }

  /// The names of the secrets that stand in a text.
  package func names(in text: String) -> [String] {
    var names: [String] = []
    for find in finds(in: text) where !names.contains(needles[find.needle].name) {
      names.append(needles[find.needle].name)
    }
    return names
  }

  /// The text with each secret as `•••`; compared by bytes, because what follows a secret may combine with it.
  ///
  /// - Parameter isCut: Whether the text may break off within a secret, whose beginning at its end then goes as well.
  package func redact(_ text: String, isCut: Bool = false) -> String {
    let finds = finds(in: text, isCut: isCut)
    if finds.isEmpty { return text }
    let bytes = Array(text.utf8)
    var kept: [UInt8] = []
    var copied = 0
    for find in finds {
      if find.start >= copied {
        kept += bytes[copied..<find.range.lowerBound]
        kept += MaskedText.mark.utf8
      }
      copied = find.range.upperBound
    }
    return String(decoding: kept + bytes[copied...], as: UTF8.self)
  }
}

/// One secret as it is looked for.
struct Needle: Sendable, Hashable {
  struct Scalar: Sendable, Hashable {
    var value: UInt32
    var utf8: [UInt8]
  }

  /// One way to write the whole of it: as it is, or in digits that hide where a character ends.
  struct Form: Sendable, Hashable {
    var name: String
    var scalars: [Scalar]

    /// The two bytes that it can begin with, however it is written.
    var beginnings: [(UInt8, UInt8)] {
      let first = scalars[0]
      let any = Array(UInt8.min...UInt8.max)
      let following =
        first.utf8.count > 1 ? [first.utf8[1]] : scalars.count > 1 ? Form.firstBytes(of: scalars[1]) : any
      var beginnings = following.map { (first.utf8[0], $0) }
      if first.value == 0x20 { beginnings += following.map { (UInt8(ascii: "+"), $0) } }
      // The digits of the byte, or of a percent sign that is encoded itself.
      let digit = String(first.utf8[0] >> 4, radix: 16)
      beginnings += "2\(digit)\(digit.uppercased())".utf8.map { (UInt8(ascii: "%"), $0) }
      return beginnings + any.flatMap { [(UInt8(ascii: "\\"), $0), (UInt8(ascii: "&"), $0)] }
    }

    private static func firstBytes(of scalar: Scalar) -> [UInt8] {
      Array("%\\&".utf8) + [scalar.utf8[0]] + (scalar.value == 0x20 ? [UInt8(ascii: "+")] : [])
    }
  }

  let name: String
  let text: String
  /// First as it is.
  let forms: [Form]
  /// Eight bits of its text: enough to notice that it is another one now, and too few to guess it by.
  ///
  /// They are the same for each record in each folder, so that many of them say no more than one.
  let print: String

  init(_ secret: String, named name: String) {
    self.name = name
    text = secret
    print = Needle.print(of: secret)
    let bytes = Array(secret.utf8)
    let digits = bytes.flatMap { Array(($0 < 16 ? "0" : "").utf8) + Array(String($0, radix: 16).utf8) }
    var forms = [("hex", digits), ("HEX", Array(String(decoding: digits, as: UTF8.self).uppercased().utf8))]
    // With its last digit and its end, where nothing precedes it.
    let whole = Array(bytes.base64.utf8)
    let bare = Array(whole.prefix { $0 != UInt8(ascii: "=") })
    forms += [
      ("base64", whole), ("base64url", Needle.urlDigits(whole)), ("base64 bare", bare),
      ("base64url bare", Needle.urlDigits(bare)),
    ]
    for offset in 0..<3 {
      // The digits that no neighbour has a part in.
      let encoded = Array(([UInt8](repeating: 0, count: offset) + bytes).base64.utf8)
      let own = Array(encoded[(offset * 8 + 5) / 6..<(offset + bytes.count) * 8 / 6])
      guard own.count >= 5 else { continue }
      forms += [("base64 from \(offset)", own), ("base64url from \(offset)", Needle.urlDigits(own))]
    }
    var seen: Set<[UInt8]> = []
    let others = forms.filter { seen.insert($0.1).inserted }.sorted { $0.1.count > $1.1.count }
    let plain = secret.unicodeScalars.map { Scalar(value: $0.value, utf8: Array(String($0).utf8)) }
    self.forms =
      [Form(name: "plain", scalars: plain)]
      + others.map { Form(name: $0.0, scalars: $0.1.map { Scalar(value: UInt32($0), utf8: [$0]) }) }
  }

  private static func print(of secret: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in secret.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    hash ^= hash >> 32
    hash ^= hash >> 16
    let bits = UInt8(truncatingIfNeeded: hash ^ hash >> 8)
    return (bits < 16 ? "0" : "") + String(bits, radix: 16)
  }

  /// Digits of base64 in the alphabet for addresses (RFC 4648, section 5).
  private static func urlDigits(_ digits: [UInt8]) -> [UInt8] {
    digits.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
  }

  /// Where a find ends that begins at an index.
  ///
  /// - Parameter isCut: Whether it may end with the bytes, before it is whole.
  func end(in bytes: UnsafeBufferPointer<UInt8>, at index: Int, isCut: Bool = false) -> (form: Int, end: Int)? {
    for number in forms.indices {
      if let end = Needle.end(of: forms[number].scalars, in: bytes, at: index, isCut: isCut) { return (number, end) }
    }
    return nil
  }

  /// Where the characters end that begin at an index, each written in one of its ways.
  ///
  /// `%25` is a percent sign that is encoded, or one that two digits follow: every way to read it is followed.
  private static func end(
    of scalars: [Scalar], in bytes: UnsafeBufferPointer<UInt8>, at start: Int, isCut: Bool
  ) -> Int? {
    var ends = [start]
    for scalar in scalars {
      var next: [Int] = []
      if isCut, ends.contains(where: { $0 > start && isOver(bytes, at: $0) }) { return bytes.count }
      for index in ends where index < bytes.count {
        for end in Needle.ends(of: scalar, in: bytes, at: index) where !next.contains(end) { next.append(end) }
      }
      if next.isEmpty { return nil }
      ends = next
    }
    return ends.max()
  }

  /// Where each of the characters of a find is written.
  func pieces(of find: SecretFinder.Find, in bytes: UnsafeBufferPointer<UInt8>) -> [Range<Int>]? {
    var levels: [[(end: Int, from: Int)]] = [[(find.start, 0)]]
    for scalar in forms[find.form].scalars {
      var next: [(end: Int, from: Int)] = []
      for (from, place) in levels[levels.count - 1].enumerated() where place.end < bytes.count {
        for end in Needle.ends(of: scalar, in: bytes, at: place.end) where !next.contains(where: { $0.end == end }) {
          next.append((end, from))
        }
      }
      levels.append(next)
    }
    guard var index = levels[levels.count - 1].firstIndex(where: { $0.end == find.range.upperBound }) else {
      return nil
    }
    var pieces: [Range<Int>] = []
    for level in levels.indices.dropFirst().reversed() {
      let place = levels[level][index]
      pieces.append(levels[level - 1][place.from].end..<place.end)
      index = place.from
    }
    return pieces.reversed()
  }

  /// Whether nothing follows, or an escape that is not whole.
  private static func isOver(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
    guard index < bytes.count else { return true }
    return bytes.count - index < longestEscape && "%\\&".utf8.contains(bytes[index])
      || bytes.count - index < 4 && bytes[index] >= 0xC2
  }

  private static let longestEscape = 12

  private static func backslashes(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int? {
    var index = start
    while index < bytes.count, bytes[index] == 0x5C { index += 1 }
    return index > start ? index : nil
  }

  private static func ends(of scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> [Int] {
    var ends: [Int] = []
    if bytes[index...].starts(with: scalar.utf8) { ends.append(index + scalar.utf8.count) }
    switch bytes[index] {
    case UInt8(ascii: "+") where scalar.value == 0x20: ends.append(index + 1)
    case UInt8(ascii: "%"): ends += percent(scalar, in: bytes, at: index)
    case UInt8(ascii: "&"): ends += entity(scalar, in: bytes, at: index).map { [$0] } ?? []
    case UInt8(ascii: "\\"):
      ends += escape(scalar, in: bytes, at: index).map { [$0] } ?? []
      // A backslash may be doubled, and doubled again.
      if scalar.value == 0x5C, let end = backslashes(in: bytes, at: index), end > index + 1 {
        ends += (index + 2)...min(end, index + 16)
      }
    default: break
    }
    return ends
  }

  /// The percent sign may be encoded itself, any number of times: `%20`, `%2520`, `%252520`.
  private static func percent(_ scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> [Int] {
    var ends = [start]
    for byte in scalar.utf8 {
      var next: [Int] = []
      for end in ends where end < bytes.count && bytes[end] == UInt8(ascii: "%") {
        var index = end + 1
        while index + 1 < bytes.count, let value = number(bytes[index...index + 1], radix: 16) {
          if value == UInt32(byte) { next.append(index + 2) }
          guard value == 0x25 else { break }
          index += 2
        }
      }
      ends = next
    }
    return ends
  }

  static let shortEscapes: [(letter: UInt8, value: UInt32)] = [
    (UInt8(ascii: "n"), 0x0A), (UInt8(ascii: "r"), 0x0D), (UInt8(ascii: "t"), 0x09), (UInt8(ascii: "b"), 0x08),
    (UInt8(ascii: "f"), 0x0C),
  ]

  private static func escape(_ scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int? {
    guard let index = backslashes(in: bytes, at: start), index < bytes.count else { return nil }
    guard bytes[index] == UInt8(ascii: "u") else {
      let meant = Needle.shortEscapes.first { $0.letter == bytes[index] }?.value ?? UInt32(bytes[index])
      return meant == scalar.value && meant < 0x80 ? index + 1 : nil
    }
    guard index + 4 < bytes.count, let unit = number(bytes[index + 1...index + 4], radix: 16) else { return nil }
    if scalar.value < 0x10000 { return unit == scalar.value ? index + 5 : nil }
    guard unit == 0xD800 + (scalar.value - 0x10000) >> 10, let next = backslashes(in: bytes, at: index + 5),
      next + 4 < bytes.count, bytes[next] == UInt8(ascii: "u"),
      number(bytes[next + 1...next + 4], radix: 16) == 0xDC00 + (scalar.value - 0x10000) & 0x3FF
    else { return nil }
    return next + 5
  }

  static let entities: [(name: [UInt8], value: UInt32)] = [
    ("amp", 0x26), ("lt", 0x3C), ("gt", 0x3E), ("quot", 0x22), ("apos", 0x27),
  ].map { (Array($0.0.utf8), $0.1) }

  private static func entity(_ scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int? {
    guard let end = bytes[start...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { return nil }
    var name = bytes[(start + 1)..<end]
    let value: UInt32?
    if name.first == UInt8(ascii: "#") {
      name = name.dropFirst()
      let isHex = name.first == UInt8(ascii: "x") || name.first == UInt8(ascii: "X")
      value = number(isHex ? name.dropFirst() : name, radix: isHex ? 16 : 10)
    } else {
      value = entities.first { name.elementsEqual($0.name) }?.value
    }
    return value == scalar.value ? end + 1 : nil
  }

  /// The number that some digits stand for; nil if one is none, or if there are too many.
  private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>, radix: UInt32) -> UInt32? {
    guard !digits.isEmpty, digits.count <= 8 else { return nil }
    var number: UInt64 = 0
    for digit in digits {
      let value: UInt8
      switch digit {
      case 0x30...0x39: value = digit - 0x30
      case 0x41...0x46: value = digit - 0x37
      case 0x61...0x66: value = digit - 0x57
      default: return nil
      }
      guard value < radix else { return nil }
      number = number * UInt64(radix) + UInt64(value)
    }
    return UInt32(truncatingIfNeeded: number)
  }
}
