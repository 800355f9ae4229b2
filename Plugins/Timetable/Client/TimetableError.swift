public import ActionKit
public import HTTPClient

/// Why the publisher's data could not be had, not even from what was kept.
public struct TimetableError: Error, CustomStringConvertible, Sendable {
  /// What went wrong, for code to decide by.
  public enum Kind: Sendable {
    /// The selection, or another parameter, cannot be of the contract; nothing was asked.
    case invalidParameter
    /// The catalog or the notices are not there: the base address is wrong, or the publisher is gone.
    case notFound
    /// No answer came.
    case network(HTTPError)
    /// An answer came whose status says nothing else.
    case httpStatus(Int)
    /// The file is not what the contract says.
    case decoding
  }

  /// What went wrong.
  public var kind: Kind
  /// A sentence that names the file that was asked for.
  public var message: String
  /// What the service said of it in the answer's body, if that is words and no page.
  public var detail: String?
  /// How long the server asks to wait before the next request.
  public var retryAfter: TimeSpan?

  /// Creates an error.
  public init(_ kind: Kind, _ message: String, detail: String? = nil, retryAfter: TimeSpan? = nil) {
    self.kind = kind
    self.message = message
    self.detail = detail
    self.retryAfter = retryAfter
  }

  public var description: String { message }
}

extension TimetableError: ActionErrorConvertible {
  // Every call only reads, so nothing can have happened outside.
  public var actionError: ActionError {
    switch kind {
    case .invalidParameter: failure(.validation)
    case .notFound: failure(.notFound, status: 404)
    case .network(let error): failure(error.errorKind)
    case .httpStatus(let status): failure(ErrorKind(httpStatus: status), status: status)
    case .decoding: failure(.plugin)
    }
  }

  private func failure(_ kind: ErrorKind, status: Int? = nil) -> ActionError {
    ActionError(
      kind, message, detail: detail, status: status, retryAfter: retryAfter, effect: ActionError.Effect.none,
      cause: self)
  }
}
