package import ActionKit
package import Agent
import Basics
package import RunState

package struct IssueToken: Operation {
  package static let name = "issueToken"
  package static let summary = "Registers a token that the caller has made."
  package static let scopes = Scopes.own
  package static let command: String? = "token new"
  package static let absences: [Absence] = [
    .route("Only the agent's own account makes tokens, so that no token makes another one."),
    .page("The text of a token is shown once, in the terminal where it is made."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.conflict]

  @Field("The token's record.") package var token: Stored<TokenIssued>

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> TokenList {
    let token = token.record
    if let fault = TokenIssued.fault(ofName: token.name) { throw RequestRefusedError(.request, fault) }
    do throws(StateError) { try await agent.store.append(.tokenIssued(token)) } catch {
      guard error.isConflict else { throw RequestRefusedError(error) }
      throw RequestRefusedError(
        .conflict, "there is a token '\(token.name)' already; revoke it first: errand token revoke \(token.name)")
    }
    return TokenList(await agent.store.tokens())
  }

  package static func view(_ tokens: TokenList, for caller: AgentCaller) -> NoContent { NoContent() }
}
