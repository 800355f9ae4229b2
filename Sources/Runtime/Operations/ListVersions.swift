package import ActionKit
package import Agent
package import Basics

package struct ListVersions: Operation {
  package static let name = "listVersions"
  package static let summary = "Lists the versions of a file: its latest commits, or those that the agent keeps."
  package static let scopes = Scopes.editing
  package static let route: Route? = .get("/files/versions")
  package static let page: String? = "/edit/{path}"
  package static let absences: [Absence] = [.command("People on the machine ask Git: git log FILE.")]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles

  @Field(pathSummary) package var path: String

  package init() {}

  package typealias View = VersionListAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<VersionListAnswer> {
    let editor = try agent.edited()
    let (file, content) = try await editor.file(path, for: caller)
    guard content != nil else { throw FileEditor.unknown(path) }
    let (versions, isOfGit) = await editor.versions(of: file)
    return Shown(
      filled(VersionListAnswer()) {
        $0.items = versions.map { VersionAnswer($0) }
        $0.keptBy = isOfGit ? "git" : "state"
      })
  }
}

/// The versions of a file.
package struct VersionListAnswer: FieldSet {
  @Field("The versions, newest first: at most 100 commits and 20 kept texts.") package var items: [VersionAnswer] = []
  @Field("git where commits keep them, otherwise state.") package var keptBy: String

  package init() {}
}

/// A version of a file.
package struct VersionAnswer: FieldSet {
  @Field("The commit's id, or the number of the kept text.") package var version: String
  @Field("When it was saved.") package var at: Timestamp
  @Field("Who saved it; empty if the agent doesn't know.") package var by: String
  @Field("The message.") package var message: String?
  @Field("The SHA-256 of the text, if the agent keeps it.") package var digest: String?

  package init() {}

  init(_ version: EditedVersion) {
    self.version = version.version
    at = version.at
    by = version.by
    message = version.message
    digest = version.digest
  }
}
