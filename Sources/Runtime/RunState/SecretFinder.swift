// How secrets are found in texts.
//
// A secret is found however each of its characters is written: plain, percent-encoded, escaped as in JSON (any number
// of times), or as HTML entities; and in hexadecimal digits or in base64 of either alphabet, also inside a longer
// encoded text, and where the digits are escaped in turn. Overlapping finds are taken out together. A secret of fewer
// than four bytes is left alone: taking it out would ruin every text. If a secret ends in a line end, or has several
// lines, the text without surrounding blanks and each of its longer lines are found as well. Digits are found across
// line ends too, as `base64` and `xxd -p` break them.
//
// Texts inside of a secret that is JSON, YAML, lines of KEY=VALUE or an address with a password are found on their own
// (`SecretParts`). Quotes are found as shells, PowerShell, CSV and YAML write them within quotes, also within JSON, and
// bytes as `$'…'` does.
//
// In a text that is only shown, blanks of a secret match any other blanks.
//
// The text of a link that carries a right (`LinkKey`) is found by its shape, whichever it is.
import Basics

/// Finds several secrets in one pass.
package struct SecretFinder: Sendable {
  private(set) var needles: [Needle]
  /// Whether a number could be a secret, or hold one.
  private(set) var hasNumbers = false
  /// Where finds can begin; nil if there are no secrets.
  private let beginnings: Beginnings?
  /// The distances from the end of a run of backslashes at which a find may begin, if it doesn't begin with the run or
  /// after another find: at the last backslash, or with as many as can represent the backslashes that begin a secret.
  private let beginningsInRuns: Set<Int>

  /// - Parameter secrets: By name; several names may have the same text, and one name an old text and a new one.
  package init(_ secrets: [(name: String, text: String)]) {
    self.init(
      secrets.filter { $0.text.utf8.count >= SecretFinder.shortest }.flatMap { Needle.all(of: $0.text, named: $0.name) }
    )
  }

  init(_ all: [Needle]) {
    // By bytes: canonically equivalent texts are different secrets.
    var seen: Set<[UInt8]> = []
    needles = all.filter { seen.insert(Array($0.text.utf8)).inserted }
    // A secret may be a number, an instant or a span as texts write them; none of these has more digits.
    hasNumbers = needles.contains { needle in
      needle.forms.contains { form in
        form.scalars.count <= 32
          && form.scalars.allSatisfy { "0123456789.-+eE:TZs".unicodeScalars.map(\.value).contains($0.value) }
      }
    }
    var pairs: [UInt64] = []
    if !needles.isEmpty {
      pairs = [UInt64](repeating: 0, count: 1024)
      // Escapes, whatever follows.
      for byte in "\\&".utf8 { for word in 0..<4 { pairs[Int(byte) << 2 + word] = .max } }
      for form in needles.flatMap(\.forms) {
        for (first, second) in form.beginnings {
          let pair = Int(first) << 8 | Int(second)
          pairs[pair >> 6] |= 1 << UInt64(pair & 63)
        }
      }
    }
    var starts: [[Start]] = Array(repeating: [], count: pairs.isEmpty ? 0 : 256)
    for (number, needle) in needles.enumerated() {
      for (form, written) in needle.forms.enumerated() {
        let first = written.scalars[0].utf8
        let second = first.count == 1 && written.scalars.count > 1 ? written.scalars[1].utf8[0] : nil
        starts[Int(first[0])].append(Start(needle: number, form: form, second: second))
      }
    }
    beginnings = pairs.isEmpty ? nil : Beginnings(pairs: pairs, starts: starts)
    let leading = needles.map { (needle: Needle) -> Int in needle.forms[0].scalars.prefix { $0.value == 0x5C }.count }
    beginningsInRuns = Set(leading.map { max(1, Needle.mostBackslashes * $0) } + [1])
  }

  /// A finder of these secrets and more texts.
  package func adding(_ texts: [String]) -> SecretFinder {
    SecretFinder(
      needles + texts.filter { $0.utf8.count >= SecretFinder.shortest }.flatMap { Needle.all(of: $0, named: "") })
  }

  /// Shorter secrets are left alone: taking them out would ruin every text.
  package static let shortest = 4

  package var isEmpty: Bool { beginnings == nil }

  /// Tables that are shared by all copies of a finder.
  private final class Beginnings: Sendable {
    /// The pairs of bytes that a find can begin with, one bit for each.
    let pairs: [UInt64]
    /// The forms by the first byte of their plain spelling, so that few are compared at each place.
    let starts: [[Start]]

    init(pairs: [UInt64], starts: [[Start]]) {
      self.pairs = pairs
      self.starts = starts
    }
  }

  /// One form of one needle.
  private struct Start {
    var needle: Int
    var form: Int
    /// The first byte of the second character, if the first character is one byte: most finds fail there.
    var second: UInt8?
  }

  /// A find: the secret, the form, and the first of its bytes.
  struct Find {
    var range: Range<Int>
    var needle: Int
    var form: Int
    /// Where the whole of it begins, even if an overlapping find has taken the beginning.
    var start: Int
  }

  /// All finds, without overlaps.
  ///
  /// - Parameters:
  ///   - isShown: Whether the text is only shown, so that texts that resemble a secret are found too.
  ///   - isCut: Whether the text may be cut off inside a secret, whose beginning at the end is then found as well.
  func finds(in text: String, isShown: Bool = false, isCut: Bool = false) -> [Find] {
    guard let beginnings else { return [] }
    let manner = Manner(isShown: isShown, cutFrom: isCut ? SecretFinder.shortest : nil)
    return text.utf8.withContiguousStorageIfAvailable { finds(in: $0, manner, beginnings) }
      ?? Array(text.utf8).withUnsafeBufferPointer { finds(in: $0, manner, beginnings) }
  }

  func finds(in bytes: [UInt8], _ manner: Manner = Manner()) -> [Find] {
    guard let beginnings else { return [] }
    return bytes.withUnsafeBufferPointer { finds(in: $0, manner, beginnings) }
  }

  /// How a text is searched.
  struct Manner {
    var isShown = false
    /// Whether a beginning of a secret at the end of the text is found: one that stands for as many bytes of the
    /// secret, before the end or before an escape that the end cuts, where 1 is any character or digit; nil if only
    /// whole secrets are found.
    var cutFrom: Int?
    var isCut: Bool { cutFrom != nil }
    /// Whether the text continues after its end, so that digits may continue in the next line.
    var isOpen = false
  }

  private func finds(
    in bytes: UnsafeBufferPointer<UInt8>, _ manner: Manner, _ beginnings: Beginnings
  ) -> [Find] {
    var finds: [Find] = []
    var end = 0
    var runEnd = 0
    let starts = beginnings.starts
    beginnings.pairs.withUnsafeBufferPointer { pairs in
      for index in bytes.indices {
        if index + 1 < bytes.count {
          let pair = Int(bytes[index]) << 8 | Int(bytes[index + 1])
          guard pairs[pair >> 6] & 1 << UInt64(pair & 63) != 0 else { continue }
        } else if !manner.isCut {
          break
        }
        // A find inside a run of backslashes, or of blanks that count as one, also begins with the run, except for a
        // backslash of its own; to try each place in a long run would take for ever.
        if bytes[index] == 0x5C || manner.isShown && Needle.isBlank(bytes[index]) {
          if index >= runEnd {
            runEnd = Needle.endOfRun(in: bytes, at: index)
          } else if bytes[index] != 0x5C || index != end && !beginningsInRuns.contains(runEnd - index) {
            continue
          }
        }
        guard let found = find(in: bytes, at: index, after: end, manner, starts) else { continue }
        finds.append(found)
        end = found.range.upperBound
      }
    }
    return finds
  }

  /// The longest find that begins at an index and ends after another one.
  private func find(
    in bytes: UnsafeBufferPointer<UInt8>, at index: Int, after end: Int, _ manner: Manner, _ starts: [[Start]]
  ) -> Find? {
    var found: Find?
    func consider(_ needle: Int, _ form: Int, _ last: Int) {
      guard last > max(end, found?.range.upperBound ?? 0) else { return }
      found = Find(range: max(index, end)..<last, needle: needle, form: form, start: index)
    }
    guard let first = SecretFinder.firstByte(in: bytes, at: index, starts) else {
      for (number, needle) in needles.enumerated() {
        if let (form, last) = needle.end(in: bytes, at: index, manner) { consider(number, form, last) }
      }
      return found
    }
    // Where the second character begins, unless backslashes are before it.
    let isPercent = bytes[index] == ASCII.percent && Needle.percentByte(in: bytes, at: index) == first
    let next = index + (first == bytes[index] ? 1 : isPercent ? 3 : bytes.count)
    // The second character, if it is percent-encoded; digits may continue after a line end.
    var encoded =
      next < bytes.count && bytes[next] == ASCII.percent ? Needle.nestedPercentByte(in: bytes, at: next) : nil
    if encoded.map(Needle.isLineEnd) ?? false { encoded = nil }
    // Each needle is found in its first form that fits.
    var fitting = -1
    for start in starts[Int(first)] where start.needle != fitting {
      if let second = start.second, let encoded, encoded != second, second != ASCII.percent { continue }
      if let second = start.second, next < bytes.count, bytes[next] != second, !Needle.mayBeEscape(bytes[next]),
        bytes[next] != ASCII.apostrophe || next + 1 >= bytes.count || bytes[next + 1] != ASCII.dollar
      {
        continue
      }
      guard let last = needles[start.needle].end(ofForm: start.form, in: bytes, at: index, manner) else { continue }
      fitting = start.needle
      consider(start.needle, start.form, last)
    }
    return found
  }

  /// The first byte of the character that is written at an index, escaped or not; nil if it may be one of several.
  private static func firstByte(
    in bytes: UnsafeBufferPointer<UInt8>, at index: Int, _ starts: [[Start]]
  ) -> UInt8? {
    let byte = bytes[index]
    guard Needle.mayBeEscape(byte) else { return byte }
    switch byte {
    // Where no form begins with the byte itself, an escape is meant.
    case ASCII.percent where starts[Int(byte)].isEmpty:
      return Needle.nestedPercentByte(in: bytes, at: index) ?? byte
    case ASCII.backslash where starts[Int(byte)].isEmpty:
      guard let value = Needle.escaped(in: bytes, at: index)?.value else { return byte }
      // Digits and `x` begin the escape of a byte.
      if (0x30...0x37).contains(value) || value == 0x78 { return nil }
      return value < 0x80 ? UInt8(value) : nil
    case ASCII.plus where starts[Int(ASCII.space)].isEmpty: return byte
    case ASCII.backtick where starts[Int(byte)].isEmpty:
      guard index + 1 < bytes.count else { return byte }
      let next = bytes[index + 1]
      if next == ASCII.zero { return nil }
      return Needle.backquoteEscapes.first { $0.letter == next }.map { UInt8($0.value) } ?? next
    default: return nil
    }
  }

  /// The name of a secret in a hexadecimal dump that has the characters beside its lines, which no reference describes.
  ///
  /// - Parameter finds: The finds that references describe.
  func dumped(in bytes: some Collection<UInt8>, besides finds: [Find]) -> String? {
    guard !isEmpty, SecretDump.mayHaveCharacters(bytes) else { return nil }
    return self.finds(in: Array(bytes), Manner(isShown: true)).first { find in
      needles[find.needle].forms[find.form].isHexadecimal && !finds.contains { $0.start == find.start }
    }.map { needles[$0.needle].name }
  }

  /// The names of the secrets in a text.
  package func names(in text: String) -> [String] {
    var names: [String] = []
    for find in finds(in: text) where !names.contains(needles[find.needle].name) {
      names.append(needles[find.needle].name)
    }
    return names
  }

  /// The names of the secrets in bytes, such as those of a file.
  package func names(in bytes: [UInt8]) -> [String] {
    Set(finds(in: bytes).map { needles[$0.needle].name }).sorted { $0.precedesByScalars($1) }
  }

  /// The text with each secret as `•••`; compared by bytes, because a secret may combine with the character after it.
  ///
  /// - Parameter isCut: Whether the text may be cut off inside a secret, whose beginning at the end is then masked as
  ///   well.
  package func redact(_ text: String, isCut: Bool = false) -> String {
    let finds = finds(in: text, isShown: true, isCut: isCut)
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

// MARK: Answers

extension SecretFinder {
  /// All finds in an answer, except finds within an id or an instant: a short secret may be in one by chance, and the
  /// answer would be of no use.
  func findsToShow(in bytes: [UInt8]) -> [Find] {
    finds(in: bytes, Manner(isShown: true)).filter { find in
      func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.minus, ASCII.dot, ASCII.colon: true
        default: false
        }
      }
      var range = find.range
      while range.lowerBound > 0, isPart(bytes[range.lowerBound - 1]) {
        range = range.lowerBound - 1..<range.upperBound
      }
      while range.upperBound < bytes.count, isPart(bytes[range.upperBound]) {
        range = range.lowerBound..<range.upperBound + 1
      }
      guard range != find.range, range.count <= 36 else { return true }
      let text = String(decoding: bytes[range], as: UTF8.self)
      return UUID7(text) == nil && Timestamp(text) == nil
    }
  }

  /// A text of an answer with each secret as `•••`.
  func displayed(_ bytes: [UInt8]) -> [UInt8] {
    var kept: [UInt8] = []
    var copied = 0
    for find in findsToShow(in: bytes) {
      if find.start >= copied {
        kept += bytes[copied..<find.range.lowerBound]
        kept += MaskedText.mark.utf8
      }
      copied = find.range.upperBound
    }
    return kept + bytes[copied...]
  }

  /// The value with `•••` for each secret in its texts, and for each number that holds one.
  func displayed(_ value: Value) -> Value {
    switch value.content {
    case .string(let text):
      let bytes = Array(text.utf8)
      return findsToShow(in: bytes).isEmpty ? value : .string(String(decoding: displayed(bytes), as: UTF8.self))
    case .int, .uint, .double:
      guard hasNumbers, let text = try? JSON.text(value), !names(in: text).isEmpty else { return value }
      return .string(MaskedText.mark)
    case .list(let items): return .list(items.map(displayed))
    case .map(let map):
      var made = ValueMap()
      made.reserveCapacity(map.count)
      for member in map.members { made[displayed(member.key)] = displayed(member.value) }
      return .map(made)
    default: return value
    }
  }
}

