package import ActionKit
package import Agent
import Basics
package import RunState

package struct ListTools: Operation {
  package static let name = "tools"
  package static let summary =
    "Lists the recipes that assistants may run as tools, with the schemas of their inputs and outputs."
  package static let scopes = Scopes.token(.read)
  package static let command: String? = "mcp"
  package static let absences: [Absence] = [
    .route("Assistants list the tools at `/mcp`, in the form of their protocol."),
    .page("Tools are for assistants; people find the same recipes at `/recipes`."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.notServing]

  @Field("The names of more recipes that are tools, besides recipes with 'mcp: true'; * matches any part of a name.")
  package var patterns: [String] = []

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, OperationAnswer {
    package var tools: [ToolRecord]

    package init(_ tools: [ToolRecord]) { self.tools = tools }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      tools = try member("tools", record?.tools)
    }

    package func limited(to recipes: VisibleRecipes) -> Answer { Answer(tools.filter { recipes.contain($0.name) }) }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    Answer(try await agent.steered().tools(patterns).filter { recipes.contain($0.name) })
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
