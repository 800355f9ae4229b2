import ActionKit
package import Agent
import RunState

package struct ListTokens: Operation {
  package static let name = "tokens"
  package static let summary = "Lists the tokens, without their texts."
  package static let scopes = Scopes.token(.tokens)
  package static let route: Route? = .get("/tokens")
  package static let command: String? = "token list"
  package static let page: String? = "/tokens"

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> TokenList {
    TokenList(await agent.store.tokens(), deciders: await agent.schedules?.deciders ?? [:])
  }

  package static func view(_ tokens: TokenList, for caller: AgentCaller) -> TokenListAnswer {
    filled(TokenListAnswer()) {
      $0.items = tokens.tokens.map { TokenAnswer($0, decidesIn: tokens.deciders[$0.name] ?? []) }
    }
  }
}
