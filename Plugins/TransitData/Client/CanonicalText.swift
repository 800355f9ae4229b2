import ActionKit

// The text whose SHA-256 is the checksum inside a station file (contract, section 7).
//
// The producer parses its document, takes only `checksum_sha256` out of the top-level object `metadata`, and writes the
// rest with Python's `json.dumps`, keys sorted and no white space. So the hash isn't of the file itself. Decoding it
// into models and encoding again would lose unknown keys and nulls. The text is therefore made from the file's own
// tokens; only the order of members, the white space and the spelling of strings and numbers change.
//
//   members   in the order of their keys' code points at every level; of a key given twice the last one counts
//   strings   `"` `\` and U+0008 9 A C D with a backslash; in `ascii` everything else outside U+0020…U+007E as `\u`
//             and four small hexadecimal digits, beyond U+FFFF as a surrogate pair; in the other forms only what is
//             below U+0020; `/` never
//   integers  the same digits, however many; `-0` is `0`
//   doubles   the shortest digits that read back as the same double: positional with a fraction part from 1e-4 up to
//             below 1e16, else with an exponent of a sign and at least two digits; `foundation` drops a `.0`
//
// The seed's Swift sketch yields the last two forms; each covers the whole content as the first does.

/// The three spellings of a station file that its checksum may be of, the producer's own first.
public enum ChecksumForm: String, CaseIterable, Sendable {
  /// The producer's: ASCII only.
  case ascii
  /// As `ascii`, but text beyond ASCII isn't escaped.
  case utf8
  /// As `utf8`, but integral doubles have no `.0`.
  case foundation
}

/// A JSON document without white space, its members sorted, and the checksum that stood in it.
struct CanonicalText {
  /// The text.
  private(set) var bytes: [UInt8]
  /// The value of `metadata.checksum_sha256`, which isn't part of the text, as canonical JSON.
  private(set) var checksum: [UInt8]?

  /// Rewrites a document; throws an error with the place if Python wouldn't read it as JSON.
  init(of document: [UInt8], as form: ChecksumForm) throws(NoJSON) {
    var writer = CanonicalWriter(form: form, size: document.count)
    let result = document.withUnsafeBufferPointer { input in
      Result { () throws(NoJSON) in try writer.document(input) }
    }
    try result.get()
    bytes = writer.output
    checksum = writer.checksum
  }

  /// The reason why a text isn't JSON, and the place.
  struct NoJSON: Error {
    var reason: String
    /// The byte offset.
    var offset: Int
  }
}

private struct CanonicalWriter {
  /// As deep as Basics reads JSON by default.
  private static let deepest = 128

  let form: ChecksumForm
  var output: [UInt8] = []
  var checksum: [UInt8]?
  private var index = 0
  /// The keys of the objects that are open, decoded, one after another.
  private var keys: [UInt8] = []

  /// A member that was written, whose key and value are in `output`.
  private struct Member {
    var key: Range<Int>
    var text: Range<Int>
  }

  init(form: ChecksumForm, size: Int) {
    self.form = form
    output.reserveCapacity(size)
  }

  mutating func document(_ input: UnsafeBufferPointer<UInt8>) throws(CanonicalText.NoJSON) {
    skipBlanks(input)
    try value(input, depth: 0, path: .top)
    skipBlanks(input)
    guard index == input.count else { throw fault("something follows the end") }
  }

  /// As much of the way to a value as decides whether it is the checksum.
  private enum Path { case top, metadata, elsewhere }

  private mutating func value(
    _ input: UnsafeBufferPointer<UInt8>, depth: Int, path: Path
  ) throws(CanonicalText.NoJSON) {
    guard index < input.count else { throw fault("the text ends too early") }
    switch input[index] {
    case ASCII.openBrace: try object(input, depth: depth + 1, path: path)
    case ASCII.openBracket: try array(input, depth: depth + 1)
    case ASCII.quote: try string(input)
    case UInt8(ascii: "t"): try word("true", input)
    case UInt8(ascii: "f"): try word("false", input)
    case UInt8(ascii: "n"): try word("null", input)
    default: try number(input)
    }
  }

  private mutating func object(
    _ input: UnsafeBufferPointer<UInt8>, depth: Int, path: Path
  ) throws(CanonicalText.NoJSON) {
    try open(input, depth)
    let (start, firstKey) = (output.count, keys.count)
    var members: [Member] = []
    if !close(ASCII.closeBrace, input) {
      repeat {
        let text = output.count
        let key = keys.count
        guard index < input.count, input[index] == ASCII.quote else { throw fault("a key is expected") }
        let decoded = try decodedString(input)
        keys += decoded
        write(decoded)
        skipBlanks(input)
        guard index < input.count, input[index] == ASCII.colon else { throw fault("':' is expected") }
        index += 1
        output.append(ASCII.colon)
        skipBlanks(input)
        let content = output.count
        let isMetadata = path == .top && decoded.elementsEqual("metadata".utf8)
        try value(input, depth: depth, path: isMetadata ? .metadata : .elsewhere)
        if path == .metadata, decoded.elementsEqual("checksum_sha256".utf8) {
          checksum = Array(output[content...])
          output.removeSubrange(text...)
        } else {
          members.append(Member(key: key..<keys.count, text: text..<output.count))
        }
      } while try hasNext(ASCII.closeBrace, input)
    }
    arrange(members, from: start)
    keys.removeSubrange(firstKey...)
    output.append(ASCII.closeBrace)
  }

