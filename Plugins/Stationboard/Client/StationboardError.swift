public import ActionKit
public import HTTPClient

/// Why the service did not answer what it was asked.
///
/// Every call only reads, so nothing can have happened outside.
public typealias StationboardError = ServiceError<StationboardErrorKind>

/// The kinds of errors of the service.
public enum StationboardErrorKind: ServiceErrorKind {
  /// A parameter cannot be right; no request was sent.
  case invalidParameter
  /// The service knows no such stop.
  case unknownStop
  /// The service takes the request for wrong; its code says why, such as `invalid_coordinates`.
  case refused(code: String)
  /// Too many requests came from this address.
  case rateLimited
  /// No answer came.
  case network(HTTPError)
  /// The service answered with an error status.
  case httpStatus(Int)
  /// The answer doesn't match the contract.
  case decoding
  /// The board is older than was wanted.
  case tooOld

  /// Whether the service or the way to it failed, so that an earlier board may stand in.
  var isOutage: Bool {
    switch self {
    case .network(let error): [.network, .timeout].contains(error.errorKind)
    case .httpStatus(let status): status >= 500
    case .tooOld: true
    case .invalidParameter, .unknownStop, .refused, .rateLimited, .decoding: false
    }
  }

  public var errorKind: ErrorKind {
    switch self {
    case .invalidParameter, .refused: .validation
    case .unknownStop: .notFound
    case .rateLimited: .rateLimited
    case .network(let error): error.errorKind
    // The contract lets no 4xx be retried but 429.
    case .httpStatus(408), .decoding: .plugin
    case .httpStatus(let status): ErrorKind(httpStatus: status)
    case .tooOld: .server
    }
  }

  public var status: Int? {
    switch self {
    case .rateLimited: 429
    case .httpStatus(let status): status
    default: nil
    }
  }

  // Nothing retries an answer that cannot be read; a new request gets the same one from the edge's cache for a while.
  public var retryAfter: TimeSpan? { if case .decoding = self { StationboardClient.cadence } else { nil } }
}
