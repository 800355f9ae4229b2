// The form that starts a run of a schedule now with other inputs than the schedule's.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

struct TriggerForm {
  let id: String
  /// The recipe, whose inputs the form asks for.
  let recipe: RecipeRecord
  let inputs: [ScheduleInput]
  /// The typed texts, if the form was refused.
  var given: StartForm.Given?

  var markup: Markup {
    let fields = InputFields(schema: recipe.inputs, given: given ?? StartForm.Given(inputs, for: recipe))
    guard !fields.all.isEmpty else { return .nothing }
    let computed = inputs.filter { $0.computed != nil }.map { input -> Markup in
      .element("li", [:], Part.code(input.name), ": ", Part.code((input.computed ?? "").shortened(to: 200)))
    }
    let note: Markup =
      computed.isEmpty
      ? .nothing
      : .element("p", [:], "These are computed for each run, unless they are given here:")
        + .element("ul", [:], Markup(computed))
    let command = "errand schedule trigger \(id.shellQuoted) -i NAME=VALUE"
    return .element(
      "details", ["class": "action", "id": "trigger", "open": given == nil ? nil : ""],
      .element("summary", [:], "Start a run with other inputs"),
      .element(
        "form", ["class": "card", "method": "post", "action": pagePath("schedules", id, "trigger")],
        Markup([Part.key, Part.hidden("inputs", "given"), note] + fields.markup),
        .element("div", ["class": "actions"], .element("button", ["title": command], "Start the run")),
        Part.command(command)))
  }
}

extension StartForm.Given {
  /// The inputs of a schedule as a person would have typed them; computed ones are left empty.
  fileprivate init(_ inputs: [ScheduleInput], for recipe: RecipeRecord) {
    let schemas = recipe.inputs?["properties"]
    var form = HTTPQuery()
    for input in inputs {
      let text =
        input.secret.map { "@secret:\($0)" }
        ?? input.value.flatMap { StartForm.text($0, schemas?[input.name] ?? .null) }
      if let text { form.items.append(.init("input.\(input.name)", text)) }
    }
    self.init(form, for: recipe.inputs)
  }
}

extension Pages {
  /// The form for a schedule's inputs; nil for a visitor who doesn't see them, or if the recipe can't be read now.
  static func triggerForm(_ shown: ShowSchedule.Answer, _ request: PageRequest) async -> TriggerForm? {
    guard request.may(.steer), request.seesData,
      let recipe = try? await request.ask(ShowRecipe.with { $0.recipe = shown.schedule.recipe }).recipe
    else { return nil }
    return TriggerForm(id: shown.schedule.id, recipe: recipe, inputs: shown.inputs)
  }

  /// Starts a run of a schedule, and shows it if it began at once; what is refused is shown with the form.
  static func trigger(
    _ request: PageRequest, _ id: String, _ form: HTTPQuery
  ) async throws(Problem) -> HTTPServerResponse {
    let shown = try await request.ask(ShowSchedule.with { $0.id = id })
    var asked = await triggerForm(shown, request)
    var given: StartForm.Given?
    if form["inputs"] != nil, let recipe = asked?.recipe { given = StartForm.Given(form, for: recipe.inputs) }
    if given?.faults.isEmpty ?? true {
      do throws(Problem) {
        let key = form["key"].flatMap { $0.isEmpty ? nil : $0 }
        let started = try await request.ask(
          TriggerSchedule.with {
            $0.id = id
            $0.texts = given?.sent ?? [:]
            $0.key = given?.key(of: key) ?? key
          })
        let run = started.slots.first { $0.outcome == .started }?.run
        return redirect(run.map { pagePath("runs", $0) } ?? pagePath("schedules", id))
      } catch {
        guard error.kind == .refusal(.inputs) else { throw error }
        // Programs are told how to send them.
        var refusal = error
        refusal.detail = error.detail.utf8Parts(around: "; send \"inputs\": ")?.before ?? error.detail
        guard let form = asked else {
          throw Problem(
            error.kind, "\(refusal.detail); start the recipe on its own page instead, where they can be given")
        }
        if given == nil { given = StartForm.Given(form.inputs, for: form.recipe) }
        given?.faults = FormFault.all(of: refusal, word: "input")
      }
    }
    asked?.given = given
    var response = try await schedule(request, id, trigger: asked)
    response.status = 422
    return response
  }
}
