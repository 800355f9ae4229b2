package import Basics

/// A fault in the text of an expression or a template, found before anything runs.
package struct ExpressionFault: Hashable, Sendable {
  /// The problem, the expected form and the fix, in lower case without a full stop.
  package var message: String { text.text }
  /// The corrections that the message suggests, as code for parts of the text.
  package var suggestions: [Suggestion] { text.suggestions }
  /// The faulty part of the text, as UTF-8 offsets.
  package let range: Range<Int>
  /// An error if the expression can't run, a warning if it probably doesn't do what is meant.
  package let severity: Diagnostic.Severity
  /// Whether a value made with a secret is used where none is allowed; the caller knows which fields take a secret.
  package let isAboutSecret: Bool
  var text: MessageText
  /// A correction for a part of the text; the message suggests it once the corrected text is known to check.
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

  /// A fault about a value that is made with a secret and used where no secret is allowed.
  init(secret what: String, at range: Range<Int>) {
    text = "\(what) is made with a secret, which can be given only to a field that takes a secret"
    self.range = range
    severity = .error
    isAboutSecret = true
  }
}

/// The faults of an invalid expression or template, in the order of its text; at least one.
package struct ExpressionError: Error, Sendable {
  package let list: [ExpressionFault]
  /// The type that the expression would have had, where the faults leave no doubt of it.
  package let type: ValueType?

  init(_ list: [ExpressionFault], type: ValueType? = nil) {
    self.list = list.sorted { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
    self.type = type
  }
}
