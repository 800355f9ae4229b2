/// The kind of a failure: callers decide by it, recipes test it, and it is kept with the run.
public enum ErrorKind: String, CaseIterable, Hashable, Sendable {
  /// The connection or the agent is set up wrongly.
  case configuration
  /// The input makes no sense, to us or to the service.
  case validation
  /// An expression failed on the data it got.
  case expression
  /// The service does not accept the credentials.
  case authentication
  /// The credentials are good, and not enough for this.
  case authorization
  /// The input names something that doesn't exist.
  case notFound
  /// It is there already, or was changed by another client meanwhile.
  case conflict
  /// The service asks for patience.
  case rateLimited
  /// No answer came in time.
  case timeout
  /// The service could not be reached, or the connection broke.
  case network
  /// The service answered that it failed.
  case server
  /// It was cancelled.
  case cancelled
  /// The service's answer is not what its contract says.
  case plugin
  /// A fault in our own code.
  case `internal`
  /// A write may or may not have happened, and a person has to look.
  case uncertain
}

/// Whether the failed attempt can have changed anything outside.
public enum OutsideEffect: String, CaseIterable, Hashable, Sendable {
  /// Nothing happened, so that even a write may be tried again.
  case none
  /// It happened, and a later part failed.
  case done
  /// It is unknown.
  case unknown
}
