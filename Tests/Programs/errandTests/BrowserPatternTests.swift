import Testing

@testable import AgentPages

/// Patterns of inputs as browsers check them.
@Suite struct BrowserPatternTests {
  /// Patterns of RE2, each with the pattern of a browser.
  private static let translated: [(String, String)] = [
    ("[A-Z][0-9]+", "[A-Z][0-9]+"),
    ("[A-Z]{2}-\\d{3,5}", "[A-Z]{2}-\\d{3,5}"),
    // Other meanings in browsers: `.` and `\s`.
    ("a.b", "a[^\\n]b"),
    ("[^\\s]+@[^\\s]+\\.[a-z]{2,}", "[^\\t\\n\\f\\r ]+@[^\\t\\n\\f\\r ]+\\.[a-z]{2,}"),
    ("\\S+\\s*", "[^\\t\\n\\f\\r ]+[\\t\\n\\f\\r ]*"),
    ("(?P<year>\\d{4})-(?:\\d\\d)-(?<day>..?)", "(?:\\d{4})-(?:\\d\\d)-(?:[^\\n][^\\n]?)"),
    // A brace that bounds nothing, and brackets that close nothing.
    ("a{,3}b{c]", "a\\{,3\\}b\\{c\\]"),
    ("a{2}?b*?(c|)+?", "a{2}?b*?(?:c|)+?"),
    // Characters that the flag `v` gives a meaning in sets.
    ("[]a-]", "[\\x5Da\\x2D]"),
    ("[a&&b!!(|)/]", "[a\\x26\\x26b\\x21\\x21\\x28\\x7C\\x29\\x2F]"),
    ("[[:alpha:]_-]+", "[A-Za-z_\\x2D]+"),
    ("[\\]\\[\\\\]\\-\\_", "[\\x5D\\x5B\\x5C]-_"),
    ("\\p{L}+ \\pN\\P{Lu}\\p{Greek}", "\\p{L}+ \\p{N}\\P{Lu}\\p{Script=Greek}"),
    ("\\x41\\x{1F600}[\\x41-\\x{5A}]\\a", "A😀[A-Z]\\x07"),
    ("\\Ax\\bé/µ\\z", "^x\\bé\\/µ$"),
    ("", ""),
  ]

  @Test func `a pattern is written as browsers read it`() {
    for (pattern, expected) in Self.translated {
      #expect(BrowserPattern.text(pattern) == expected, "\(pattern)")
    }
  }

  @Test(arguments: [
    "(?i)abc", "(?s:.)", "^*", "a**", "[[:^alpha:]]", "\\p{Klingon}", "\\pC", "\\Qa.b\\E", "\\C", "\\1", "[\\S]",
    "(?=a)",
    "(?<!a)b", "(", "a)", "[a", "[z-a]", "\\", "\\x{110000}", "\\xZZ", String(repeating: "a", count: 1_001),
  ])
  func `a pattern that has no such form is left to the agent`(_ pattern: String) {
    #expect(BrowserPattern.text(pattern) == nil)
  }
}
