// How the characters of a found secret are escaped.
//
// Usually all are escaped in one of the usual ways, which have names. Any other spelling is described character by
// character, by patterns with placeholders for the character itself:
//
//     c      the character as it is           e      the letter of its short escape: n of \n
//     h H    a digit of its hexadecimal form  d      a digit of its decimal number
//     n      the name of its entity           […]    the ends of lines and blanks (`_`) before it
//     o      a digit of the octal number of one of its bytes
//     &&     `&amp;`, before the rest of an entity that is escaped in turn
//     p P    a digit of its hexadecimal number, where h is a digit of one of its bytes: `\xpp`
//                                             all else is literal
//
// `%25hh` is a percent-encoded byte whose percent sign is encoded, `\\uhhhh` an escape of JSON in JSON. A spelling is
// one pattern for all characters, or several with the number of characters for each: `3c 1%HH 4c`, `76c 1[%0D%0A]c
// 20c`.
import Basics

/// A usual way to escape a text.
enum SecretSpelling: String, CaseIterable {
  case plain, json
  case jsonTwice = "json json"
  case jsonASCII = "json ascii"
  case percent
  case percentSmall = "percent small"
  case percentTwice = "percent percent"
  case form
  case formSmall = "form small"
  case html

  func text(of scalars: [Needle.Scalar]) -> [UInt8] { scalars.flatMap(text) }

  private func text(of scalar: Needle.Scalar) -> [UInt8] {
    switch self {
    case .plain: scalar.utf8
    case .json: json(scalar.utf8)
    case .jsonTwice: json(json(scalar.utf8))
    case .jsonASCII: scalar.value > 0x7E ? SecretPattern.text("\\uhhhh", of: scalar) ?? [] : json(scalar.utf8)
    case .percent: percent(scalar, "%HH")
    case .percentSmall: percent(scalar, "%hh")
    case .percentTwice: percent(scalar, "%25HH")
    case .form: scalar.value == 0x20 ? [0x2B] : percent(scalar, "%HH")
    case .formSmall: scalar.value == 0x20 ? [0x2B] : percent(scalar, "%hh")
    case .html: scalar.value < 0x80 ? SecretPattern.text("&n;", of: scalar) ?? scalar.utf8 : scalar.utf8
    }
  }

  private func json(_ text: [UInt8]) -> [UInt8] {
    Array(JSON.quoted(String(decoding: text, as: UTF8.self)).utf8.dropFirst().dropLast())
  }

  private func percent(_ scalar: Needle.Scalar, _ pattern: String) -> [UInt8] {
    switch scalar.value {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: scalar.utf8
    default: scalar.utf8.flatMap { SecretPattern.text(pattern, of: Needle.Scalar(value: UInt32($0), utf8: [$0])) ?? [] }
    }
  }
}

/// How one character is escaped.
enum SecretPattern {
  /// Which digits are lowercase.
  enum Digits: CaseIterable { case capital, small, asTheyAre }

  /// The character in this spelling; nil if the pattern doesn't fit the character.
  ///
  /// A pattern is repeated for each byte that is percent-encoded and for each half of a surrogate pair.
  static func text(_ pattern: String, of scalar: Needle.Scalar) -> [UInt8]? {
    if pattern.utf8.first == ASCII.openBracket {
      guard let end = pattern.utf8.firstIndex(of: ASCII.closeBracket) else { return nil }
      let rest = String(decoding: pattern.utf8[end...].dropFirst(), as: UTF8.self)
      guard rest.utf8.first != ASCII.openBracket, let text = text(rest, of: scalar) else { return nil }
      return pattern.utf8[..<end].dropFirst().map { $0 == ASCII.underscore ? ASCII.space : $0 } + text
    }
    if let (before, inner, after) = quoted(Array(pattern.utf8)) {
      return unquoted(String(decoding: inner, as: UTF8.self), of: scalar).map { before + $0 + after }
    }
    let ampersands = pattern.utf8.prefix { $0 == ASCII.ampersand }.count
    if ampersands > 1 {
      let names = (1..<ampersands).flatMap { _ in Needle.ampersandName }
      return unquoted(String(pattern.dropFirst(ampersands - 1)), of: scalar).map {
        [ASCII.ampersand] + names + $0.dropFirst()
      }
    }
    return unquoted(pattern, of: scalar)
  }

