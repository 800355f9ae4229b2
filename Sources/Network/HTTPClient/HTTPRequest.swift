public import Basics
@_exported public import HTTPTypes

/// One request, how to send it, and which of its parts may be shown.
public struct HTTPRequest: Sendable {
  /// The method as sent.
  public var method: String
  /// An absolute `http` or `https` URL, percent-encoded; a fragment is not sent.
  public var url: String
  /// The header fields; the client sets lengths and transfer codings.
  public var headers: HTTPHeaders
  /// The body; nil for none.
  public var body: [UInt8]?
  /// How long it may take and how large the answer may be.
  public var limits: HTTPLimits
  /// Which redirects are followed.
  public var redirects: HTTPRedirects
  /// The statuses that are answers even where they redirect, so that such a redirect isn't followed.
  package var expectedStatuses: Set<Int> = []
  /// Items of the query that every request to this origin has, so that a redirect within it has them, too.
  package var standingQuery = HTTPQuery()
  /// Names of query parameters whose values are never shown, regardless of case and percent-encoding.
  public var redactedParameters: Set<String>
  /// Whether the whole path and query are secret, as for a webhook.
  public var hidesPath: Bool
  /// Whether the whole query is secret, as for an address from an answer: it may be signed, and give anyone access.
  public var hidesQuery: Bool
  /// Texts that no log and no recording may show, anywhere in the request.
  public var secrets: [String]
  /// Names of header fields that carry credentials and aren't sent to another origin after a redirect.
  public var credentialHeaders: Set<String>
  /// Whether the server may compress the answer; the size limit is for the decompressed body.
  public var acceptsCompression: Bool

  /// Whether only a public address may be contacted, because a redirect from one led here.
  var staysOutside = false

  /// The fields that carry credentials by definition.
  public static let standardCredentialHeaders: Set<String> = ["authorization", "cookie", "proxy-authorization"]

  /// Creates a request.
  public init(
    _ method: String, _ url: String, headers: HTTPHeaders = [:], body: [UInt8]? = nil,
    limits: HTTPLimits = HTTPLimits(), redirects: HTTPRedirects = .sameOrigin, redactedParameters: Set<String> = [],
    hidesPath: Bool = false, hidesQuery: Bool = false, secrets: [String] = [],
    credentialHeaders: Set<String> = standardCredentialHeaders,
    acceptsCompression: Bool = false
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.limits = limits
    self.redirects = redirects
    self.redactedParameters = redactedParameters
    self.hidesPath = hidesPath
    self.hidesQuery = hidesQuery
    self.secrets = secrets
    self.credentialHeaders = credentialHeaders
    self.acceptsCompression = acceptsCompression
  }

  /// The URL as errors, logs and records show it: without user information, the values of secret parameters, and a
  /// secret path.
  public var redactedURL: String { redact(url) }

  /// The URL as recordings and recipe tests have it, which can be parsed like any other.
  package var recordedURL: String { redact(url, by: Redaction.plainMark) }

  /// Another URL of the same exchange, redacted by the same rules.
  func redact(_ url: String, by mark: String = Redaction.mark) -> String {
    if hidesPath { return HTTPURL(url).map { "\($0.origin)/…" } ?? "…" }
    let displayed = Redaction.url(url, hiding: redactedParameters, by: mark)
    return hidesQuery ? HTTPRequest.hidingQuery(of: displayed, by: mark) : displayed
  }

  /// An address of a recording as people see it.
  package static func displayed(recorded url: String) -> String {
    url.replacing(Redaction.plainMark, with: Redaction.mark)
  }

  /// An address as it is shown where its query is secret; its fragment is hidden with it.
  package static func hidingQuery(of url: String, by hidden: String = MaskedText.mark) -> String {
    guard let mark = url.utf8.firstIndex(where: { $0 == ASCII.question || $0 == ASCII.hash }) else {
      return url
    }
    return "\(url[...mark])\(hidden)"
  }
}

/// How long a request may take and how large its answer may be.
public struct HTTPLimits: Sendable {
  /// The time to connect, TLS included.
  public var connect: TimeSpan
  /// The time of one exchange, from its start to the last byte; nil for no limit.
  public var attempt: TimeSpan?
  /// The time of everything, redirects included; nil for no limit beyond the limit of each exchange.
  public var total: TimeSpan?
  /// The longest time without a single byte before a started exchange times out, in whole seconds; nil for no limit.
  public var stall: TimeSpan?
  /// The largest body that is accepted, after decompression.
  public var maxBodyBytes: Int

  /// Creates limits; the defaults suit an ordinary API call.
  public init(
    connect: TimeSpan = .seconds(10), attempt: TimeSpan? = .seconds(30), total: TimeSpan? = nil,
    stall: TimeSpan? = nil, maxBodyBytes: Int = 64 << 20
  ) {
    self.connect = connect
    self.attempt = attempt
    self.total = total
    self.stall = stall
    self.maxBodyBytes = maxBodyBytes
  }
}

/// Which redirects are followed; a refused one is an error, because the URL may hold secrets.
public struct HTTPRedirects: Sendable {
  /// How many are followed in a row; with 0, a redirect is an answer like any other.
  public var limit: Int
  /// Decides by the URL that redirects and the target.
  var allows: @Sendable (_ from: HTTPURL, _ to: HTTPURL) -> Bool
  /// The rule's requirement, for the message when it refuses.
  var requirement: String

  /// Follows none: the caller gets the redirect as the answer.
  public static let none = HTTPRedirects(limit: 0, allows: { _, _ in false }, requirement: "nowhere")
  /// Follows up to five, to the same scheme, host and port.
  public static let sameOrigin = HTTPRedirects(
    limit: 5, allows: { $0.origin == $1.origin }, requirement: "the same scheme, host and port")
  /// Follows up to five to any host, but never from `https` to `http`.
  public static let secure = HTTPRedirects(
    limit: 5, allows: { $0.scheme == $1.scheme || $1.scheme == "https" }, requirement: "no plain http after https")

  /// Follows redirects that a rule allows.
  ///
  /// - Parameter requirement: completes the sentence *Only redirects to … are followed.*
  public static func rule(
    limit: Int = 5, requirement: String, _ allows: @escaping @Sendable (_ from: HTTPURL, _ to: HTTPURL) -> Bool
  ) -> HTTPRedirects {
    HTTPRedirects(limit: limit, allows: allows, requirement: requirement)
  }
}
