import Testing

@testable import errand_dev

@Suite struct WordCountTests {
  /// The names of the patterns that a line of prose has.
  private func names(of line: String) -> [String] {
    WordCount.patterns.filter { !$0.lines(of: line).isEmpty }.map(\.name)
  }

  @Test(arguments: [
    ("Has the agent look again.", ["Has, Had"]), ("It is late. Had it begun, it ends.", ["Has, Had"]),
    ("It has a name.", []), ("Of the runs, the first.", ["Of"]), ("Of course it is.", []), ("Made of runs.", []),
    ("What is due.", ["what"]), ("Lists of what is due.", ["what"]), ("It says what is due.", []),
    ("The key by which it is found.", ["by which"]), ("On which it stands", ["by which", "stand"]),
    ("Those who ask.", ["those who"]), ("as long as that of a lease", ["those who"]),
    ("It carries the run on.", ["carry on, take up"]), ("It carries on.", ["carry on, take up"]),
    ("It takes its runs up.", ["carry on, take up"]), ("It carries the whole run on.", []),
    ("Runs are taken up again.", ["carry on, take up"]),
    ("It stands for a value, and a stand-in stands in for it.", []), ("A run that stood still", ["stand"]),
    ("It goes on.", ["go on"]), ("It continues.", []),
  ])
  func `phrases are found`(_ line: String, _ found: [String]) { #expect(names(of: line) == found, "\(line)") }

  @Test func `a line counts once, and lines by their place`() throws {
    let what = try #require(WordCount.patterns.first { $0.name == "what" })
    #expect(what.lines(of: "one\nWhat of what, by what?\n\nand what\nWhat") == [1, 3, 4])
  }

  @Test func `only comments and prose are counted`() {
    #expect(WordCount.comments(ofMakefile: "# What\nall: # by which\n\techo what\n") == ["What", "", "", ""])
    #expect(
      WordCount.comments(of: "let a = \"// What\" // of what\n/* By\n   which */ let b = 1\n/// Adds.\n") == [
        "of what", "By", "which", "Adds.", "",
      ])
    #expect(
      WordCount.prose(ofPage: "# What\n\nSee `what` here.\n```\nwhat\n```\n* What\n") == [
        "What", "", "See x here.", "", "", "", "What", "",
      ])
  }
}