  /// The escape in the middle of quotes of GNU's programs, and the quotes around it; nil if there are none.
  private static func quoted(_ text: [UInt8]) -> (before: [UInt8], inner: [UInt8], after: [UInt8])? {
    let opens = text.starts(with: Needle.openDollar)
    let inner = opens ? Array(text.dropFirst(Needle.openDollar.count)) : text
    guard inner.first == ASCII.backslash, inner.count > 3 || opens else { return nil }
    let close = Needle.closeDollar
    let closes = inner.count > 3 && inner.suffix(close.count).elementsEqual(close)
    guard opens || closes else { return nil }
    return (
      opens ? Needle.openDollar : [], closes ? Array(inner.dropLast(close.count)) : inner, closes ? close : []
    )
  }

  private static func unquoted(_ pattern: String, of scalar: Needle.Scalar) -> [UInt8]? {
    var digits: [UInt8]
    switch pattern.utf8.first {
    case ASCII.percent: digits = scalar.utf8.flatMap { hex(UInt32($0), 2) }
    case ASCII.backslash where pattern.hasSuffix("ooo"): digits = scalar.utf8.flatMap { octal($0) }
    case ASCII.backslash where letter(of: pattern) == UInt8(ascii: "x"):
      digits = scalar.utf8.flatMap { hex(UInt32($0), 2) }
    case ASCII.backslash where letter(of: pattern) == UInt8(ascii: "U"): digits = hex(scalar.value, 8)
    case ASCII.backslash:
      guard let character = Unicode.Scalar(scalar.value) else { return nil }
      digits = String(character).utf16.flatMap { hex(UInt32($0), 4) }
    default: digits = hex(scalar.value, 1)
    }
    digits.reverse()
    var numbers = Array(hex(scalar.value, 2).reversed())
    var decimals = Array(String(scalar.value).utf8.reversed())
    let usesDigits = pattern.utf8.contains { "hHo".utf8.contains($0) }
    var text: [UInt8] = []
    repeat {
      for byte in pattern.utf8 {
        switch byte {
        case UInt8(ascii: "c"): text += scalar.utf8
        case UInt8(ascii: "h"), UInt8(ascii: "H"):
          guard let digit = digits.popLast() else { return nil }
          text.append(byte == UInt8(ascii: "H") && digit >= 0x61 ? digit - ASCII.space : digit)
        case UInt8(ascii: "p"), UInt8(ascii: "P"):
          guard let digit = numbers.popLast() else { return nil }
          text.append(byte == UInt8(ascii: "P") && digit >= 0x61 ? digit - ASCII.space : digit)
        case UInt8(ascii: "o"):
          guard let digit = digits.popLast() else { return nil }
          text.append(digit)
        case UInt8(ascii: "d"):
          guard let digit = decimals.popLast() else { return nil }
          text.append(digit)
        case UInt8(ascii: "e"):
          guard let letter = Needle.shortEscapes.first(where: { $0.value == scalar.value }) else { return nil }
          text.append(letter.letter)
        case UInt8(ascii: "n"):
          guard let name = Needle.entityName(of: scalar.value) else { return nil }
          text += name
        default: text.append(byte)
        }
      }
    } while usesDigits && !digits.isEmpty
    return text
  }

  /// The pattern of a character's escape; nil if there is none with such digits.
  static func pattern(of piece: [UInt8], for scalar: Needle.Scalar, _ digits: Digits) -> String? {
    if piece == scalar.utf8 { return "c" }
    if let (before, inner, after) = quoted(piece) {
      guard let found = unquotedPattern(of: inner, for: scalar, digits) else { return nil }
      let whole = String(decoding: before, as: UTF8.self) + found + String(decoding: after, as: UTF8.self)
      return text(whole, of: scalar) == piece ? whole : nil
    }
    return unquotedPattern(of: piece, for: scalar, digits)
  }

