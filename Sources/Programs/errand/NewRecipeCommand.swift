import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import Recipes
import Synchronization
import YAMLReader

/// `errand new recipe`: creates recipes from a template, an action, the lines of a crontab, or questions.
struct NewRecipeCommand: DispatchedCommand {
  let dispatch: Dispatch
  private var catalog: ActionCatalog { dispatch.catalog }

  func run() throws(RuntimeError) -> ExitCode {
    let workspace = try dispatch.workspace()
    let given = parsed["name"].text
    if let given, !Recipe.isName(given) { throw NewRecipeCommand.notAName(given) }
    if parsed["cron"].isGiven, !parsed["uses"].isGiven { throw RuntimeError(.usage, "--cron needs --uses") }
    let sources = ["from", "uses", "from-crontab"].filter { parsed[$0].isGiven }.map { "--\($0)" }
    if sources.count > 1 {
      throw RuntimeError(.usage, "\(sources.joined(separator: " and ")) exclude each other; give one of them")
    }
    if let file = parsed["from-crontab"].text {
      if given != nil {
        throw RuntimeError(.usage, "--from-crontab names each recipe after its command; leave the name out")
      }
      return try CrontabImport(dispatch: dispatch, workspace: workspace).run(file)
    }
    let zone = workspace.configuration.zone ?? "UTC"
    let name: String
    var text: String
    if let word = parsed["from"].text {
      (name, text) = try NewRecipeCommand.recipe(from: word, named: given)
    } else if let id = parsed["uses"].text {
      (name, text) = try NewRecipeCommand.recipe(
        using: id, named: given, cron: parsed["cron"].text, zone: zone, catalog)
    } else if console.canAsk {
      let asked = try ask(named: given, workspace)
      (name, text) = (asked.name, asked.text)
    } else {
      throw RuntimeError(
        .usage,
        "say what to start from: --uses ACTION ('errand actions' lists them), or --from TEMPLATE, one of "
          + RecipeTemplates.all.map(\.name).joined(separator: ", "))
    }
    let path = Workspace.displayed(NewRecipeCommand.path(of: name, in: workspace))
    text = NewRecipeCommand.fitted(text, to: path, in: workspace)
    // The user's answers, such as the times, may be faulty; then nothing is written. Connections may be added later.
    let checked = Recipe.check(Source(name: path, text: text), in: workspace.environment(isApart: true))
    let faults = Diagnostics(checked.diagnostics)
    if !faults.list.isEmpty { console.error(faults.rendered(colour: console.colourError)) }
    if faults.hasErrors { throw RuntimeError(.invalid, "nothing was written: \(faults.tally)") }
    try NewFile.write(text, to: path, orElse: "give the recipe another name")
    console.out(path)
    // The file that a recipe waits for isn't there yet, though its input may have a default.
    let waitsFor = (checked.recipe?.triggers ?? []).flatMap { trigger in
      if case .file = trigger.kind { trigger.inputs.map(\.name) } else { [] as [String] }
    }
    let inputs = (checked.recipe?.inputs ?? []).filter { $0.isRequired || waitsFor.contains($0.name) }
      .map { " -i \($0.name)=…" }.joined()
    let isReady = sayWhatIsMissing(for: text, at: path, workspace)
    let check = "errand check \(path.shellQuoted)"
    let trial =
      checked.recipe.flatMap(workspace.connectionWithoutSandbox) == nil
      ? ["errand run \(path.shellQuoted) --sandbox\(inputs)", "errand new test \(path.shellQuoted)"]
      : ["errand plan \(path.shellQuoted)\(inputs)"]
    console.say("next: " + (isReady ? [check] + trial : trial + [check]).joined(separator: "\n      "))
    return .done
  }

