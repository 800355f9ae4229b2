import Testing

@testable import CommandLineParser

@Suite struct CompletionsTests {
  /// The answer to a script, of a program that lists nothing but some names.
  private func answer(_ shell: Shell, _ given: [String], _ listed: [Candidate] = []) -> String {
    let asked = ShellCompletion(shell, given)
    return asked.answer(listed, at: UnfinishedLine(asked.words, of: program))
      .split(separator: "\n", omittingEmptySubsequences: false).dropLast().joined(separator: " | ")
  }

  @Test(arguments: [
    (["ru"], "words | run | runs"), (["runs", "s"], "words | show"), (["runs", "list", "x", ""], "words | --config"),
    (["runs", ""], "words | list | show"), (["--config", "runs", "se"], "words | serve"),
    (["run", "--f"], "words | --format"), (["run", "a.yaml", "--format", ""], "words | text | json"),
    (["run", "--format", "j"], "words | json"), (["run", "--format=j"], "words | json"),
    (["run", "-i", ""], "words"), (["run", "-qi", ""], "words"), (["run", "--tries", ""], "words"),
    (["run", ""], "files"), (["run", "-i", "a=1", "re"], "files"), (["run", "a.yaml", ""], "words | --input"),
    (["check", "one.yaml", "tw"], "files"), (["--config", "on"], "files"), (["--config=on"], "files"),
    (["run", "--", "--f"], "files"), (["serve", "o"], "words"), (["nonsense", "r"], "words"),
    (["--nonsense", "se"], "words | serve"), (["runs", "sh", "--qui"], "words | --quiet"),
    ([""], "words | run | check"),
  ])
  func `offers what may follow`(_ words: [String], _ offers: String) {
    let line = "errand " + words.joined(separator: " ")
    #expect(answer(.bash, [" \"'=:", line]).hasPrefix(offers))
    #expect(offers.contains(" | ") || answer(.bash, [" \"'=:", line]) == offers)
  }

  @Test func `options that were given are offered again only if they repeat`() {
    #expect(
      answer(.fish, ["run", "--format", "text", "-i", "a=1", "--"])
        == "words | --input\tSets an input. | --timeout\tHow long it may take. | --tries\tHow often it is tried."
        + " | --at\tWhen it starts. | --config\tReads the configuration from this file. | --quiet\tSays less."
        + " | --verbose\tSays more. | --help\tShows this page.")
  }

  @Test func `zsh and fish get all words, with what they are`() {
    let listed = [Candidate("a:b\\c", "A: note."), Candidate("plain"), Candidate("two\nlines")]
    #expect(answer(.zsh, ["runs", "show", "x"], listed) == #"words | a\:b\\c:A: note. | plain"#)
    #expect(answer(.fish, ["runs", "show", "x"], listed) == "words | a:b\\c\tA: note. | plain")
    #expect(answer(.fish, ["run", "-imo"], [Candidate("month=", "Which.", isOpen: true)]) == "open | -imonth=\tWhich.")
  }

  /// The text that replaces the end of bash's line.
  ///
  /// Bash splits the line into words at these characters.
  @Test(arguments: [
    ("errand run it", "it's $(x) a;b:c=d!", #"it\'s\ \$\(x\)\ a\;b:c=d\!"#),
    ("errand run 'it", "it's $(x)", #"it'\''s $(x)"#),
    (#"errand run "it"#, "it's $(x) `y` \"z\" \\", #"it's \$(x) \`y\` \"z\" \\"#),
    (#"errand run "it"#, "it!", nil),
    ("errand run it:s", "it:so", "so"), ("errand run it\\'s:o", "it's:one two", #"one\ two"#),
    ("errand run -i a=", "a=b", "b"), ("errand run -i 'a=", "a=b c", "a=b c"), ("errand run -i a='b", "a=b c", "b c"),
    (#"errand run -i "a="b"#, "a=b c", #"a=b\ c"#), ("errand run -i a='b'c", "a=bc d", #"bc\ d"#),
    ("errand run --input=a=", "a=b", "b"), ("errand run put\\[3", "put[3]/write", #"put\[3\]/write"#),
  ])
  func `inserts a word into a line of bash`(_ line: String, _ word: String, _ insertion: String?) {
    let words = answer(.bash, [" \t\n\"'><=;|&(:", line], [Candidate(word)])
    #expect(words == "words" + (insertion.map { " | \($0)" } ?? ""))
  }

  @Test(arguments: [
    ("errand runs show ", ["runs", "show", ""]), ("errand  'a b'\"c\"\\ d", ["a bc d"]), ("e x '' y", ["x", "", "y"]),
    ("errand", []), ("errand ", [""]), ("", []), ("errand a'b", ["ab"]), ("errand a\\", ["a"]),
  ])
  func `splits a line of bash`(_ line: String, _ words: [String]) {
    #expect(ShellCompletion(.bash, ["", line]).words == words)
  }

  @Test(arguments: Shell.allCases) func `the script hands over what was typed`(_ shell: Shell) {
    let script = program.completions(for: shell)
    #expect(script.contains("command errand completions \(shell.rawValue) -- "))
    #expect(!script.contains("eval "))
  }
}
