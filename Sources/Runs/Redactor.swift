// Taking secrets out of texts and of what services answer.
//
// The types keep secrets away from outputs and messages; this is for what services send back. A secret is found however
// its characters are written, each by itself: as they are, percent-encoded, escaped as in JSON (any number of times), or
// as HTML's entities; and in hexadecimal digits or in base64 of either alphabet, also where it stands within something
// longer that was encoded, and where the digits are escaped in turn. What is found goes as a whole, overlapping finds together.
//
// A secret of fewer than four bytes is left alone: it would take half of every text with it. From the output of an
// action, which is computed with and written elsewhere, only secrets of at least eight bytes are taken: a shorter one,
// such as a user's name, may well be somebody else's.
import Basics

/// Takes known secrets out of texts before they are shown or kept, and out of what actions give.
package struct Redactor: Sendable {
  private let secrets: Finder
  private let longSecrets: Finder

  /// Secrets of fewer than four bytes are left alone.
  package init(_ secrets: [String]) { self.init(Set(secrets.filter { $0.utf8.count >= 4 }).map(Needle.init)) }

  private init(_ needles: [Needle]) {
    secrets = Finder(needles)
    longSecrets = Finder(needles.filter(\.isLong))
  }

  /// One that takes out more secrets.
  func adding(_ secrets: [String]) -> Redactor {
    secrets.isEmpty ? self : Redactor(self.secrets.needles + Redactor(secrets).secrets.needles)
  }

  /// The text with each secret as `•••`; compared by bytes, because what follows a secret may combine with it.
  package func redact(_ text: String) -> String { secrets.redact(text) }

  /// Does something in whose messages no secret may stand, however they are shortened.
  func hidingSecrets<Result>(_ body: () async -> Result) async -> Result {
    await OutsideText.redacted(by: { [secrets] in secrets.redact($0, isCut: $1) }, body)
  }

  /// The output of an action without the longer secrets; the names of declared fields stay.
  ///
  /// Its depth is limited where it is read.
  func withoutSecrets(_ output: Value, of type: ValueType) -> Value {
    longSecrets.needles.isEmpty ? output : stripped(output, type)
  }

  private func stripped(_ value: Value, _ type: ValueType) -> Value {
    var stripped = value
    switch (value.content, type) {
    case (_, .optional(let wrapped)), (_, .wrapper(let wrapped)): return self.stripped(value, wrapped)
    // One of a few words, which the plugin knows beforehand.
    case (.string, .choice): break
    case (.string(let text), _): stripped.content = .string(longSecrets.redact(text))
    case (.list(let items), _):
      let element: ValueType = if case .list(let element) = type { element } else { .dyn }
      stripped.content = .list(items.map { self.stripped($0, element) })
    case (.map(let map), _):
      var fields = ValueMap()
      for member in map.members {
        switch type {
        case .object(let object):
          fields[member.key] = self.stripped(member.value, object[member.name ?? ""]?.type ?? .dyn)
        case .map(_, let element): fields[self.stripped(member.key, .dyn)] = self.stripped(member.value, element)
        default: fields[self.stripped(member.key, .dyn)] = self.stripped(member.value, .dyn)
        }
      }
      stripped.content = .map(fields)
    default: break
    }
    return stripped
  }
}

/// Looks for several secrets in one go.
private struct Finder: Sendable {
  let needles: [Needle]
  /// Which bytes a find can begin with; empty if nothing is looked for.
  private let starts: [Bool]

  init(_ needles: [Needle]) {
    self.needles = needles
    guard !needles.isEmpty else {
      starts = []
      return
    }
    var starts = [Bool](repeating: false, count: 256)
    // Those with which an escaped character begins.
    for byte in "%\\&".utf8 { starts[Int(byte)] = true }
    for needle in needles {
      if needle.scalars[0].value == 0x20 { starts[Int(UInt8(ascii: "+"))] = true }
      for form in [needle.scalars] + needle.forms { starts[Int(form[0].utf8[0])] = true }
    }
    self.starts = starts
  }

  /// - Parameter isCut: Whether the text may break off within a secret, whose beginning at its end then goes as well.
  func redact(_ text: String, isCut: Bool = false) -> String {
    guard !starts.isEmpty else { return text }
    let bytes = Array(text.utf8)
    var kept: [UInt8] = []
    var copied = 0
    /// The end of what is found so far.
    var end = 0
    for index in bytes.indices where starts[Int(bytes[index])] {
      var found = index
      for needle in needles { found = max(found, needle.end(in: bytes, at: index, isCut: isCut) ?? index) }
      guard found > index, found > end else { continue }
      if index >= end {
        kept += bytes[copied..<index]
        kept += Finder.mark
      }
      end = found
      copied = end
    }
    return end == 0 ? text : String(decoding: kept + bytes[copied...], as: UTF8.self)
  }

