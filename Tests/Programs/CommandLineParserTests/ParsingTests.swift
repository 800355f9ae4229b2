import Basics
import CommandLineParser
import Testing

@Suite struct ParsingTests {
  private func parsed(_ words: String...) throws -> Parsed {
    guard case .run(let parsed) = try program.parse(words) else {
      throw UsageError("a help page", help: "")
    }
    return parsed
  }

  @Test func `reads options in every spelling and place`() throws {
    let parsed = try parsed(
      "-qv", "--config", "a.yaml", "run", "-v", "-ia=1", "--input=b=2", "x.yaml", "--input", "c", "-i", "-5",
      "--timeout=1h30m", "--tries", "3", "--at", "2026-11-20T09:30:00Z", "--format", "json")
    #expect(parsed.command == ["run"])
    #expect(parsed["recipe"].text == "x.yaml")
    #expect(parsed["input"].texts == ["a=1", "b=2", "c", "-5"])
    #expect(parsed["verbose"].count == 2)
    #expect(parsed["quiet"].isGiven)
    #expect(parsed["config"].text == "a.yaml")
    #expect(parsed["timeout"].duration == .seconds(5400))
    #expect(parsed["tries"].int == 3)
    #expect(parsed["at"].timestamp == Timestamp("2026-11-20T09:30:00Z"))
    #expect(parsed["format"].text == "json")
  }

  @Test func `knows what was not given`() throws {
    let parsed = try parsed("check")
    #expect(parsed["recipe"].texts == [])
    #expect(parsed["quiet"].isGiven == false)
    #expect(parsed["config"].text == nil)
  }

  @Test func `takes everything after two dashes for arguments`() throws {
    #expect(try parsed("check", "--", "--config", "-q", "--")["recipe"].texts == ["--config", "-q", "--"])
    #expect(try parsed("check", "-", "-12.5")["recipe"].texts == ["-", "-12.5"])
  }

  @Test func `falls back to the default command`() throws {
    #expect(try parsed("runs").command == ["runs", "list"])
    #expect(try parsed("runs", "-q").command == ["runs", "list"])
    #expect(try parsed("runs", "averages")["recipe"].text == "averages")
    #expect(try parsed("runs", "show", "r1").command == ["runs", "show"])
  }

  @Test(arguments: [
    (["rnu"], "'errand' has no command 'rnu'; did you mean 'run'?"),
    (["deploy"], "'errand' has no command 'deploy'; there are: run, check, runs or serve"),
    (["-q"], "'errand' needs a command: run, check, runs or serve"),
    (["run"], "'errand run' needs RECIPE: The recipe's file."),
    (["runs", "show"], "'errand runs show' needs RUN: The run's id."),
    (["run", "a", "b"], "unexpected argument 'b'"),
    (["run", "a", "x=1"], "unexpected argument 'x=1'; to set an input, write -i x=1"),
    (["serve", "now"], "unexpected argument 'now'"),
    (["run", "a", "--inptu", "x=1"], "'errand run' has no option '--inptu'; did you mean '--input'?"),
    (["run", "a", "--n", "1"], "'errand run' has no option '--n'; to set an input, write -i n=1"),
    (["run", "a", "--n=1"], "'errand run' has no option '--n'; to set an input, write -i n=1"),
    (["run", "a", "--n"], "'errand run' has no option '--n'; to set an input, write -i n=…"),
    (["check", "--format", "json"], "'errand check' has no option '--format'"),
    (["--input", "x=1", "run", "a"], "'errand' has no option '--input'; it is one of 'errand run'"),
    (["check", "-qx"], "'errand check' has no option '-x'"),
    (["run", "a", "--input"], "'--input' needs a value: KEY=VALUE"),
    (["run", "a", "-i", "--format", "json"], "'-i' needs a value: KEY=VALUE"),
    (["run", "a", "--quiet=yes"], "'--quiet' takes no value"),
    (["--config", "a", "run", "--config=b", "c"], "'--config' is given twice"),
    (["run", "a", "--format", "jsno"], "'--format' must be text or json, but is 'jsno'; did you mean 'json'?"),
    (["run", "a", "--timeout", "5"], "'--timeout' must be a length of time such as 90s or 1h30m, but is '5'"),
    (["run", "a", "--tries=x"], "'--tries' must be a whole number, but is 'x'"),
    (["run", "a", "--tries=0"], "'--tries' must be at least 1, but is 0"),
    (["run", "a", "--tries=11"], "'--tries' must be at most 10, but is 11"),
    (["run", "a", "--at", "noon"], "'--at' must be an instant such as 2026-11-20T09:30:00Z, but is 'noon'"),
    (["run", ""], "'RECIPE' must be a path, but is empty"),
  ])
  func `says what it does not understand`(_ words: [String], _ message: String) {
    do {
      _ = try program.parse(words)
      Issue.record("understood")
    } catch {
      #expect(error.message == message)
    }
  }

