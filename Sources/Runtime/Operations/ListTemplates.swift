package import ActionKit
package import Agent
import Basics
import RecipeEditing

package struct ListTemplates: Operation {
  package static let name = "listTemplates"
  package static let summary = "Lists what a new file can begin with: templates, actions, and tests of recipes."
  package static let scopes = Scopes.editing
  package static let route: Route? = .get("/templates")
  package static let command: String? = "new recipe"
  package static let page: String? = "/edit/new"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notServing]

  package init() {}

  package typealias View = TemplateListAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<TemplateListAnswer> {
    let editor = try agent.edited()
    var found = editor.editing.templates()
    for (file, _) in await editor.list(for: caller) where file.kind == .recipe {
      found.append(FileTemplate(.test, file.path, "A test of this recipe."))
    }
    return Shown(
      filled(TemplateListAnswer()) {
        $0.items = found.map { template in
          filled(TemplateAnswer()) {
            $0.name = template.name
            $0.kind = template.kind.rawValue
            $0.summary = template.summary
          }
        }
      })
  }
}

/// The beginnings of new files.
package struct TemplateListAnswer: FieldSet {
  @Field("The beginnings.") package var items: [TemplateAnswer] = []

  package init() {}
}

/// A text that a new file can begin with.
package struct TemplateAnswer: FieldSet {
  @Field("The name: a template's, an action's id, or the path of the recipe to test.") package var name: String
  @Field("empty, template, action or test.") package var kind: String
  @Field("A sentence about it.") package var summary: String

  package init() {}
}