/// One secret to find.
struct Needle: Sendable, Hashable {
  struct Scalar: Sendable, Hashable {
    var value: UInt32
    var utf8: [UInt8]

    var isBlank: Bool { value == 0x20 || value == 0x09 || value == 0x0A || value == 0x0D }

    /// Any digit of base64url, which no character is.
    static let anyDigit = Scalar(value: .max, utf8: [0])
  }

  /// One way to write the whole secret: plain, with each of its bytes as a character, or in digits that hide where
  /// characters end.
  struct Form: Sendable, Hashable {
    var name: String
    var scalars: [Scalar]
    /// Whether it is written in digits, which may continue in the next line.
    var isDigits: Bool
    /// Whether each two digits are a byte; a dump may have blanks after it (`SecretDump`).
    var isHexadecimal = false

    /// How many bits of the secret a character of it stands for, at most.
    func bits(of scalar: Scalar) -> Int { isHexadecimal ? 4 : isDigits ? 6 : 8 * scalar.utf8.count }

    /// The pairs of bytes that it can begin with, in any spelling except escapes that begin with `\` or `&`.
    var beginnings: [(UInt8, UInt8)] {
      let first = scalars[0]
      var following =
        first.utf8.count > 1
        ? [first.utf8[1]] : scalars.count > 1 ? Form.firstBytes(of: scalars[1]) : Array(UInt8.min...UInt8.max)
      if isDigits { following += Form.lineEnds }
      var beginnings = (first.isBlank ? Form.blanks : [first.utf8[0]]).flatMap { byte in following.map { (byte, $0) } }
      // Blanks may follow blanks.
      if first.isBlank { beginnings += Form.blanks.flatMap { byte in Form.blanks.map { (byte, $0) } } }
      if first.value == 0x20 { beginnings += following.map { (ASCII.plus, $0) } }
      // Quotes that are written as several.
      if first.value == 0x27 { beginnings += "'\\\"".utf8.map { (ASCII.apostrophe, $0) } }
      if first.value == 0x22 { beginnings.append((ASCII.quote, ASCII.quote)) }
      if first.utf8.count == 1 { beginnings.append((ASCII.backtick, first.utf8[0])) }
      beginnings += Needle.backquoteEscapes.filter { $0.value == first.value }.map { (ASCII.backtick, $0.letter) }
      // The digits of the byte, or of a percent sign that is encoded itself.
      let digit = String(first.utf8[0] >> 4, radix: 16)
      beginnings += "2\(digit)\(digit.uppercased())".utf8.map { (ASCII.percent, $0) }
      return beginnings
    }

