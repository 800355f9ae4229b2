package import ActionKit
package import Agent
import Basics
import RunState

package struct RevokeToken: Operation {
  package static let name = "revokeToken"
  package static let summary = "Revokes a token."
  package static let scopes = Scopes.own
  package static let command: String? = "token revoke"
  package static let absences: [Absence] = [
    .route("Only the agent's own account revokes tokens, so that no token revokes another one."),
    .page("Tokens are revoked where they are made: in a terminal of the agent's account."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound]

  @Field("The token's name.") package var name: String

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> TokenList {
    do throws(StateError) {
      try await agent.store.append(.tokenRevoked(TokenRevoked(at: agent.time.now(), name: name)))
    } catch {
      guard error.isConflict else { throw RequestRefusedError(error) }
      throw RequestRefusedError(.notFound, "there is no token '\(name)'; see: errand token list")
    }
    return TokenList(await agent.store.tokens())
  }

  package static func view(_ tokens: TokenList, for caller: AgentCaller) -> NoContent { NoContent() }
}
