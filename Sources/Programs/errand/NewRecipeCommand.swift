import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import Recipes

/// `errand new recipe`: creates a recipe from an example, from an action, or from questions.
struct NewRecipeCommand: DispatchedCommand {
  let dispatch: Dispatch
  private var catalog: ActionCatalog { dispatch.catalog }

  func run() throws(RuntimeError) -> ExitCode {
    let workspace = try dispatch.workspace()
    let given = parsed["name"].text
    if let given, !Recipe.isName(given) {
      throw RuntimeError(
        .usage, "'\(given)' isn't a recipe name: use letters, digits, - and _, as in weekly-report")
    }
    if parsed["cron"].isGiven, !parsed["uses"].isGiven { throw RuntimeError(.usage, "--cron needs --uses") }
    if parsed["from"].isGiven, parsed["uses"].isGiven {
      throw RuntimeError(.usage, "--from and --uses exclude each other; give one of them")
    }
    let zone = workspace.configuration.zone ?? "UTC"
    let beginning: (name: String, text: (String) -> String)
    if let example = parsed["from"].text {
      beginning = try self.example(example)
    } else if let id = parsed["uses"].text {
      let action = try action(id)
      guard NewRecipeCommand.canBegin(with: action) else {
        throw RuntimeError(
          .invalid,
          "'\(action.id)' takes what an earlier step gives, so it cannot be the first one; 'errand actions \(action.id)' "
            + "shows an example")
      }
      beginning = NewRecipeCommand.beginning(action, cron: parsed["cron"].text, zone: zone)
    } else if console.canAsk {
      beginning = try ask(zone)
    } else {
      throw RuntimeError(
        .usage,
        "say what to start from: --uses ACTION ('errand actions' lists them), or --from EXAMPLE, one of "
          + RecipeExamples.all.map(\.name).joined(separator: ", "))
    }
    let name = given ?? beginning.name
    let folders = workspace.recipeFolders
    let folder = folders.first { Files.exists($0) } ?? folders.first ?? Workspace.workingFolder
    let path = Workspace.shown("\(folder)/\(name).yaml")
    let text = beginning.text(name)
    // What the user gave, such as the times, may be faulty; then nothing is written.
    let checked = Recipe.check(Source(name: path, text: text), in: workspace.environment)
    let faults = Diagnostics(checked.diagnostics)
    if !faults.list.isEmpty { console.error(faults.rendered(colour: console.colourError)) }
    if faults.hasErrors { throw RuntimeError(.invalid, "nothing was written: \(faults.tally)") }
    try RuntimeError.creating { () throws(FileError) in try Files.makeFolder(folder) }
    try write(text, to: path)
    console.out(path)
    let inputs = (checked.recipe?.inputs ?? []).filter(\.isRequired).map { " -i \($0.name)=…" }.joined()
    console.say("next: errand check \(path.shellQuoted)")
    console.say("      errand run \(path.shellQuoted) --sandbox\(inputs)")
    return .done
  }

  // MARK: What to begin with

  private func example(_ name: String) throws(RuntimeError) -> (name: String, text: (String) -> String) {
    guard let example = RecipeExamples.all.first(where: { $0.name.hasSameScalars(as: name) }) else {
      let names = RecipeExamples.all.map(\.name)
      let guess = name.nearest(among: names).map { "did you mean '\($0)'?" }
      throw RuntimeError(
        .noInput, "no example is named '\(name)'; \(guess ?? "there are \(names.joined(separator: ", "))")")
    }
    return (example.name, { example.text.replacing("NAME", with: $0) })
  }

  private func action(_ id: String) throws(RuntimeError) -> ActionDescriptor {
    if let action = catalog.action(id) { return action }
    let guess = catalog.nearestAction(to: id).map { "did you mean '\($0)'?" } ?? "'errand actions' lists them all"
    throw RuntimeError(.noInput, "no action is named '\(id)'; \(guess)")
  }

  /// Whether an action's own example works without a step before it.
  static func canBegin(with action: ActionDescriptor) -> Bool {
    action.examples.first.map { !$0.input.contains("${{ steps.") } ?? false
  }

  /// A recipe of one step, from the action's own example.
  static func beginning(
    _ action: ActionDescriptor, cron: String?, zone: String
  ) -> (name: String, text: (String) -> String) {
    var lines: [String] = ["summary: \(JSON.quoted(action.summary))", ""]
    if let cron { lines += ["on:", "  - cron: \(JSON.quoted(cron))", "    zone: \(zone)", ""] }
    let gives = !action.output.fields.isEmpty && !action.outputType.holdsSecret
    let input = action.examples.first?.input.split(separator: "\n", omittingEmptySubsequences: false) ?? []
    let asked = input.compactMap { inputDeclared(by: $0, of: action) }
    if !asked.isEmpty { lines += ["inputs:"] + asked + [""] }
    lines += ["steps:"]
    lines += gives ? ["  - id: answer", "    uses: \(action.id)"] : ["  - uses: \(action.id)"]
    if input.contains(where: { !$0.isEmpty }) {
      lines += ["    with:"] + input.map { $0.isEmpty ? "" : "      \($0)" }
    }
    if gives { lines += ["", "outputs:"] + outputs(of: action) }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return (
      action.id.split(separator: ".").last.map { String($0).kebab } ?? "recipe",
      { name in
        (["recipe: \(name)"] + lines).joined(separator: "\n") + "\n"
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
  private static func inputDeclared(by line: Substring, of action: ActionDescriptor) -> String? {
    let parts = line.split(separator: ":", maxSplits: 1).map { String($0).trimmed }
    guard parts.count == 2, parts[1].hasPrefix("${{ inputs."), parts[1].hasSuffix(" }}"),
      let field = action.input.field(named: parts[0])
    else { return nil }
    let name = parts[1].dropFirst(11).dropLast(3)
    return "  \(name): { type: \(JSON.quoted(field.type.name)), summary: \(JSON.quoted(field.summary)) }"
  }

  // MARK: Questions

  private func ask(_ zone: String) throws(RuntimeError) -> (name: String, text: (String) -> String) {
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
    return NewRecipeCommand.beginning(action, cron: times.isEmpty ? nil : times, zone: zone)
  }

  /// Asks until the user chooses one of several things, by its number or its name.
  private func choose(
    _ question: String, _ choices: [(name: String, summary: String)]
  ) throws(RuntimeError) -> Int {
    console.error(question)
    for (index, choice) in choices.enumerated() { console.error("  \(index + 1)  \(choice.name): \(choice.summary)") }
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

  // MARK: Writing

  /// Writes a new file; an existing one is refused.
  private func write(_ text: String, to path: String) throws(RuntimeError) {
    do throws(FileError) {
      let file = try Descriptor(.write, path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
      do throws(FileError) { try file.write(Array(text.utf8), path) } catch {
        unlink(path)
        throw error
      }
    } catch {
      throw RuntimeError(
        .cannotCreate,
        error.code == EEXIST
          ? "'\(path)' already exists and was left unchanged; give the recipe another name" : error.description)
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
