/// The error of an action that failed.
///
/// The kind is for the runtime. The message is for people; it says what happened and what to do. A plugin says what
/// happened, never how often to try.
public struct ActionError: Error, Sendable {
  /// Whether the failed attempt can have changed anything outside.
  public typealias Effect = OutsideEffect

  /// The kind of failure.
  public var kind: ErrorKind
  /// One sentence without secrets: the cause, and the remedy if there is one.
  public var message: String
  /// More information for an investigation, such as the service's own text.
  public var detail: String?
  /// The HTTP status, if there was one.
  public var status: Int?
  /// Whether the same attempt may succeed later.
  public var retryable: Bool
  /// The time that the service asks to wait.
  public var retryAfter: TimeSpan?
  /// Whether the failed attempt may have changed anything outside.
  public var effect: Effect
  /// The error behind this one.
  public var cause: (any Error)?

  /// Creates an error; arguments that are left out follow from the kind.
  public init(
    _ kind: ErrorKind, _ message: String, detail: String? = nil, status: Int? = nil, retryable: Bool? = nil,
    retryAfter: TimeSpan? = nil, effect: Effect? = nil, cause: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message
    self.detail = detail
    self.status = status
    self.retryable = retryable ?? RetrySchedule.passingKinds.contains(kind)
    self.retryAfter = retryAfter
    self.effect = effect ?? kind.usualEffect
    self.cause = cause
  }

  /// The error of a response that can't be used.
  ///
  /// After a write it is `validation` with the effect `done`, as for a response that doesn't match a `shape`: the write
  /// was done, so no retry may repeat it.
  package static func unusable(_ message: String, status: Int? = nil, isWrite: Bool) -> ActionError {
    ActionError(
      isWrite ? .validation : .plugin, message, status: status, retryable: false, effect: isWrite ? .done : Effect.none)
  }
}

extension ErrorKind {
  /// The possible effect outside if only the kind is known.
  var usualEffect: ActionError.Effect {
    switch self {
    case .configuration, .validation, .expression, .authentication, .authorization, .notFound, .conflict,
      .rateLimited:
      .none
    case .timeout, .network, .server, .cancelled, .plugin, .internal, .uncertain: .unknown
    }
  }
}

extension ActionError: CustomStringConvertible {
  /// The kind and the message.
  public var description: String { "\(kind.rawValue): \(message)" }
}

/// An error of a client library that defines its meaning for a run.
///
/// The client needs no `ActionError` in its own API, and the plugin's actions needn't catch its errors.
public protocol ActionErrorConvertible: Error {
  /// The error as the runs see it.
  var actionError: ActionError { get }
}

extension ActionError {
  /// Any error as the runs see it.
  public init(_ error: any Error) {
    switch error {
    case let error as ActionError: self = error
    case let error as any ActionErrorConvertible: self = error.actionError
    case is CancellationError: self.init(.cancelled, "the action was cancelled", cause: error)
    // An error that describes itself is meant to be read; the text of any other error could contain anything.
    case let error as any Error & CustomStringConvertible: self.init(.plugin, error.description, cause: error)
    default: self.init(.plugin, "the action failed with \(type(of: error))", cause: error)
    }
  }
}
