package import ActionKit
package import Agent
import Basics
import RunState

package struct RevokeToken: Operation {
  package static let name = "revokeToken"
  package static let summary = "Revokes a token at once."
  package static let scopes = Scopes.token(.tokens)
  package static let route: Route? = .delete("/tokens/{name}")
  package static let command: String? = "token revoke"
  package static let page: String? = "/tokens"
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
      var refusal = RequestRefusedError(.notFound, "there is no token '\(name.safe)'; see: errand token list")
      refusal.overHTTP = "there is no token '\(name.safe)'; see GET /api/v1/tokens"
      throw refusal
    }
    return TokenList(await agent.store.tokens())
  }

  package static func view(_ tokens: TokenList, for caller: AgentCaller) -> NoContent { NoContent() }
}
