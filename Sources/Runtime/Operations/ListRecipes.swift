import ActionKit
package import Agent
import Basics
package import RunState

package struct ListRecipes: Operation {
  package static let name = "recipes"
  package static let summary = "Lists the served recipes."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/recipes")
  package static let command: String? = "recipes list"
  package static let page: String? = "/recipes"

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, OperationAnswer {
    package var recipes: [RecipeRecord]

    package init(_ recipes: [RecipeRecord]) { self.recipes = recipes }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      recipes = try member("recipes", record?.recipes)
    }

    package func limited(to visible: VisibleRecipes) -> Answer { Answer(recipes.filter { visible.contain($0.name) }) }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    Answer(try await agent.steered().servedRecipes().filter { recipes.contain($0.name) })
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> RecipeListAnswer {
    filled(RecipeListAnswer()) { $0.items = answer.recipes.map { RecipeAnswer($0) } }
  }
}
