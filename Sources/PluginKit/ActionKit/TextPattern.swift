import Basics

/// A form of texts, for people, editors and the check.
///
/// The check is a function, so that an impossible date is refused and no regular expression library is needed. The
/// regular expression is for editors, and may accept more. The samples keep them consistent: `expectWellFormed` tries
/// every sample on both.
public struct TextPattern: Sendable {
  /// The words after "must be": `a date such as 2026-11-20`.
  public let wanted: String
  /// The form in the regular expressions of JSON Schema, anchored at both ends.
  public let regex: String
  /// Texts of the form.
  public let accepted: [String]
  /// Similar texts that don't have the form.
  public let refused: [String]
  /// Whether a text is of the form.
  public let matches: @Sendable (String) -> Bool

  /// Creates a form.
  public init(
    _ wanted: String, regex: String, accepted: [String], refused: [String],
    matches: @escaping @Sendable (String) -> Bool
  ) {
    self.wanted = wanted
    self.regex = regex
    self.accepted = accepted
    self.refused = refused
    self.matches = matches
  }

  /// A day of the Gregorian calendar, `2026-11-20`.
  public static let date = TextPattern(
    "a date such as 2026-11-20", regex: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", accepted: ["2026-11-20", "2024-02-29"],
    refused: ["2026-02-29", "20.11.2026", "2026-11-20T09:30:00Z", ""]
  ) { Timestamp($0 + "T00:00:00Z") != nil && $0.utf8.count == 10 }

  /// A web address without user and fragment, and without a slash at its end.
  public static let baseURL = TextPattern(
    "an address such as https://example.org/api, without a slash, query or fragment at its end",
    regex: "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+(/[^/?#\\s]+)*$",
    accepted: ["https://example.org", "http://127.0.0.1:8080/api/v1.5", "http://[::1]:80", "HTTP://example.org"],
    refused: [
      "example.org", "ftp://example.org", "https://", "https://example.org/", "https://a@example.org", "http://a b", "",
    ]
  ) { text in
    guard let scheme = ["https://", "http://"].first(where: text.lowercased().hasPrefix) else { return false }
    let parts = text.utf8.dropFirst(scheme.utf8.count).split(separator: ASCII.slash, omittingEmptySubsequences: false)
    let isPlain: (UInt8) -> Bool = { $0 > 0x20 && $0 != 0x7F && !"?#".utf8.contains($0) }
    return parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(isPlain) } && parts.first?.contains(ASCII.at) == false
  }

  /// That many decimal digits, leading zeros included.
  public static func digits(_ count: Int) -> TextPattern {
    let sample = String(repeating: "1234567890", count: count / 10 + 1).prefix(max(count, 0))
    return TextPattern(
      "\(counted(count, "digit"))", regex: "^[0-9]{\(count)}$", accepted: [String(sample)],
      refused: [String(sample) + "0", String(sample.dropLast()) + "x"]
    ) { $0.utf8.count == count && $0.utf8.allSatisfy { ASCII.digits.contains($0) } }
  }
}
