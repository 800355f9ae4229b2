import Testing

@testable import Basics

@Suite struct TextSearchTests {
  @Test(arguments: [
    ("", "", true), ("a", "", true), ("", "a", false), ("abc", "bc", true), ("abc", "abcd", false),
    ("aab", "ab", true), ("e\u{301}", "\u{E9}", false), ("Prüfung", "üf", true),
  ])
  func `finds parts scalar by scalar`(_ text: String, _ part: String, _ isThere: Bool) {
    #expect(text.contains(part) == isThere)
    #expect(Substring(text).contains(part) == isThere)
  }

  @Test(arguments: [
    ("a-b-c", "-", "", "abc"), ("aaa", "aa", "b", "ba"), ("aaa", "a", "aa", "aaaaaa"), ("abc", "", "x", "abc"),
    ("é", "e", "x", "é"), ("x", "x", "", ""),
  ])
  func `replaces every occurrence from the left`(_ text: String, _ part: String, _ other: String, _ result: String) {
    #expect(text.replacing(part, with: other) == result)
    #expect(Substring(text).replacing(part, with: other) == result)
  }
}