    private static func firstBytes(of scalar: Scalar) -> [UInt8] {
      Array("%\\&`".utf8) + (scalar.isBlank ? blanks + [ASCII.plus] : [scalar.utf8[0]])
        + (scalar.value < 0x20 || scalar.value >= 0x7F ? [ASCII.apostrophe] : [])
    }

    private static let lineEnds: [UInt8] = [0x0A, 0x0D]
    private static let blanks: [UInt8] = [0x20, 0x09] + lineEnds
  }

  let name: String
  let text: String
  /// Which part of the secret it is; empty for all of it.
  let part: String
  /// The plain form first.
  let forms: [Form]
  /// Eight bits of its text: enough to notice a change, and too few to guess it by.
  ///
  /// They are the same for each record in each folder, so that many of them reveal no more than one.
  let print: String

  /// Every text with the shape of a link.
  static let link = Needle()

  /// Whether it is found by its shape.
  var isLink: Bool { part == "link " }

  private init() {
    (name, text, part, print) = (LinkKey.name, LinkKey.mark, "link ", "00")
    let mark = LinkKey.mark.unicodeScalars.map { Scalar(value: $0.value, utf8: Array(String($0).utf8)) }
    let digits = [Scalar](repeating: .anyDigit, count: LinkKey.digits)
    forms = [Form(name: part + "plain", scalars: mark + digits, isDigits: false)]
  }

