package import ActionKit
package import Agent
package import Basics
import Recipes
package import RunState

package struct ListActions: Operation {
  package static let name = "actions"
  package static let summary =
    "Lists the actions that recipes can use, with the schemas of their inputs and outputs."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/actions")
  package static let command: String? = "actions"
  package static let page: String? = "/actions"

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, UnlimitedAnswer {
    /// Each as an object: id, summary, effect, and the schemas of input and output.
    package var actions: [Value]

    package init(_ actions: [Value]) { self.actions = actions }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      actions = try member("value", record?.actions)
    }
  }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let catalog = try await agent.steered().environmentOfTexts().catalog
    return Answer(catalog.actionIDs.compactMap { catalog.action($0)?.entry })
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ActionListAnswer {
    filled(ActionListAnswer()) { $0.items = Value.list(answer.actions).asPlainJSON.list ?? [] }
  }
}

extension AgentParts {
  /// The actions with their whole declarations, for pages; `ListActions` answers with schemas.
  package func catalog(for caller: AgentCaller) async throws(RequestRefusedError) -> ActionCatalog {
    try await reach()
    try ListActions.admit(caller)
    return try await steered().environmentOfTexts().catalog
  }
}
