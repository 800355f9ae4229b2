import Basics
import RunState

/// Takes known secrets out of texts before they are shown or kept.
///
/// The types keep secrets away from outputs and messages; this is for what services send back.
package struct Redactor: Sendable {
  /// The secrets by their names, by which values that hold one are kept; those that are made of others have none.
  package let secrets: [(name: String, text: String)]
  private let finder: SecretFinder

  /// Secrets of fewer than four bytes are left alone.
  package init(named secrets: [(name: String, text: String)]) {
    self.secrets = secrets
    finder = SecretFinder(secrets)
  }

  private init(_ secrets: [(name: String, text: String)], _ finder: SecretFinder) {
    self.secrets = secrets
    self.finder = finder
  }

  package init(_ secrets: [String]) { self.init(named: secrets.map { ("", $0) }) }

  /// One that takes out all that is kept out of a state.
  init(_ book: SecretBook) {
    secrets = book.all
    finder = book.finder
  }

  /// One that takes out more secrets.
  func adding(_ secrets: [String]) -> Redactor {
    secrets.isEmpty ? self : Redactor(self.secrets + secrets.map { ("", $0) }, finder.adding(secrets))
  }

  /// The text with each secret as `•••`; compared by bytes, because what follows a secret may combine with it.
  package func redact(_ text: String) -> String { finder.redact(text) }

  /// Does something in whose messages no secret may stand, however they are shortened.
  func hidingSecrets<Result>(_ body: () async -> Result) async -> Result {
    await OutsideText.redacted(by: { [finder] in finder.redact($0, isCut: $1) }, body)
  }
}
