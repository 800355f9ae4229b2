public import ActionKit
public import HTTPClient

/// Why the data set could not be asked for, installed or read.
///
/// Programs switch on the kind; people read the message, which holds no secret. Nothing that fails changes anything:
/// the data that were installed stay in use.
public struct TransitDataError: Error, Sendable, CustomStringConvertible {
  /// What went wrong.
  public enum Kind: Sendable {
    /// What was asked for makes no sense.
    case invalidParameter
    /// The settings cannot work: an address that is no secure one, a redirect to where nobody expects it.
    case configuration
    /// There is no such repository, no access to it, or no published release.
    case noRelease
    /// The release has no station file.
    case assetMissing
    /// The quota is used up; the instant is when it is worth asking again.
    case rateLimited(until: Timestamp)
    /// The token is not accepted.
    case unauthorized
    /// There is no access with this token, or without one.
    case forbidden
    /// No whole answer came.
    case network(HTTPError)
    /// The server answered with a status of failure.
    case httpStatus(Int)
    /// The file is larger than the bound.
    case tooLarge
    /// The bytes that arrived are not those of the release: size or digest differ.
    case digestMismatch
    /// An answer or the file is not what it should be.
    case decoding
    /// The content of the file does not have the checksum inside it.
    case checksumMismatch
    /// No data set is installed.
    case noCachedData
    /// No station, or more than one, is what was asked for.
    case notFound
    /// The data set cannot be stored, or what is stored cannot be read.
    case storage
    /// The calling task was cancelled.
    case cancelled
  }

  /// What went wrong.
  public var kind: Kind
  /// What happened and what to do, in sentences.
  public var message: String
  /// What the service said of it in the answer's body, if that is words and no page.
  public var detail: String?
  /// How long to wait before it is worth asking again, if the service says so.
  public var retryAfter: TimeSpan?

  /// Creates an error.
  public init(_ kind: Kind, _ message: String, retryAfter: TimeSpan? = nil) {
    self.kind = kind
    self.message = message
    self.retryAfter = retryAfter
  }

  /// The message.
  public var description: String { message }

  /// Whether it is about the way to the service, so that what is installed serves meanwhile.
  var passes: Bool {
    switch kind {
    case .rateLimited, .network: true
    case .httpStatus(let status): status >= 500 || status == 408
    default: false
    }
  }
}

extension TransitDataError {
  /// No whole answer came, or a file that does not keep to what was announced.
  init(_ error: HTTPError, asking what: String) {
    let kind: Kind =
      switch error.kind {
      case .cancelled: .cancelled
      case .tooLarge: .tooLarge
      case .redirect, .invalidRequest: .configuration
      default: .network(error)
      }
    self.init(kind, "Asking for \(what) failed. \(error.message)")
  }
}

extension TransitDataError: ActionErrorConvertible {
  public var actionError: ActionError {
    switch kind {
    case .invalidParameter: failure(.validation)
    case .configuration, .storage: failure(.configuration)
    case .noRelease, .assetMissing, .noCachedData, .notFound: failure(.notFound)
    case .rateLimited: failure(.rateLimited)
    case .unauthorized: failure(.authentication)
    case .forbidden: failure(.authorization)
    case .network(let error): failure(error.errorKind)
    case .httpStatus(let status): failure(ErrorKind(httpStatus: status), status: status)
    case .tooLarge, .decoding, .checksumMismatch: failure(.plugin)
    // What was lost on the way may arrive the next time.
    case .digestMismatch: failure(.network)
    case .cancelled: failure(.cancelled)
    }
  }

  /// Every request is a `GET`, and the data that are installed are replaced whole or not at all.
  private func failure(_ kind: ErrorKind, status: Int? = nil) -> ActionError {
    ActionError(
      kind, message, detail: detail, status: status, retryAfter: retryAfter, effect: ActionError.Effect.none,
      cause: self)
  }
}