  /// Says which connections errand.yaml lacks for a recipe, which still runs in a sandbox, and prints them to paste; true
  /// if it has all.
  private func sayWhatIsMissing(for text: String, at path: String, _ workspace: Workspace) -> Bool {
    let source = Source(name: path, text: text)
    let sketches = Mutex<[ConnectionSketch]>([])
    var environment = workspace.environmentOfChecks()
    environment.onMissingSettings = { [catalog] connection, plugin, settings in
      sketches.withLock { ConnectionSketch.add(settings, to: &$0, connection, catalog.plugin(plugin)) }
    }
    let faults = Recipe.check(source, in: environment).diagnostics.filter { $0.severity == .error }
    for fault in faults { console.say("note: \(fault.message)") }
    let missing = sketches.withLock { $0 }
    if !missing.isEmpty {
      let keys = ConfigurationKeys(workspace.configurationPath)
      for part in ConnectionSketch.pasted(missing, into: keys, for: text) {
        console.say("put this into errand.yaml\(part.key.map { " under '\($0)'" } ?? ""), with your own values:\n")
        console.say(part.lines + "\n")
      }
    }
    return faults.isEmpty
  }

  /// The path of a recipe in the first folder of recipes that is there.
  static func path(of name: String, in workspace: Workspace) -> String {
    let folders = workspace.recipeFolders
    let folder = folders.first { Files.exists($0) } ?? folders.first ?? Workspace.workingFolder
    return "\(folder)/\(name).yaml"
  }

  /// A text with its parts from the folder that it comes to.
  static func fitted(_ text: String, to path: String, in workspace: Workspace) -> String {
    // Templates have a zone, which is rarely the reader's.
    let text = workspace.configuration.zone.map { text.replacing("Europe/Berlin", with: $0) } ?? text
    let hasSchema = Files.exists("\(Workspace.folder(of: path))/recipe.schema.json")
    return (hasSchema ? "# yaml-language-server: $schema=recipe.schema.json\n" : "") + text
  }

  private static func notAName(_ text: String) -> RuntimeError {
    RuntimeError(.usage, "'\(text.safe)' isn't a recipe name: use letters, digits, - and _, as in weekly-report")
  }

  // MARK: Templates and examples

  /// A recipe from a template.
  static func recipe(from word: String, named given: String?) throws(RuntimeError) -> (name: String, text: String) {
    let template = try template(word)
    let name = given ?? template.name
    return (name, StarterRecipe(template: template, name: name).text)
  }

  /// A recipe of one step, from an action's own example.
  static func recipe(
    using id: String, named given: String?, cron: String?, zone: String, _ catalog: ActionCatalog
  ) throws(RuntimeError) -> (name: String, text: String) {
    let action = try action(id, catalog)
    guard canBegin(with: action) else {
      throw RuntimeError(
        .invalid,
        "'\(action.id)' takes what an earlier step gives, so it cannot be the first one; 'errand actions \(action.id)' "
          + "shows an example")
    }
    let beginning = beginning(action, cron: cron, zone: zone)
    let name = given ?? beginning.name
    return (name, beginning.text(name))
  }

  private static func template(_ name: String) throws(RuntimeError) -> (name: String, text: String) {
    if let template = RecipeTemplates.all.first(where: { $0.name.hasSameScalars(as: name) }) { return template }
    let names = RecipeTemplates.all.map(\.name)
    let guess = name.nearest(among: names).map { "did you mean '\($0)'?" }
    throw RuntimeError(
      .noInput, "no template is named '\(name)'; \(guess ?? "there are \(names.joined(separator: ", "))")")
  }

  private static func action(_ id: String, _ catalog: ActionCatalog) throws(RuntimeError) -> ActionDescriptor {
    if let action = catalog.action(id) { return action }
    let guess = catalog.nearestAction(to: id).map { "did you mean '\($0)'?" } ?? "'errand actions' lists them all"
    throw RuntimeError(.noInput, "no action is named '\(id)'; \(guess)")
  }

  /// Whether an action's own example works without a step before it, or with an input in its place.
  static func canBegin(with action: ActionDescriptor) -> Bool {
    action.examples.first.map { example in
      lines(of: example.input, action).allSatisfy { !$0.contains("${{ steps.") }
    } ?? false
  }

