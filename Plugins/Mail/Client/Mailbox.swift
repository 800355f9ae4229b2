import ActionKit

/// A mail address with an optional name: `ana@example.org`, `Ana <ana@example.org>`.
///
/// Neither holds characters that end a line or an address, so it can't inject a header.
public struct Mailbox: Sendable, Equatable {
  /// The name that people see.
  public var name: String?
  /// The address itself.
  public var address: String

  /// Reads a mailbox; nil if the text isn't one.
  ///
  /// The part before the `@` may hold only characters that need no quoting. The host must be ASCII: a host with other
  /// letters is written in its `xn--` form.
  public init?(_ text: String) {
    // Line ends and other control characters are refused anywhere in the text.
    guard
      text.unicodeScalars.allSatisfy({
        $0.properties.generalCategory != .control && !"\u{2028}\u{2029}".unicodeScalars.contains($0)
      })
    else { return nil }
    let text = text.trimmed
    guard text.hasSuffix(">") else {
      guard Mailbox.isAddress(text) else { return nil }
      address = text
      return
    }
    guard let open = text.utf8.lastIndex(of: ASCII.less) else { return nil }
    address = String(text[text.utf8.index(after: open)...].dropLast())
    guard Mailbox.isAddress(address) else { return nil }
    var name = String(text[..<open]).trimmed
    if name.utf8.count >= 2, name.hasPrefix("\""), name.hasSuffix("\"") { name = String(name.dropFirst().dropLast()) }
    guard !name.utf8.contains(where: { $0 == ASCII.less || $0 == ASCII.greater }) else { return nil }
    self.name = name.isEmpty ? nil : name
  }

  private static func isAddress(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: ASCII.at, omittingEmptySubsequences: false)
    guard parts.count == 2, (1...64).contains(parts[0].count), (1...253).contains(parts[1].count) else { return false }
    // The characters of an atom (RFC 5322, section 3.2.3), and dots between atoms.
    let isLocal = isDotted(parts[0]) { isAlphanumeric($0) || "!#$%&'*+-/=?^_`{|}~".utf8.contains($0) }
    return isLocal && isDotted(parts[1]) { isAlphanumeric($0) || $0 == ASCII.minus }
  }

  private static func isDotted(_ text: Substring.UTF8View, _ isPart: (UInt8) -> Bool) -> Bool {
    text.split(separator: ASCII.dot, omittingEmptySubsequences: false)
      .allSatisfy { !$0.isEmpty && $0.allSatisfy(isPart) }
  }

  private static func isAlphanumeric(_ octet: UInt8) -> Bool {
    switch octet {
    case ASCII.digits, ASCII.uppercase, ASCII.lowercase: true
    default: false
    }
  }

  /// The host, for ids.
  var host: String { address.utf8.split(separator: ASCII.at).last.map { String($0) ?? "" } ?? "" }
}
