import Basics

/// The SHA-256 of bytes, in lower-case hexadecimal.
package func sha256(_ bytes: [UInt8]) throws(StateError) -> String {
  do throws(SHA256.Unavailable) {
    var hash = try SHA256()
    if hash.update(bytes.span.bytes), let digest = hash.finish() { return digest }
  } catch {
    throw StateError(.unavailable, error.message)
  }
  throw StateError(.unavailable, "libcrypto cannot compute SHA-256 here")
}
