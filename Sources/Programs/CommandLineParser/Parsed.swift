package import Basics

/// The result of parsing a command line.
package enum Request: Sendable {
  /// Run a command.
  case run(Parsed)
  /// Show a help page.
  case help(String)
}

/// A command line that was read and checked.
package struct Parsed: Sendable {
  /// The words that name the command, without the program's: `["runs", "list"]`.
  package let command: [String]
  private let values: [String: Values]

  init(command: [String], values: [String: Values]) {
    self.command = command
    self.values = values
  }

  /// The values of the command's options and arguments, by name.
  package subscript(name: String) -> Values {
    guard let values = values[name] else {
      // The program asks for a name that its own description lacks.
      preconditionFailure("'\(command.joined(separator: " "))' declares nothing that is called '\(name)'.")
    }
    return values
  }

  /// The words given for one option or argument.
  ///
  /// They have its form, so that the form's accessor is nil only if nothing was given.
  package struct Values: Sendable {
    /// The words, in order; for a flag its spelling, as often as it was given.
    package internal(set) var texts: [String] = []

    /// How often it was given.
    package var count: Int { texts.count }
    /// Whether it was given.
    package var isGiven: Bool { !texts.isEmpty }
    /// The word, or the last of several.
    package var text: String? { texts.last }
    /// The whole number.
    package var int: Int? { text.flatMap { Int($0) } }
    /// The length of time.
    package var duration: TimeSpan? { text.flatMap { TimeSpan($0) } }
    /// The instant.
    package var timestamp: Timestamp? { text.flatMap { Timestamp($0) } }
  }
}

/// A command line that can't be parsed.
package struct UsageError: Error, Hashable, Sendable {
  /// The fault and, if it fits in a clause, the fix; without a full stop.
  package var message: String
  /// The call that shows the relevant help page.
  package var help: String

  /// Creates an error.
  package init(_ message: String, help: String) {
    self.message = message
    self.help = help
  }
}

extension UsageError: CustomStringConvertible {
  /// The message, and where to read more.
  package var description: String { "error: \(message)\nSee '\(help)'." }
}
