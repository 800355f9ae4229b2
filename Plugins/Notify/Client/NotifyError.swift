public import ActionKit
public import HTTPClient

/// Why a message was not taken, or nobody knows whether it was.
public struct NotifyError: Error, Sendable, CustomStringConvertible {
  /// What went wrong.
  public enum Kind: Sendable {
    /// The settings or the message make no sense; nothing was sent.
    case invalid
    /// No whole answer came.
    case network(HTTPError)
    /// The server answered with a status of failure.
    case httpStatus(Int)
    /// The answer is not what such a server answers.
    case unreadable
  }

  /// What went wrong.
  public var kind: Kind
  /// What happened and what to do, in sentences without secrets.
  public var message: String
  /// The server's own words.
  public var detail: String?
  /// Whether the message may have been taken.
  public var effect: ActionError.Effect
  /// How long the server asks to wait.
  public var retryAfter: TimeSpan?

  /// Creates an error.
  public init(
    _ kind: Kind, _ message: String, detail: String? = nil, effect: ActionError.Effect = .none,
    retryAfter: TimeSpan? = nil
  ) {
    self.kind = kind
    self.message = message
    self.detail = detail
    self.effect = effect
    self.retryAfter = retryAfter
  }

  /// The message.
  public var description: String { message }
}

extension NotifyError: ActionErrorConvertible {
  /// The error as the runs see it.
  public var actionError: ActionError {
    switch kind {
    case .invalid: ActionError(.configuration, message)
    case .network(let error): ActionError(error.errorKind, message, effect: effect, cause: error)
    case .httpStatus(let status):
      ActionError(
        ErrorKind(httpStatus: status), message, detail: detail, status: status, retryAfter: retryAfter, effect: effect)
    case .unreadable: ActionError(.plugin, message, effect: effect)
    }
  }
}
