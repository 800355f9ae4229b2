import ActionKit
package import Basics
package import Recipes
package import RunState
import Runs
import Scheduler

// The recipes that are served: what they are, and runs of them by their names.
extension ScheduleHost {
  /// The zone of recipes that name none, if errand.yaml names one.
  package var zone: String? { registry.environment.zone }

  /// The recipe that a name means; refused with the names that there are.
  private func served(recipe name: String) throws(RequestRefusedError) -> (item: RecipeRegistry.Item, recipe: Recipe) {
    let items = registry.items
    guard let item = items.first(where: { $0.name.hasSameScalars(as: name) }) else {
      let broken = registry.faults.compactMap(\.location?.source.name).first { file in
        file.split(separator: "/").last?.prefix { $0 != "." } ?? "" == name
      }
      if let broken {
        throw RequestRefusedError(
          .configuration, "'\(broken)' has errors, so it isn't served; see: errand check \(broken.shellQuoted)")
      }
      let names = items.map(\.name)
      let guess = name.nearest(among: names).map { "did you mean '\($0)'?" }
      throw RequestRefusedError(
        .notFound,
        "no recipe called '\(name)' is served; \(guess ?? (names.isEmpty ? "there is none" : "there are \(names.joined(separator: ", "))"))"
      )
    }
    guard let recipe = registry.recipe(of: item.file, from: item.texts, in: item.language) else {
      throw RequestRefusedError(.configuration, "the recipe '\(name)' cannot be used now; errand serve says why")
    }
    return (item, recipe)
  }

  /// Makes a run of a served recipe, with the names of the secrets that it reads.
  ///
  /// - Parameter given: The inputs.
  package func startingRun(
    of name: String, given: [(name: String, input: GivenInput)], as id: String
  ) async throws(RequestRefusedError) -> (run: RunCreated, secrets: [String]) {
    guard isServing else {
      throw RequestRefusedError(
        .notServing,
        "no agent is serving, and only an agent finds recipes by their names; start errand serve, or: errand run FILE")
    }
    let (item, recipe) = try served(recipe: name)
    let inputs: ValueMap
    switch recipe.inputs(from: given) {
    case .success(let values): inputs = values
    case .failure(let faults):
      throw RequestRefusedError(.inputs, faults.list.map(\.message).joined(separator: "\n"))
    }
    if let reason = await refusal(recipe, .map(inputs)) { throw RequestRefusedError(.configuration, reason) }
    let run = RunCreated(
      run: id, at: time.now(), recipe: recipe.name, file: item.file, texts: .inline(.map(item.texts)),
      inputs: .map(inputs), program: program, language: item.language, group: recipe.group, zone: recipe.folderZone)
    let given = recipe.inputs.compactMap { $0.isSecret ? inputs[$0.name]?["secret"]?.string : nil }
    return (run, recipe.allSecrets.map(\.name) + given)
  }

  // MARK: What they are

  /// The recipes that are served, in the order of their names.
  func servedRecipes() -> [RecipeRecord] {
    registry.items.map { RecipeRecord(name: $0.name, file: $0.file) }.sorted { $0.name.precedesByScalars($1.name) }
  }

  /// One recipe, with its text and what it takes and does.
  func servedRecipe(named name: String) throws(RequestRefusedError) -> RecipeRecord {
    let (item, recipe) = try served(recipe: name)
    var record = RecipeRecord(name: item.name, file: item.file)
    record.summary = recipe.summary.isEmpty ? nil : recipe.summary
    record.inputs = .map(recipe.inputSchema.jsonSchema(allowsExpressions: false))
    record.schedules = recipe.triggers.map { ScheduleEntry.id(of: $0, in: recipe.name) }
    var actions: [String: String] = [:]
    for step in recipe.all.flatMap(\.allSteps) {
      if case .action(let call) = step.kind { actions[call.action.id] = call.action.effect.name }
    }
    record.actions = actions
    record.text = item.texts[item.file]?.string.map { store.secrets.finder.redact($0) }
    return record
  }
}

/// A recipe that is served.
package struct RecipeRecord: Record {
  package var name: String
  package var file: String
  package var summary: String?
  /// The JSON Schema of its inputs.
  package var inputs: Value?
  package var schedules: [String] = []
  /// The effects of the actions that it may call, by their names.
  package var actions: [String: String] = [:]
  package var text: String?

  init(name: String, file: String) {
    self.name = name
    self.file = file
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    file = try member("file", record?.file)
    summary = try member("summary", record?.summary)
    inputs = try member("inputs", record?.inputs.map { PlainJSON(value: $0) })?.value
    schedules = try member("schedules", record?.schedules, default: [])
    actions = try member("actions", record?.actions, default: [:])
    text = try member("text", record?.text)
  }
}
