/// The text of a message together with the suggestions in it.
///
/// A suggestion is declared once: its words become a part of the text. Its content travels with the text until the
/// message gets its place; there the suggestion becomes a `Diagnostic.Fix`.
package struct MessageText: Hashable, Sendable {
  /// The words.
  package private(set) var text: String
  /// The suggestions in the text, the likeliest first.
  package private(set) var suggestions: [Suggestion]

  package init(_ text: String, _ suggestions: [Suggestion] = []) {
    self.text = text
    self.suggestions = suggestions
  }

  package var isEmpty: Bool { text.isEmpty }

  package static func + (left: MessageText, right: MessageText) -> MessageText {
    MessageText(left.text + right.text, left.suggestions + right.suggestions)
  }

  package static func += (left: inout MessageText, right: MessageText) { left = left + right }

  /// The same text, without its suggestions if those would be at fault as well.
  package func unless(_ isAtFault: Bool) -> MessageText { isAtFault ? MessageText(text) : self }

  /// The same text, with its suggestions marked as values that only the author can choose.
  package var tentative: MessageText {
    MessageText(text, suggestions.map { Suggestion($0.title, $0.content, isTentative: true) })
  }

  /// The same text; if `isDoubtful`, its suggestions are marked as values that only the author can choose.
  package func tentative(if isDoubtful: Bool) -> MessageText { isDoubtful ? tentative : self }

  /// The question whether a name was meant, which suggests to write that name.
  package static func didYouMean(_ name: String) -> MessageText {
    MessageText("did you mean '\(name)'?", [.text(name)])
  }

  /// The question whether a name was meant that is only the nearest to a word among some, so that another may be meant.
  package static func didYouMean(_ name: String, by word: String, among names: some Sequence<String>) -> MessageText {
    didYouMean(name).tentative(if: !word.isSurelyMeant(as: name, among: names))
  }

  /// The question whether the nearest of some names was meant; nil if none is near.
  package static func didYouMean(_ word: String, among names: some Sequence<String>) -> MessageText? {
    word.nearest(among: names).map { didYouMean($0, by: word, among: names) }
  }
}

/// A change that a message suggests.
package struct Suggestion: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    /// A text in the place of the scalar that the message is about, in the quotes that it needs.
    case text(String)
    /// A text in the place of that scalar, without quotes or escapes added.
    case verbatim(String)
    /// Code in the place of a part of the expression that the message is about.
    case code(String, Range<Int>)
    /// Changes of the file.
    case edits([Diagnostic.Edit])
  }

  /// The change as an order.
  package let title: String
  package let content: Content
  /// Whether it puts in a value that only the author can choose.
  package let isTentative: Bool

  package init(_ title: String, _ content: Content, isTentative: Bool = false) {
    self.title = title
    self.content = content
    self.isTentative = isTentative
  }

  package static func text(_ text: String) -> Suggestion { Suggestion("write '\(text)'", .text(text)) }

  package static func verbatim(_ text: String) -> Suggestion { Suggestion("write \(text)", .verbatim(text)) }

  package static func code(_ code: String, for part: Range<Int>) -> Suggestion {
    Suggestion("write `\(code)`", .code(code, part))
  }

  package static func edits(_ title: String, _ edits: [Diagnostic.Edit]) -> Suggestion {
    Suggestion(title, .edits(edits))
  }
}

extension Diagnostic {
  /// Creates a diagnostic whose fixes are the changes of the file that its message suggests.
  package init(
    _ text: MessageText, at location: Location? = nil, severity: Severity = .error, notes: [Note] = []
  ) {
    self.init(text.text, at: location, severity: severity, notes: notes)
    for suggestion in text.suggestions {
      if case .edits(let edits) = suggestion.content {
        fixes.append(Fix(suggestion.title, edits, isTentative: suggestion.isTentative))
      } else {
        suggestions.append(suggestion)
      }
    }
  }
}

extension MessageText: ExpressibleByStringInterpolation {
  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text: DefaultStringInterpolation
    fileprivate var suggestions: [Suggestion] = []

    package init(literalCapacity: Int, interpolationCount: Int) {
      text = DefaultStringInterpolation(literalCapacity: literalCapacity, interpolationCount: interpolationCount)
    }

    package mutating func appendLiteral(_ literal: String) { text.appendLiteral(literal) }

    package mutating func appendInterpolation(_ part: MessageText) {
      text.appendInterpolation(part.text)
      suggestions += part.suggestions
    }

    package mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      text.appendInterpolation("\(value)")
    }
  }

  package init(stringLiteral text: String) { self.init(text) }

  package init(stringInterpolation parts: StringInterpolation) {
    self.init(String(stringInterpolation: parts.text), parts.suggestions)
  }
}

extension DefaultStringInterpolation {
  /// A plain text would lose the suggestions.
  @available(*, unavailable, message: "make the text a MessageText, which keeps the suggestions")
  package mutating func appendInterpolation(_ part: MessageText) {}
}
