import ActionKit
import HTTPClient

/// Signs messages as Standard Webhooks do (standardwebhooks.com, "Signature scheme"): HMAC with SHA-256 of
/// `id.timestamp.body`.
///
/// The key is the Base64 after `whsec_`.
enum StandardSignature {
  /// The header fields of a message; nil if the secret is invalid, or libcrypto is missing.
  static func fields(of body: [UInt8], id: String, at seconds: Int, secret: String) -> HTTPHeaders? {
    let prefix = "whsec_"
    let text = secret.trimmed
    guard let key = [UInt8](base64: text.hasPrefix(prefix) ? String(text.dropFirst(prefix.utf8.count)) : text),
      !key.isEmpty
    else { return nil }
    let id = sound(id)
    guard let code = MessageAuthentication.code(of: Array("\(id).\(seconds).".utf8) + body, key: key) else {
      return nil
    }
    return ["webhook-id": id, "webhook-timestamp": "\(seconds)", "webhook-signature": "v1,\(code.base64)"]
  }

  /// The id, or its hash if the id is longer than 256 bytes or contains invalid characters: a full stop, which
  /// separates it from the time, or one that a header field can't hold.
  private static func sound(_ id: String) -> String {
    let isSound = id.utf8.count <= 256 && id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != ASCII.dot }
    return isSound ? id : SHA256.digest(of: Array(id.utf8)) ?? ""
  }
}
