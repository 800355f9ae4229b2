import HTTPClient

/// One thing asked of the service, as the wire has it.
struct MarkbookCall: Sendable {
  /// What may be done when the answer is not the one hoped for.
  enum Kind: Sendable {
    /// Changes nothing, so it may be asked again under a new session.
    case read
    /// Changes something, and the same thing once more changes nothing more, so it may be sent again as well.
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
