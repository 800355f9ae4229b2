/// The error of a service's client.
///
/// Programs switch on the kind, which each client declares; people read the message.
public struct ServiceError<Kind: ServiceErrorKind>: Error, Sendable, CustomStringConvertible {
  /// The kind of error.
  public var kind: Kind
  /// The cause, and the remedy if there is one, in sentences without secrets.
  public var message: String
  /// The service's own explanation in the response's body, if it is plain text and not a web page.
  public var detail: String?
  /// The time to wait before the next request, if the service says so.
  public var retryAfter: TimeSpan?
  /// Whether the call may have changed anything outside.
  public var effect: OutsideEffect

  /// Creates an error; by default, it has no effect, as for a call that only reads.
  public init(
    _ kind: Kind, _ message: String, detail: String? = nil, retryAfter: TimeSpan? = nil, effect: OutsideEffect = .none
  ) {
    self.kind = kind
    self.message = message
    self.detail = detail
    self.retryAfter = retryAfter
    self.effect = effect
  }

  /// The message.
  public var description: String { message }
}

/// The kinds of errors of a service, for code to switch on.
public protocol ServiceErrorKind: Sendable {
  /// The kind as the runs see it.
  var errorKind: ErrorKind { get }
  /// The HTTP status, if there was one.
  var status: Int? { get }
  /// The time to wait before the next request, if the service doesn't say so.
  var retryAfter: TimeSpan? { get }
}

extension ServiceErrorKind {
  /// None: no response came, or its status isn't the cause.
  public var status: Int? { nil }
  /// None: the runtime decides when to retry.
  public var retryAfter: TimeSpan? { nil }
}

extension ServiceError: ActionErrorConvertible {
  /// The error as the runs see it.
  public var actionError: ActionError {
    ActionError(
      kind.errorKind, message, detail: detail, status: kind.status, retryAfter: retryAfter ?? kind.retryAfter,
      effect: effect, cause: self)
  }
}
