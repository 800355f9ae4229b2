public import ActionKit
public import HTTPClient

/// Why the service did not answer what it was asked.
public struct StationboardError: Error, CustomStringConvertible, Sendable {
  /// What went wrong, for code to decide by.
  public enum Kind: Sendable {
    /// A parameter cannot be right; nobody was asked.
    case invalidParameter
    /// The service knows no such stop.
    case unknownStop
    /// The service takes the request for wrong; its code says why, such as `invalid_coordinates`.
    case refused(code: String)
    /// Too many requests came from this address.
    case rateLimited
    /// No answer came.
    case network(HTTPError)
    /// An answer came whose status says that it is none.
    case httpStatus(Int)
    /// The answer is not what the contract says.
    case decoding
    /// The board is older than was wanted.
    case tooOld
  }

  /// What went wrong.
  public var kind: Kind
  /// A sentence that says what happened, and what to do where one can say it.
  public var message: String
  /// How long the service asks to wait before the next request.
  public var retryAfter: TimeSpan?

  /// Creates an error.
  public init(_ kind: Kind, _ message: String, retryAfter: TimeSpan? = nil) {
    self.kind = kind
    self.message = message
    self.retryAfter = retryAfter
  }

  public var description: String { message }

  /// Whether the service or the way to it failed, so that an earlier board may stand in.
  var isOutage: Bool {
    switch kind {
    case .network(let error): [.network, .timeout].contains(error.errorKind)
    case .httpStatus(let status): status >= 500
    case .tooOld: true
    case .invalidParameter, .unknownStop, .refused, .rateLimited, .decoding: false
    }
  }
}

extension StationboardError: ActionErrorConvertible {
  // Every call only reads, so nothing can have happened outside.
  public var actionError: ActionError {
    switch kind {
    case .invalidParameter, .refused: failure(.validation)
    case .unknownStop: failure(.notFound)
    case .rateLimited: failure(.rateLimited, status: 429)
    case .network(let error): failure(error.errorKind)
    // The contract has no 4xx tried again but 429.
    case .httpStatus(408): failure(.plugin, status: 408)
    case .httpStatus(let status): failure(ErrorKind(httpStatus: status), status: status)
    // Nothing tries it again by itself. Whoever does gets the same from the edge's cache for a while.
    case .decoding: failure(.plugin, retryAfter: StationboardClient.cadence)
    case .tooOld: failure(.server)
    }
  }

  private func failure(_ kind: ErrorKind, status: Int? = nil, retryAfter cadence: TimeSpan? = nil) -> ActionError {
    ActionError(
      kind, message, status: status, retryAfter: retryAfter ?? cadence, effect: ActionError.Effect.none, cause: self)
  }
}
