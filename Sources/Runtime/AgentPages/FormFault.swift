// The faults of a form that was refused.
package import Agent
import Basics

/// A fault of a form, and the field that it is about.
package struct FormFault: Sendable, Equatable {
  package var message: String
  /// The id of the field's element; nil if it is about no one field.
  package var field: String?

  package init(_ message: String, at field: String? = nil) {
    self.message = message
    self.field = field
  }

  /// - Parameter word: What the fields of the form are: `input` or `field`.
  package init(_ fault: RequestRefusedError.Fault, word: String) {
    message = fault.message
    // A pointer to an input ends with its name.
    field = fault.pointer.split(separator: "/").last.map { "\(word)-\($0)" }
  }

  /// All faults of a refused request.
  static func all(of refusal: Problem, word: String) -> [FormFault] {
    guard refusal.faults.isEmpty else { return refusal.faults.map { FormFault($0, word: word) } }
    return refusal.detail.split(separator: "\n").map { FormFault(String($0)) }
  }
}

extension Part {
  /// The most faults of a form that are listed, and the most characters of one.
  private static let (mostListed, longestListed) = (50, 1_000)

  /// The faults of a form that was refused, with a link to each field.
  ///
  /// The browser puts the focus there when it has loaded the page.
  static func faults(_ objection: String, _ faults: [FormFault] = []) -> Markup {
    let rows = faults.prefix(mostListed).map { fault -> Markup in
      let words = fault.message.shortened(to: longestListed)
      return .element("li", [:], fault.field.map { link(words, to: "#\($0)") } ?? Markup(words))
    }
    let rest = faults.count - rows.count
    return .element(
      "div", ["class": "notice fault", "id": "faults", "role": "alert", "tabindex": "-1", "autofocus": ""],
      .element("p", [:], Markup(objection)), rows.isEmpty ? .nothing : .element("ul", [:], Markup(rows)),
      rest > 0 ? .element("p", [:], "and \(rest) more") : .nothing)
  }
}
