public import ActionKit
public import HTTPClient

/// An error of reading the publisher's data, when the cached data couldn't replace them.
///
/// Every call only reads, so nothing can have happened outside.
public typealias TimetableError = ServiceError<TimetableErrorKind>

/// The kinds of errors of the publisher's data.
public enum TimetableErrorKind: ServiceErrorKind {
  /// The selection, or another parameter, cannot be of the contract; nothing was asked.
  case invalidParameter
  /// The catalog or the notices are not there: the base address is wrong, or the publisher is gone.
  case notFound
  /// No answer came.
  case network(HTTPError)
  /// An answer came whose status says nothing else.
  case httpStatus(Int)
  /// The file doesn't match the contract.
  case decoding

  public var errorKind: ErrorKind {
    switch self {
    case .invalidParameter: .validation
    case .notFound: .notFound
    case .network(let error): error.errorKind
    case .httpStatus(let status): ErrorKind(httpStatus: status)
    case .decoding: .plugin
    }
  }

  public var status: Int? {
    switch self {
    case .notFound: 404
    case .httpStatus(let status): status
    default: nil
    }
  }
}