  private static let mark = Array("•••".utf8)
}

/// One secret as it is looked for.
private struct Needle: Sendable, Hashable {
  struct Scalar: Sendable, Hashable {
    var value: UInt32
    var utf8: [UInt8]
  }

  let scalars: [Scalar]
  /// How the secret is written where its characters cannot be told apart.
  let forms: [[Scalar]]
  let isLong: Bool

  init(_ secret: String) {
    scalars = secret.unicodeScalars.map { Scalar(value: $0.value, utf8: Array(String($0).utf8)) }
    let bytes = Array(secret.utf8)
    isLong = bytes.count >= 8
    let digits = bytes.flatMap { Array(($0 < 16 ? "0" : "").utf8) + Array(String($0, radix: 16).utf8) }
    var forms = [digits, Array(String(decoding: digits, as: UTF8.self).uppercased().utf8)]
    for offset in 0..<3 {
      // The digits that no neighbour has a part in.
      let encoded = Array(([UInt8](repeating: 0, count: offset) + bytes).base64.utf8)
      let own = encoded[(offset * 8 + 5) / 6..<(offset + bytes.count) * 8 / 6]
      guard own.count >= 5 else { continue }
      forms += [Array(own), Needle.urlDigits(own)]
    }
    // With its last digit and its end, where nothing precedes it.
    let whole = bytes.base64.utf8
    let bare = whole.prefix { $0 != UInt8(ascii: "=") }
    forms += [Array(whole), Array(bare), Needle.urlDigits(whole), Needle.urlDigits(bare)]
    self.forms = Set(forms).sorted { $0.count > $1.count }.map { $0.map { Scalar(value: UInt32($0), utf8: [$0]) } }
  }

  /// Digits of base64 in the alphabet for addresses (RFC 4648, section 5).
  private static func urlDigits(_ digits: some Sequence<UInt8>) -> [UInt8] {
    digits.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
  }

  /// Where a find ends that begins at an index.
  ///
  /// - Parameter isCut: Whether it may end with the bytes, before it is whole.
  func end(in bytes: [UInt8], at index: Int, isCut: Bool = false) -> Int? {
    if let end = Needle.end(of: scalars, in: bytes, at: index, isCut: isCut) { return end }
    for form in forms {
      if let end = Needle.end(of: form, in: bytes, at: index, isCut: isCut) { return end }
    }
    return nil
  }

  /// Where the characters end that begin at an index, each written in one of its ways.
  ///
  /// `%25` is a percent sign that is encoded, or one that two digits follow: every way to read it is followed.
  private static func end(of scalars: [Scalar], in bytes: [UInt8], at start: Int, isCut: Bool) -> Int? {
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

  /// Whether nothing follows, or an escape that is not whole.
  private static func isOver(_ bytes: [UInt8], at index: Int) -> Bool {
    guard index < bytes.count else { return true }
    return bytes.count - index < longestEscape && "%\\&".utf8.contains(bytes[index])
      || bytes.count - index < 4 && bytes[index] >= 0xC2
  }

  private static let longestEscape = 12

  private static func backslashes(in bytes: [UInt8], at start: Int) -> Int? {
    var index = start
    while index < bytes.count, bytes[index] == 0x5C { index += 1 }
    return index > start ? index : nil
  }

  private static func ends(of scalar: Scalar, in bytes: [UInt8], at index: Int) -> [Int] {
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
  private static func percent(_ scalar: Scalar, in bytes: [UInt8], at start: Int) -> [Int] {
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

  private static func escape(_ scalar: Scalar, in bytes: [UInt8], at start: Int) -> Int? {
    guard let index = backslashes(in: bytes, at: start), index < bytes.count else { return nil }
    guard bytes[index] == UInt8(ascii: "u") else {
      let meant: UInt32 =
        switch bytes[index] {
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        default: UInt32(bytes[index])
        }
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

  private static let entities: [(name: [UInt8], value: UInt32)] = [
    ("amp", 0x26), ("lt", 0x3C), ("gt", 0x3E), ("quot", 0x22), ("apos", 0x27),
  ].map { (Array($0.0.utf8), $0.1) }

  private static func entity(_ scalar: Scalar, in bytes: [UInt8], at start: Int) -> Int? {
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
  private static func number(_ digits: ArraySlice<UInt8>, radix: UInt32) -> UInt32? {
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