  private static func unquotedPattern(of piece: [UInt8], for scalar: Needle.Scalar, _ digits: Digits) -> String? {
    var pattern: [UInt8] = []
    func add(_ data: ArraySlice<UInt8>) {
      for digit in data {
        let isSmall = digits == .small || digits == .asTheyAre && digit >= 0x61
        pattern.append(UInt8(ascii: isSmall ? "h" : "H"))
      }
    }
    switch piece.first {
    case ASCII.percent:
      for run in piece.split(separator: ASCII.percent) {
        pattern.append(ASCII.percent)
        pattern += run.dropLast(2)
        add(run.suffix(2))
      }
    case ASCII.backtick where piece.count == 2:
      pattern = [ASCII.backtick, UInt8(ascii: piece.dropFirst().elementsEqual(scalar.utf8) ? "c" : "e")]
      if piece[1] == ASCII.zero, scalar.value == 0 { pattern = piece }
    case ASCII.backslash where isByteEscape(piece):
      let marks = piece.prefix { $0 == ASCII.backslash }
      pattern = Array(marks)
      let rest = piece.dropFirst(marks.count)
      if rest.first != UInt8(ascii: "x") {
        pattern += "ooo".utf8
      } else {
        pattern.append(UInt8(ascii: "x"))
        add(rest.dropFirst().prefix(2))
        // The number of the character, not its bytes.
        if rest.count == 3, scalar.utf8.count > 1 {
          pattern = pattern.map {
            $0 == UInt8(ascii: "h") ? UInt8(ascii: "p") : $0 == UInt8(ascii: "H") ? UInt8(ascii: "P") : $0
          }
        }
      }
    case ASCII.backslash:
      var rest = piece[...]
      while !rest.isEmpty {
        let marks = rest.prefix { $0 == ASCII.backslash }
        rest = rest.dropFirst(marks.count)
        if scalar.value == 0x22, rest.first == ASCII.quote, rest.count > 1 {
          // Doubled quotes.
          pattern += marks + [UInt8(ascii: "c")]
          rest = rest.dropFirst()
        } else if rest.isEmpty {
          pattern += marks.dropLast() + [UInt8(ascii: "c")]
        } else if rest.first == UInt8(ascii: "u"), rest.count >= 5 {
          pattern += marks + [UInt8(ascii: "u")]
          add(rest.dropFirst().prefix(4))
          rest = rest.dropFirst(5)
        } else if rest.first == UInt8(ascii: "U"), rest.count == 9 {
          pattern += marks + [UInt8(ascii: "U")]
          add(rest.dropFirst())
          rest = []
        } else if rest.first == UInt8(ascii: "E"), scalar.value == 0x1B {
          pattern += marks + rest
          rest = []
        } else {
          pattern += marks + [UInt8(ascii: rest.elementsEqual(scalar.utf8) ? "c" : "e")]
          rest = []
        }
      }
    case ASCII.ampersand:
      var piece = piece
      while piece.dropFirst().starts(with: Needle.ampersandName), piece.count > Needle.ampersandName.count + 1 {
        pattern.append(ASCII.ampersand)
        piece.removeSubrange(1...Needle.ampersandName.count)
      }
      let escapes = pattern
      guard piece.count > 2, piece[1] == ASCII.hash else {
        pattern += "&n;".utf8
        break
      }
      pattern = []
      let isHex = piece[2] == UInt8(ascii: "x") || piece[2] == UInt8(ascii: "X")
      pattern += piece[..<(isHex ? 3 : 2)]
      let number = piece.dropFirst(pattern.count).dropLast()
      let count = String(scalar.value, radix: isHex ? 16 : 10).utf8.count
      pattern += number.dropLast(count)
      if isHex { add(number.suffix(count)) } else { pattern += number.suffix(count).map { _ in UInt8(ascii: "d") } }
      pattern = escapes + pattern + [ASCII.semicolon]
    default: pattern = piece
    }
    let found = String(decoding: pattern, as: UTF8.self)
    return text(found, of: scalar) == piece ? found : nil
  }