  /// A program whose command has a default with options, and that knows other programs' words.
  private static let shelf = Command(
    "shelf", "Keeps books.",
    subcommands: [
      Command(
        "books", "Shows books.",
        subcommands: [
          Command(
            "list", "Lists books.", arguments: [.optional("author", "Only this author's.")],
            options: [
              .option("limit", short: "n", "COUNT", "At most that many.", .int(1...100)), .flag("json", "Prints JSON."),
            ]),
          Command(
            "show", "Shows a book.", arguments: [.required("book", "Its title.")],
            options: [.flag("json", "Prints JSON.")]),
        ], defaultSubcommand: "list")
    ],
    otherWords: [
      .init("ls dir", "books"), .init("cat", "books show"), .init("rm", "books show", "no book is ever removed"),
    ])

  @Test(arguments: [
    (["books", "--json"], ["books", "list"]), (["books", "-n5", "Woolf"], ["books", "list"]),
    (["books", "--limit=5"], ["books", "list"]), (["books", "--json", "show", "Orlando"], ["books", "show"]),
  ])
  func `takes the options of the default command without its name`(_ words: [String], _ command: [String]) throws {
    guard case .run(let parsed) = try Self.shelf.parse(words) else { throw UsageError("a help page", help: "") }
    #expect(parsed.command == command)
    #expect(parsed["json"].isGiven == words.contains("--json"))
    if command == ["books", "list"] { #expect(parsed["limit"].int == (words.contains("--json") ? nil : 5)) }
  }

  @Test(arguments: [
    (["books", "-n", "x"], "'-n' must be a whole number, but is 'x'"),
    (["books", "-n", "5", "show", "Orlando"], "'shelf books show' has no option '-n'"),
    (["books", "--jsno"], "'shelf books' has no option '--jsno'; did you mean '--json'?"),
    (["ls"], "'shelf' has no command 'ls'; write: shelf books"),
    (["dir", "Woolf"], "'shelf' has no command 'dir'; write: shelf books Woolf"),
    (["cat"], "'shelf' has no command 'cat'; write: shelf books show BOOK"),
    (
      ["cat", "To the Lighthouse", "--json"],
      "'shelf' has no command 'cat'; write: shelf books show 'To the Lighthouse' --json"
    ),
    (["rm", "Orlando"], "'shelf' has no command 'rm'; write: shelf books show Orlando (no book is ever removed)"),
  ])
  func `names what to type instead of other programs' words`(_ words: [String], _ message: String) {
    #expect(
      throws: UsageError(
        message,
        help: words[0] == "books" && words.count > 3
          ? "shelf books show --help" : words[0] == "books" ? "shelf books --help" : "shelf --help")
    ) {
      try Self.shelf.parse(words)
    }
    #expect(Self.shelf.faults() == [])
  }

  @Test func `says where to read more`() {
    #expect(throws: UsageError("unexpected argument 'b'", help: "errand run --help")) {
      try program.parse(["run", "a", "b"])
    }
    #expect(UsageError("no", help: "errand --help").description == "error: no\nSee 'errand --help'.")
  }

  @Test func `finds its description sound`() {
    #expect(program.faults() == [])
  }

  @Test func `finds what is wrong in a description`() {
    let unsound = Command(
      "x", "Does it.",
      arguments: [.optional("a", "One."), .required("b", "Two")],
      options: [.flag("b", "Three."), .flag("help", short: "q", "Four."), .flag("c", short: "q", "Five.")],
      examples: [.init("one two three", "Fails.")],
      otherWords: [.init("un deux", "one"), .init("un", "--b")])
    #expect(
      unsound.faults() == [
        "'x' has two options '--help'", "'x' has two options '-q'", "'x' has two meanings of 'b'",
        "'x' has two meanings of 'help'", "'x' has arguments after 'a', which may take any number of words",
        "'x' has two meanings of 'un'", "'x' sends 'un' to 'one', which isn't a command",
        "'x': 'Two' isn't a sentence", "'x', example 'one two three': unexpected argument 'three'",
      ])
  }
}
