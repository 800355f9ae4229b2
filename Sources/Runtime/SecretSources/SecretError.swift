/// Why a source can't provide a secret: what is wrong, and how to fix it.
///
/// It never contains any of the bytes that were read.
package struct SecretError: Error, Sendable, Equatable {
  package var message: String

  init(_ message: String) { self.message = message }
}