  /// Sorts members, which follow each other without commas, and adds the commas.
  private mutating func arrange(_ members: [Member], from start: Int) {
    let order = members.indices.sorted { left, right in
      let (a, b) = (keys[members[left].key], keys[members[right].key])
      return a.elementsEqual(b) ? left < right : a.lexicographicallyPrecedes(b)
    }
    let unordered = Array(output[start...])
    output.removeSubrange(start...)
    for (place, index) in order.enumerated() {
      let member = members[index]
      if place + 1 < order.count, keys[members[order[place + 1]].key].elementsEqual(keys[member.key]) { continue }
      if output.count > start { output.append(ASCII.comma) }
      output += unordered[(member.text.lowerBound - start)..<(member.text.upperBound - start)]
    }
  }

  private mutating func array(_ input: UnsafeBufferPointer<UInt8>, depth: Int) throws(CanonicalText.NoJSON) {
    try open(input, depth)
    let start = output.count
    if !close(ASCII.closeBracket, input) {
      repeat {
        if output.count > start { output.append(ASCII.comma) }
        try value(input, depth: depth, path: .elsewhere)
      } while try hasNext(ASCII.closeBracket, input)
    }
    output.append(ASCII.closeBracket)
  }

  // MARK: Between the tokens

  private mutating func open(_ input: UnsafeBufferPointer<UInt8>, _ depth: Int) throws(CanonicalText.NoJSON) {
    guard depth <= Self.deepest else { throw fault("it is nested deeper than \(Self.deepest) levels") }
    output.append(input[index])
    index += 1
    skipBlanks(input)
  }

  private mutating func close(_ bracket: UInt8, _ input: UnsafeBufferPointer<UInt8>) -> Bool {
    guard index < input.count, input[index] == bracket else { return false }
    index += 1
    return true
  }

  private mutating func hasNext(
    _ bracket: UInt8, _ input: UnsafeBufferPointer<UInt8>
  ) throws(CanonicalText.NoJSON) -> Bool {
    skipBlanks(input)
    if close(bracket, input) { return false }
    guard close(ASCII.comma, input) else { throw fault("',' or the closing bracket is expected") }
    skipBlanks(input)
    return true
  }

  private mutating func skipBlanks(_ input: UnsafeBufferPointer<UInt8>) {
    while index < input.count {
      switch input[index] {
      case ASCII.space, ASCII.newline, ASCII.carriageReturn, ASCII.tab: index += 1
      default: return
      }
    }
  }

  private func fault(_ reason: String) -> CanonicalText.NoJSON {
    CanonicalText.NoJSON(reason: reason, offset: index)
  }

  private mutating func word(
    _ word: StaticString, _ input: UnsafeBufferPointer<UInt8>
  ) throws(CanonicalText.NoJSON) {
    let isThere = word.withUTF8Buffer { input[index...].starts(with: $0) }
    guard isThere else { throw fault("a value is expected") }
    output += input[index..<index + word.utf8CodeUnitCount]
    index += word.utf8CodeUnitCount
  }

  // MARK: Numbers

