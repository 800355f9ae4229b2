package import ActionKit
package import Agent
import Basics
package import RecipeEditing

package struct EditorHover: Operation {
  package static let name = "editorHover"
  package static let summary = "Explains the key, the action or the part of an expression at a place of a text."
  package static let scopes = Scopes.editing
  package static let route: Route? = .post("/editor/hover")
  package static let command: String? = "lsp"
  package static let page: String? = "/edit/{path}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([.busy])

  @Field(pathSummary) package var path: String
  @Field(textSummary) package var text: String
  @Field("The place.") package var at: PlaceAnswer

  package init() {}

  package typealias View = EditorHoverAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<EditorHoverAnswer> {
    let editor = try agent.edited()
    let edited = try await editor.edited(path, text, for: caller)
    let (paths, place) = (editor.paths, at.position)
    return Shown(
      try await editor.answer {
        let positions = TextPositions(edited.source.bytes)
        var answer = EditorHoverAnswer()
        if let hover = edited.service.hover(in: edited.source, at: positions.offset(of: place)) {
          answer.text = paths.told(hover.text)
          answer.from = PlaceAnswer(positions.position(of: hover.range.lowerBound))
          answer.to = PlaceAnswer(positions.position(of: hover.range.upperBound))
        }
        return answer
      })
  }
}

/// The explanation of a part of a text; empty if there is none.
package struct EditorHoverAnswer: FieldSet {
  @Field("The explanation, in Markdown.") package var text: String?
  @Field("Where the explained part begins.") package var from: PlaceAnswer?
  @Field("Where it ends.") package var to: PlaceAnswer?

  package init() {}
}
