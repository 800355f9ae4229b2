import Basics
import RunState

/// Masks known secrets in texts before they are shown or kept.
///
/// Types keep secrets out of outputs and messages; this masks the secrets in the answers of services.
package struct Redactor: Sendable {
  /// The secrets by name, for values that are kept with the name in the secret's place; texts made of secrets have no
  /// name.
  package let secrets: [(name: String, text: String)]
  private let finder: SecretFinder

  /// Secrets of fewer than four bytes aren't masked.
  package init(named secrets: [(name: String, text: String)]) {
    self.secrets = secrets
    finder = SecretFinder(secrets)
  }

  private init(_ secrets: [(name: String, text: String)], _ finder: SecretFinder) {
    self.secrets = secrets
    self.finder = finder
  }

  package init(_ secrets: [String]) { self.init(named: secrets.map { ("", $0) }) }

  /// A redactor for everything that must stay out of the state.
  init(_ registry: SecretRegistry) {
    secrets = registry.all
    finder = registry.finder
  }

  /// A redactor that masks more secrets.
  func adding(_ secrets: [String]) -> Redactor {
    secrets.isEmpty ? self : Redactor(self.secrets + secrets.map { ("", $0) }, finder.adding(secrets))
  }

  /// The text with each secret as `•••`; compared by bytes, because a combining character may follow a secret.
  package func redact(_ text: String) -> String { finder.redact(text) }

  /// The text likewise; `isCut` says that it may end within a secret.
  package func redact(_ text: String, isCut: Bool) -> String { finder.redact(text, isCut: isCut) }

  /// Runs a closure whose error messages must hold no secret, however they are shortened.
  func hidingSecrets<Result>(_ body: () async -> Result) async -> Result {
    await OutsideText.redacted(by: { [finder] in finder.redact($0, isCut: $1) }, body)
  }
}
