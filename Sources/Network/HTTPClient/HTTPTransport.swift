public import Basics

/// Carries single exchanges; tests and simulations replace the network here.
///
/// Redirects, records and files are handled by the client above it.
public protocol HTTPTransport: Sendable {
  /// Sends one request and waits for the whole answer; a redirect is an answer.
  ///
  /// - Parameter sink: Receives the body if it accepts the answer; without one the answer holds its body.
  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse
}

/// Receives a body as it arrives, so that it need not fit in memory.
public protocol HTTPBodySink: Sendable {
  /// Whether the body of this answer, whose head is known, goes here; otherwise it is collected in the answer.
  func accepts(_ head: HTTPResponse) -> Bool
  /// Receives the next bytes; called on the transport's thread, one call at a time.
  func receive(_ bytes: RawSpan) throws(HTTPError)
  /// How many bytes it had before this answer, of the same whole.
  var bytesBefore: Int { get }
}

extension HTTPBodySink {
  /// None, unless it continues something.
  public var bytesBefore: Int { 0 }
}

/// The record of an exchange: never a body, never a secret.
public struct HTTPExchange: Sendable {
  /// The method as sent.
  public var method: String
  /// The URL without secrets.
  public var redactedURL: String
  /// The status, if there was an answer.
  public var status: Int?
  /// How many bytes of body arrived, decompressed; 0 for an incomplete answer.
  public var bytes: Int
  /// The time it took.
  public var elapsed: TimeSpan
  /// Why there is no answer.
  public var error: HTTPError?

  init(_ request: HTTPRequest, _ response: HTTPResponse) {
    method = request.method
    redactedURL = request.redactedURL
    status = response.status
    bytes = response.bodyBytes
    elapsed = response.elapsed
  }

  init(_ request: HTTPRequest, failedBy error: HTTPError) {
    method = request.method
    redactedURL = request.redactedURL
    bytes = 0
    elapsed = error.elapsed
    self.error = error
  }
}
