package import RunState

/// Why an agent refused a request.
package struct RequestRefusedError: Error, Sendable, Equatable {
  /// The reason, for programs to decide by.
  package enum Kind: String, Sendable, CaseIterable {
    /// The request is malformed.
    case request
    /// There is no such run, schedule or recipe.
    case notFound
    /// Several runs or steps match the beginning.
    case ambiguous
    /// The run or schedule is in a state that doesn't allow it; most often it has ended.
    case ended
    /// No step asks for a decision there.
    case notAsked
    /// The step asks other people to decide.
    case notAllowed
    /// The inputs don't match what the recipe declares, or those of the run that has the key.
    case inputs
    /// The recipe, its connections or its secrets can't be used here.
    case configuration
    /// What a run would do is no longer what its plan says, or the run would fail.
    case moved
    /// Another request changed the same thing at the same moment.
    case conflict
    /// Only an agent that serves can do this.
    case notServing
    /// Another agent serves the folder already.
    case serving
    /// As much as the agent does at once is under way.
    case busy
    /// It took longer than the agent allows.
    case timeout
    /// The state can't be read or written.
    case state
  }

  package var kind: Kind
  /// The fault and the remedy, for people.
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  package init(_ error: StateError) {
    if let message = error.forCaller { self.init(.request, message) } else { self.init(.state, error.message) }
  }
}
