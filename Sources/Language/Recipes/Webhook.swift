package import Basics

/// The settings of an entry's `webhook`: the address of deliveries, the proof of their sender, and their meaning.
package struct Webhook: Sendable {
  /// Where deliveries are posted, below `/hooks/`.
  package var path: String
  package var verification: Verification
  /// The expression that identifies a delivery, if the scheme has no id for it.
  package var id: RecipeExpression?
  /// How long the id of a delivery is remembered.
  package var dedupeFor: TimeSpan
  /// The fields of the head that `event.headers` has.
  package var headers: [String]
  /// The event that runs wait for and that a delivery is sent as; it starts no run then.
  package var signal: String?
  package var match: RecipeExpression?
  package var form: EventForm
  /// The answers to requests; the first that fits is sent.
  package var answers: [Answer] = []
  /// `answer` as it is written, until the type of the recipe's outputs is known.
  var unreadAnswers: Value?
  /// The secrets that deliveries are verified with, by their names.
  package var secrets: [(name: String, location: Diagnostic.Location?)]

  /// Where every address of a webhook begins.
  package static let root = "/hooks/"

  /// The path of the address.
  package var address: String { Webhook.root + path }

  /// How long an id is remembered if the entry doesn't say: longer than senders repeat a delivery.
  static let dedupeFor = TimeSpan.seconds(7 * 86_400)
  /// How far a sender's clock may be from this one if the entry doesn't say.
  static let tolerance = TimeSpan.seconds(5 * 60)

  /// How deliveries prove who sent them.
  ///
  /// With several secrets each is accepted, such as the new one and the old.
  package enum Verification: Sendable, Equatable {
    /// Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`.
    case standard(secrets: [String], tolerance: TimeSpan)
    /// `X-Hub-Signature-256`.
    case github(secrets: [String])
    /// `Stripe-Signature`.
    case stripe(secrets: [String], tolerance: TimeSpan)
    case hmac(SignatureForm, secrets: [String], tolerance: TimeSpan)
    /// A field of the head that holds the secret itself.
    case token(header: String, secrets: [String])
    case none

    /// The scheme's name in recipes.
    package var name: String {
      switch self {
      case .standard: "standard"
      case .github: "github"
      case .stripe: "stripe"
      case .hmac: "hmac"
      case .token: "token"
      case .none: "none"
      }
    }

    package var secrets: [String] {
      switch self {
      case .standard(let secrets, _), .github(let secrets), .stripe(let secrets, _), .hmac(_, let secrets, _),
        .token(_, let secrets):
        secrets
      case .none: []
      }
    }
  }

  /// How a sender signs by HMAC-SHA256.
  package struct SignatureForm: Sendable, Equatable {
    package enum Encoding: String, CaseIterable, Sendable { case hex, base64, base64url }

    /// A part of the text that is signed.
    package enum Part: Sendable, Equatable {
      case text(String)
      case timestamp, body
    }

    /// The field of the head that holds the signature.
    package var header: String
    package var encoding: Encoding
    /// The text before the signature in that field.
    package var prefix: String
    /// The field of the head that holds the time, in seconds since 1970.
    package var timestampHeader: String?
    package var signed: [Part]

    package init(header: String, encoding: Encoding, prefix: String, timestampHeader: String?, signed: [Part]) {
      self.header = header
      self.encoding = encoding
      self.prefix = prefix
      self.timestampHeader = timestampHeader
      self.signed = signed
    }

    /// Reads `signed`, such as `v0:{timestamp}:{body}`; nil if it has another name in braces.
    static func parts(of text: String) -> [Part]? {
      var parts: [Part] = []
      var rest = text.utf8[...]
      while let open = rest.firstIndex(of: ASCII.openBrace) {
        guard let close = rest[open...].firstIndex(of: ASCII.closeBrace) else { return nil }
        if open > rest.startIndex { parts.append(.text(String(Substring(rest[..<open])))) }
        switch String(Substring(rest[rest.index(after: open)..<close])) {
        case "timestamp": parts.append(.timestamp)
        case "body": parts.append(.body)
        default: return nil
        }
        rest = rest[rest.index(after: close)...]
      }
      if !rest.isEmpty { parts.append(.text(String(Substring(rest)))) }
      return parts
    }
  }
}

extension Trigger {
  /// The webhook that starts runs, if one does.
  package var webhook: Webhook? { if case .webhook(let webhook) = kind { webhook } else { nil } }
}

extension Recipe {
  /// The secrets that deliveries of its webhooks are verified with; no step sees them.
  package var webhookSecrets: [(name: String, location: Diagnostic.Location?)] {
    triggers.flatMap { $0.webhook?.secrets ?? [] }
  }
}
