import Basics

/// The SHA-256 of bytes, in lower-case hexadecimal.
package func sha256(_ bytes: [UInt8]) throws(StateError) -> String {
  let digest = try BlobDigest()
  bytes.withUnsafeBufferPointer { digest.add($0) }
  return try digest.finish().sha256
}

/// Makes the reference to a blob whose bytes come in pieces.
final class BlobDigest {
  private var hash: SHA256
  private var size = 0
  private var isSound = true

  init() throws(StateError) {
    do throws(SHA256.Unavailable) { hash = try SHA256() } catch { throw StateError(.unavailable, error.message) }
  }

  func add(_ piece: UnsafeBufferPointer<UInt8>) {
    isSound = hash.update(UnsafeRawBufferPointer(piece).bytes) && isSound
    size += piece.count
  }

  /// Ends the digest and returns the reference to all bytes; nothing may be added afterwards.
  func finish() throws(StateError) -> BlobReference {
    guard isSound, let digest = hash.finish() else {
      throw StateError(.unavailable, "libcrypto cannot compute SHA-256 here")
    }
    return BlobReference(sha256: digest, size: size)
  }
}
