import Basics

extension Command {
  /// The help page of the command that these words name, from here.
  package func helpPage(_ path: [String] = []) -> String? {
    var route = Route(self)
    for word in path {
      guard let next = route.command.subcommand(word) else { return nil }
      route = route.appending(next)
    }
    return HelpPage(route).text
  }
}

extension Command.Argument {
  /// The name as pages show it: `RECIPE`.
  var placeholder: String { name.uppercased() }

  /// Its notation on the command line: `RECIPE`, `[RECIPE]`, `RECIPE…`, `[RECIPE…]`.
  fileprivate var usage: String {
    let word = count.upperBound > 1 ? placeholder + "…" : placeholder
    return count.lowerBound == 0 ? "[\(word)]" : word
  }
}

extension Route {
  /// How the command is called: `errand check [OPTIONS] [RECIPE…]`.
  var usage: String {
    var words = [text]
    if !command.subcommands.isEmpty { words.append(command.defaultSubcommand == nil ? "COMMAND" : "[COMMAND]") }
    words.append("[OPTIONS]")
    words += command.arguments.map(\.usage)
    return words.joined(separator: " ")
  }
}

extension Command.Option {
  /// The option as pages show it, with the long names below each other: `-i, --input KEY=VALUE`.
  fileprivate var usage: String {
    (short.map { "-\($0), " } ?? "    ") + "--\(name)" + (value.map { " \($0.name)" } ?? "")
  }

  /// The sentence, with the choices.
  var explanation: String {
    var text = summary
    if case .choice(let choices)? = value?.form { text += " One of \(choices.joined(separator: ", "))." }
    if value != nil, repeats { text += " May be given more than once." }
    return text
  }
}

/// A page of help, at most 100 columns wide.
struct HelpPage {
  private let route: Route
  private static let columns = 100

  init(_ route: Route) { self.route = route }

  /// The page, without a line break at the end.
  var text: String {
    let command = route.command
    var sections = [command.summary, "Usage: " + route.usage]
    sections.append(
      table(
        "Commands:",
        command.subcommands.map { subcommand in
          (subcommand.name, subcommand.summary + (subcommand.name == command.defaultSubcommand ? " The default." : ""))
        }))
    sections.append(table("Arguments:", command.arguments.map { ($0.usage, $0.summary) }))
    sections.append(table("Options:", (command.options + [Command.help]).map { ($0.usage, $0.explanation) }))
    sections.append(table("Options of every command:", route.inherited.map { ($0.usage, $0.explanation) }))
    if !command.examples.isEmpty {
      let program = route.commands.first?.name ?? ""
      let lines = command.examples.map { "  \(program) \($0.call)\n      \($0.summary)" }
      sections.append((["Examples:"] + lines).joined(separator: "\n"))
    }
    if !command.subcommands.isEmpty {
      sections.append("'\(route.text) COMMAND --help' explains a command.")
    }
    return sections.filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private func table(_ title: String, _ rows: [(name: String, text: String)]) -> String {
    helpTable(title, rows, columns: HelpPage.columns)
  }
}

/// Names on the left and sentences beside them, wrapped; empty without rows.
package func helpTable(_ title: String, _ rows: [(name: String, text: String)], columns: Int) -> String {
  guard !rows.isEmpty else { return "" }
  let widest = 24
  let column = min(widest, rows.map(\.name.count).max() ?? 0) + 4
  let lines = rows.map { name, text in
    let indent = String(repeating: " ", count: column)
    let body = text.wrapped(to: max(20, columns - column)).joined(separator: "\n" + indent)
    // A name that is too wide has a line of its own.
    let head = "  " + name
    return head.count + 2 <= column
      ? head + indent.dropFirst(head.count) + body : "\(head)\n\(indent)\(body)"
  }
  return ([title] + lines).joined(separator: "\n")
}

extension String {
  /// The text on lines of at most so many columns, broken at blanks, and inside words that are longer.
  package func wrapped(to columns: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in split(separator: " ") {
      var word = String(word)
      if !line.isEmpty, line.displayWidth + 1 + word.displayWidth > columns {
        lines.append(line)
        line = ""
      }
      while word.displayWidth > columns, let cut = word.cut(after: columns) {
        lines.append(cut.head)
        word = cut.tail
      }
      line += line.isEmpty ? word : " \(word)"
    }
    return line.isEmpty && !lines.isEmpty ? lines : lines + [line]
  }

  private func cut(after columns: Int) -> (head: String, tail: String)? {
    var end = startIndex
    var width = 0
    while end < endIndex {
      width += String(self[end]).displayWidth
      if width > columns { break }
      end = index(after: end)
    }
    return end == startIndex ? nil : (String(self[..<end]), String(self[end...]))
  }
}
