package import Basics
package import Recipes

// How deliveries prove who sent them. The octets are verified as they came, before anything is parsed; what depends on a
// secret is compared in constant time, and every secret is tried, whichever fits.
//
//   standard   `webhook-signature`: `v1,` and the HMAC in base64, or `v1a,` and the signature by Ed25519, several with
//              blanks between; of `webhook-id` . `webhook-timestamp` . body (Standard Webhooks). An HMAC's key is base64
//              after `whsec_`, a public key after `whpk_`.
//   github     `X-Hub-Signature-256`: `sha256=` and the HMAC in hexadecimal, of the body
//   stripe     `Stripe-Signature`: `t=` the time, `v1=` the HMAC in hexadecimal, perhaps several; of t . body
//   hmac       as the entry says
//   token      a field of the head that holds the secret itself
//
// A field that is there twice proves nothing. A time is in seconds since 1970, and may be off by the tolerance both ways.

/// A request to the address of a webhook.
package struct Delivery: Sendable {
  /// The fields of the head, in their order.
  package var fields: [(name: String, value: String)]
  /// The query of the address, in its order.
  package var query: [(name: String, value: String)]
  package var body: [UInt8]
  /// Reads the body as a form; throws what isn't in its charset.
  package var form: @Sendable () throws(CharsetError) -> [(name: String, value: String)]

  package init(
    fields: [(name: String, value: String)], query: [(name: String, value: String)] = [], body: [UInt8],
    form: @escaping @Sendable () throws(CharsetError) -> [(name: String, value: String)] = { [] }
  ) {
    self.fields = fields
    self.query = query
    self.body = body
    self.form = form
  }

  func values(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  /// The value of a field that is there exactly once.
  fileprivate func value(_ name: String) -> String? {
    let values = values(name)
    return values.count == 1 ? values[0] : nil
  }
}

/// The identity of a delivery with a valid signature.
package struct VerifiedDelivery: Sendable, Equatable {
  /// The id of the delivery by the scheme.
  package var id: String?
  /// The octets of the signature, where a delivery could be repeated under another id.
  package var signature: [UInt8]?
}

extension Webhook.Verification {
  /// Why a secret can't be one of this scheme; nil if it can.
  ///
  /// The text says nothing of the secret.
  package func fault(of secret: String) -> String? {
    if secret.isEmpty { return "is empty" }
    guard case .standard = self else { return nil }
    return StandardKey(secret) == nil ? "has to be base64 after whsec_, or 32 octets in base64 after whpk_" : nil
  }

  /// Whether a delivery is signed with one of some secrets, and its time is good; nil if not.
  package func verify(_ delivery: Delivery, secrets: [String], at now: Timestamp) -> VerifiedDelivery? {
    switch self {
    case .standard(_, let tolerance):
      guard let id = delivery.value("webhook-id"), !id.isEmpty, !id.contains("."),
        let time = delivery.value("webhook-timestamp"), let given = delivery.value("webhook-signature")
      else { return nil }
      let signed = Array("\(id).\(time).".utf8) + delivery.body
      let signatures = given.split(separator: " ")
      var isGood = false
      for key in secrets.compactMap(StandardKey.init) {
        for signature in signatures where key.signed(signed, as: signature) { isGood = true }
      }
      return isGood && isNear(time, now, tolerance) ? VerifiedDelivery(id: id) : nil
    case .github:
      guard let given = delivery.value("X-Hub-Signature-256"),
        let signature = bytes(given, after: "sha256=", .hex),
        isCode([signature], of: delivery.body, secrets)
      else { return nil }
      return VerifiedDelivery(id: delivery.value("X-GitHub-Delivery"), signature: signature)
    case .stripe(_, let tolerance):
      guard let given = delivery.value("Stripe-Signature") else { return nil }
      let items = given.split(separator: ",").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
      let times = items.filter { $0.count == 2 && $0[0] == "t" }
      let signatures = items.compactMap { $0.count == 2 && $0[0] == "v1" ? [UInt8](hexadecimal: $0[1]) : nil }
      guard times.count == 1, isCode(signatures, of: Array("\(times[0][1]).".utf8) + delivery.body, secrets),
        isNear(times[0][1], now, tolerance)
      else { return nil }
      return VerifiedDelivery()
    case .hmac(let form, _, let tolerance):
      guard let given = delivery.value(form.header), let signature = bytes(given, after: form.prefix, form.encoding)
      else { return nil }
      let time = form.timestampHeader.map { delivery.value($0) ?? "" }
      var signed: [UInt8] = []
      for part in form.signed {
        switch part {
        case .text(let text): signed += Array(text.utf8)
        case .timestamp: signed += Array((time ?? "").utf8)
        case .body: signed += delivery.body
        }
      }
      guard isCode([signature], of: signed, secrets) else { return nil }
      if let time, !isNear(time, now, tolerance) { return nil }
      return VerifiedDelivery(signature: signature)
    case .token(let header, _):
      guard var given = delivery.value(header) else { return nil }
      // The scheme of the field Authorization is no part of a token.
      if header.lowercased() == "authorization", given.lowercased().hasPrefix("bearer ") {
        given = String(given.dropFirst("bearer ".count))
      }
      // Hashed first, so that the time doesn't tell how long the secret is.
      var isGood = false
      for secret in secrets {
        guard let one = MessageAuthentication.code(of: Array(given.utf8), key: []),
          let other = MessageAuthentication.code(of: Array(secret.utf8), key: [])
        else { return nil }
        if MessageAuthentication.areSame(one, other) { isGood = true }
      }
      return isGood ? VerifiedDelivery() : nil
    case .none: return VerifiedDelivery()
    }
  }

  /// Whether one of some signatures is the HMAC of a text with one of some secrets.
  private func isCode(_ signatures: [[UInt8]], of text: [UInt8], _ secrets: [String]) -> Bool {
    var isGood = false
    for secret in secrets {
      guard let code = MessageAuthentication.code(of: text, key: Array(secret.utf8)) else { return false }
      for signature in signatures where MessageAuthentication.areSame(code, signature) { isGood = true }
    }
    return isGood
  }

  private func bytes(
    _ text: String, after prefix: String, _ encoding: Webhook.SignatureForm.Encoding
  ) -> [UInt8]? {
    guard text.hasPrefix(prefix) else { return nil }
    let digits = String(text.dropFirst(prefix.count))
    switch encoding {
    case .hex: return [UInt8](hexadecimal: digits)
    case .base64: return [UInt8](base64: digits)
    case .base64url:
      guard !digits.utf8.contains(where: { $0 == ASCII.plus || $0 == ASCII.slash }) else { return nil }
      let standard = digits.utf8.map { byte -> UInt8 in
        byte == ASCII.minus ? ASCII.plus : byte == ASCII.underscore ? ASCII.slash : byte
      }
      return [UInt8](base64: String(decoding: standard, as: UTF8.self), requiresPadding: false)
    }
  }

  private func isNear(_ time: String, _ now: Timestamp, _ tolerance: TimeSpan) -> Bool {
    guard !time.isEmpty, time.utf8.count <= 12, time.utf8.allSatisfy(ASCII.digits.contains), let seconds = Int(time),
      let instant = Timestamp(seconds: seconds), let early = now.span(since: instant),
      let late = instant.span(since: now)
    else { return false }
    return early <= tolerance && late <= tolerance
  }
}

/// A key of Standard Webhooks.
private enum StandardKey {
  case shared([UInt8])
  case published([UInt8])

  init?(_ text: String) {
    if text.hasPrefix("whpk_") {
      guard let key = [UInt8](base64: String(text.dropFirst(5))), key.count == 32 else { return nil }
      self = .published(key)
    } else {
      let digits = text.hasPrefix("whsec_") ? String(text.dropFirst(6)) : text
      guard let key = [UInt8](base64: digits, requiresPadding: false), !key.isEmpty else { return nil }
      self = .shared(key)
    }
  }

  func signed(_ text: [UInt8], as given: Substring) -> Bool {
    let parts = given.split(separator: ",", maxSplits: 1)
    guard parts.count == 2, let signature = [UInt8](base64: String(parts[1])) else { return false }
    switch self {
    case .shared(let key):
      guard parts[0] == "v1", let code = MessageAuthentication.code(of: text, key: key) else { return false }
      return MessageAuthentication.areSame(code, signature)
    case .published(let key):
      return parts[0] == "v1a" && MessageAuthentication.isSignature(signature, of: text, by: key)
    }
  }
}
