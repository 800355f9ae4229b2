package import HTTPTypes

/// The answer to a request, faults included: sandboxes have to misbehave on demand.
package struct HTTPServerResponse: Sendable {
  /// The part after the head.
  package enum Body: Sendable {
    case bytes([UInt8])
    /// Written while the client reads; the answer ends when the closure returns, and breaks off when it throws.
    case stream(@Sendable (HTTPBodyWriter) async throws -> Void)
    /// Announces all the bytes, sends this many of them, and breaks off.
    case truncated([UInt8], after: Int)
    /// No answer: the connection is dropped.
    case dropped
  }

  /// The status code, 200 to 599.
  package var status: Int
  /// The header fields; the server sets lengths and transfer codings.
  package var headers: HTTPHeaders
  /// The part after the head.
  package var body: Body
  /// The most bytes of a streamed body that are sent at once.
  ///
  /// The answer has a buffer of this size until its end, so it is small unless the answer is known to be long: there may
  /// be many streams that are idle.
  package var block = 1 << 10

  package init(status: Int = 200, headers: HTTPHeaders = [:], body: Body = .bytes([])) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// An answer that is text.
  package static func text(
    _ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8"
  ) -> HTTPServerResponse {
    HTTPServerResponse(status: status, headers: ["Content-Type": type], body: .bytes(Array(text.utf8)))
  }

  /// A server that hangs up.
  package static let dropped = HTTPServerResponse(body: .dropped)
}

/// The client has gone, or the server stops: nothing more can be written.
package struct HTTPDisconnected: Error {}

/// Writes the body of one answer, at the client's pace.
package struct HTTPBodyWriter: Sendable {
  let exchange: ServerExchange

  /// Waits until the bytes are handed to the connection.
  ///
  /// Only writing detects a client that has gone, so a stream that is silent for long should send something now and
  /// then.
  package func write(_ bytes: [UInt8]) async throws {
    try await exchange.write(bytes)
  }

  /// Writes a text as UTF-8.
  package func write(_ text: String) async throws { try await write(Array(text.utf8)) }
}
