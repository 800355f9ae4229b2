package import Basics

/// What is wrong with the text of an expression or a template, found before anything runs.
package struct ExpressionFault: Hashable, Sendable {
  /// What was found, what is wanted, and the fix: no full stop, lower case.
  package var message: String { text.text }
  /// What the message suggests to write, as code for parts of the text.
  package var suggestions: [Suggestion] { text.suggestions }
  /// The part of the text that it is about, as UTF-8 offsets.
  package let range: Range<Int>
  /// Whether the expression cannot run, or probably does something else than meant.
  package let severity: Diagnostic.Severity
  /// Whether what is made with a secret stands where no secret is taken; the place knows which fields take one.
  package let isAboutSecret: Bool
  var text: MessageText
  /// What to write for a part of the text, which the message says once it is known to check.
  var fix: Fix?

  struct Fix: Hashable, Sendable {
    let code: String
    let range: Range<Int>
    /// Whether something else may be meant as well.
    var isTentative = false
  }

  package init(_ text: MessageText, at range: Range<Int>, severity: Diagnostic.Severity = .error) {
    self.text = text
    self.range = range
    self.severity = severity
    isAboutSecret = false
  }

  /// What is made with a secret and stands where no secret is taken.
  init(secret what: String, at range: Range<Int>) {
    text = "\(what) is made with a secret, which can be given only to a field that takes a secret"
    self.range = range
    severity = .error
    isAboutSecret = true
  }
}

/// That a text is no expression or template: all its faults, in its order; at least one.
package struct ExpressionError: Error, Sendable {
  package let list: [ExpressionFault]
  /// The type that the expression would have had, where the faults leave no doubt of it.
  package let type: ValueType?

  init(_ list: [ExpressionFault], type: ValueType? = nil) {
    self.list = list.sorted { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    self.type = type
  }
}
