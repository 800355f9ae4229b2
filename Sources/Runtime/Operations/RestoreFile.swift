package import ActionKit
package import Agent
import Basics

package struct RestoreFile: Operation {
  package static let name = "restoreFile"
  package static let summary = "Saves a file with the text of an earlier version, as a new version."
  package static let scopes = Scopes.editing
  package static let route: Route? = .post("/files/restore")
  package static let page: String? = "/edit/{path}"
  package static let absences: [Absence] = [.command("People on the machine ask Git: git checkout COMMIT -- FILE.")]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([.inputs, .conflict, .usedKey, .busy])
  package static let repeats = Repeats.key

  @Field(pathSummary) package var path: String
  @Field("The version: a commit's id, or the number of a kept text.") package var version: String
  @Field("The SHA-256 of the content that the file has, so that no other change is lost.") package var base: String?
  @Field("A key that the caller chooses. If it has restored this with the key already, the answer is that of then.")
  package var key: String?

  package init() {}

  package typealias View = SavedAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<SavedAnswer> {
    let editor = try agent.edited()
    let (file, content) = try await editor.file(path, for: caller)
    guard content != nil else { throw FileEditor.unknown(path) }
    let found = try await editor.version(version, of: file)
    let name = found.version.isOfGit ? String(found.version.version.prefix(12)) : "version \(found.version.version)"
    let save = FileEditor.Save(
      path: path, text: found.text, base: base, message: "Restore \(file.path) to \(name) in the browser", key: key)
    return Shown(try await agent.saved(save, for: caller))
  }
}
