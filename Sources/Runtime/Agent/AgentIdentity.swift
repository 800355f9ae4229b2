/// The identity of an agent or a client.
///
/// An agent serves only clients of its own version and configuration, because it would otherwise run a recipe with other
/// actions or other connections than the client checked it with.
package struct AgentIdentity: Sendable, Equatable {
  /// The program with its version.
  package var program: String
  /// What distinguishes configurations, such as the path of `errand.yaml`.
  package var configuration: String

  package init(program: String, configuration: String) {
    self.program = program
    self.configuration = configuration
  }
}
