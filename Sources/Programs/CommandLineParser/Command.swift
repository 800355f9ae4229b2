// A command line is described once, as a tree of commands; parsing, help pages, suggestions and completion in
// three shells are all read from that description.
//
// The grammar: `program [command…] [option…] [argument…]`, options and arguments in any order. An option is `--name`,
// `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, or several flags in one, `-qv`. After `--` everything is an
// argument; `-` alone and negative numbers are arguments, too. A command accepts its own options and the options
// of the commands above it, before and after its name. `--help`, `-h` and `help COMMAND…` need no declaration.

/// A command of a program, or the program itself.
package struct Command: Sendable {
  /// The word that calls it.
  package var name: String
  /// One sentence that says what it does.
  package var summary: String
  /// The arguments.
  package var arguments: [Argument]
  /// Its options, which the commands below it accept as well.
  package var options: [Option]
  /// Useful calls to copy.
  package var examples: [Example]
  /// The commands below it.
  package var subcommands: [Command]
  /// The command below it that runs when none is named; its options may be given without its name.
  package var defaultSubcommand: String?
  /// The words that users of other programs type for its subcommands.
  package var otherWords: [OtherWords]

  /// Describes a command.
  package init(
    _ name: String, _ summary: String, arguments: [Argument] = [], options: [Option] = [], examples: [Example] = [],
    subcommands: [Command] = [], defaultSubcommand: String? = nil, otherWords: [OtherWords] = []
  ) {
    self.name = name
    self.summary = summary
    self.arguments = arguments
    self.options = options
    self.examples = examples
    self.subcommands = subcommands
    self.defaultSubcommand = defaultSubcommand
    self.otherWords = otherWords
  }

  /// The form of a value, checked when the command line is parsed.
  package enum Form: Sendable {
    /// Any text.
    case text
    /// A whole number in a range.
    case int(ClosedRange<Int>)
    /// A length of time, such as `90s` or `1h30m`.
    case duration
    /// An instant in RFC 3339.
    case timestamp
    /// One of a few words.
    case choice([String])
    /// The name of something that there is, or the beginning of one; any text is taken.
    case name(Named)
    /// The path of a file; the shell completes it.
    case file
    /// The path of a folder; the shell completes it.
    case folder
  }

  /// A word after the command that isn't an option.
  package struct Argument: Sendable {
    /// The name that the program reads it by; pages show it in capitals.
    package var name: String
    /// The form of its value.
    package var form: Form
    /// One sentence.
    package var summary: String
    /// How many words it takes.
    package var count: ClosedRange<Int>
    /// Whether it may be a command with its own options, after `--`.
    package var mayBeCommand = false

    /// One required word.
    package static func required(_ name: String, _ summary: String, _ form: Form = .text) -> Argument {
      Argument(name: name, form: form, summary: summary, count: 1...1)
    }

    /// One optional word.
    package static func optional(_ name: String, _ summary: String, _ form: Form = .text) -> Argument {
      Argument(name: name, form: form, summary: summary, count: 0...1)
    }

    /// Any number of words.
    package static func repeated(
      _ name: String, _ summary: String, _ form: Form = .text, atLeast least: Int = 0, mayBeCommand: Bool = false
    ) -> Argument {
      Argument(
        name: name, form: form, summary: summary, count: least...Int.max, mayBeCommand: mayBeCommand)
    }
  }

  /// A word that begins with `-`.
  package struct Option: Sendable {
    /// The long name without the two dashes; the program reads the option by it.
    package var name: String
    /// The letter after one dash, if there is a short name.
    package var short: Character?
    /// The value's name on pages, and its form; nil for a flag.
    package var value: (name: String, form: Form)?
    /// One sentence.
    package var summary: String
    /// Whether it may be given more than once.
    package var repeats: Bool

    /// An option without a value, which may be given more than once and is counted.
    package static func flag(_ name: String, short: Character? = nil, _ summary: String) -> Option {
      Option(name: name, short: short, value: nil, summary: summary, repeats: true)
    }

    /// An option with a value.
    package static func option(
      _ name: String, short: Character? = nil, _ valueName: String, _ summary: String, _ form: Form = .text,
      repeats: Bool = false
    ) -> Option {
      Option(name: name, short: short, value: (valueName, form), summary: summary, repeats: repeats)
    }
  }

  /// Words that other programs have for a command, and the command to type here.
  package struct OtherWords: Sendable {
    /// The words.
    package var words: [String]
    /// The command's words after the program's name, or the program's option.
    package var call: String
    /// A remark for the user, as a clause.
    package var remark: String?

    /// Creates an entry; the words have blanks between them.
    package init(_ words: String, _ call: String, _ remark: String? = nil) {
      self.words = words.split(separator: " ").map(String.init)
      self.call = call
      self.remark = remark
    }
  }

  /// A useful call to copy.
  package struct Example: Sendable {
    /// The words after the program's name, as typed; words with blanks in single quotes.
    package var call: String
    /// One sentence about its effect.
    package var summary: String

    /// Creates an example.
    package init(_ call: String, _ summary: String) {
      self.call = call
      self.summary = summary
    }
  }
}

