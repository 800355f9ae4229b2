import Basics

extension Command {
  /// Reads the words after the program's name.
  package func parse(_ words: [String]) throws(UsageError) -> Request {
    var parser = Parser(self)
    return try parser.parse(words[...])
  }
}

private struct Parser {
  private var route: Route
  private var arguments: [String] = []
  private var options: [String: Parsed.Values] = [:]
  /// Options of the command that runs when none is named, which may turn out to be of no use.
  private var early: [(name: String, spelling: String)] = []

  init(_ program: Command) { route = Route(program) }

  mutating func parse(_ words: ArraySlice<String>) throws(UsageError) -> Request {
    var words = words
    var wantsHelp = false
    while let word = words.popFirst() {
      if word == "--" {
        arguments += words
        break
      } else if word.hasPrefix("--") {
        wantsHelp = try long(word.dropFirst(2), &words) || wantsHelp
      } else if word.hasPrefix("-"), word != "-", !isNegativeNumber(word) {
        wantsHelp = try short(word.dropFirst(), &words) || wantsHelp
      } else if route.commands.count == 1, arguments.isEmpty, word == "help", route.command.subcommand(word) == nil {
        wantsHelp = true
      } else {
        try plain(word, words, isForHelp: wantsHelp)
      }
    }
    if wantsHelp { return .help(HelpPage(route).text) }
    if !route.command.subcommands.isEmpty {
      guard let next = defaultSubcommand else {
        if route.commands.count == 1, options.isEmpty { return .help(HelpPage(route).text) }
        throw error("'\(route.text)' needs a command: \(list(route.command.subcommands.map(\.name)))")
      }
      route = route.appending(next)
    }
    for (name, spelling) in early where !route.options.contains(where: { $0.name == name }) { throw unknown(spelling) }
    return .run(Parsed(command: route.path, values: try values()))
  }

  private var defaultSubcommand: Command? { route.command.defaultSubcommand.flatMap(route.command.subcommand) }

  /// A negative number is an argument, unless there is an option of that digit.
  private func isNegativeNumber(_ word: String) -> Bool {
    guard let digit = word.dropFirst().first, ("0"..."9").contains(digit) else { return false }
    return !route.options.contains { $0.short == digit }
  }

  // MARK: Options

  /// The options that may be given here.
  private var known: [Command.Option] { route.options + (defaultSubcommand?.options ?? []) }

