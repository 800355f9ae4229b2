// Manual pages in the macros of man(7), which every system with `man` reads.
//
// A page consists of sections of plain text and of lists of terms, so that all text is escaped in one place.

/// A manual page.
package struct ManualPage: Sendable {
  /// A part of a section.
  package enum Part: Sendable {
    case paragraph(String)
    /// Terms with their meanings.
    case terms([(term: String, text: String)])
    /// Lines as they are, such as examples.
    case literal(String)
    case heading(String)
  }

  private var lines: [String]

  /// Begins a page.
  ///
  /// - Parameters:
  ///   - section: The manual's section: 1 for programs, 5 for formats of files.
  ///   - date: The day of the version, `2026-11-23`.
  ///   - summary: One sentence.
  package init(_ name: String, section: Int, date: String, source: String, summary: String) {
    lines = [".TH \(ManualPage.argument(name.uppercased())) \(section) \(date) \(ManualPage.argument(source))"]
    // The line that `apropos` reads has no capital letter and no full stop.
    let text = summary.hasSuffix(".") ? String(summary.dropLast()) : summary
    add("NAME", [.paragraph("\(name) - \(text.prefix(1).lowercased())\(text.dropFirst())")])
  }

  /// Adds a section, unless there is nothing in it.
  package mutating func add(_ title: String, _ parts: [Part]) {
    guard !parts.isEmpty else { return }
    lines.append(".SH \"\(ManualPage.escaped(title))\"")
    var isFirst = true
    for part in parts {
      switch part {
      case .paragraph(let text):
        if !isFirst { lines.append(".PP") }
        lines += ManualPage.wrapped(text)
      case .terms(let terms):
        for (term, text) in terms {
          lines.append(".TP")
          lines.append(".B \(ManualPage.argument(term))")
          lines += ManualPage.wrapped(text)
        }
      case .literal(let text):
        if !isFirst { lines.append(".PP") }
        lines += [".nf", ".RS 4"] + text.split(separator: "\n", omittingEmptySubsequences: false).map(ManualPage.line)
        lines += [".RE", ".fi"]
      case .heading(let title): lines.append(".SS \(ManualPage.argument(title))")
      }
      // A heading's first paragraph follows it directly.
      if case .heading = part { isFirst = true } else { isFirst = false }
    }
  }

  /// The page's text.
  package var text: String { lines.joined(separator: "\n") + "\n" }

  private static func wrapped(_ text: String) -> [String] { text.wrapped(to: 100).map(line) }

  /// A line of text, which doesn't begin a macro.
  private static func line(_ text: some StringProtocol) -> String {
    let text = escaped(String(text))
    return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(text)" : text
  }

  /// An argument of a macro.
  private static func argument(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// Escapes the text's special characters for man(7): a bare `-` would become a hyphen, which can't be copied into a
  /// shell.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\\": result += "\\e"
      case "\"": result += "\\(dq"
      case "-": result += "\\-"
      case "`": result += "\\(ga"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      default: result.append(character)
      }
    }
    return result
  }
}

extension Command {
  /// The program's page, with every command and option.
  ///
  /// - Parameter sections: Sections to add after the commands, such as exit codes and files.
  package func manualPage(
    date: String, source: String, description: String, sections: [(title: String, parts: [ManualPage.Part])]
  ) -> ManualPage {
    var page = ManualPage(name, section: 1, date: date, source: source, summary: summary)
    page.add("SYNOPSIS", [.paragraph(Route(self).usage)])
    page.add("DESCRIPTION", [.paragraph(description)])
    page.add("OPTIONS", [.terms((options + [Command.help]).map(\.manualTerm))])
    var parts: [ManualPage.Part] = []
    for route in Route(self).all().dropFirst() {
      let command = route.command
      parts += [.heading(route.usage), .paragraph(command.summary)]
      let terms = command.arguments.map { ($0.placeholder, $0.summary) } + command.options.map(\.manualTerm)
      if !terms.isEmpty { parts.append(.terms(terms)) }
      for example in command.examples { parts += [.paragraph(example.summary), .literal("\(name) \(example.call)")] }
    }
    page.add("COMMANDS", parts)
    for section in sections { page.add(section.title, section.parts) }
    return page
  }
}

extension Command.Option {
  fileprivate var manualTerm: (term: String, text: String) {
    let names = (short.map { "-\($0), " } ?? "") + "--\(name)" + (value.map { " \($0.name)" } ?? "")
    return (names, explanation)
  }
}