  /// A secret, and the parts of it that are found on their own.
  static func all(of secret: String, named name: String) -> [Needle] {
    var needles = [Needle(secret, named: name)]
    let trimmed = secret.trimmed
    if !trimmed.hasSameScalars(as: secret), trimmed.utf8.count >= SecretFinder.shortest {
      needles.append(Needle(trimmed, named: name, part: "trimmed ", of: secret))
    }
    let lines = trimmed.split(whereSeparator: \.isNewline).map { String($0).trimmed }
    for (index, line) in lines.enumerated() where lines.count > 1 {
      // The frame of a key isn't secret.
      if line.utf8.count < 8 || line.hasPrefix("-----") { continue }
      needles.append(Needle(line, named: name, part: "line \(index + 1) ", of: secret))
    }
    for (index, text) in SecretParts.texts(in: trimmed).enumerated() {
      needles.append(Needle(text, named: name, part: "text \(index + 1) ", of: secret))
    }
    return needles
  }

  private init(_ secret: String, named name: String, part: String = "", of whole: String? = nil) {
    self.name = name
    self.part = part
    text = secret
    print = Needle.print(of: whole ?? secret)
    let bytes = Array(secret.utf8)
    let digits = bytes.hexadecimal
    var forms = [("hex", Array(digits.utf8)), ("HEX", Array(digits.uppercased().utf8))]
    // With its last digit and its end, where nothing precedes it.
    let whole = Array(bytes.base64.utf8)
    let bare = Array(whole.prefix { $0 != ASCII.equals })
    forms += [
      ("base64", whole), ("base64url", Needle.urlDigits(whole)), ("base64 bare", bare),
      ("base64url bare", Needle.urlDigits(bare)),
    ]
    for offset in 0..<3 {
      // The digits without a share of the neighbouring bytes.
      let encoded = Array(([UInt8](repeating: 0, count: offset) + bytes).base64.utf8)
      let own = Array(encoded[(offset * 8 + 5) / 6..<(offset + bytes.count) * 8 / 6])
      guard own.count >= 5 else { continue }
      forms += [("base64 from \(offset)", own), ("base64url from \(offset)", Needle.urlDigits(own))]
    }
    var seen: Set<[UInt8]> = []
    let others = forms.filter { seen.insert($0.1).inserted }.sorted { $0.1.count > $1.1.count }
    let plain = secret.unicodeScalars.map { Scalar(value: $0.value, utf8: Array(String($0).utf8)) }
    // As a program reads it that takes each byte of a header field for a character.
    let latin1 = bytes.map { Scalar(value: UInt32($0), utf8: Array(String(UnicodeScalar($0)).utf8)) }
    var misread = bytes.contains { $0 >= 0x80 } ? [Form(name: part + "latin1", scalars: latin1, isDigits: false)] : []
    if !misread.isEmpty, plain.allSatisfy({ $0.value < 0x100 }) {
      // In Latin-1, whose bytes are only in data and as `%E4`.
      let single = plain.map { Scalar(value: $0.value, utf8: [UInt8(truncatingIfNeeded: $0.value)]) }
      misread.append(Form(name: part + "bytes", scalars: single, isDigits: false))
    }
    if !misread.isEmpty, plain.count(where: { $0.value < 0x80 }) >= SecretFinder.shortest {
      // As a program shows it that takes Latin-1 for UTF-8; with fewer other letters, many texts would resemble it.
      let lost = Scalar(value: 0xFFFD, utf8: Array("\u{FFFD}".utf8))
      misread.append(
        Form(name: part + "replaced", scalars: plain.map { $0.value < 0x80 ? $0 : lost }, isDigits: false))
    }
    self.forms =
      [Form(name: part + "plain", scalars: plain, isDigits: false)] + misread
      + others.map { form in
        let scalars = form.1.map { Scalar(value: UInt32($0), utf8: [$0]) }
        let isHexadecimal = form.0 == "hex" || form.0 == "HEX"
        return Form(name: part + form.0, scalars: scalars, isDigits: true, isHexadecimal: isHexadecimal)
      }
  }

  private static func print(of secret: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in secret.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    hash ^= hash >> 32
    hash ^= hash >> 16
    return [UInt8(truncatingIfNeeded: hash ^ hash >> 8)].hexadecimal
  }

  /// Digits of base64 in the alphabet for addresses (RFC 4648, section 5).
  private static func urlDigits(_ digits: [UInt8]) -> [UInt8] {
    digits.map { $0 == ASCII.plus ? ASCII.minus : $0 == ASCII.slash ? ASCII.underscore : $0 }
  }

  /// Where a find that begins at an index ends.
  func end(
    in bytes: UnsafeBufferPointer<UInt8>, at index: Int, _ manner: SecretFinder.Manner
  ) -> (form: Int, end: Int)? {
    let first = bytes[index]
    // Other beginnings of a character, an escape or a blank; a backslash's escape is read once.
    let escaped = first == 0x5C ? Needle.escaped(in: bytes, at: index)?.value : nil
    let isEscape =
      "%&+`".utf8.contains(first) || Needle.isBlank(first)
      || escaped.map { (0x30...0x37).contains($0) || $0 == 0x78 } ?? false
    // Forms that begin alike fail alike.
    var failed: UInt32?
    for number in forms.indices {
      let begin = forms[number].scalars[0]
      guard failed != begin.value else { continue }
      guard
        isEscape || begin.utf8[0] == first || escaped.map({ $0 == begin.value || 0xD800...0xDBFF ~= $0 }) ?? false
      else { continue }
      if begin.value < 0x80, !(manner.isShown && begin.isBlank), Needle.ends(of: begin, in: bytes, at: index).isEmpty {
        failed = begin.value
        continue
      }
      if let end = Needle.end(of: forms[number], in: bytes, at: index, manner) { return (number, end) }
    }
    return nil
  }

  /// Where a find of one form that begins at an index ends.
  func end(
    ofForm number: Int, in bytes: UnsafeBufferPointer<UInt8>, at index: Int, _ manner: SecretFinder.Manner
  ) -> Int? {
    Needle.end(of: forms[number], in: bytes, at: index, manner)
  }

  /// Whether a byte may begin another spelling of a character than the plain one.
  static func mayBeEscape(_ byte: UInt8) -> Bool {
    byte == ASCII.percent || byte == ASCII.backslash || byte == ASCII.plus || byte == ASCII.ampersand || isBlank(byte)
      || byte == ASCII.backtick
  }

