import CCrypto

/// Codes that only the holders of a key can make of a message, by HMAC with SHA-256 (RFC 2104).
package enum MessageAuthentication {
  /// The code of a message, 32 octets; nil without libcrypto.
  package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8]? {
    guard ccrypto_load() == nil else { return nil }
    var code = [UInt8](repeating: 0, count: 32)
    return ccrypto_hmac_sha256(key, key.count, message, message.count, &code) == 1 ? code : nil
  }

  /// Whether a signature of a message was made by Ed25519 (RFC 8032) with the private key that belongs to a public key
  /// of 32 octets.
  package static func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
    guard signature.count == 64, publicKey.count == 32, ccrypto_load() == nil else { return false }
    return ccrypto_ed25519_verify(publicKey, signature, message, message.count) == 1
  }

  /// Whether two secrets are the same, in a time that tells at most whether their lengths are.
  package static func areSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    guard one.count == other.count, ccrypto_load() == nil else { return false }
    return ccrypto_equal(one, other, one.count) == 1
  }
}
