public import Basics
public import HTTPTypes

/// An answer, whatever its status.
public struct HTTPResponse: Sendable {
  /// The status code.
  public var status: Int
  /// The header fields, without trailers and the fields of interim answers.
  public var headers: HTTPHeaders
  /// The body, decompressed; empty if it was stored elsewhere, as a download's is.
  public var body: [UInt8]
  /// How many bytes of body arrived, decompressed, wherever they were stored.
  public var bodyBytes: Int
  /// The URL that answered, after redirects; it holds the secrets of the request, so show `HTTPRequest.redactedURL`.
  public var url: String
  /// The address, as `HTTPRequest.redactedURL` gives it, of the GET request that replaced a write after a redirect
  /// (303), if this is the answer to one.
  package var followedURL: String?
  /// Whether it answers such a GET: its status says nothing of the write then.
  package var followsWrite: Bool { followedURL != nil }
  /// Whether the query of the URL is secret.
  package var hidesQuery = false
  /// The network address that answered, if a network did; behind a proxy, the proxy's.
  package var remoteAddress: String?
  /// The time of all exchanges that led here.
  public var elapsed: TimeSpan

  /// Creates an answer, as a transport does.
  public init(
    status: Int = 200, headers: HTTPHeaders = [:], body: [UInt8] = [], url: String = "", elapsed: TimeSpan = .zero
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    bodyBytes = body.count
    self.url = url
    self.elapsed = elapsed
  }

  /// Whether the status is one of success, 200 to 299.
  public var isSuccess: Bool { (200...299).contains(status) }
  /// Whether the status says that what the request is about isn't there (any more).
  package var isGone: Bool { (status == 404 || status == 410) && !followsWrite }

  /// The time that the server asks to wait, or nil if it doesn't ask or the time is unreadable.
  ///
  /// See `AskedWait` for the header fields and their forms.
  public func retryAfter(now: Timestamp) -> TimeSpan? { AskedWait.read(from: self, now: now)?.span }

  /// The unreadable field that asks to wait, such as `Retry-After: soon`; nil if there is none.
  package func unreadableWait(now: Timestamp) -> String? {
    guard let wait = AskedWait.read(from: self, now: now), wait.span == nil else { return nil }
    return "\(wait.name): \(wait.text.excerpt(40))"
  }
}

/// Why there is no answer.
public struct HTTPError: Error, Sendable {
  /// The kind of an error, for code to decide by.
  public enum Kind: Hashable, Sendable {
    /// The request can't be sent as it is: its URL, a header or a file it names.
    case invalidRequest
    /// The name of the host, or of the proxy, is unknown.
    case resolve
    /// The connection failed: refused, unreachable, or the proxy refused.
    case connect
    /// The server's certificate isn't trusted, or the TLS handshake failed.
    case tls
    /// A time limit passed.
    case timeout(Timeout)
    /// The task was cancelled.
    case cancelled
    /// The answer is larger than the limit.
    case tooLarge
    /// A redirect that isn't followed.
    case redirect
    /// The answer isn't HTTP.
    case malformedResponse
    /// The connection ended before the answer did.
    case interrupted
    /// The body could not be stored, or isn't what was expected.
    case file
    /// A library that HTTP needs isn't installed.
    case missingLibrary
  }

  /// Which time limit passed.
  public enum Timeout: Hashable, Sendable {
    case connect, attempt, total, stall
  }

  /// The part of the request that the server may have received.
  public enum Sent: Hashable, Sendable {
    /// None of the request: it may be sent again, even if it changes something.
    case nothing
    /// Some or all of the request: its effect may have happened.
    case maybe
  }

  /// The kind of the error.
  public var kind: Kind
  /// A sentence for people, which names the host and the fix and holds no secret.
  public var message: String
  /// The part of the request that the server may have received.
  public var sent: Sent
  /// The time until it failed.
  public var elapsed: TimeSpan

  /// Creates an error, as a transport does.
  public init(_ kind: Kind, _ message: String, sent: Sent, elapsed: TimeSpan = .zero) {
    self.kind = kind
    self.message = message
    self.sent = sent
    self.elapsed = elapsed
  }
}

extension HTTPError: CustomStringConvertible {
  public var description: String { message }
}
