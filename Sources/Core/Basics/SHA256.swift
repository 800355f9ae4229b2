import CCrypto

/// A SHA-256 over bytes that come in pieces.
package struct SHA256: ~Copyable {
  private let hash: OpaquePointer

  /// Fails with a sentence if libcrypto is missing or out of memory.
  package init() throws(Unavailable) {
    if let fault = ccrypto_load() { throw Unavailable(message: String(cString: fault)) }
    guard let hash = ccrypto_sha256_new() else { throw Unavailable(message: "There is no memory for a SHA-256.") }
    self.hash = hash
  }

  package struct Unavailable: Error {
    package let message: String
  }

  deinit { ccrypto_sha256_free(hash) }

  /// Takes the next piece; false if libcrypto refuses.
  package mutating func update(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { ccrypto_sha256_update(hash, $0.baseAddress, $0.count) == 1 }
  }

  /// Returns the hash in hexadecimal digits; no more bytes may be added after it.
  package mutating func finish() -> String? {
    var digest = [UInt8](repeating: 0, count: 32)
    guard ccrypto_sha256_final(hash, &digest) == 1 else { return nil }
    return digest.hexadecimal
  }

  /// The hash of bytes that are all there; nil without libcrypto.
  package static func digest(of bytes: [UInt8]) -> String? {
    guard var hash = try? SHA256(), hash.update(bytes.span.bytes) else { return nil }
    return hash.finish()
  }
}
