import Basics
import Testing

@Suite struct WildcardTests {
  @Test(arguments: [
    ("*", "anything", true), ("a*c", "abbc", true), ("a*c", "abb", false), ("**", "", true), ("", "", true),
    ("*b*", "abc", true), ("a", "ab", false), ("a*a*a", "aa", false), ("*ab", "aab", true), ("a*", ".a", false),
  ])
  func `a star stands for any text`(_ pattern: String, _ text: String, _ isMatch: Bool) {
    #expect(text.isOfForm(pattern) == isMatch)
  }
}