extension Command {
  static let help = Option.flag("help", short: "h", "Shows this page.")

  func subcommand(_ name: String) -> Command? { subcommands.first { $0.name == name } }

  /// Faults in the description that would confuse the program or its users; a test expects none.
  package func faults() -> [String] {
    var faults: [String] = []
    for route in Route(self).all() {
      let (path, command) = (route.text, route.command)
      let options = route.options + [Command.help]
      for names in [options.map { "--\($0.name)" }, options.compactMap { $0.short.map { "-\($0)" } }] {
        faults += repeats(in: names).map { "'\(path)' has two options '\($0)'" }
      }
      faults += repeats(in: command.subcommands.map(\.name)).map { "'\(path)' has two commands '\($0)'" }
      faults += repeats(in: command.arguments.map(\.name) + options.map(\.name)).map {
        "'\(path)' has two meanings of '\($0)'"
      }
      for (argument, next) in zip(command.arguments, command.arguments.dropFirst())
      where argument.count != 1...1 && (argument.count != 0...1 || next.count != 0...1) {
        faults.append("'\(path)' has arguments after '\(argument.name)', which may take any number of words")
      }
      if let name = command.defaultSubcommand, command.subcommand(name) == nil {
        faults.append("'\(path)' has no command '\(name)', which is declared the default")
      }
      let others = command.otherWords.flatMap(\.words)
      faults += repeats(in: others + command.subcommands.map(\.name)).map { "'\(path)' has two meanings of '\($0)'" }
      faults += command.otherWords.filter { Route(self).leading(by: $0.call) == nil }.map {
        "'\(path)' sends '\($0.words.first ?? "")' to '\($0.call)', which isn't a command"
      }
      let sentences =
        [command.summary] + command.arguments.map(\.summary) + command.options.map(\.summary)
        + command.examples.map(\.summary)
      faults += sentences.filter { !$0.hasSuffix(".") }.map { "'\(path)': '\($0)' isn't a sentence" }
      for example in command.examples {
        do {
          _ = try parse(shellWords(example.call))
        } catch {
          faults.append("'\(path)', example '\(example.call)': \(error.message)")
        }
      }
    }
    return faults
  }

  private func repeats(in names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert($0).inserted }
  }

  /// Splits an example into words; a word in single quotes may contain blanks.
  private func shellWords(_ call: String) -> [String] {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    for character in call {
      switch character {
      case "'":
        isQuoted.toggle()
        word = word ?? ""
      case " " where !isQuoted:
        if let word { words.append(word) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    if let word { words.append(word) }
    return words
  }
}

/// The way from the program to a command.
struct Route {
  /// The program, the commands passed, and the command itself.
  private(set) var commands: [Command]
  let command: Command

  init(_ program: Command) {
    commands = [program]
    command = program
  }

  private init(_ commands: [Command], _ command: Command) {
    self.commands = commands + [command]
    self.command = command
  }

  func appending(_ command: Command) -> Route { Route(commands, command) }

  /// The words that call the command, the program's included.
  var text: String { commands.map(\.name).joined(separator: " ") }
  /// The words that call the command, without the program's.
  var path: [String] { commands.dropFirst().map(\.name) }
  /// The options of the command and of the commands above it, the nearest first.
  var options: [Command.Option] { commands.reversed().flatMap(\.options) }
  /// The options of the commands above it.
  var inherited: [Command.Option] { commands.dropLast().reversed().flatMap(\.options) }

  /// The route from the program to the command of a call; nil if the words lead to none, or to one that needs another.
  func leading(by call: String) -> Route? {
    guard let program = commands.first else { return nil }
    var route = Route(program)
    for word in call.split(separator: " ") {
      if route.command.options.contains(where: { "--\($0.name)" == word }) { return route }
      guard let next = route.command.subcommand(String(word)) else { return nil }
      route = route.appending(next)
    }
    return route.command.subcommands.isEmpty || route.command.defaultSubcommand != nil ? route : nil
  }

  /// This route and those to all commands below it.
  func all() -> [Route] { [self] + command.subcommands.flatMap { appending($0).all() } }
}
