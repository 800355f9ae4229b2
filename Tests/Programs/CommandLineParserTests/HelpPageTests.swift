import CommandLineParser
import Testing

@Suite struct HelpPageTests {
  static let run = """
    Runs a recipe.

    Usage: errand run [OPTIONS] RECIPE

    Arguments:
      RECIPE  The recipe's file.

    Options:
      -i, --input KEY=VALUE  Sets an input. May be given more than once.
          --format FORMAT    How the result is written. One of text, json.
          --timeout SPAN     How long it may take.
          --tries COUNT      How often it is tried.
          --at INSTANT       When it starts.
      -h, --help             Shows this page.

    Options of every command:
          --config FILE  Reads the configuration from this file.
      -q, --quiet        Says less.
      -v, --verbose      Says more.

    Examples:
      errand run averages.yaml -i markbook=1207731 -i 'into=The average'
          Runs it with two inputs.
    """

  static let whole = """
    Runs recipes.

    Usage: errand COMMAND [OPTIONS]

    Commands:
      run    Runs a recipe.
      check  Checks recipes.
      runs   Shows and steers runs.
      serve  Runs until it's stopped.

    Options:
          --config FILE  Reads the configuration from this file.
      -q, --quiet        Says less.
      -v, --verbose      Says more.
      -h, --help         Shows this page.

    'errand COMMAND --help' explains a command.
    """

  @Test(arguments: [
    ([], whole), (["--help"], whole), (["-h"], whole), (["help"], whole), (["help", "run"], run),
    (["run", "--help"], run), (["run", "a", "-qh", "b", "c"], run), (["--help", "run"], run),
  ])
  func `shows the page of a command`(_ words: [String], _ page: String) throws {
    guard case .help(let text) = try program.parse(words) else {
      Issue.record("no page")
      return
    }
    #expect(text == page)
  }

  @Test func `names the default command`() {
    #expect(program.helpPage(["runs"])?.contains("Usage: errand runs [COMMAND] [OPTIONS]\n") == true)
    #expect(program.helpPage(["runs"])?.contains("  list  Lists runs. The default.\n") == true)
    #expect(program.helpPage(["nothing"]) == nil)
  }

  @Test func `wraps long sentences and gives wide names a line of their own`() {
    let sentence = (1...30).map { "word\($0)" }.joined(separator: " ") + "."
    let page = Command(
      "x", "Does it.", arguments: [.repeated("a", sentence, atLeast: 1)],
      options: [.option("a-very-long-name-indeed", "ITS-LONG-VALUE-NAME", "Short.")]
    ).helpPage()
    #expect(
      page == """
        Does it.

        Usage: x [OPTIONS] A…

        Arguments:
          A…  word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14
              word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27
              word28 word29 word30.

        Options:
              --a-very-long-name-indeed ITS-LONG-VALUE-NAME
                                    Short.
          -h, --help                Shows this page.
        """)
  }

  @Test(arguments: [["help", "rnu"], ["help", "--nothing"]])
  func `refuses pages there are not`(_ words: [String]) {
    #expect(throws: UsageError.self) { try program.parse(words) }
  }
}
