import ActionKit
package import Basics
package import RecipeEditing
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
    guard let item = registry.item(named: name) else {
      let broken = registry.faults.compactMap(\.location?.source.name).first { file in
        file.split(separator: "/").last?.prefix { $0 != "." } ?? "" == name
      }
      if let broken {
        var refusal = RequestRefusedError(
          .configuration, "'\(broken)' has errors, so it isn't served; see: errand check \(broken.shellQuoted)")
        refusal.overHTTP = "'\(broken)' has errors, so it isn't served; see 'findings' of GET /api/v1/recipes/\(name)"
        throw refusal
      }
      throw unknownRecipe(name)
    }
    guard let recipe = registry.recipe(of: item.file, from: item.texts, in: item.language) else {
      throw RequestRefusedError(.configuration, "the recipe '\(name)' cannot be used now; errand serve says why")
    }
    return (item, recipe)
  }

  /// The refusal of a name that no served recipe has.
  package func unknownRecipe(_ name: String) -> RequestRefusedError {
    RequestRefusedError(
      "no recipe called '\(name.shortened(to: 200))' is served", meaning: name,
      among: registry.items.map { ($0.name, $0.name) })
  }

  /// Sees to it that recipes are found by their names; refused where they aren't.
  func findRecipes() async throws(RequestRefusedError) {
    if isServing { return }
    guard namesRecipes else {
      throw RequestRefusedError(
        .notServing,
        "no agent is serving, and only an agent finds recipes by their names; start errand serve, or: errand run FILE")
    }
    _ = await look()
  }

  /// Makes a run of a served recipe, with the names of the secrets that it reads.
  ///
  /// - Parameters:
  ///   - given: The inputs.
  ///   - planned: The inputs of a plan, which count if none are given.
  package func startingRun(
    of name: String, given: [(name: String, input: GivenInput)], planned: ValueMap? = nil, as id: String
  ) async throws(RequestRefusedError) -> (run: RunCreated, secrets: [String]) {
    try await findRecipes()
    let (item, recipe) = try served(recipe: name)
    let given = given.isEmpty ? planned.map(recipe.given(byPlan:)) ?? [] : given
    return try await run(of: recipe, item, given: given, as: id)
  }

  /// Makes a run of a text that isn't served, which is only planned.
  ///
  /// - Parameter environment: The environment of the text, whose files it reads.
  package func run(
    of source: Source, in environment: RecipeEnvironment, given: [(name: String, input: GivenInput)], as id: String
  ) async throws(RequestRefusedError) -> (run: RunCreated, secrets: [String]) {
    let reading = RecipeReading(environment, .disk)
    let checked = withoutSecrets {
      Result { () throws(FileError) in try reading.environment.read(source.name) }
        .map { Recipe.check($0, in: reading.environment) }
    }
    guard case .success(let found) = checked, let recipe = found.recipe else {
      throw RequestRefusedError(.inputs, "the text has errors, so it can't be planned")
    }
    let item = RecipeRegistry.Item(file: source.name, name: recipe.name, texts: reading.texts)
    return try await run(of: recipe, item, given: given, as: id)
  }

  private func run(
    of recipe: Recipe, _ item: RecipeRegistry.Item, given: [(name: String, input: GivenInput)], as id: String
  ) async throws(RequestRefusedError) -> (run: RunCreated, secrets: [String]) {
    let inputs: ValueMap
    let checked = withoutSecrets {
      recipe.inputs(from: given).mapError { faults in
        RequestRefusedError(
          recipe.inputFaults(of: given), in: given, saying: faults.list.map(\.message).joined(separator: "\n"))
      }
    }
    inputs = try checked.get()
    if let reason = await refusal(recipe, .map(inputs)) { throw RequestRefusedError(.configuration, reason) }
    var run = RunCreated(
      run: id, at: time.now(), recipe: recipe.name, file: item.file, texts: .inline(.map(item.texts)),
      inputs: .map(inputs), program: program, language: item.language, group: recipe.group, zone: recipe.folderZone)
    (run.needs, run.queue) = (needs(of: recipe, run.inputs), queue(of: recipe))
    let secrets = recipe.inputs.compactMap { $0.isSecret ? inputs[$0.name]?["secret"]?.string : nil }
    return (run, recipe.allSecrets.map(\.name) + secrets)
  }

  /// The inputs of an earlier run for a new one: without secrets, which are given anew, and without inputs that the
  /// recipe no longer has.
  ///
  /// - Parameter others: The inputs that are given anew, too.
  package func given(
    byRun run: RunRecord, of name: String, besides others: Set<String>
  ) async throws(RequestRefusedError) -> [(name: String, input: GivenInput)] {
    try await findRecipes()
    let (_, recipe) = try served(recipe: name)
    var inputs = ValueMap()
    for input in recipe.inputs where !input.isSecret && !others.contains(input.name) {
      guard let value = run.origin.inputs[input.name] else { continue }
      do throws(StateError) {
        inputs[input.name] = try await store.secrets.restored(value, as: "the input '\(input.name)'")
      } catch {
        throw RequestRefusedError(.configuration, error.message)
      }
    }
    return recipe.given(byPlan: inputs)
  }

  // MARK: Among several programs

  /// The offers that a worker must have to claim runs of a recipe; none where the state is this program's alone.
  func needs(of recipe: Recipe, _ inputs: Value) -> [String] { registry.environment.needs?(recipe, inputs) ?? [] }

  /// The queue of a recipe's runs, where several programs share the state.
  func queue(of recipe: Recipe) -> String? { registry.environment.needs == nil ? nil : recipe.queue }

  // MARK: Lists of recipes

  /// The served recipes, and recipes that have errors and so aren't served, in the order of their names.
  package func servedRecipes() -> [RecipeRecord] {
    let served = registry.items.map { item in
      var record = RecipeRecord(name: item.name, file: item.file)
      record.findings = findings(of: item.file)
      record.summary = item.summary.isEmpty ? nil : item.summary
      if !isSandbox { record.missing = item.missing }
      return record
    }
    let broken = registry.broken.map { file in
      var record = RecipeRecord(name: ScheduleHost.stem(of: file), file: file)
      record.findings = findings(of: file)
      record.isInForce = false
      return record
    }
    return (served + broken).sorted { $0.name.precedesByScalars($1.name) }
  }

  /// The recipes in force whose questions name a person in `by`, by the names.
  package var deciders: [String: [String]] {
    var named: [String: [String]] = [:]
    for item in registry.items { for name in item.deciders { named[name, default: []].append(item.name) } }
    return named.mapValues { $0.sorted { $0.precedesByScalars($1) } }
  }

  /// The name of a recipe whose file can't be read, unless the file declares another.
  static func stem(of file: String) -> String {
    file.split(separator: "/").last.map { String($0.prefix { $0 != "." }) } ?? file
  }

  func findings(of file: String) -> [FindingRecord] {
    registry.findings(of: file).map { FindingRecord($0) { store.secrets.finder.redact($0) } }
  }

  /// One recipe, with its text, inputs, actions and steps; if it has errors, only the text and the errors.
  package func servedRecipe(named name: String) async throws(RequestRefusedError) -> RecipeRecord {
    if let file = registry.broken.first(where: { ScheduleHost.stem(of: $0).hasSameScalars(as: name) }),
      registry.item(named: name) == nil
    {
      var record = RecipeRecord(name: name, file: file)
      record.findings = findings(of: file)
      record.isInForce = false
      let source = registry.findings(of: file).lazy.compactMap(\.location?.source).first { $0.name == file }
      record.text = source.map { store.secrets.finder.redact(String(decoding: $0.bytes, as: UTF8.self)) }
      return record
    }
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
    record.steps = StepOutline.list(of: RecipeGraph(recipe))
    record.findings = findings(of: item.file)
    record.text = item.texts[item.file]?.string.map { store.secrets.finder.redact($0) }
    record.refusal = await refusal(recipe, .map(ValueMap()))
    if !isSandbox { record.missing = item.missing }
    return record
  }
}

