package import ActionKit
package import Agent
package import Basics
import RunState

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
    return Shown(try await agent.saved(save, for: caller))
  }
}

extension AgentParts {
  /// Saves a text, unless it, its message or the file as it is holds a secret: versions and commits would hold it too.
  func saved(_ save: FileEditor.Save, for caller: AgentCaller) async throws(RequestRefusedError) -> SavedAnswer {
    let (editor, finder) = (try edited(), store.secrets.finder)
    for (what, text) in [("text", save.text), ("message", save.message ?? "")] where finder.redact(text) != text {
      throw RequestRefusedError(
        .forbidden, "the \(what) holds the text of a secret, so it isn't saved; name the secret in an expression")
    }
    if let content = try await editor.file(save.path, for: caller).content {
      _ = try shown(content.text, of: save.path)
    }
    do throws(RequestRefusedError) {
      return SavedAnswer(try await editor.save(save, for: caller, serving: try steered()))
    } catch {
      var refusal = error
      if let current = error.current, finder.redact(current.text) != current.text { refusal.current = nil }
      throw refusal
    }
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
  @Field("Why the agent doesn't keep this version.") package var notKept: String?

  package init() {}

  init(_ saved: FileEditor.SavedFile) {
    path = saved.path
    digest = saved.digest
    servedAt = saved.servedAt
    notServed = saved.notServed
    commit = saved.commit
    notCommitted = saved.notCommitted
    version = saved.version
    notKept = saved.notKept
  }
}
