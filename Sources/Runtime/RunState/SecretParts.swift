// The parts of a secret that are secrets themselves.
//
// A program that is given a file of credentials seldom prints it as it is: it reads it, and prints what it holds. So
// the texts in it are secrets, too, of eight bytes or more: shorter ones are words like `true` and `admin`, which would
// ruin every text. Keys, numbers and the frames of keys aren't secret. Digits in quotes are a text.
//
//     {"private_key": "…"}           the texts of JSON, also one value a line, and their lines
//     "{\"pw\": \"…\"}"              the text of a string of JSON, and its parts
//     -----BEGIN …\n…\n             a key in one line, with real line ends, and its lines
//     token: "…"                     the values of YAML and of lines KEY=VALUE, without their quotes (`SecretLines`)
//     https://me:pass@host/?token=…  the passwords of addresses, as they are and decoded (`SecretPasswords`)
//     Server=db;Password=pass        the password of a connection string
//     bWU6cGFzc3dvcmQtMQ==           the text that base64 holds, what is in it, and the password of `user:password`
//
// Each is one more text to find, so that a secret has at most ten thousand, the first ones.

import Basics

struct SecretParts {
  private static let shortest = 8
  static let most = 10_000
  /// How often a text of JSON may hold JSON in turn.
  private static let mostNested = 4

  /// The texts in a secret that are found on their own, in the order of their first places.
  static func texts(in secret: String) -> [String] {
    var parts = SecretParts(secret)
    parts.read(secret, least: SecretFinder.shortest)
    // After the others, whose numbers are in states that former versions wrote.
    for _ in 0..<mostNested {
      let candidates = parts.candidates
      parts.candidates = []
      for (text, least) in candidates where parts.texts.count < most {
        parts.addKey(text)
        guard let inner = SecretParts.quoted(text) ?? SecretParts.decoded(text) else { continue }
        parts.add(inner, least: least, isText: true)
        parts.read(inner, least: least)
        parts.addPassword(ofLogin: inner)
      }
    }
    return parts.texts
  }

  /// Adds what is in a text.
  ///
  /// - Parameter least: The fewest bytes between its quotes, if it is in quotes.
  private mutating func read(_ text: String, least: Int) {
    note(text, least: least)
    if !addJSON(text) {
      SecretLines.read(text) { add($0, isQuoted: $1) }
      addPasswords(in: text)
    }
  }

  /// Notes a text that may be a string of JSON, a key in one line, or base64.
  private mutating func note(_ text: String, least: Int) {
    let first = text.utf8.first { !Needle.isBlank($0) }
    if first == ASCII.quote || first == ASCII.minus || SecretParts.decoded(text) != nil {
      candidates.append((text, least))
    }
  }

  /// The text of eight characters or more that base64 of either alphabet holds; nil if the text is none.
  private static func decoded(_ text: String) -> String? {
    let digits = text.trimmed
    // Random digits hardly ever stand for a text.
    guard digits.utf8.count >= 12, !digits.utf8.contains(where: Needle.isBlank),
      let bytes = [UInt8](
        base64: digits.replacing("-", with: "+").replacing("_", with: "/"), requiresPadding: false),
      let text = String(validating: bytes, as: UTF8.self),
      text.unicodeScalars.allSatisfy({ scalar in
        scalar.value < 0x80
          ? scalar.value >= 0x20 && scalar.value != 0x7F || "\t\n\r".unicodeScalars.contains(scalar)
          : scalar.value >= 0xA0
      })
    else { return nil }
    return text
  }

  /// Adds the password of a login as HTTP's Basic scheme writes it (RFC 7617).
  private mutating func addPassword(ofLogin text: String) {
    guard let colon = text.firstIndex(of: ":"), !text.contains(where: \.isWhitespace) else { return }
    add(String(text[text.index(after: colon)...]), least: SecretParts.shortest, isText: true)
  }

  /// The text that a string of JSON holds; nil if the text isn't one.
  private static func quoted(_ text: String) -> String? {
    guard text.utf8.first(where: { !Needle.isBlank($0) }) == ASCII.quote else { return nil }
    return (try? JSON.parse(text))?.string
  }

  /// Adds a key whose line ends are written as `\n`, as they are in one line, with real ones.
  private mutating func addKey(_ text: String) {
    guard text.trimmed.hasPrefix("-----BEGIN "), text.contains("\\n") else { return }
    let lines = text.replacing("\\r\\n", with: "\n").replacing("\\n", with: "\n")
    for whole in [lines, lines.trimmed] {
      if texts.count < SecretParts.most, seen.insert(Array(whole.utf8)).inserted { texts.append(whole) }
    }
    for line in lines.split(whereSeparator: \.isNewline) {
      add(String(line).trimmed, least: SecretParts.shortest, isText: true)
    }
  }

  /// Texts to read after all others, each with the fewest bytes between its quotes.
  private var candidates: [(text: String, least: Int)] = []
  private var texts: [String] = []
  /// By bytes, because canonically equivalent texts are different secrets.
  private var seen: Set<[UInt8]>

  private init(_ secret: String) { seen = [Array(secret.utf8)] }

  /// Adds a text that is long enough, and its lines.
  ///
  /// - Parameter isQuoted: Whether it is a text even if it consists of digits.
  private mutating func add(_ text: String, isQuoted: Bool, depth: Int = 0) {
    add(text.trimmed, least: SecretParts.shortest, isText: isQuoted)
    let lines = text.split(whereSeparator: \.isNewline)
    if lines.count > 1 {
      for line in lines { add(String(line).trimmed, least: SecretParts.shortest, isText: isQuoted) }
    }
    note(text, least: SecretParts.shortest)
    // A value without its quotes and escapes may be an address, or JSON.
    guard isQuoted else { return }
    addPasswords(in: text)
    if depth < SecretParts.mostNested { _ = addJSON(text, depth: depth + 1) }
  }

  private mutating func addPasswords(in text: String) {
    for password in SecretPasswords.passwords(in: text) { add(password, least: SecretFinder.shortest, isText: true) }
  }

  private mutating func add(_ text: String, least: Int, isText: Bool) {
    guard texts.count < SecretParts.most, text.utf8.count >= least, !text.hasPrefix("-----"),
      isText || !text.utf8.allSatisfy({ ASCII.digits.contains($0) || $0 == ASCII.dot || $0 == ASCII.minus }),
      seen.insert(Array(text.utf8)).inserted
    else { return }
    texts.append(text)
  }

  /// Adds the texts of JSON; false if the text isn't JSON.
  private mutating func addJSON(_ text: String, depth: Int = 0) -> Bool {
    guard let first = text.utf8.first(where: { !Needle.isBlank($0) }),
      first == ASCII.openBrace || first == ASCII.openBracket, let value = try? JSON.parse(text)
    else { return false }
    var rest = [value]
    while let value = rest.popLast() {
      rest += (value.list ?? value.map?.members.map(\.value) ?? []).reversed()
      if let text = value.string { add(text, isQuoted: true, depth: depth) }
    }
    return true
  }
}
