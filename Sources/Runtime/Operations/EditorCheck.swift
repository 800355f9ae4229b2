package import ActionKit
package import Agent
import Basics
package import RecipeEditing

package struct EditorCheck: Operation {
  package static let name = "editorCheck"
  package static let summary =
    "Checks the text of a recipe, a test or errand.yaml that is being edited, and the files that it may break."
  package static let scopes = Scopes.editing
  package static let route: Route? = .post("/editor/check")
  package static let command: String? = "lsp"
  package static let page: String? = "/edit/{path}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([.busy])

  @Field(pathSummary) package var path: String
  @Field(textSummary) package var text: String
  @Field("Whether the answer has the edits of all fixes that leave no doubt, too.") package var fixAll = false

  package init() {}

  package typealias View = EditorCheckAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<EditorCheckAnswer> {
    let editor = try agent.edited()
    let edited = try await editor.edited(path, text, for: caller)
    let (paths, fixAll) = (editor.paths, fixAll)
    var (answer, examined) = try await editor.answer {
      let examined = edited.examined(withFixes: fixAll)
      return (EditorCheckAnswer(of: edited, examined, paths), examined)
    }
    answer.elsewhere = await editor.objections(
      to: examined, in: edited.file, for: caller, serving: try agent.steered()
    ).map { objection in
      filled(ElsewhereAnswer()) {
        $0.path = objection.path
        $0.from = PlaceAnswer(objection.from)
        $0.message = objection.message
      }
    }
    answer.isSavable = examined.errors.isEmpty && answer.elsewhere.isEmpty
    return Shown(answer)
  }
}

/// The result of a check of a text that is being edited.
package struct EditorCheckAnswer: FieldSet {
  @Field("The faults in the text.") package var faults: [EditorFaultAnswer] = []
  @Field("The errors that the text would make in other files.") package var elsewhere: [ElsewhereAnswer] = []
  @Field("The entries of 'on' with times, and when they are next due.") package var fires: [FiresAnswer] = []
  @Field("Whether the text can be saved: it has no error, and makes none elsewhere.") package var isSavable: Bool
  @Field("The edits of all fixes that leave no doubt, if they were asked for.") package var mending: [EditAnswer] = []

  package init() {}

  init(of edited: FileEditor.Edited, _ examined: FileEditor.Edited.Examined, _ paths: ServerPaths) {
    let positions = TextPositions(edited.source.bytes)
    faults = examined.found.map { EditorFaultAnswer($0, positions, paths: paths) }
    fires = edited.service.entryTimes(in: edited.source).map { entry in
      filled(FiresAnswer()) {
        $0.line = positions.position(of: entry.offset).line
        $0.words = entry.words
        $0.next = entry.next
        $0.isPaused = entry.isPaused
      }
    }
    mending = examined.mending.map { EditAnswer($0, positions) }
    isSavable = false
  }
}

/// An error that a text would make in another file.
package struct ElsewhereAnswer: FieldSet {
  @Field("The other file.") package var path: String
  @Field("Where the error begins there.") package var from: PlaceAnswer
  @Field("The error.") package var message: String

  package init() {}
}

/// When an entry of `on` is due.
package struct FiresAnswer: FieldSet {
  @Field("The first line of the entry, from 0.") package var line: Int
  @Field("When it is due, in words, with its zone.") package var words: String
  @Field("The next times in its zone, at most three; none if it is paused or never due again.")
  package var next: [String] = []
  @Field("Whether it is paused.") package var isPaused = false

  package init() {}
}