  /// The possible ends of the characters that begin at an index, each in one of its spellings.
  ///
  /// `%25` is an encoded percent sign, or one that is followed by two digits: both readings are followed.
  private static func end(
    of form: Form, in bytes: UnsafeBufferPointer<UInt8>, at start: Int, _ manner: SecretFinder.Manner
  ) -> Int? {
    var ends = [start]
    var isDump = false
    var rest = form.scalars[...]
    // How many bits of the secret are read.
    var bits = 0
    var last: UInt32 = 0x20
    while let scalar = rest.popFirst() {
      var next: [Int] = []
      if let least = manner.cutFrom, bits >= (least > 1 ? least * 8 : 1),
        ends.contains(where: { isOver(bytes, at: $0, before: scalar) || isCutQuote(bytes, at: $0, after: last) })
      {
        return bytes.count
      }
      bits += form.bits(of: scalar)
      last = scalar.value
      if manner.isOpen, form.isDigits,
        ends.contains(where: { $0 > start && (run(in: bytes, at: $0, where: isLineEnd) ?? 0) == bytes.count })
      {
        return bytes.count
      }
      if scalar.value == 0x5C { next = skipBackslashes(&ends, in: bytes) }
      for index in ends where index < bytes.count {
        var ends = Needle.ends(of: scalar, in: bytes, at: index)
        if manner.isShown, scalar.isBlank, let end = run(in: bytes, at: index, where: isBlank) { ends.append(end) }
        if form.isDigits, index > start {
          for begin in Needle.nextLines(in: bytes, at: index) { ends += Needle.ends(of: scalar, in: bytes, at: begin) }
          if form.isHexadecimal, (form.scalars.count - rest.count) % 2 == 1 {
            for begin in SecretDump.nextBytes(in: bytes, at: index, isShown: manner.isShown) {
              if begin == bytes.count {
                if manner.isOpen { return begin }
                continue
              }
              isDump = true
              ends += Needle.ends(of: scalar, in: bytes, at: begin)
            }
          }
        }
        // From the last ones on, because many follow each other in a run of backslashes.
        for end in ends where next.lastIndex(of: end) == nil { next.append(end) }
      }
      if next.isEmpty { return nil }
      if manner.isShown, scalar.isBlank {
        // More blanks may be there, escaped, or not.
        var more = next
        while let blank = rest.first, blank.isBlank {
          rest.removeFirst()
          bits += form.bits(of: blank)
          more = more.filter { $0 < bytes.count && !isBlank(bytes[$0]) }
            .flatMap { Needle.ends(of: blank, in: bytes, at: $0) }.filter { !next.contains($0) }
          next += more
        }
      }
      ends = next
    }
    guard isDump, manner.isShown, let end = ends.max() else { return ends.max() }
    return SecretDump.endOfCharacters(in: bytes, after: end)
  }

  /// Handles many places in one run of backslashes together: one by one, each backslash would be read sixteen times.
  ///
  /// Returns where the backslashes that begin at these places end. The first place stays, and the places that are close
  /// enough to the end of the run to see the bytes after it; the others are removed.
  private static func skipBackslashes(_ places: inout [Int], in bytes: UnsafeBufferPointer<UInt8>) -> [Int] {
    guard places.count > mostBackslashes else { return [] }
    let inRun = places.filter { $0 < bytes.count && bytes[$0] == 0x5C }
    guard let first = inRun.min(), let last = inRun.max(), let end = backslashes(in: bytes, at: first), last < end
    else {
      return []
    }
    places.removeAll { first < $0 && $0 < end - mostBackslashes }
    return Array(first + 1...min(end, last + mostBackslashes))
  }

