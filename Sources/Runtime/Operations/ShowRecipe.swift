package import ActionKit
package import Agent
import Basics
package import RunState

package struct ShowRecipe: Operation {
  package static let name = "recipe"
  package static let summary =
    "Shows a served recipe: its text, its inputs and outputs, and its actions with their effects."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/recipes/{recipe}")
  package static let command: String? = "recipes show"
  package static let page: String? = "/recipes/{recipe}"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound, .configuration]

  @Field("The recipe's name.") package var recipe: String

  package init() {}

  package var target: String { recipe }

  package struct Answer: Record, UnlimitedAnswer {
    package var recipe: RecipeRecord

    package init(_ recipe: RecipeRecord) { self.recipe = recipe }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      recipe = try member("recipe", record?.recipe)
    }
  }

  package func run(
    on recipe: ServedRecipe, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    Answer(agent.displayed(try await agent.steered().servedRecipe(named: recipe.name), to: caller))
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> RecipeAnswer { RecipeAnswer(answer.recipe) }
}
