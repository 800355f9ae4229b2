package import RunState

/// Why an agent does not do what it was asked.
package struct RequestRefusedError: Error, Sendable, Equatable {
  /// What is in the way, for programs to decide by.
  package enum Kind: String, Sendable, CaseIterable {
    /// The request isn't one that the agent can read.
    case request
    /// There is no such run, schedule or recipe.
    case notFound
    /// Several runs or steps begin so.
    case ambiguous
    /// The run or schedule is in a state in which this can't be done; most often it is over.
    case ended
    /// No step asks for a decision there.
    case notAsked
    /// The step asks others to decide.
    case notAllowed
    /// The inputs don't match what the recipe declares.
    case inputs
    /// The recipe, its connections or its secrets can't be used here.
    case configuration
    /// Another request changed the same thing at the same moment.
    case conflict
    /// Only an agent that serves does this.
    case notServing
    /// Another agent serves the folder already.
    case serving
    /// The state can't be read or written.
    case state
  }

  package var kind: Kind
  /// What is wrong and what to do, for people.
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  package init(_ error: StateError) { self.init(.state, error.message) }
}