extension Recipe {
  /// A plan's inputs in the form for a run, without inputs that the recipe no longer has.
  package func given(byPlan planned: ValueMap) -> [(name: String, input: GivenInput)] {
    planned.members.compactMap { member in
      guard let name = member.name, let input = inputs.first(where: { $0.name.hasSameScalars(as: name) }) else {
        return nil
      }
      let secret = input.isSecret ? member.value["secret"]?.string : nil
      return (name, secret.map { .secret(name: $0) } ?? .value(member.value, Source(name: "plan", text: "")))
    }
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
  /// The findings in it, errors or not.
  package var findings: [FindingRecord] = []
  /// Its steps, each before those inside it.
  package var steps: [StepOutline] = []

  /// Whether it has errors, so that it isn't served.
  package var isFaulty: Bool { !isInForce && findings.contains { $0.severity == "error" } }
  /// Whether its file has changed and has errors, so that the version before it is used.
  package var isOutOfDate: Bool { isInForce && findings.contains { $0.severity == "error" } }
  /// Whether a version of it is served.
  package var isInForce = true
  /// The connections that it needs, and errand.yaml doesn't have.
  package var missing: [String] = []
  /// Why a run of it would be refused, such as a missing secret; known only where one recipe is asked for.
  package var refusal: String?

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
    findings = try member("findings", record?.findings, default: [])
    steps = try member("steps", record?.steps, default: [])
    isInForce = try member("isInForce", record?.isInForce, default: true)
    missing = try member("missing", record?.missing, default: [])
    refusal = try member("refusal", record?.refusal)
  }
}

