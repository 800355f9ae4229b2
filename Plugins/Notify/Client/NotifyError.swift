public import ActionKit
public import HTTPClient

/// An error of a message that was refused, or may have been.
public typealias NotifyError = ServiceError<NotifyErrorKind>

/// The kind of an error of a message.
public enum NotifyErrorKind: ServiceErrorKind {
  /// The settings or the message are invalid; nothing was sent.
  case invalid
  /// No complete response arrived.
  case network(HTTPError)
  /// The server answered with an error status.
  case httpStatus(Int)
  /// The response isn't one of such a server.
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
