public import ActionKit
public import HTTPClient

/// Why the data set could not be asked for, installed or read.
///
/// Nothing that fails changes anything: every request is a `GET`, and the data that are installed are replaced whole or
/// not at all.
public typealias TransitDataError = ServiceError<TransitDataErrorKind>

/// The kinds of errors of the data set.
public enum TransitDataErrorKind: ServiceErrorKind {
  /// A parameter is invalid.
  case invalidParameter
  /// The settings cannot work: an address isn't secure, or redirects to an unexpected host.
  case configuration
  /// There is no such repository, no access to it, or no published release.
  case noRelease
  /// The release has no station file.
  case assetMissing
  /// The quota is used up; the instant is when it is worth asking again.
  case rateLimited(until: Timestamp)
  /// The token is not accepted.
  case unauthorized
  /// The token gives no access, or there is no token and access needs one.
  case forbidden
  /// No whole answer came.
  case network(HTTPError)
  /// The server answered with a status of failure.
  case httpStatus(Int)
  /// The file is larger than the bound.
  case tooLarge
  /// The size or the digest of the received bytes differs from the release's.
  case digestMismatch
  /// An answer or the file has an unexpected form.
  case decoding
  /// The content of the file does not have the checksum inside it.
  case checksumMismatch
  /// No data set is installed.
  case noCachedData
  /// No station, or more than one, matches the query.
  case notFound
  /// The data set cannot be stored, or the stored one cannot be read.
  case storage
  /// The calling task was cancelled.
  case cancelled

  /// Whether the error concerns the network or the service, so that the installed data set is used meanwhile.
  var passes: Bool {
    switch self {
    case .rateLimited, .network: true
    case .httpStatus(let status): status >= 500 || status == 408
    default: false
    }
  }

  public var errorKind: ErrorKind {
    switch self {
    case .invalidParameter: .validation
    case .configuration, .storage: .configuration
    case .noRelease, .assetMissing, .noCachedData, .notFound: .notFound
    case .rateLimited: .rateLimited
    case .unauthorized: .authentication
    case .forbidden: .authorization
    case .network(let error): error.errorKind
    case .httpStatus(let status): ErrorKind(httpStatus: status)
    case .tooLarge, .decoding, .checksumMismatch: .plugin
    // A file that was damaged on the way may arrive intact the next time.
    case .digestMismatch: .network
    case .cancelled: .cancelled
    }
  }

  public var status: Int? { if case .httpStatus(let status) = self { status } else { nil } }
}

extension TransitDataError {
  /// The error of a request that got no complete answer, or a file that doesn't match its announcement.
  init(_ error: HTTPError, asking what: String) {
    let kind: TransitDataErrorKind =
      switch error.kind {
      case .cancelled: .cancelled
      case .tooLarge: .tooLarge
      case .redirect, .invalidRequest: .configuration
      default: .network(error)
      }
    self.init(kind, "Asking for \(what) failed. \(error.message)")
  }
}
