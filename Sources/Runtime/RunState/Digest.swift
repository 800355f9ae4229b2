import Basics
import CCrypto

/// The SHA-256 of bytes, in lower-case hexadecimal.
package func sha256(_ bytes: [UInt8]) throws(StateError) -> String {
  // Loaded at first use, because most runs have no large output.
  if let reason = ccrypto_load() { throw StateError(.unavailable, String(cString: reason)) }
  var digest = [UInt8](repeating: 0, count: 32)
  guard ccrypto_sha256(bytes, bytes.count, &digest) != 0 else {
    throw StateError(.unavailable, "libcrypto cannot compute SHA-256 here")
  }
  return digest.hexadecimal
}