  /// The first character of a pattern after its backslashes.
  private static func letter(of pattern: String) -> UInt8? { pattern.utf8.first { $0 != ASCII.backslash } }

  /// Whether these are escapes of bytes, in octal digits or after an `x`.
  private static func isByteEscape(_ piece: [UInt8]) -> Bool {
    let rest = piece.drop { $0 == ASCII.backslash }
    return rest.count >= 3 && (rest.first == UInt8(ascii: "x") || rest.prefix(3).allSatisfy { 0x30...0x37 ~= $0 })
  }

  private static func octal(_ byte: UInt8) -> [UInt8] {
    [byte >> 6, byte >> 3 & 7, byte & 7].map { ASCII.zero + $0 }
  }

  private static func hex(_ value: UInt32, _ count: Int) -> [UInt8] {
    let digits = Array(String(value, radix: 16).utf8)
    return [UInt8](repeating: ASCII.zero, count: max(0, count - digits.count)) + digits
  }
}

extension Needle {
  /// How a find is written; nil if that cannot be described.
  func description(of find: SecretFinder.Find, in bytes: [UInt8]) -> MaskedText.Secret? {
    let form = forms[find.form]
    let whole = Array(bytes[find.start..<find.range.upperBound])
    let usual = SecretSpelling.allCases.first { $0.text(of: form.scalars) == whole }?.rawValue
    guard let spelling = usual ?? bytes.withUnsafeBufferPointer({ spelling(of: find, in: $0) }) else { return nil }
    return MaskedText.Secret(
      name: name, print: print, form: form.name, spelling: spelling, from: find.range.lowerBound - find.start)
  }

  private func spelling(of find: SecretFinder.Find, in bytes: UnsafeBufferPointer<UInt8>) -> String? {
    guard let pieces = pieces(of: find, in: bytes) else { return nil }
    let scalars = forms[find.form].scalars
    for digits in SecretPattern.Digits.allCases {
      var runs: [(pattern: String, count: Int)] = []
      for (piece, scalar) in zip(pieces, scalars) {
        let lineEnds = String(decoding: bytes[piece.range.lowerBound..<piece.begin], as: UTF8.self)
        let character = Array(bytes[piece.begin..<piece.range.upperBound])
        guard var pattern = SecretPattern.pattern(of: character, for: scalar, digits) else { break }
        if !lineEnds.isEmpty { pattern = "[\(lineEnds.replacing(" ", with: "_"))]\(pattern)" }
        if runs.last?.pattern == pattern { runs[runs.count - 1].count += 1 } else { runs.append((pattern, 1)) }
      }
      guard runs.reduce(0, { $0 + $1.count }) == scalars.count else { continue }
      return runs.count == 1 ? runs[0].pattern : runs.map { "\($0.count)\($0.pattern)" }.joined(separator: " ")
    }
    return nil
  }

  /// The bytes of a secret in this spelling; nil if it cannot be written so.
  func text(of secret: MaskedText.Secret) -> [UInt8]? {
    guard let scalars = forms.first(where: { $0.name == secret.form })?.scalars else { return nil }
    var text: [UInt8] = []
    if let usual = SecretSpelling(rawValue: secret.spelling) {
      text = usual.text(of: scalars)
    } else {
      var rest = scalars[...]
      for run in secret.spelling.split(separator: " ") {
        let digits = run.prefix { ("0"..."9").contains($0) }
        for scalar in rest.prefix(digits.isEmpty ? scalars.count : max(Int(digits) ?? 0, 0)) {
          guard let piece = SecretPattern.text(String(run.dropFirst(digits.count)), of: scalar) else { return nil }
          text += piece
          rest = rest.dropFirst()
        }
      }
      guard rest.isEmpty else { return nil }
    }
    guard 0 <= secret.from, secret.from < text.count else { return nil }
    return Array(text.dropFirst(secret.from))
  }
}
