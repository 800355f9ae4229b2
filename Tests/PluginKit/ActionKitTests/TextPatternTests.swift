import ActionKit
import Testing

@Suite struct TextPatternTests {
  @Test(
    arguments: [
      ("https://example.org/api/v1.5", true), ("http://127.0.0.1:8080", true), ("https://example.org/", false),
      ("https://example.org?x", false), ("https://u:p@example.org", false), ("HTTPS://example.org", true),
      ("https://exa mple.org", false), ("https://a//b", false), ("https://a\u{7F}", false), ("", false),
    ])
  func `an address is one that paths can be added to`(text: String, isOne: Bool) {
    #expect(TextPattern.baseURL.matches(text) == isOne)
  }

  @Test(arguments: [("0123456", true), ("123456", false), ("12345678", false), ("123456٣", false)])
  func `digits are ASCII and counted`(text: String, isOne: Bool) {
    #expect(TextPattern.digits(7).matches(text) == isOne)
  }
}