  private mutating func number(_ input: UnsafeBufferPointer<UInt8>) throws(CanonicalText.NoJSON) {
    let start = index
    if index < input.count, input[index] == ASCII.minus { index += 1 }
    let whole = digits(input)
    guard whole.count == 1 || whole.count > 1 && input[whole.lowerBound] != ASCII.zero else {
      throw fault("a value is expected")
    }
    var isInteger = true
    if index < input.count, input[index] == ASCII.dot {
      isInteger = false
      index += 1
      if digits(input).isEmpty { throw fault("a digit is expected") }
    }
    if index < input.count, input[index] | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      index += 1
      if index < input.count, input[index] == ASCII.plus || input[index] == ASCII.minus { index += 1 }
      if digits(input).isEmpty { throw fault("a digit is expected") }
    }
    let lexeme = input[start..<index]
    if isInteger {
      output += lexeme.elementsEqual("-0".utf8) ? lexeme.dropFirst() : lexeme
      return
    }
    guard let number = Double(String(decoding: lexeme, as: UTF8.self)), number.isFinite else {
      throw fault("the number is larger than a double can be")
    }
    output += number.canonicalText(dropsZeroFraction: form == .foundation).utf8
  }

  private mutating func digits(_ input: UnsafeBufferPointer<UInt8>) -> Range<Int> {
    let start = index
    while index < input.count, ASCII.digits.contains(input[index]) { index += 1 }
    return start..<index
  }

  // MARK: Strings

  private mutating func string(_ input: UnsafeBufferPointer<UInt8>) throws(CanonicalText.NoJSON) {
    var end = index + 1
    while end < input.count, input[end].isPlain { end += 1 }
    if end < input.count, input[end] == ASCII.quote {
      output += input[index...end]
      index = end + 1
    } else {
      write(try decodedString(input))
    }
  }

  /// Reads a string and gives its UTF-8.
  private mutating func decodedString(
    _ input: UnsafeBufferPointer<UInt8>
  ) throws(CanonicalText.NoJSON) -> [UInt8] {
    index += 1
    var text: [UInt8] = []
    while index < input.count {
      let byte = input[index]
      switch byte {
      case ASCII.quote:
        guard String(validating: text, as: UTF8.self) != nil else { throw fault("the text isn't valid UTF-8") }
        index += 1
        return text
      case ASCII.backslash: try escape(input, into: &text)
      case ..<0x20: throw fault("a control character in a text must be escaped")
      default:
        text.append(byte)
        index += 1
      }
    }
    throw fault("the text ends within quotes")
  }

  private mutating func escape(
    _ input: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]
  ) throws(CanonicalText.NoJSON) {
    guard index + 1 < input.count else { throw fault("the text ends too early") }
    let letter = input[index + 1]
    if let byte = UInt8(escape: letter) {
      text.append(byte)
      index += 2
      return
    }
    guard let first = unit(input) else { throw fault("there is no such escape") }
    var code = first
    if (0xD800...0xDBFF).contains(first), let second = unit(input), (0xDC00...0xDFFF).contains(second) {
      code = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(code) else { throw fault("half of a surrogate pair stands alone") }
    text += Array(String(Character(scalar)).utf8)
  }

  /// Reads `\u` and four hexadecimal digits, if they are next.
  private mutating func unit(_ input: UnsafeBufferPointer<UInt8>) -> UInt32? {
    guard index + 5 < input.count, input[index] == ASCII.backslash, input[index + 1] == UInt8(ascii: "u") else {
      return nil
    }
    var code: UInt32 = 0
    for digit in input[index + 2..<index + 6] {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
      code = code << 4 | UInt32(truncatingIfNeeded: value)
    }
    index += 6
    return code
  }

  /// Writes a text in quotes.
  private mutating func write(_ text: [UInt8]) {
    output.append(ASCII.quote)
    if text.allSatisfy(\.isPlain) {
      output += text
    } else {
      for scalar in String(decoding: text, as: UTF8.self).unicodeScalars { write(scalar) }
    }
    output.append(ASCII.quote)
  }

  private mutating func write(_ scalar: Unicode.Scalar) {
    switch scalar {
    case "\"": output += #"\""#.utf8
    case "\\": output += #"\\"#.utf8
    case "\u{8}": output += #"\b"#.utf8
    case "\u{C}": output += #"\f"#.utf8
    case "\n": output += #"\n"#.utf8
    case "\r": output += #"\r"#.utf8
    case "\t": output += #"\t"#.utf8
    case " "..."~": output.append(UInt8(ascii: scalar))
    case _ where scalar.value < 0x20 || form == .ascii:
      for unit in UTF16.encode(scalar) ?? .init() {
        output += #"\u"#.utf8
        output += [UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit)].hexadecimal.utf8
      }
    default: output += Array(String(Character(scalar)).utf8)
    }
  }
}

extension UInt8 {
  /// Whether a byte of a text stands for itself in every form.
  fileprivate var isPlain: Bool {
    ASCII.printable.contains(self) && self != ASCII.quote && self != ASCII.backslash
  }

  /// The byte that a backslash and a letter stand for.
  fileprivate init?(escape letter: UInt8) {
    switch letter {
    case ASCII.quote, ASCII.backslash, ASCII.slash: self = letter
    case UInt8(ascii: "b"): self = 0x08
    case UInt8(ascii: "f"): self = ASCII.formFeed
    case UInt8(ascii: "n"): self = ASCII.newline
    case UInt8(ascii: "r"): self = ASCII.carriageReturn
    case UInt8(ascii: "t"): self = ASCII.tab
    default: return nil
    }
  }
}

extension Double {
  /// The number as Python writes it, which is Swift's own text but from 2^53 up to 1e16, where Swift has an exponent.
  ///
  /// Doubles there are integers, and need all their digits.
  func canonicalText(dropsZeroFraction: Bool) -> String {
    let text =
      magnitude < 1e16 && magnitude >= 0x1p53
      ? "\(self < 0 ? "-" : "")\(UInt64(magnitude)).0" : description
    return dropsZeroFraction && text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}
