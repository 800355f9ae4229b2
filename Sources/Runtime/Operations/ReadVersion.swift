package import ActionKit
package import Agent
package import Basics

package struct ReadVersion: Operation {
  package static let name = "readVersion"
  package static let summary = "Gives the text of a version of a file."
  package static let scopes = Scopes.editing
  package static let route: Route? = .get("/files/versions/{version}")
  package static let page: String? = "/edit/{path}"
  package static let absences: [Absence] = [.command("People on the machine ask Git: git show COMMIT:FILE.")]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles

  @Field("The version: a commit's id, or the number of a kept text.") package var version: String
  @Field(pathSummary) package var path: String

  package init() {}

  package typealias View = VersionTextAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<VersionTextAnswer> {
    let editor = try agent.edited()
    let (file, content) = try await editor.file(path, for: caller)
    guard content != nil else { throw FileEditor.unknown(path) }
    let found = try await editor.version(version, of: file)
    let text = try agent.shown(found.text, of: file.path)
    return Shown(
      filled(VersionTextAnswer()) {
        $0.path = file.path
        $0.version = found.version.version
        $0.at = found.version.at
        $0.by = found.version.by
        $0.text = text
        $0.digest = SHA256.digest(of: Array(text.utf8)) ?? ""
      })
  }
}

/// The text of a version of a file.
package struct VersionTextAnswer: FieldSet {
  @Field("Its path from the folder of errand.yaml on.") package var path: String
  @Field("The commit's id, or the number of the kept text.") package var version: String
  @Field("When it was saved.") package var at: Timestamp
  @Field("Who saved it; empty if the agent doesn't know.") package var by: String
  @Field("The text.") package var text: String
  @Field("The SHA-256 of the text, in hexadecimal.") package var digest: String

  package init() {}
}
