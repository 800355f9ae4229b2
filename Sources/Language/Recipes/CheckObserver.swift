// Collects facts about a file for editors during a check.
//
// An observer in the environment of a check gets each text whose expressions are evaluated, with their scope, and each
// declared name, with its type. Scopes are values and cost nothing to copy, so the check takes about as long as without
// an observer. A check without one does nothing for it. Questions about an expression (`parts`, `point`) are answered
// only when they are asked.

package import Basics
package import Expressions
import Synchronization
import YAMLReader

/// Records facts during a check.
package final class CheckObserver: Sendable {
  /// A name that a file declares.
  package struct Declaration: Sendable {
    package enum Kind: String, Sendable {
      case input
      case step
      /// A name of `let`, of a loop or of `carry`.
      case variable
    }

    package let kind: Kind
    package let name: String
    package let type: ValueType
    /// The place of the name.
    package let location: Diagnostic.Location
  }

  /// A text with expressions that are evaluated.
  package struct Text: Sendable {
    let placing: Placing
    /// The text as YAML reads it.
    package let value: [UInt8]
    /// Whether all of it is an expression, without `${{ }}`.
    package let isBare: Bool
    let scope: Scope
    /// The names that its expressions see.
    package let names: ExpressionScope
    /// The expected type, if there is one.
    package let expected: ValueType?

    package var source: Source { placing.source }

    /// The bytes of the file that it takes.
    package var range: Range<Int>? { placing.scalar?.range }

    /// Where parts of the value stand in the file.
    package func locations(of ranges: [Range<Int>]) -> [Diagnostic.Location?] { placing.locations(ranges) }

    /// The place in this file that declares a variable's name, if there is one.
    package func declaration(of name: String) -> Diagnostic.Location? {
      scope.place(of: name).flatMap { place in
        place.place.offset.map { Diagnostic.Location(source, $0..<$0 + name.utf8.count) }
      }
    }
  }

  private struct State {
    var texts: [Text] = []
    var declarations: [Declaration] = []
    var secrets: [Diagnostic.Location] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The texts, in the order of the check.
  package var texts: [Text] { state.withLock { $0.texts } }

  /// The declarations, in the order of the check.
  package var declarations: [Declaration] { state.withLock { $0.declarations } }

  /// The secrets that are written out in a text, in its order; guessed by their keys where YAML can't read it.
  package func secrets(in source: Source) -> [Range<Int>] {
    state.withLock { $0.secrets.filter { $0.source === source }.map(\.range) }.sorted { $0.lowerBound < $1.lowerBound }
  }

  func note(_ text: Text) { state.withLock { $0.texts.append(text) } }

  func note(_ declaration: Declaration) { state.withLock { $0.declarations.append(declaration) } }

  func note(secret: Diagnostic.Location) { state.withLock { $0.secrets.append(secret) } }
}

extension Findings {
  /// Passes a declared name to the observer, if there is one.
  func declared(_ kind: CheckObserver.Declaration.Kind, _ name: String, _ type: ValueType, at value: Value) {
    guard let observer, let location = location(of: value) else { return }
    observer.note(CheckObserver.Declaration(kind: kind, name: name, type: type, location: location))
  }
}
