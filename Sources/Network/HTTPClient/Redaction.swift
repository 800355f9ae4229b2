import Basics
import HTTPTypes

/// Removes from a URL what must not be shown: user information, the values of secret parameters, the fragment.
///
/// It works on the text, because an invalid URL is shown too, in the message that says so. Ambiguous parts are hidden:
/// in a text that isn't a URL, everything up to the last `@`; in a query with `;`, which some servers read as a
/// separator, everything from a secret name on.
enum Redaction {
  /// The mark as people see it.
  static let mark = MaskedText.mark
  /// The mark in an address that has to remain valid.
  static let plainMark = "***"

  static func url(_ text: String, hiding secrets: Set<String>, by hidden: String = mark) -> String {
    let isSound = HTTPURL(text) != nil
    let bytes = text.utf8.prefix { $0 != ASCII.hash }
    var location = Substring(isSound ? bytes.prefix { $0 != ASCII.question } : bytes)
    // After the location of a sound URL, `@` is an ordinary character.
    let authorityEnd = isSound ? endOfAuthority(location) : location.endIndex
    if let at = location[..<authorityEnd].utf8.lastIndex(of: ASCII.at) {
      let scheme = String(Substring(location.utf8.prefix { $0 != ASCII.colon }))
      let hasScheme = ["http", "https"].contains(scheme.lowercasedASCII)
      location = "\(hasScheme ? "\(scheme)://" : "")\(hidden)\(location[at...])"
    }
    let query: Substring.UTF8View
    if isSound {
      query = bytes.dropFirst(bytes.prefix { $0 != ASCII.question }.count)
    } else {
      let displayed = location.utf8.prefix { $0 != ASCII.question }
      query = location.utf8.dropFirst(displayed.count)
      location = Substring(displayed)
    }
    guard let mark = query.first else { return String(location) }
    return "\(location)\(UnicodeScalar(mark))\(self.query(Substring(query.dropFirst()), hiding: secrets, by: hidden))"
  }

  private static func endOfAuthority(_ location: Substring) -> Substring.Index {
    guard let colon = location.utf8.firstIndex(of: ASCII.colon) else { return location.endIndex }
    return location[colon...].dropFirst(3).utf8.firstIndex(of: ASCII.slash) ?? location.endIndex
  }

  private static func query(_ text: Substring, hiding secrets: Set<String>, by hidden: String) -> String {
    let names = Set(secrets.map(\.lowercasedASCII))
    guard !names.isEmpty else { return String(text) }
    return text.utf8.split(separator: ASCII.ampersand, omittingEmptySubsequences: false).map { item in
      var displayed: [Substring] = []
      for piece in item.split(separator: ASCII.semicolon, omittingEmptySubsequences: false) {
        let name = Substring(piece.prefix { $0 != ASCII.equals })
        guard !names.contains(PercentEncoding.decode(name, plusIsSpace: true).lowercasedASCII) else {
          displayed.append("\(name)=\(hidden)")
          break
        }
        displayed.append(Substring(piece))
      }
      return displayed.joined(separator: ";")
    }.joined(separator: "&")
  }
}
