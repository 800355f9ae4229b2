import HTTPClient

/// A call of the service, in the terms of the wire.
struct MarkbookCall: Sendable {
  /// The kinds of calls, which differ in the retries that are allowed after a failure.
  enum Kind: Sendable {
    /// Changes nothing, so it may be sent again under a new session.
    case read
    /// Changes something, but a repetition changes nothing more, so it may be sent again too.
    case idempotentWrite
    /// Changes something each time, so it is sent once.
    case write
  }

  let kind: Kind
  let action: String
  /// The action's own parameters, in the order of the contract.
  let parameters: HTTPQuery
  /// The statuses that are answers and not refusals.
  var accepted: Set<APIStatus> = [.okay]
  /// Whether it goes to `post.lc` as a form instead of into the query.
  var isForm = false

  init(_ kind: Kind, _ action: String, _ parameters: HTTPQuery = [:]) {
    self.kind = kind
    self.action = action
    self.parameters = parameters
  }
}
