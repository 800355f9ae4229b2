/// Why a service's client did not do what it was asked.
///
/// Programs switch on the kind, which each client declares; people read the message.
public struct ServiceError<Kind: ServiceErrorKind>: Error, Sendable, CustomStringConvertible {
  /// What went wrong.
  public var kind: Kind
  /// What happened, and what to do where one can say it, in sentences without secrets.
  public var message: String
  /// What the service said of it in the answer's body, if that is words and no page.
  public var detail: String?
  /// How long to wait before the next request, if the service says so.
  public var retryAfter: TimeSpan?
  /// Whether anything can have changed outside.
  public var effect: OutsideEffect

  /// Creates an error; one of a call that only reads has no effect.
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

/// What can go wrong with a service, for code to decide by.
public protocol ServiceErrorKind: Sendable {
  /// The kind as the runs see it.
  var errorKind: ErrorKind { get }
  /// The HTTP status, if there was one.
  var status: Int? { get }
  /// How long to wait before the next request, where the service does not say so.
  var retryAfter: TimeSpan? { get }
}

extension ServiceErrorKind {
  /// None: no answer came, or its status is not what went wrong.
  public var status: Int? { nil }
  /// None: when to try again is for the runs to say.
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
