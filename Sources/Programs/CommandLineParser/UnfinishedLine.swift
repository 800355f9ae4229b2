// A command line is completed from the description that parses it. The typed words are read leniently, because the line
// isn't finished: unknown options and surplus words are ignored.

/// A command line up to the cursor, with the candidates for the word there.
package struct UnfinishedLine: Sendable {
  /// The words of the command, without the program's.
  package private(set) var command: [String] = []
  /// The values of the options and arguments before the cursor, by name; for a flag its spelling.
  package private(set) var values: [String: [String]] = [:]
  /// The value at the cursor, as far as it is typed.
  package private(set) var value: String
  /// The part of the word before the value, such as `--format=`.
  package private(set) var lead = ""
  /// The form of the value at the cursor; nil if a command or an option is expected there.
  package private(set) var form: Command.Form?
  /// The commands, the options or the choices that are allowed at the cursor.
  package private(set) var offers: [Candidate] = []

  /// Reads the words after the program's name; the last one is at the cursor.
  package init(_ words: [String], of program: Command) {
    value = words.last ?? ""
    var route = Route(program)
    var pending: Command.Option?
    var hasOnlyArguments = false
    var arguments: [String] = []
    for word in words.dropLast() {
      if let option = pending {
        values[option.name, default: []].append(word)
        pending = nil
      } else if word == "--" {
        hasOnlyArguments = true
      } else if !hasOnlyArguments, word.hasPrefix("-"), word != "-" {
        pending = read(option: word, route)
      } else if let next = route.command.subcommand(word), arguments.isEmpty {
        route = route.appending(next)
      } else {
        if let next = route.defaultSubcommand { route = route.appending(next) }
        arguments.append(word)
      }
    }
    command = route.path
    name(arguments, of: route.command)
    if let option = pending {
      form = option.value?.form
    } else if !hasOnlyArguments, value.hasPrefix("-") {
      offerOptions(route)
    } else {
      offerWords(route, after: arguments.count)
    }
    if case .choice(let choices) = form { offers += choices.map { Candidate($0) } }
  }

  /// The kind of paths that are allowed at the cursor, `files` or `folders`; nil if none are.
  var path: String? {
    switch form {
    case .file: "files"
    case .folder: "folders"
    case .name(let named) where named.isPath: "files"
    default: nil
    }
  }

  /// Takes note of an option; returns it if its value is the next word.
  private mutating func read(option word: String, _ route: Route) -> Command.Option? {
    if word.hasPrefix("--") {
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let option = route.accepted.first(where: { $0.name == parts[0] }) else { return nil }
      if option.value != nil, parts.count == 1 { return option }
      values[option.name, default: []].append(parts.count == 2 ? String(parts[1]) : word)
      return nil
    }
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = route.accepted.first(where: { $0.short == letter }) else { return nil }
      if option.value != nil, letters.isEmpty { return option }
      values[option.name, default: []].append(option.value == nil ? "-\(letter)" : String(letters))
      if option.value != nil { return nil }
    }
    return nil
  }

  private mutating func name(_ arguments: [String], of command: Command) {
    var rest = arguments[...]
    for argument in command.arguments {
      values[argument.name] = Array(rest.prefix(argument.count.upperBound))
      rest = rest.dropFirst(argument.count.upperBound)
    }
  }

  /// Offers options, or the value of the one whose name is complete.
  private mutating func offerOptions(_ route: Route) {
    if value.hasPrefix("--"), let equals = value.firstIndex(of: "=") {
      let option = route.accepted.first { "--\($0.name)" == value[..<equals] }
      lead = String(value[...equals])
      value = String(value[value.index(after: equals)...])
      form = option?.value?.form
      return
    }
    let name = value.prefix(2)
    if value.count > 2,
      let option = route.accepted.first(where: { option in option.short.map { "-\($0)" } ?? "" == name }),
      option.value != nil
    {
      lead = String(name)
      value = String(value.dropFirst(2))
      form = option.value?.form
      return
    }
    offers = route.accepted.filter { $0.repeats || values[$0.name] == nil }.map { .init("--\($0.name)", $0.summary) }
    offers.append(Candidate("--\(Command.help.name)", Command.help.summary))
  }

  private mutating func offerWords(_ route: Route, after count: Int) {
    if count == 0 { offers = route.command.subcommands.map { Candidate($0.name, $0.summary) } }
    var count = count
    let command = route.defaultSubcommand ?? route.command
    for argument in command.arguments {
      if count < argument.count.upperBound {
        form = argument.form
        return
      }
      count -= argument.count.upperBound
    }
    if offers.isEmpty { offerOptions(route) }
  }
}

extension Route {
  fileprivate var defaultSubcommand: Command? { command.defaultSubcommand.flatMap(command.subcommand) }
  /// The options that may be given here.
  fileprivate var accepted: [Command.Option] { options + (defaultSubcommand?.options ?? []) }
}

/// A candidate for the word at the cursor.
package struct Candidate: Hashable, Sendable {
  /// The word.
  package var word: String
  /// Its summary, for the shells that show one.
  package var summary: String
  /// Whether more of the word follows, so that no blank is put after it.
  package var isOpen: Bool

  /// Creates a candidate.
  package init(_ word: String, _ summary: String = "", isOpen: Bool = false) {
    self.word = word
    self.summary = summary
    self.isOpen = isOpen
  }
}
