package import ActionKit
package import Agent
import Basics
package import RecipeEditing

package struct EditorComplete: Operation {
  package static let name = "editorComplete"
  package static let summary = "Lists what can be written at a place of a text that is being edited."
  package static let scopes = Scopes.editing
  package static let route: Route? = .post("/editor/complete")
  package static let command: String? = "lsp"
  package static let page: String? = "/edit/{path}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([.busy])

  @Field(pathSummary) package var path: String
  @Field(textSummary) package var text: String
  @Field("The place of the cursor.") package var at: PlaceAnswer

  package init() {}

  package typealias View = EditorCompleteAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<EditorCompleteAnswer> {
    let editor = try agent.edited()
    let edited = try await editor.edited(path, text, for: caller)
    let (paths, place) = (editor.paths, at.position)
    return Shown(
      try await editor.answer {
        let positions = TextPositions(edited.source.bytes)
        return EditorCompleteAnswer(
          edited.service, edited.source, at: positions.offset(of: place), positions, paths)
      })
  }
}

/// The texts that can be written at a place.
package struct EditorCompleteAnswer: FieldSet {
  /// The most completions of an answer.
  private static let most = 100

  @Field("The completions, the most likely first; at most 100.") package var items: [CompletionAnswer] = []
  @Field("The function whose arguments are being written.") package var signature: SignatureAnswer?

  package init() {}

  init(
    _ service: EditorService, _ source: Source, at offset: Int, _ positions: TextPositions, _ paths: ServerPaths
  ) {
    items = service.completions(in: source, at: offset).prefix(EditorCompleteAnswer.most).map {
      CompletionAnswer($0, positions, paths)
    }
    signature = service.signatureHelp(in: source, at: offset).map { help in
      filled(SignatureAnswer()) {
        $0.forms = help.forms.map { form in
          filled(SignatureFormAnswer()) {
            $0.text = form.text
            $0.summary = form.summary
          }
        }
        $0.active = help.active
        $0.argument = help.argument
      }
    }
  }
}

/// A text that can be inserted.
package struct CompletionAnswer: FieldSet {
  @Field("The text to show, and to match with the word that is being written.") package var label: String
  @Field("key, value, action, variable, field, function, method, connection, secret or file.") package var kind: String
  @Field("The type, or a short form.") package var detail = ""
  @Field("The documentation, in Markdown.") package var text = ""
  @Field("The change that it makes.") package var edit: EditAnswer
  @Field("The part of the new text that is selected afterwards; at its end if absent.")
  package var selection: SelectionAnswer?

  package init() {}

  init(_ completion: Completion, _ positions: TextPositions, _ paths: ServerPaths) {
    label = completion.label
    kind = completion.kind.rawValue
    detail = completion.detail
    text = paths.told(completion.documentation)
    edit = EditAnswer(completion.wholeEdit, positions)
    let bytes = Array(completion.edit.text.utf8)
    selection = completion.selection.map { range in
      let range = range.clamped(to: 0..<bytes.count)
      func units(_ count: Int) -> Int { String(decoding: bytes[..<count], as: UTF8.self).utf16.count }
      return filled(SelectionAnswer()) {
        $0.from = units(range.lowerBound)
        $0.to = units(range.upperBound)
      }
    }
  }
}

/// A part of a text.
package struct SelectionAnswer: FieldSet {
  @Field("Its begin, in UTF-16 units from the begin of the text.") package var from: Int
  @Field("Its end.") package var to: Int

  package init() {}
}

/// The function whose arguments are being written.
package struct SignatureAnswer: FieldSet {
  @Field("Its forms.") package var forms: [SignatureFormAnswer] = []
  @Field("The index of the form that fits best.") package var active: Int
  @Field("The index of the argument that is being written.") package var argument: Int

  package init() {}
}

/// A form of a function.
package struct SignatureFormAnswer: FieldSet {
  @Field("The form, such as substring(int, int) -> string.") package var text: String
  @Field("What it does, in Markdown.") package var summary: String

  package init() {}
}
