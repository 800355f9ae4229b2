import Basics
import RunState

// Proofs of a form that need a signature alone, so that nothing is kept for a page that is looked at:
//
//   a key    time "." number "." code     made with each page, good for a day, and used once
//   a link   end "." uses "." number "." code     made by `errand form link`, for a form that only links open
//
// Times are seconds since 1970, numbers are random. The code is the beginning of an HMAC of the rest, of the form's
// path and of the kind, by the key of the state's links (`LinkKey`). So both hold after a restart and on every machine of
// a shared state, and end when all links are ended.

/// The key of a page with a form.
struct FormKey: Sendable, Equatable {
  /// The number, which is the end of the delivery's id.
  var number: String

  /// How long a page may be filled in.
  static let lifetime = TimeSpan.seconds(86_400)

  static func text(for path: String, at now: Timestamp, by key: LinkKey) throws(StateError) -> String {
    try FormTicket.text("key", path, ["\(now.seconds)", [UInt8].random(8).hexadecimal], by: key)
  }

  /// The key in a text; nil if it isn't one, or is too old.
  init?(_ text: String, for path: String, at now: Timestamp, by key: LinkKey) throws(StateError) {
    guard let parts = try FormTicket.parts(of: text, 2, "key", path, by: key), let seconds = Int(parts[0]),
      let made = Timestamp(seconds: seconds), let age = now.span(since: made),
      // Another machine's clock may be ahead.
      age.magnitude < FormKey.lifetime
    else { return nil }
    number = parts[1]
  }
}

/// A link that lets its owner send a form.
struct FormLink: Sendable, Equatable {
  var number: String
  var uses: Int
  var until: Timestamp

  static func text(
    for path: String, uses: Int, until: Timestamp, by key: LinkKey
  ) throws(StateError) -> String {
    try FormTicket.text("link", path, ["\(until.seconds)", "\(uses)", [UInt8].random(12).hexadecimal], by: key)
  }

  /// The link in a text; nil if it isn't one, or has ended.
  init?(_ text: String, for path: String, at now: Timestamp, by key: LinkKey) throws(StateError) {
    guard let parts = try FormTicket.parts(of: text, 3, "link", path, by: key), let seconds = Int(parts[0]),
      let until = Timestamp(seconds: seconds), until > now, let uses = Int(parts[1])
    else { return nil }
    (number, self.uses, self.until) = (parts[2], uses, until)
  }

  /// The key that the state keeps for one use of the link.
  func key(ofUse use: Int, of path: String) throws(StateError) -> String {
    try DeliveryRecord.key(path, "link", Array("\(number).\(use)".utf8))
  }
}

private enum FormTicket {
  private static let mostBytes = 200
  /// Half of an HMAC.
  private static let codeBytes = 16

  static func text(
    _ kind: String, _ path: String, _ parts: [String], by key: LinkKey
  ) throws(StateError) -> String {
    (parts + [try code(kind, path, parts, key)]).joined(separator: ".")
  }

  /// The parts of a text whose code is right; nil if it isn't one.
  static func parts(
    of text: String, _ count: Int, _ kind: String, _ path: String, by key: LinkKey
  ) throws(StateError) -> [String]? {
    guard text.utf8.count <= mostBytes else { return nil }
    var parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map {
      String(Substring($0))
    }
    guard parts.count == count + 1, let given = parts.popLast() else { return nil }
    let code = try code(kind, path, parts, key)
    return MessageAuthentication.areSame(Array(code.utf8), Array(given.utf8)) ? parts : nil
  }

  private static func code(
    _ kind: String, _ path: String, _ parts: [String], _ key: LinkKey
  ) throws(StateError) -> String {
    let code = try key.code(of: "form \(kind)\0\(path)\0\(parts.joined(separator: "."))")
    return Array(code.prefix(codeBytes)).hexadecimal
  }
}