extension RecipeRecord {
  /// The recipe for a caller who isn't told the machine's paths.
  package func told(by paths: ServerPaths) -> RecipeRecord {
    var told = self
    told.file = paths.told(file)
    for index in told.findings.indices {
      told.findings[index].file = told.findings[index].file.map(paths.told)
      told.findings[index].message = paths.told(told.findings[index].message)
    }
    return told
  }
}

/// A finding at a place in a recipe's file.
package struct FindingRecord: Record, Equatable {
  /// `error`, `warning` or `hint`.
  package var severity: String
  package var message: String
  /// The place; nil if it is about no one place.
  package var file: String?
  package var line: Int?
  package var column: Int?
  package var endLine: Int?
  package var endColumn: Int?

  package init(_ finding: Diagnostic, _ redact: (String) -> String = { $0 }) {
    severity = finding.severity.rawValue
    message = redact(finding.message)
    guard let place = finding.location else { return }
    let (start, end) = (place.range.lowerBound, place.range.upperBound)
    file = place.source.name
    (line, column) = (place.source.position(at: start).line, place.source.position(at: start).column)
    (endLine, endColumn) = (place.source.position(at: end).line, place.source.position(at: end).column)
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    severity = try member("severity", record?.severity)
    message = try member("message", record?.message)
    file = try member("file", record?.file)
    line = try member("line", record?.line)
    column = try member("column", record?.column)
    endLine = try member("endLine", record?.endLine)
    endColumn = try member("endColumn", record?.endColumn)
  }
}

/// A step of a recipe in an outline of it, or a heading of steps.
package struct StepOutline: Record, Equatable {
  /// How many steps it is inside.
  package var depth: Int
  /// The step's name; of a heading, what the steps below it are: a branch's name, `on error`, `finally`.
  package var title: String
  package var isHeading: Bool
  /// Its action and its modifiers: an action's id, `if …`, `for each …`.
  package var words: [String]
  /// The type of its output; nil without one.
  package var gives: String?

  /// The outline of a recipe.
  static func list(of graph: RecipeGraph) -> [StepOutline] {
    var list: [StepOutline] = []
    func add(_ section: RecipeGraph.Section, _ depth: Int) {
      if let label = section.label {
        list.append(StepOutline(depth: depth, title: label, isHeading: true, words: [], gives: nil))
      }
      let depth = section.label == nil ? depth : depth + 1
      for number in section.nodes {
        let node = graph.nodes[number]
        list.append(
          StepOutline(depth: depth, title: node.title, isHeading: false, words: node.words, gives: node.gives))
        for section in node.sections { add(section, depth + 1) }
      }
    }
    for section in graph.sections { add(section, 0) }
    return list
  }

  init(depth: Int, title: String, isHeading: Bool, words: [String], gives: String?) {
    self.depth = depth
    self.title = title
    self.isHeading = isHeading
    self.words = words
    self.gives = gives
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    depth = try member("depth", record?.depth)
    title = try member("title", record?.title)
    isHeading = try member("isHeading", record?.isHeading, default: false)
    words = try member("words", record?.words, default: [])
    gives = try member("gives", record?.gives)
  }
}
