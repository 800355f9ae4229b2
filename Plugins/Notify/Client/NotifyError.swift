public import ActionKit
public import HTTPClient

/// Why a message was refused, or may have been.
public typealias NotifyError = ServiceError<NotifyErrorKind>

/// What went wrong with a message.
public enum NotifyErrorKind: ServiceErrorKind {
  /// The settings or the message make no sense; nothing was sent.
  case invalid
  /// No whole answer came.
  case network(HTTPError)
  /// The server answered with a status of failure.
  case httpStatus(Int)
  /// The answer is not what such a server answers.
  case unreadable

  public var errorKind: ErrorKind {
    switch self {
    case .invalid: .configuration
    case .network(let error): error.errorKind
    case .httpStatus(let status): ErrorKind(httpStatus: status)
    case .unreadable: .plugin
    }
  }

  public var status: Int? { if case .httpStatus(let status) = self { status } else { nil } }
}
