/// Why a source doesn't give a secret that it should: what is wrong, and what to do.
///
/// It never contains what was read.
package struct SecretError: Error, Sendable, Equatable {
  package var message: String

  init(_ message: String) { self.message = message }
}