  /// The lines of an example, with references to earlier steps replaced by inputs.
  private static func lines(of input: String, _ action: ActionDescriptor) -> [String] {
    input.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard let colon = line.firstIndex(of: ":"), line[line.index(after: colon)...].hasPrefix(" ${{ steps."),
        line.hasSuffix(" }}"), action.input.field(named: String(line[..<colon])) != nil
      else { return String(line) }
      return "\(line[..<colon]): ${{ inputs.\(line[..<colon]) }}"
    }
  }

  /// A recipe of one step, from the action's own example.
  static func beginning(
    _ action: ActionDescriptor, cron: String?, zone: String
  ) -> (name: String, text: (String) -> String) {
    var lines: [String] = ["summary: \(JSON.quoted(action.summary))", ""]
    let input = NewRecipeCommand.lines(of: action.examples.first?.input ?? "", action)
    if let cron {
      lines += ["on:", "  - cron: \(JSON.quoted(cron))", "    zone: \(zone)"]
      // A running agent reads the file at once, and would write example values that the user hasn't reviewed.
      if action.effect.isWrite, !input.isEmpty {
        lines.append("    paused: Its values are an example. Put in your own, then remove this line.")
      }
      lines.append("")
    }
    let gives = !action.output.fields.isEmpty && !action.outputType.holdsSecret
    let asked = input.compactMap { inputDeclared(by: $0, of: action) }
    if !asked.isEmpty { lines += ["inputs:"] + asked + [""] }
    lines += ["steps:"]
    lines += gives ? ["  - id: answer", "    uses: \(action.id)"] : ["  - uses: \(action.id)"]
    if cron != nil, action.takesEffect { lines.append("    timeout: 1h # how long the command may take") }
    if input.contains(where: { !$0.isEmpty }) {
      lines += ["    with:"] + input.map { $0.isEmpty ? "" : "      \($0)" }
    }
    if gives { lines += ["", "outputs:"] + outputs(of: action) }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return (
      action.id.split(separator: ".").last.map { String($0).kebab } ?? "recipe",
      { name in
        (["recipe: \(name.asYAML)"] + lines).joined(separator: "\n") + "\n"
      }
    )
  }

  /// Outputs for the small parts of an answer: for lists, their counts.
  private static func outputs(of action: ActionDescriptor) -> [String] {
    guard case .object(let answer) = action.outputType else { return ["  answer: ${{ steps.answer }}"] }
    var lines: [String] = []
    for field in answer.fields {
      switch field.type {
      case .list where !field.isOptional: lines.append("  \(field.name): ${{ steps.answer.\(field.name).size() }}")
      case .list, .map, .object: continue
      default: lines.append("  \(field.name): ${{ steps.answer.\(field.isOptional ? "?" : "")\(field.name) }}")
      }
    }
    let isSmall = answer.fields.allSatisfy { field in
      switch field.type {
      case .list, .map, .object: false
      default: true
      }
    }
    if isSmall || lines.isEmpty { return ["  answer: ${{ steps.answer }}"] }
    return ["  # 'errand actions \(action.id)' lists all that steps.answer has."] + lines
  }

  /// The declaration of the input that a field of an example takes its value from, if there is one.
  private static func inputDeclared(by line: String, of action: ActionDescriptor) -> String? {
    let parts = line.split(separator: ":", maxSplits: 1).map { String($0).trimmed }
    guard parts.count == 2, parts[1].hasPrefix("${{ inputs."), parts[1].hasSuffix(" }}"),
      let field = action.input.field(named: parts[0])
    else { return nil }
    let name = parts[1].dropFirst(11).dropLast(3)
    return "  \(name): { type: \(JSON.quoted(field.type.declared)), summary: \(JSON.quoted(field.summary)) }"
  }

  // MARK: Questions

  /// Asks what to start from, for the inputs of a template, and for the name.
  private func ask(named given: String?, _ workspace: Workspace) throws(RuntimeError) -> (name: String, text: String) {
    let templates = RecipeTemplates.all
    let choices =
      templates.map { ($0.name, NewRecipeCommand.summary(of: $0.text)) } + [
        ("action", "A recipe of one action of a service.")
      ]
    let index = try choose("What do you want to start from?", choices)
    guard index < templates.count else { return try askForAction(named: given, workspace.configuration.zone ?? "UTC") }
    let template = templates[index]
    var name = template.name
    if let given { name = given } else { name = try askForName(name) }
    var starter = StarterRecipe(template: template, name: name)
    func inputs(of starter: StarterRecipe) -> [Recipe.Input]? {
      Recipe.check(Source(name: "\(name).yaml", text: starter.text), in: workspace.environment).recipe?.inputs
    }
    for input in inputs(of: starter) ?? [] where !input.isSecret {
      let standing = input.fallback.map { " [\($0.string ?? JSON.displayed($0))]" } ?? " (Enter to give it to each run)"
      while true {
        let text = try answer("\(input.name): \(input.summary)\(standing) ")
        if text.isEmpty { break }
        var changed = starter
        changed.set(input, to: text)
        if inputs(of: changed) != nil {
          starter = changed
          break
        }
        console.error("'\(text.safe)' isn't \(input.declaration.type.wanted)")
      }
    }
    return (name, starter.text)
  }

  private func askForName(_ standing: String) throws(RuntimeError) -> String {
    while true {
      let text = try answer("What is the recipe called? [\(standing)] ")
      if text.isEmpty || Recipe.isName(text) { return text.isEmpty ? standing : text }
      console.error(NewRecipeCommand.notAName(text).message)
    }
  }

  /// The sentence about a template.
  static func summary(of text: String) -> String {
    let line = text.split(separator: "\n").first { $0.hasPrefix("summary: ") } ?? ""
    return String(line.dropFirst(9))
  }

  private func askForAction(named given: String?, _ zone: String) throws(RuntimeError) -> (name: String, text: String) {
    let plugins = catalog.plugins
    let plugin = plugins[try choose("Which service?", plugins.map { ($0.name, $0.summary) })]
    let actions = plugin.actions.filter(NewRecipeCommand.canBegin)
    let action = actions[try choose("Which action?", actions.map { ($0.id, $0.summary) })]
    // A scheduled run has no person to give it inputs.
    let takesInputs = action.examples.first?.input.contains("${{ inputs.") ?? false
    let times =
      takesInputs
      ? ""
      : try answer(
        "When does it run? Once, when you say so (Enter), or at times, as cron's five fields, such as 30 17 * * FRI: ")
    let beginning = NewRecipeCommand.beginning(action, cron: times.isEmpty ? nil : times, zone: zone)
    let name = given ?? beginning.name
    return (name, beginning.text(name))
  }

  /// Asks until the user chooses one of several things, by its number or its name.
  private func choose(
    _ question: String, _ choices: [(name: String, summary: String)]
  ) throws(RuntimeError) -> Int {
    let rows = choices.enumerated().map { ("\($0.offset + 1)  \($0.element.name)", $0.element.summary) }
    console.error(helpTable(question, rows, columns: min(100, console.widthOfErrors)))
    while true {
      let text = try answer("1 to \(choices.count), or a name: ")
      if let number = Int(text), choices.indices.contains(number - 1) { return number - 1 }
      if let index = choices.firstIndex(where: {
        $0.name.hasSameScalars(as: text) || $0.name.hasSuffix(".\(text)")
      }) {
        return index
      }
      let guess = text.nearest(among: choices.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
      console.error("'\(text.safe)' isn't one of them\(guess)")
    }
  }

  private func answer(_ question: String) throws(RuntimeError) -> String {
    Console.write(question, to: STDERR_FILENO)
    guard let line = readLine() else { throw RuntimeError(.failed, "nothing was written: there was no answer") }
    return line.trimmed
  }
}

extension FieldType {
  /// The type of an input that takes its place: one without the fields that only an action declares.
  fileprivate var declared: String {
    switch self {
    case .object: "dyn"
    case .list(let element): "list(\(element.declared))"
    default: name
    }
  }
}

extension String {
  /// `getMarkbook` as `get-markbook`.
  fileprivate var kebab: String {
    reduce(into: "") { text, character in
      if character.isUppercase, !text.isEmpty { text.append("-") }
      text.append(contentsOf: character.lowercased())
    }
  }
}
