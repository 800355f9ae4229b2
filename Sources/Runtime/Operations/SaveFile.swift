package import ActionKit
package import Agent
package import Basics

package struct SaveFile: Operation {
  package static let name = "saveFile"
  package static let summary =
    "Saves the text of a recipe, a test or errand.yaml, unless it has errors or the file has changed meanwhile."
  package static let scopes = Scopes.editing
  package static let route: Route? = .post("/files")
  package static let page: String? = "/edit/{path}"
  package static let absences: [Absence] = [.command("People on the machine save files with their own editor.")]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([.inputs, .conflict, .usedKey, .busy])
  package static let repeats = Repeats.key
  package static let lengths = ["message": 0...FileEditor.mostOfMessage]

  @Field(pathSummary) package var path: String
  @Field(textSummary) package var text: String
  @Field("The SHA-256 of the content that was edited; absent for a new file.") package var base: String?
  @Field("The message of the commit, or of the kept version.") package var message: String?
  @Field("A key that the caller chooses. If it has saved this with the key already, the answer is that of then.")
  package var key: String?

  package init() {}

  package typealias View = SavedAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<SavedAnswer> {
    let save = FileEditor.Save(path: path, text: text, base: base, message: message, key: key)
    return Shown(SavedAnswer(try await agent.edited().save(save, for: caller, serving: try agent.steered())))
  }
}

/// A file was saved.
package struct SavedAnswer: FieldSet {
  @Field("Its path from the folder of errand.yaml on.") package var path: String
  @Field("The SHA-256 of its bytes now, in hexadecimal.") package var digest: String
  @Field("When the agent read it as it is now; absent if it doesn't serve it.") package var servedAt: Timestamp?
  @Field("Why the agent doesn't serve it; absent for tests, which aren't served.") package var notServed: String?
  @Field("The id of its latest commit, with Git.") package var commit: String?
  @Field("Why Git didn't commit it.") package var notCommitted: String?
  @Field("The version that the agent keeps, if no commit has the text.") package var version: String?

  package init() {}

  init(_ saved: FileEditor.SavedFile) {
    path = saved.path
    digest = saved.digest
    servedAt = saved.servedAt
    notServed = saved.notServed
    commit = saved.commit
    notCommitted = saved.notCommitted
    version = saved.version
  }
}
