// The passwords in addresses and connection strings.
//
//     https://me:pass@host/?token=…       the password, and the parameters with names of secrets, as they are and decoded
//     Server=db;Password="semi;colon"     ADO.NET: quotes of either kind; the same quote is doubled inside
//     Driver={…};Pwd={semi;colon}         ODBC: braces; a closing brace is doubled inside
//     host=db password='it\'s it'         libpq: single quotes; any character may follow a backslash inside
//
// A value without quotes ends at a semicolon or a blank, or is read to the semicolon, as ADO.NET does it.

import Basics

struct SecretPasswords {
  /// The passwords in a text; words such as `true` and `null` aren't any.
  static func passwords(in text: String) -> [String] {
    var passwords = SecretPasswords(bytes: Array(text.utf8))
    passwords.readAddresses()
    passwords.readPairs()
    return passwords.found.filter { !words.contains($0.lowercased()) }
  }

  private static let words: Set<String> = ["true", "false", "null", "none", "undefined"]
  /// Names of passwords in connection strings, in lowercase and without separators between words.
  private static let names: Set<String> = [
    "password", "pwd", "passwd", "secret", "accountkey", "sharedaccesskey", "sharedaccesssignature", "sslpassword",
  ]
  /// Names of parameters of addresses besides.
  private static let parameters = names.union([
    "accesskey", "accesstoken", "apikey", "apitoken", "appkey", "auth", "authkey", "authtoken", "bearer",
    "clientsecret", "idtoken", "jwt", "pass", "passphrase", "privatetoken", "refreshtoken", "secretkey", "sessiontoken",
    "sig", "signature", "token", "xamzcredential", "xamzsecuritytoken", "xamzsignature", "xgoogsignature",
  ])

  private let bytes: [UInt8]
  private var found: [String] = []
  /// Closing quotes that the rest of the text doesn't have.
  private var unclosed: Set<UInt8> = []

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private static func isBlank(_ byte: UInt8) -> Bool { byte <= ASCII.space }

  private mutating func add(_ password: some Sequence<UInt8>) {
    found.append(String(decoding: Array(password), as: UTF8.self))
  }

  /// Adds a part of an address, as it is and decoded.
  private mutating func add(encoded: ArraySlice<UInt8>) {
    add(encoded)
    let text = String(decoding: encoded, as: UTF8.self)
    for decoded in [text.percentDecoded, text.replacing("+", with: " ").percentDecoded] {
      if let decoded { found.append(decoded) }
    }
  }

  // MARK: Addresses

  private mutating func readAddresses() {
    for run in bytes.split(whereSeparator: SecretPasswords.isBlank) {
      var isAddress = false
      for index in run.indices where run[index] == ASCII.colon && run[index...].starts(with: SecretPasswords.sign) {
        isAddress = true
        readAuthority(run[index...].dropFirst(SecretPasswords.sign.count))
      }
      if !isAddress { continue }
      for part in run.split(whereSeparator: { "?&;#\"<>".utf8.contains($0) }) {
        guard let equals = part.firstIndex(of: ASCII.equals),
          SecretPasswords.parameters.contains(SecretPasswords.name(part[..<equals]))
        else { continue }
        let value = part[equals...].dropFirst()
        add(encoded: value)
        // An apostrophe may end the address.
        add(encoded: value.prefix { $0 != ASCII.apostrophe })
      }
    }
  }

  private static let sign = Array("://".utf8)

  private mutating func readAuthority(_ rest: ArraySlice<UInt8>) {
    var authority = rest.prefix { !"/?#".utf8.contains($0) }
    // Quotes end an address, unless they are in its password.
    let short = authority.prefix { !"\"'<>".utf8.contains($0) }
    if short.contains(ASCII.at) { authority = short }
    guard let at = authority.lastIndex(of: ASCII.at), let colon = authority[..<at].firstIndex(of: ASCII.colon) else {
      return
    }
    add(encoded: authority[colon..<at].dropFirst())
  }

  private static func name(_ name: ArraySlice<UInt8>) -> String {
    String(decoding: name.filter { !"_-. ".utf8.contains($0) }, as: UTF8.self).lowercased()
  }

  // MARK: Connection strings

  private mutating func readPairs() {
    var begin = 0
    // The end of the last password; no other password is searched for before it.
    var end = 0
    for index in bytes.indices {
      switch bytes[index] {
      case ASCII.equals where index >= end:
        let key = bytes[begin..<index]
        begin = index + 1
        // The last word before the equals sign, and all of them: `Shared Access Key`.
        let words = key.split(whereSeparator: SecretPasswords.isBlank)
        guard let last = words.last,
          SecretPasswords.names.contains(SecretPasswords.name(last))
            || SecretPasswords.names.contains(SecretPasswords.name(key))
        else { continue }
        end = readPassword(from: index + 1)
      case ASCII.semicolon, ASCII.newline, ASCII.carriageReturn, ASCII.quote, ASCII.apostrophe, ASCII.ampersand,
        ASCII.question, ASCII.comma:
        begin = index + 1
      default: break
      }
    }
  }

  /// Adds the password that begins at an index; returns where it ends at the earliest.
  private mutating func readPassword(from first: Int) -> Int {
    guard let start = bytes[first...].firstIndex(where: { $0 != ASCII.space }), !SecretPasswords.isBlank(bytes[start])
    else { return first }
    let rest = bytes[start...]
    switch bytes[start] {
    case ASCII.quote, ASCII.apostrophe, ASCII.openBrace:
      let close = bytes[start] == ASCII.openBrace ? ASCII.closeBrace : bytes[start]
      if unclosed.contains(close) { return start }
      guard rest.dropFirst().contains(close) else {
        unclosed.insert(close)
        return start
      }
      for (escapes, doubles) in [(false, true), (true, false)] {
        if let text = SecretPasswords.quoted(rest.dropFirst(), close, escapes: escapes, doubles: doubles) { add(text) }
      }
      return start
    default:
      let word = rest.prefix { !SecretPasswords.isBlank($0) && $0 != ASCII.semicolon }
      let part = word.prefix { $0 != ASCII.quote && $0 != ASCII.ampersand }
      add(part)
      add(word)
      let whole = rest.prefix(SecretPasswords.longestQuoted).prefix { $0 != ASCII.semicolon && !Needle.isLineEnd($0) }
      if whole.endIndex < bytes.count, bytes[whole.endIndex] == ASCII.semicolon, whole.count > word.count {
        add(String(decoding: whole, as: UTF8.self).trimmed.utf8)
      }
      return part.endIndex
    }
  }

  /// The text before a closing quote; nil if there is none.
  ///
  /// Quotes of a password are short: at most a few thousand bytes are read, so that many that don't end cost little.
  private static func quoted(_ rest: ArraySlice<UInt8>, _ close: UInt8, escapes: Bool, doubles: Bool) -> [UInt8]? {
    var text: [UInt8] = []
    var rest = rest.prefix(longestQuoted)
    while let byte = rest.popFirst() {
      if escapes, byte == ASCII.backslash, let next = rest.popFirst() {
        text.append(next)
      } else if byte != close {
        text.append(byte)
      } else if doubles, rest.first == close {
        text.append(close)
        rest = rest.dropFirst()
      } else {
        return text
      }
    }
    return nil
  }

  private static let longestQuoted = 4096
}
