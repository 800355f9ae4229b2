/// Why a source does not give a secret that it should: what is wrong, and what to do.
///
/// It never holds what was read.
package struct SecretError: Error, Sendable, Equatable {
  package var message: String

  init(_ message: String) { self.message = message }
}
