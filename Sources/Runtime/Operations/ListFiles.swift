package import ActionKit
package import Agent
package import Basics
import RecipeEditing
import Recipes

package struct ListFiles: Operation {
  package static let name = "listFiles"
  package static let summary = "Lists the files that can be edited: errand.yaml, recipes and their tests."
  package static let scopes = Scopes.editing
  package static let route: Route? = .get("/files")
  package static let page: String? = "/edit"
  package static let absences: [Absence] = [.command("People on the machine list files with ls.")]
  package static let refusals: Set<RequestRefusedError.Kind> = [.notServing]

  package init() {}

  package typealias View = EditableFilesAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<EditableFilesAnswer> {
    let (editor, schedules) = (try agent.edited(), try agent.steered())
    var answer = EditableFilesAnswer()
    for (file, content) in await editor.list(for: caller) {
      let served = await schedules.served(file: file.fullPath)
      let faults = await schedules.errors(in: file.fullPath)
      answer.items.append(
        filled(EditableFileAnswer()) {
          $0.path = file.path
          $0.kind = file.kind.schema.rawValue
          $0.digest = content.digest
          $0.recipe = served?.recipe
          $0.faults = faults
          $0.changedAt = content.changedAt
        })
    }
    answer.machine = editor.editing.machine()
    answer.newFolder = editor.folderOfNew
    return Shown(answer)
  }
}

/// The files that can be edited.
package struct EditableFilesAnswer: FieldSet {
  @Field("errand.yaml, and then recipes and tests by their paths.") package var items: [EditableFileAnswer] = []
  @Field("The machine whose files these are, if several share the state.") package var machine: String?
  @Field("The folder of new recipes.") package var newFolder: String?

  package init() {}
}

/// A file that can be edited.
package struct EditableFileAnswer: FieldSet {
  @Field("Its path from the folder of errand.yaml on.") package var path: String
  @Field("recipe, test or errand.") package var kind: String
  @Field("The SHA-256 of its bytes, in hexadecimal.") package var digest: String
  @Field("The recipe that it is, if it is served.") package var recipe: String?
  @Field("How many errors a recipe has as the agent read it last.") package var faults = 0
  @Field("When it was changed.") package var changedAt: Timestamp

  package init() {}
}
