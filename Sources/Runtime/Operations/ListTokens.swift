import ActionKit
package import Agent
import RunState

package struct ListTokens: Operation {
  package static let name = "tokens"
  package static let summary = "Lists the tokens."
  package static let scopes = Scopes.own
  package static let command: String? = "token list"
  package static let absences: [Absence] = [
    .route("Only the agent's own account sees which tokens there are."),
    .page("Tokens are listed where they are made: in a terminal of the agent's account."),
  ]

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> TokenList { TokenList(await agent.store.tokens()) }

  package static func view(_ tokens: TokenList, for caller: AgentCaller) -> NoContent { NoContent() }
}