  /// Reads `--name`; true if it asks for help.
  private mutating func long(_ text: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) -> Bool {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts.first ?? "")
    if name == Command.help.name { return true }
    let attached = parts.count > 1 ? String(parts[1]) : nil
    guard let option = known.first(where: { $0.name == name }) else {
      throw unknown("--\(name)", value: attached ?? rest.first.flatMap { isOption($0) ? nil : $0 })
    }
    if option.value == nil, attached != nil { throw error("'--\(name)' takes no value") }
    try consume(option, as: "--\(name)", attached, &rest)
    return false
  }

  /// Reads `-n`, `-nVALUE` or several flags; true if one asks for help.
  private mutating func short(_ text: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) -> Bool {
    var text = text
    var wantsHelp = false
    while let letter = text.popFirst() {
      if letter == Command.help.short {
        wantsHelp = true
        continue
      }
      guard let option = known.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
      if option.value == nil {
        try consume(option, as: "-\(letter)", nil, &rest)
      } else {
        try consume(option, as: "-\(letter)", text.isEmpty ? nil : String(text), &rest)
        break
      }
    }
    return wantsHelp
  }

  private mutating func consume(
    _ option: Command.Option, as spelling: String, _ attached: String?, _ rest: inout ArraySlice<String>
  ) throws(UsageError) {
    var given = spelling
    if let value = option.value {
      guard let text = attached ?? rest.first, attached != nil || !isOption(text) else {
        throw error("'\(spelling)' needs a value: \(value.name)")
      }
      if attached == nil { rest.removeFirst() }
      try check(text, value.form, for: spelling)
      given = text
    }
    if !option.repeats, options[option.name] != nil { throw error("'\(spelling)' is given twice") }
    options[option.name, default: Parsed.Values()].texts.append(given)
    if !route.options.contains(where: { $0.name == option.name }) { early.append((option.name, spelling)) }
  }

  /// Whether a word can only be an option, not a value that begins with a dash.
  private func isOption(_ word: String) -> Bool {
    let name = word.prefix { $0 != "=" }
    return word == "--"
      || (known + [Command.help]).contains { "--\($0.name)" == name || $0.short.map { "-\($0)" } == word }
  }

  private func unknown(_ spelling: String, value: String? = nil) -> UsageError {
    let known = (known + [Command.help]).flatMap { option in
      ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
    }
    if spelling.hasPrefix("--"), let guess = spelling.nearest(among: known) {
      return error("'\(route.text)' has no option '\(spelling)'; did you mean '\(guess)'?")
    }
    if let command = command() {
      return error(
        "'\(route.text)' has no option '\(spelling)'; if it is one of the command, write -- before '\(command)'")
    }
    let below = route.all().dropFirst().first { route in
      route.command.options.contains { "--\($0.name)" == spelling || $0.short.map { "-\($0)" } == spelling }
    }
    let name = spelling.drop { $0 == "-" }
    let hint =
      below.map { "; it is one of '\($0.text)'" }
      ?? (spelling.hasPrefix("--") ? self.hint(for: "\(name)=\(value ?? "…")") : "")
    return error("'\(route.text)' has no option '\(spelling)'\(hint)")
  }

  /// The first word of a command that was given as arguments without `--` before it.
  private func command() -> String? {
    guard let index = route.command.arguments.firstIndex(where: \.mayBeCommand), index < arguments.count else {
      return nil
    }
    return arguments[index]
  }

  // MARK: Commands and arguments

  private mutating func plain(_ word: String, _ rest: ArraySlice<String>, isForHelp: Bool) throws(UsageError) {
    guard !route.command.subcommands.isEmpty else {
      if isForHelp { return }
      arguments.append(word)
      return
    }
    if let next = route.command.subcommand(word) {
      route = route.appending(next)
    } else if let next = defaultSubcommand, !next.arguments.isEmpty {
      route = route.appending(next)
      arguments.append(word)
    } else if let other = route.command.otherWords.first(where: { $0.words.contains(word) }) {
      throw error("'\(route.text)' has no command '\(word)'; write: \(call(other, rest))")
    } else {
      let names = route.command.subcommands.map(\.name)
      let hint = word.nearest(among: names).map { "did you mean '\($0)'?" } ?? "there are: \(list(names))"
      throw error("'\(route.text)' has no command '\(word)'; \(hint)")
    }
  }

  /// The command to type in place of another program's, with its arguments or, if there are none, the needed ones.
  private func call(_ other: Command.OtherWords, _ rest: ArraySlice<String>) -> String {
    let needed = route.leading(by: other.call)?.command.arguments.filter { $0.count.lowerBound > 0 }.map(\.placeholder)
    let given = rest.map(\.shellQuoted)
    let words = [route.commands.first?.name ?? "", other.call] + (given.isEmpty ? needed ?? [] : given)
    return words.joined(separator: " ") + (other.remark.map { " (\($0))" } ?? "")
  }

  /// The values of all options and arguments, given or not.
  private func values() throws(UsageError) -> [String: Parsed.Values] {
    var values = options
    for option in route.options where values[option.name] == nil { values[option.name] = Parsed.Values() }
    var rest = arguments[...]
    for argument in route.command.arguments {
      let words = rest.prefix(argument.count.upperBound)
      guard words.count >= argument.count.lowerBound else {
        throw error("'\(route.text)' needs \(argument.placeholder): \(argument.summary)")
      }
      for word in words { try check(word, argument.form, for: argument.placeholder) }
      values[argument.name] = Parsed.Values(texts: Array(words))
      rest = rest.dropFirst(words.count)
    }
    if let surplus = rest.first { throw error("unexpected argument '\(surplus)'\(hint(for: surplus))") }
    return values
  }

  /// How to give a word such as `n=1`, if an option reads such words.
  private func hint(for surplus: String) -> String {
    let option = route.options.first { $0.short != nil && $0.value?.name.contains("=") == true }
    guard surplus.contains("="), let option, let short = option.short else { return "" }
    return "; to set an \(option.name), write -\(short) \(surplus)"
  }

  private func check(_ text: String, _ form: Command.Form, for name: String) throws(UsageError) {
    switch form {
    case .text: break
    case .name(let named) where !named.isPath: break
    case .int(let range):
      guard let number = Int(text) else { throw error("'\(name)' must be a whole number, but is '\(text)'") }
      guard range.contains(number) else {
        let bound = number < range.lowerBound ? "at least \(range.lowerBound)" : "at most \(range.upperBound)"
        throw error("'\(name)' must be \(bound), but is \(number)")
      }
    case .duration:
      guard TimeSpan(text) != nil else {
        throw error("'\(name)' must be a length of time such as 90s or 1h30m, but is '\(text)'")
      }
    case .timestamp:
      guard Timestamp(text) != nil else {
        throw error("'\(name)' must be an instant such as 2026-11-20T09:30:00Z, but is '\(text)'")
      }
    case .choice(let choices):
      guard choices.contains(where: text.hasSameScalars) else {
        let hint = text.nearest(among: choices).map { "; did you mean '\($0)'?" } ?? ""
        throw error("'\(name)' must be \(list(choices)), but is '\(text)'\(hint)")
      }
    case .name, .file, .folder:
      guard !text.isEmpty else { throw error("'\(name)' must be a path, but is empty") }
    }
  }

  /// `a`, `a or b`, `a, b or c`.
  private func list(_ names: [String]) -> String {
    let (head, last) = (names.dropLast(), names.last ?? "")
    return head.isEmpty ? last : "\(head.joined(separator: ", ")) or \(last)"
  }

  private func error(_ message: String) -> UsageError { UsageError(message, help: "\(route.text) --help") }
}
