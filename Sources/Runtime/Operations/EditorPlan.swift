package import ActionKit
package import Agent
package import Basics
import RecipeEditing
import Recipes
import RunState

package struct EditorPlan: Operation {
  package static let name = "editorPlan"
  package static let summary =
    "Plans a run of a recipe's text as it is being edited: reads what the run would read, and writes nothing."
  package static let scopes = Scopes.token(.read, .edit, .start, .data)
  package static let route: Route? = .post("/editor/plans")
  package static let command: String? = "plan"
  package static let page: String? = "/edit/{path}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([
    .inputs, .configuration, .busy, .timeout,
  ])

  @Field(pathSummary) package var path: String
  @Field(textSummary) package var text: String
  @Field("The values of the inputs, by name.") package var inputs: ValueMap?
  @Field("More inputs, as text that is read as the input's type.") package var texts: [String: String] = [:]

  package init() {}

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunPlan {
    let (editor, schedules) = (try agent.edited(), try agent.steered())
    let edited = try await editor.edited(path, text, for: caller)
    guard edited.file.kind == .recipe else {
      throw RequestRefusedError(.request, "only a recipe can be planned, and '\(edited.file.path)' isn't one")
    }
    let errors = try await editor.answer { edited.examined(withFixes: false) }
    guard errors.errors.isEmpty else {
      var refusal = RequestRefusedError(.inputs, "the text has errors, so it can't be planned")
      refusal.faults = errors.errors.prefix(200).map {
        RequestRefusedError.Fault(message: $0.line(in: editor.paths), pointer: "/text")
      }
      throw refusal
    }
    try FileEditor.check(caller, for: errors.recipe?.name)
    let given = agent.given(inputs ?? ValueMap(), texts)
    return try await editor.alone("plan", caller) { () async throws(RequestRefusedError) in
      let prepared = try await schedules.run(
        of: edited.source, in: edited.folder.environment(edited.file.fullPath), given: given, as: agent.newID())
      // It isn't kept: its digest would start the served recipe.
      return RunPlan(try await agent.madePlan(of: prepared.run, reading: prepared.secrets))
    }
  }

  package static func view(_ answer: RunPlan, for caller: AgentCaller) -> PlanAnswer {
    PlanAnswer(answer.plan, withData: caller.seesData)
  }
}
