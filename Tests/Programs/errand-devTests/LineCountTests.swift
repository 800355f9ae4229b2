import Testing

@testable import errand_dev

@Suite struct LineCountTests {
  @Test(arguments: [
    ("", 0), ("let a = 1\n", 1), ("\n  \n// a\n  /// b\n", 0), ("let a = 1 // one\n", 1), ("/* a\nb */ let c = 1\n", 1),
    ("/* a /* b */\nc */\nlet d = 1\n", 1), ("let a = \"\"\"\n  // no comment\n\n  \"\"\"\n", 4),
    ("let a = \"/* no comment\"\nlet b = 2\n", 2), ("/*\n*/\n", 0),
    ("f(\"x\") + \"\"\"\n  // text\n  \"\"\"\n// none\n", 3), ("let a = #\"\"//\"#\n// none\n", 1),
    ("let a = #\"\"\"\n  // \"\"\" text\n  \"\"\"#\n// none\n", 3),
  ])
  func `lines of code are counted, and neither blanks nor comments`(_ text: String, _ count: Int) {
    #expect(LineCount.lines(of: text) == count, "\(text)")
  }
}