  /// Where the backslashes, or the blanks, that begin at an index end.
  static func endOfRun(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int {
    (bytes[start] == 0x5C ? backslashes(in: bytes, at: start) : run(in: bytes, at: start, where: isBlank)) ?? start
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || isLineEnd(byte) }
  static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

  /// Where the bytes of a kind that begin at an index end; nil if there are none.
  private static func run(
    in bytes: UnsafeBufferPointer<UInt8>, at start: Int, where isOne: (UInt8) -> Bool
  ) -> Int? {
    var index = start
    while index < bytes.count, isOne(bytes[index]) { index += 1 }
    return index > start ? index : nil
  }

  /// The most line ends between two digits.
  private static let mostLineEnds = 4
  private static let lineEnds = [Scalar(value: 0x0A, utf8: [0x0A]), Scalar(value: 0x0D, utf8: [0x0D])]

  /// Where the next lines begin after a line end at an index, in each of its spellings; empty if there is no line end.
  private static func nextLines(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> [Int] {
    // Usually a digit or another escape follows.
    guard mayEndLine(bytes, at: start) else { return [] }
    var found: [Int] = []
    var last = [start]
    for _ in 0..<mostLineEnds where !last.isEmpty {
      var next: [Int] = []
      for index in last where mayEndLine(bytes, at: index) {
        for end in lineEnds.flatMap({ ends(of: $0, in: bytes, at: index) }) where !next.contains(end) {
          next.append(end)
        }
      }
      found += next.filter { $0 < bytes.count && !found.contains($0) }
      last = next
    }
    return found
  }

  /// Whether a line end, in one of its spellings, may begin at an index.
  private static func mayEndLine(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
    guard start < bytes.count else { return false }
    func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }
    switch bytes[start] {
    case 0x0A, 0x0D: return true
    case ASCII.percent: return [ASCII.zero, UInt8(ascii: "2")].contains(byte(start + 1))
    case ASCII.ampersand: return byte(start + 1) == ASCII.hash
    case ASCII.backslash:
      guard let end = backslashes(in: bytes, at: start) else { return false }
      let isShort = byte(end) == UInt8(ascii: "n") || byte(end) == UInt8(ascii: "r")
      return isShort || byte(end) == UInt8(ascii: "u") && (1...3).allSatisfy { byte(end + $0) == ASCII.zero }
    default: return false
    }
  }

  /// The place of each character of a find, with the line ends before a digit, and where these end.
  func pieces(
    of find: SecretFinder.Find, in bytes: UnsafeBufferPointer<UInt8>
  ) -> [(range: Range<Int>, begin: Int)]? {
    var levels: [[(end: Int, from: Int, begin: Int)]] = [[(find.start, 0, find.start)]]
    for scalar in forms[find.form].scalars {
      var next: [(end: Int, from: Int, begin: Int)] = []
      for (from, place) in levels[levels.count - 1].enumerated() where place.end < bytes.count {
        var begins = [place.end]
        if forms[find.form].isDigits, levels.count > 1 { begins += Needle.nextLines(in: bytes, at: place.end) }
        if forms[find.form].isHexadecimal, levels.count > 1, levels.count % 2 == 1 {
          begins += SecretDump.nextBytes(in: bytes, at: place.end, isShown: false).filter { $0 < bytes.count }
        }
        for begin in begins {
          for end in Needle.ends(of: scalar, in: bytes, at: begin) where !next.contains(where: { $0.end == end }) {
            next.append((end, from, begin))
          }
        }
      }
      levels.append(next)
    }
    guard var index = levels[levels.count - 1].firstIndex(where: { $0.end == find.range.upperBound }) else {
      return nil
    }
    var pieces: [(range: Range<Int>, begin: Int)] = []
    for level in levels.indices.dropFirst().reversed() {
      let place = levels[level][index]
      pieces.append((levels[level - 1][place.from].end..<place.end, place.begin))
      index = place.from
    }
    return pieces.reversed()
  }

  /// Whether nothing follows, or the beginning of an escape or another spelling of a character, which the end cuts.
  private static func isOver(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int, before scalar: Scalar) -> Bool {
    guard index < bytes.count else { return true }
    guard bytes.count - index < longestEscape else { return false }
    let rest = Array(bytes[index...])
    func isCut(_ spelling: [UInt8]) -> Bool { rest.count < spelling.count && spelling.starts(with: rest) }
    switch rest[0] {
    case ASCII.percent: return isCutPercent(rest, scalar)
    case ASCII.backslash: return isCutEscape(rest, scalar)
    case ASCII.ampersand: return isCutEntity(rest, scalar)
    case ASCII.backtick: return rest.count == 1 && scalar.utf8.count == 1
    case ASCII.apostrophe:
      if scalar.value == 0x27, singleQuotes.contains(where: { isCut($0) || isCut(inJSON($0)) }) { return true }
      guard scalar.value < 0x20 || scalar.value >= 0x7F else { return false }
      // Quotes of GNU's programs.
      return isCut(openDollar) || rest == openDollar
        || rest.starts(with: openDollar + [ASCII.backslash]) && isCutEscape(Array(rest.dropFirst(3)), scalar)
    default: return isCut(scalar.utf8)
    }
  }

  /// Whether the end cuts the quotes of GNU's programs after the escape of a character.
  private static func isCutQuote(
    _ bytes: UnsafeBufferPointer<UInt8>, at index: Int, after value: UInt32
  ) -> Bool {
    (value < 0x20 || value >= 0x7F) && index > 0 && index + 1 == bytes.count && bytes[index] == ASCII.apostrophe
      && 0x21..<0x7F ~= bytes[index - 1]
  }

  /// A spelling in a text of JSON.
  private static func inJSON(_ spelling: [UInt8]) -> [UInt8] {
    spelling.flatMap { $0 == ASCII.backslash || $0 == ASCII.quote ? [ASCII.backslash, $0] : [$0] }
  }

  private static func isCutPercent(_ rest: [UInt8], _ scalar: Scalar) -> Bool {
    var index = 0
    for byte in scalar.utf8 {
      if index == rest.count { return true }
      guard rest[index] == ASCII.percent else { return false }
      index += 1
      let digits = [byte].hexadecimal.utf8.map { $0 }
      // The percent sign may be encoded itself.
      while index + 1 < rest.count, rest[index] == 0x32, rest[index + 1] == 0x35, digits != [0x32, 0x35] { index += 2 }
      let unit = rest[index...].prefix(2).map(lowercase)
      if unit.count < 2 { return unit.isEmpty || unit[0] == digits[0] || unit[0] == 0x32 }
      if unit != digits { return false }
      index += 2
    }
    return false
  }

  /// Whether the bytes are the first units of a character, each with its backslashes, and the last unit is cut off.
  private static func isCutEscape(_ rest: [UInt8], _ scalar: Scalar) -> Bool {
    guard let character = Unicode.Scalar(scalar.value) else { return false }
    func digits(_ value: some BinaryInteger, _ count: Int, radix: Int = 16) -> [UInt8] {
      let text = Array(String(value, radix: radix).utf8)
      return [UInt8](repeating: ASCII.zero, count: max(0, count - text.count)) + text
    }
    let units: [[[UInt8]]] = [
      String(character).utf16.map { [UInt8(ascii: "u")] + digits($0, 4) },
      [[UInt8(ascii: "U")] + digits(scalar.value, 8)],
      scalar.utf8.map { [UInt8(ascii: "x")] + digits($0, 2) },
      [[UInt8(ascii: "x")] + digits(scalar.value, 2)],
      scalar.utf8.map { digits($0, 3, radix: 8) },
    ]
    return units.contains { units in
      var left = rest[...]
      for unit in units {
        if left.isEmpty { return true }
        let marks = left.prefix { $0 == ASCII.backslash }
        if marks.isEmpty || marks.count > mostBackslashes { return false }
        left = left.dropFirst(marks.count)
        let found = left.prefix(unit.count)
        // The letter as it is, and digits of either kind.
        guard found.first == nil || found.first == unit[0],
          found.dropFirst().map(lowercase) == unit.prefix(found.count).dropFirst().map({ $0 })
        else { return false }
        if found.count < unit.count { return true }
        left = left.dropFirst(unit.count)
      }
      return false
    }
  }

  private static func isCutEntity(_ rest: [UInt8], _ scalar: Scalar) -> Bool {
    var name = rest.dropFirst()
    while name.count > ampersandName.count, name.starts(with: ampersandName) {
      name = name.dropFirst(ampersandName.count)
    }
    guard name.first == ASCII.hash else {
      if name.isEmpty || entityName(of: scalar.value)?.starts(with: name) ?? false { return true }
      // The escape of an escape may follow.
      return !ASCII.isLetter(scalar.utf8[0]) && !ASCII.digits.contains(scalar.utf8[0])
        && ampersandName.starts(with: name)
    }
    var number = name.dropFirst()
    let isHex = number.first.map { lowercase($0) == UInt8(ascii: "x") } ?? false
    if isHex { number = number.dropFirst() }
    let digits = number.drop { $0 == ASCII.zero }.map(lowercase)
    return String(scalar.value, radix: isHex ? 16 : 10).utf8.starts(with: digits)
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 { ASCII.uppercase.contains(byte) ? byte + ASCII.space : byte }

  /// Longer than four bytes of an escape whose backslashes are doubled a few times.
  private static let longestEscape = 64

  /// The most backslashes for one that is escaped repeatedly.
  static let mostBackslashes = 16
  /// How often a percent sign may be encoded.
  private static let mostPercentSigns = 64

  private static func backslashes(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int? {
    run(in: bytes, at: start) { $0 == 0x5C }
  }

  private static func ends(of scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> [Int] {
    var ends: [Int] = []
    if scalar == .anyDigit {
      let byte = bytes[index]
      let isDigit = ASCII.isLetter(byte) || ASCII.digits ~= byte || byte == ASCII.minus || byte == ASCII.underscore
      return isDigit ? [index + 1] : []
    }
    if bytes[index...].starts(with: scalar.utf8) { ends.append(index + scalar.utf8.count) }
    switch bytes[index] {
    case ASCII.apostrophe:
      if scalar.value == 0x27 { ends += singleQuotes(in: bytes, at: index) }
      // GNU's quotes, which end before an escape and begin again after it.
      if bytes[index...].starts(with: openDollar), index + openDollar.count < bytes.count,
        bytes[index + openDollar.count] == ASCII.backslash
      {
        ends += escapes(of: scalar, in: bytes, at: index + openDollar.count)
      }
    case ASCII.quote where scalar.value == 0x22: ends += doubledQuote(in: bytes, at: index)
    // PowerShell's escape.
    case ASCII.backtick where index + 1 < bytes.count && scalar.utf8.count == 1:
      let next = bytes[index + 1]
      let isItself = next == scalar.utf8[0] && next > 0x20 && !ASCII.isLetter(next)
      if isItself || backquoteEscapes.contains(where: { $0.letter == next && $0.value == scalar.value }) {
        ends.append(index + 2)
      }
    case ASCII.plus where scalar.value == 0x20: ends.append(index + 1)
    case ASCII.percent: ends += percent(scalar, in: bytes, at: index)
    case ASCII.ampersand: ends += entities(of: scalar, in: bytes, at: index)
    case ASCII.backslash:
      for end in escapes(of: scalar, in: bytes, at: index) where !ends.contains(end) { ends.append(end) }
      if scalar.value == 0x22 { ends += doubledQuote(in: bytes, at: index) }
      // A backslash may be doubled, and doubled again.
      if scalar.value == 0x5C, let end = backslashes(in: bytes, at: index), end > index + 1 {
        ends += (index + 2)...min(end, index + mostBackslashes)
      }
    default: break
    }
    return ends
  }

  /// How GNU's programs begin quotes with escapes in the middle of other quotes.
  static let openDollar = Array("'$'".utf8)
  /// The end of such quotes after the escapes.
  static let closeDollar = Array("''".utf8)

  /// Where the escapes of a character end, with and without the quotes that GNU's programs write after them.
  private static func escapes(of scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> [Int] {
    var ends = escape(scalar, in: bytes, at: index).map { [$0] } ?? []
    for end in byteEscapes(scalar, in: bytes, at: index) where !ends.contains(end) { ends.append(end) }
    // Printable characters aren't escaped so.
    guard scalar.value < 0x20 || scalar.value >= 0x7F else { return ends }
    return ends + ends.filter { bytes[$0...].starts(with: closeDollar) }.map { $0 + closeDollar.count }
  }

  /// A quote within single quotes, as shells, Python's `shlex` and languages that double it write it.
  private static let singleQuotes = ["'\\''", "'\"'\"'", "''"].map { Array($0.utf8) }

  /// Where a quote within single quotes ends; in JSON, the backslashes and double quotes in it have backslashes.
  private static func singleQuotes(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> [Int] {
    func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }
    if byte(start + 1) == ASCII.apostrophe { return [start + 2] }
    let marks = endOfMarks(in: bytes, from: start + 1)
    if marks > start + 1, byte(marks) == ASCII.apostrophe, byte(marks + 1) == ASCII.apostrophe { return [marks + 2] }
    guard byte(marks) == ASCII.quote, byte(marks + 1) == ASCII.apostrophe else { return [] }
    let last = endOfMarks(in: bytes, from: marks + 2)
    guard last - marks - 2 == marks - start - 1, byte(last) == ASCII.quote, byte(last + 1) == ASCII.apostrophe else {
      return []
    }
    return [last + 2]
  }

  /// Where two double quotes end, as CSV and PowerShell write one within quotes; in JSON, each has as many backslashes.
  private static func doubledQuote(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> [Int] {
    let first = endOfMarks(in: bytes, from: start)
    guard first < bytes.count, bytes[first] == ASCII.quote else { return [] }
    let last = endOfMarks(in: bytes, from: first + 1)
    guard last - first - 1 == first - start, last < bytes.count, bytes[last] == ASCII.quote else { return [] }
    return [last + 1]
  }

  /// Where the backslashes at an index end; there may be none, or a few.
  private static func endOfMarks(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start
    while index < bytes.count, bytes[index] == ASCII.backslash, index - start < mostBackslashes { index += 1 }
    return index
  }

  /// The bytes of a character as `$'…'` and Python write them, each as three octal digits or two hexadecimal ones, or
  /// the number of one up to U+00FF as Python's `ascii` and YAML write it.
  private static func byteEscapes(_ scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> [Int] {
    var ends: [Int] = []
    var index = start
    for (number, byte) in scalar.utf8.enumerated() {
      guard let (value, end) = byteEscape(in: bytes, at: index) else { return ends }
      if number == 0, scalar.utf8.count > 1, value == scalar.value, bytes[end - 3] == UInt8(ascii: "x") {
        ends.append(end)
      }
      guard value == UInt32(byte) else { return ends }
      index = end
    }
    return ends + [index]
  }

  /// The byte that the backslashes at an index and the digits after them stand for, and where that ends.
  private static func byteEscape(
    in bytes: UnsafeBufferPointer<UInt8>, at start: Int
  ) -> (value: UInt32, end: Int)? {
    var index = start
    while index < bytes.count, bytes[index] == ASCII.backslash { index += 1 }
    guard index > start, index - start <= mostBackslashes, index + 2 < bytes.count else { return nil }
    let isHex = bytes[index] == UInt8(ascii: "x")
    let digits = isHex ? bytes[index + 1...index + 2] : bytes[index...index + 2]
    return number(digits, radix: isHex ? 16 : 8).map { ($0, index + 3) }
  }

  /// The byte that a percent sign at an index and two digits stand for; nil without the digits.
  static func percentByte(in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt8? {
    guard index + 2 < bytes.count else { return nil }
    return number(bytes[index + 1...index + 2], radix: 16).map { UInt8(truncatingIfNeeded: $0) }
  }

  /// The byte that a percent sign at an index stands for, which may itself be encoded repeatedly; nil if it stands for
  /// none, or for a percent sign.
  static func nestedPercentByte(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> UInt8? {
    var index = start + 1
    let last = index + 2 * mostPercentSigns
    while index + 1 < bytes.count, index <= last, let value = number(bytes[index...index + 1], radix: 16) {
      if value != 0x25 { return UInt8(truncatingIfNeeded: value) }
      index += 2
    }
    return nil
  }

  /// The percent sign may itself be encoded, repeatedly: `%20`, `%2520`, `%252520`.
  private static func percent(_ scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> [Int] {
    var ends = [start]
    for byte in scalar.utf8 {
      var next: [Int] = []
      for end in ends where end < bytes.count && bytes[end] == ASCII.percent {
        var index = end + 1
        let last = index + 2 * mostPercentSigns
        while index + 1 < bytes.count, index <= last, let value = number(bytes[index...index + 1], radix: 16) {
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
    (UInt8(ascii: "f"), 0x0C), (UInt8(ascii: "a"), 0x07), (UInt8(ascii: "v"), 0x0B), (UInt8(ascii: "e"), 0x1B),
  ]
  /// The letters after PowerShell's backquote.
  static let backquoteEscapes = shortEscapes + [(letter: ASCII.zero, value: 0x00)]

  private static func escape(_ scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int? {
    guard let (unit, end) = escaped(in: bytes, at: start) else { return nil }
    if unit == scalar.value { return end }
    guard scalar.value >= 0x10000, unit == 0xD800 + (scalar.value - 0x10000) >> 10,
      let next = backslashes(in: bytes, at: end),
      next + 4 < bytes.count, bytes[next] == UInt8(ascii: "u"),
      number(bytes[next + 1...next + 4], radix: 16) == 0xDC00 + (scalar.value - 0x10000) & 0x3FF
    else { return nil }
    return next + 5
  }

  /// The character that the backslashes at an index and the text after them stand for, and where that ends: an ASCII
  /// character, or a unit of UTF-16.
  static func escaped(
    in bytes: UnsafeBufferPointer<UInt8>, at start: Int
  ) -> (value: UInt32, end: Int)? {
    var index = start
    while index < bytes.count, bytes[index] == ASCII.backslash { index += 1 }
    guard index > start, index < bytes.count, bytes[index] < 0x80 else { return nil }
    switch bytes[index] {
    case UInt8(ascii: "u"): break
    case UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"),
      UInt8(ascii: "a"), UInt8(ascii: "v"), UInt8(ascii: "e"):
      return (shortEscapes.first { $0.letter == bytes[index] }?.value ?? UInt32(bytes[index]), index + 1)
    // Bash writes an escape as a capital.
    case UInt8(ascii: "E"): return (0x1B, index + 1)
    case UInt8(ascii: "U"):
      // Without digits it's a letter.
      guard index + 8 < bytes.count, let value = number(bytes[index + 1...index + 8], radix: 16) else {
        return (UInt32(bytes[index]), index + 1)
      }
      return (value, index + 9)
    default: return (UInt32(bytes[index]), index + 1)
    }
    guard index + 4 < bytes.count, let unit = number(bytes[index + 1...index + 4], radix: 16) else { return nil }
    return (unit, index + 5)
  }

  static let entities: [(name: [UInt8], value: UInt32)] = [
    ("amp", 0x26), ("lt", 0x3C), ("gt", 0x3E), ("quot", 0x22), ("apos", 0x27),
  ].map { (Array($0.0.utf8), $0.1) }

  /// The names of the characters from U+00A0 to U+00FF.
  private static let latinEntities: [[UInt8]] = """
    nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro \
    para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil \
    Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave \
    Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml \
    igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute \
    thorn yuml
    """.utf8.split(separator: ASCII.space).map { Array($0) }

  /// The name of a character in HTML; nil if it has none, or a rare one.
  static func entityName(of value: UInt32) -> [UInt8]? {
    if 0xA0...0xFF ~= value { return latinEntities[Int(value) - 0xA0] }
    return value < 0x7F ? entities.first { $0.value == value }?.name : nil
  }

  /// The name of the ampersand's entity; each repetition escapes the text once more.
  static let ampersandName = Array("amp;".utf8)
  /// How often a text may be escaped.
  private static let mostAmpersands = 8

  /// Where the entities of a character end that begin at an index: it may be escaped repeatedly, as in `&amp;quot;`.
  private static func entities(
    of scalar: Scalar, in bytes: UnsafeBufferPointer<UInt8>, at start: Int
  ) -> [Int] {
    var ends: [Int] = []
    var begin = start + 1
    for _ in 0..<mostAmpersands {
      guard let end = bytes[begin...].prefix(11).firstIndex(of: ASCII.semicolon) else { break }
      var name = bytes[begin..<end]
      if name.first == ASCII.hash {
        name = name.dropFirst()
        let isHex = name.first == UInt8(ascii: "x") || name.first == UInt8(ascii: "X")
        if number(isHex ? name.dropFirst() : name, radix: isHex ? 16 : 10) == scalar.value { ends.append(end + 1) }
        break
      }
      if let own = entityName(of: scalar.value), name.elementsEqual(own) { ends.append(end + 1) }
      guard name.elementsEqual(ampersandName.dropLast()) else { break }
      begin = end + 1
    }
    return ends
  }

  /// The number in some digits; nil if one isn't a digit, or if there are too many.
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
