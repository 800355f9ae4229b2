public import Basics

// The kind of error that a failed exchange is to a run. Whether it may have changed something is another question,
// which `HTTPError.sent` and the meaning of the request answer.

extension HTTPError {
  /// The kind of error that this is for a run.
  public var errorKind: ErrorKind {
    switch kind {
    case .timeout: .timeout
    case .tls, .missingLibrary: .configuration
    case .cancelled: .cancelled
    case .tooLarge, .redirect, .malformedResponse: .plugin
    case .invalidRequest, .file: .validation
    case .resolve, .connect, .interrupted: .network
    }
  }
}

extension ErrorKind {
  /// The kind of error that an HTTP status stands for.
  public init(httpStatus status: Int) {
    switch status {
    case 401: self = .authentication
    case 403: self = .authorization
    case 404: self = .notFound
    case 408: self = .timeout
    case 429: self = .rateLimited
    case 500...: self = .server
    default: self = .plugin
    }
  }
}
