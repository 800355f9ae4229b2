package import ActionKit
package import Agent
package import Basics
import RecipeEditing
import Recipes
import RunState

package struct ReadFile: Operation {
  package static let name = "readFile"
  package static let summary = "Gives the text of a file to edit, and the text that is served."
  package static let scopes = Scopes.editing
  package static let route: Route? = .get("/files/text")
  package static let page: String? = "/edit/{path}"
  package static let absences: [Absence] = [.command("People on the machine read files with their own programs.")]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles

  @Field(pathSummary) package var path: String

  package init() {}

  package typealias View = FileTextAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<FileTextAnswer> {
    let (editor, schedules) = (try agent.edited(), try agent.steered())
    let (file, content) = try await editor.file(path, for: caller)
    guard let content else { throw FileEditor.unknown(path) }
    var answer = FileTextAnswer()
    answer.path = file.path
    answer.kind = file.kind.schema.rawValue
    answer.text = try agent.shown(content.text, of: file.path)
    answer.digest = content.digest
    answer.changedAt = content.changedAt
    if let served = await schedules.served(file: file.fullPath) {
      answer.recipe = served.recipe
      answer.served = SHA256.digest(of: Array(served.text.utf8))
      if served.text != content.text { answer.servedText = agent.store.secrets.finder.redact(served.text) }
      answer.servedSince = served.since
      answer.others = await schedules.otherServers(of: served.recipe, having: served.text)
    }
    answer.git = await editor.gitStatus(of: file).map { status in
      filled(GitAnswer()) {
        $0.branch = status.branch
        $0.isClean = status.isClean
        $0.obstacle = status.obstacle
      }
    }
    answer.machine = editor.editing.machine()
    return Shown(answer)
  }
}

extension AgentParts {
  /// A text of a file, unless it holds a secret: masked, it would be saved with the mask in it.
  func shown(_ text: String, of path: String) throws(RequestRefusedError) -> String {
    if store.secrets.finder.redact(text) == text { return text }
    throw RequestRefusedError(
      .forbidden, "'\(path)' holds the text of a secret, so it isn't shown; edit it on the agent's machine")
  }
}

/// The text of a file.
package struct FileTextAnswer: FieldSet {
  @Field("Its path from the folder of errand.yaml on.") package var path: String
  @Field("recipe, test or errand.") package var kind: String
  @Field("The text.") package var text: String
  @Field("The SHA-256 of its bytes, in hexadecimal, which a save names as its base.") package var digest: String
  @Field("When it was changed.") package var changedAt: Timestamp
  @Field("The recipe that it is, if it is served.") package var recipe: String?
  @Field("The SHA-256 of the text that is served; absent if none is.") package var served: String?
  @Field("The text that is served, if it is another one.") package var servedText: String?
  @Field("Since when it is served, if the agent has read it since its start.") package var servedSince: Timestamp?
  @Field("The state of the file in Git; absent without Git.") package var git: GitAnswer?
  @Field("The machine whose file this is, if several share the state.") package var machine: String?
  @Field("The workers that serve another text of the recipe.") package var others: [String] = []

  package init() {}
}

/// The state of a file in Git.
package struct GitAnswer: FieldSet {
  @Field("The branch; absent if none is checked out.") package var branch: String?
  @Field("Whether the file is as it was committed; otherwise its changes become part of the next commit.")
  package var isClean: Bool
  @Field("Why a save won't be committed; absent if it will be.") package var obstacle: String?

  package init() {}
}
