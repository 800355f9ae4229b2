public import Basics
public import HTTPTypes

/// An answer, whatever its status says.
public struct HTTPResponse: Sendable {
  /// The status code.
  public var status: Int
  /// The header fields, without trailers and without those of interim answers.
  public var headers: HTTPHeaders
  /// The body, decompressed; empty if it went elsewhere, as a download's does.
  public var body: [UInt8]
  /// How many bytes of body arrived, decompressed, wherever they went.
  public var bodyBytes: Int
  /// The URL that answered, after redirects; it holds the secrets of the request, so show `HTTPRequest.redactedURL`.
  public var url: String
  /// Whether the query of the URL is secret.
  package var hidesQuery = false
  /// The network address that answered, if a network did; of a proxy, its own.
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

  /// How long the server asks to wait (`Retry-After`, in seconds or as a date), or nil if it says nothing readable.
  ///
  /// A date that has passed means no wait; what asks for more than a hundred years is taken for a hundred.
  public func retryAfter(now: Timestamp) -> TimeSpan? {
    guard let text = headers["Retry-After"] else { return nil }
    let longest = TimeSpan.seconds(36_500 * 86_400)
    if !text.isEmpty, text.utf8.allSatisfy({ ASCII.digits.contains($0) }) {
      return min(.seconds(Int(text) ?? .max), longest)
    }
    return HTTPDate.read(text).map { date in
      min(max(date.span(since: now) ?? (date < now ? .zero : longest), .zero), longest)
    }
  }
}

/// Why there is no answer.
public struct HTTPError: Error, Sendable {
  /// What went wrong, for code to decide by.
  public enum Kind: Hashable, Sendable {
    /// The request cannot be sent as it is: its URL, a header or a file it names.
    case invalidRequest
    /// The name of the host, or of the proxy, is not known.
    case resolve
    /// No connection came about: refused, unreachable, or the proxy would not.
    case connect
    /// The server's certificate is not trusted, or TLS could not be agreed on.
    case tls
    /// A time limit passed.
    case timeout(Timeout)
    /// The task was cancelled.
    case cancelled
    /// The answer is larger than the limit.
    case tooLarge
    /// A redirect that is not followed.
    case redirect
    /// The answer is no HTTP.
    case malformedResponse
    /// The connection ended before the answer did.
    case interrupted
    /// What arrived could not be stored, or is not what was expected.
    case file
    /// A library that HTTP needs is not installed.
    case missingLibrary
  }

  /// Which time limit passed.
  public enum Timeout: Hashable, Sendable {
    case connect, attempt, total, stall
  }

  /// What the server can have seen.
  public enum Sent: Hashable, Sendable {
    /// Not a byte of the request: it may be made again, even if it changes something.
    case nothing
    /// Some or all of the request: what it asks for may have happened.
    case maybe
  }

  /// What went wrong.
  public var kind: Kind
  /// A sentence for people, which names the host and the way out and holds no secret.
  public var message: String
  /// What the server can have seen.
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
