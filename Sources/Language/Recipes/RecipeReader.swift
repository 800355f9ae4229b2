// Checks a recipe.
//
// One pass reads the recipe in the order of its run, and each expression in the scope that the earlier steps made.
// Nothing stops the pass: all faults are reported, and each of them once. Five rules keep a fault from being reported
// again where it shows next:
//
// 1. A misspelt key counts as the probable right one (`Fields`), so that this one isn't missing as well.
// 2. A faulty part has its type if that is known, else `dyn`, which can be read in any way.
// 3. A faulty name is declared nevertheless, under every name that an expression would read in it (`Scope.excuse`).
// 4. Objects that a faulty condition names count as whole after it (`Scope.assume`): it may have asked for any field.
// 5. The faults of a called recipe are reported in its own file; the step that calls it has the type `dyn`.

package import ActionKit
package import Basics
import Calendars
import Expressions
import YAMLReader

/// The environment of a recipe's check.
package struct RecipeEnvironment: Sendable {
  /// Finds the literals of a step in a file that an action on a connection refuses.
  package typealias Refusals =
    @Sendable (_ action: ActionDescriptor, _ input: StepInput, _ connection: String, _ file: String) -> [Refusal]

  /// The actions there are.
  package var catalog: ActionCatalog
  /// The plugin of each connection of `errand.yaml`; nil if there is no such file.
  package var connections: [String: String]?
  /// The limits of the connections of `errand.yaml` that have some.
  package var limits: [String: ConnectionLimits] = [:]
  /// The settings that each connection of `errand.yaml` has, if recipes are to be refused that need others.
  package var settings: [String: Set<String>]?
  /// Gets the settings of a connection that a step needs and `errand.yaml` doesn't have.
  package var onMissingSettings: @Sendable (_ connection: String, _ plugin: String, _ settings: [String]) -> Void = {
    _, _, _ in
  }
  /// Finds the literals of a step that an action would certainly refuse; nil to skip this check.
  package var refusals: Refusals?
  /// The default zone of recipes: errand.yaml's, or the zone of a run that is resumed.
  package var zone: String?
  /// Reads a file that a recipe names, another recipe or a calendar, by a path relative to the working folder.
  package var read: @Sendable (_ path: String) throws(FileError) -> Source
  /// Whether there is a folder at a path, relative to errand.yaml's folder; nil if there is no such file.
  package var hasFolder: @Sendable (_ path: String) -> Bool? = { _ in nil }
  /// Whether `errand.yaml` has an address for the agent; true if there is no such file.
  package var hasServer = true
  /// The agent's URL if it works only on this machine, for a warning; nil if it works elsewhere, or isn't known.
  package var localBase: String?
  /// Whether `on` is skipped: a resumed run has been started already, and needs only the files that its steps use.
  package var passesOverTriggers = false
  /// The version of the language that the recipe is read in.
  package var language = LanguageVersion.current
  /// The requirements on a program that resumes a run of a recipe with some inputs; nil if only this program uses the
  /// state.
  package var needs: (@Sendable (_ recipe: Recipe, _ inputs: Value) -> [String])?
  /// Whether the recipe is read for a plan, so that its expressions may meet unknown values.
  package var isForPlan = false
  /// Gets the facts that the check finds; nil for none.
  package var observer: CheckObserver?
  /// For a resumed run, whether the step at a path of its records is over.
  ///
  /// A step that is over isn't done again, so its faults, such as a removed action, don't count: only the remaining
  /// steps must be valid.
  package var isOver: @Sendable (_ path: String) -> Bool = { _ in false }

  package init(
    catalog: ActionCatalog, connections: [String: String]? = nil, zone: String? = nil,
    read: @escaping @Sendable (_ path: String) throws(FileError) -> Source
  ) {
    self.catalog = catalog
    self.connections = connections
    self.zone = zone
    self.read = read
  }
}

/// A recipe, if it has no error, and all findings about it and the recipes it calls.
package struct CheckedRecipe: Sendable {
  package let recipe: Recipe?
  package let diagnostics: [Diagnostic]

  package init(recipe: Recipe?, diagnostics: [Diagnostic]) {
    self.recipe = recipe
    self.diagnostics = diagnostics
  }
}

extension Recipe {
  /// Reads a recipe and checks it whole: keys, names, types, literals, schedules, and the recipes that it calls.
  package static func check(_ source: Source, in environment: RecipeEnvironment) -> CheckedRecipe {
    let calls = RecipeCalls(environment: environment)
    let (recipe, diagnostics) = calls.check(source)
    return CheckedRecipe(recipe: recipe, diagnostics: diagnostics)
  }

  /// Resolves the path of a file that a recipe or test names, against the path of the recipe or test.
  package static func path(_ path: String, besides file: String) -> String {
    RecipeCalls.resolve(path, besides: file)
  }
}

/// The recipes that are read for one check, each once, and the chain of calls that led to the one being read.
final class RecipeCalls {
  private let environment: RecipeEnvironment
  private var known: [String: Recipe?] = [:]
  private var chain: [String] = []
  private var diagnosticsOfCalled: [Diagnostic] = []

  /// Deeper chains of calls are refused; each level costs stack.
  private static let deepest = 16

  init(environment: RecipeEnvironment) { self.environment = environment }

  /// Whether the recipe being read is called by none.
  var isOutermost: Bool { chain.count == 1 }

  func check(_ source: Source) -> (Recipe?, [Diagnostic]) {
    let (recipe, diagnostics) = read(source)
    return (recipe, diagnostics + diagnosticsOfCalled)
  }

  /// The recipe that a step calls; nil after an error, which is reported here or in the other file.
  func recipe(at path: String, for value: Value, _ findings: Findings) -> Recipe? {
    let path = RecipeCalls.resolve(path, besides: findings.source.name)
    if let start = chain.firstIndex(of: path) {
      let round = (chain[start...] + [path]).joined(separator: " → ")
      findings.error("recipes must not call each other in a circle: \(round)", at: value)
      return nil
    }
    if let known = known[path] { return known }
    guard chain.count < RecipeCalls.deepest else {
      findings.error("calls are nested more than \(RecipeCalls.deepest) deep", at: value)
      return nil
    }
    let source: Source
    do throws(FileError) {
      source = try environment.read(path)
    } catch {
      let stem = path.split(separator: "/").last.flatMap { $0.lastIndex(of: ".") }.map { String(path[..<$0]) } ?? path
      let other = [stem, path].map { "\($0).yaml" }.first { (try? environment.read($0)) != nil }
      let guess = other.map { other in
        MessageText(
          "; did you mean '\(other)'?", [.text(value.string.map { meant(by: $0, for: path, other) } ?? other)])
      }
      findings.error("\(error)\(guess ?? "")", at: value)
      return nil
    }
    let (recipe, diagnostics) = read(source)
    diagnosticsOfCalled += diagnostics
    known[path] = recipe
    return recipe
  }

  /// The written form of a path to another file in the same folder.
  private func meant(by text: String, for path: String, _ other: String) -> String {
    let folder = text.lastIndex(of: "/").map { String(text[...$0]) } ?? ""
    return folder + (other.split(separator: "/").last ?? "")
  }

  /// The type of the outputs of another recipe, whose file has its name and is in the folder of the one being read;
  /// anything if there is none, or it is faulty.
  func outputs(of name: String, _ findings: Findings) -> ValueType {
    var environment = environment
    // Two recipes may follow each other.
    environment.passesOverTriggers = true
    for ending in ["yaml", "yml"] {
      guard let source = try? environment.read(RecipeCalls.resolve("\(name).\(ending)", besides: findings.source.name))
      else { continue }
      guard let recipe = Recipe.check(source, in: environment).recipe, recipe.name.hasSameScalars(as: name) else {
        break
      }
      return recipe.outputType
    }
    return .dyn
  }

  private func read(_ source: Source) -> (Recipe?, [Diagnostic]) {
    chain.append(RecipeCalls.resolve(source.name, besides: ""))
    defer { chain.removeLast() }
    if source.holdsOnlyComments {
      let message = "the recipe is empty; 'errand new recipe' writes one, and the smallest is steps: [{ wait: 1s }]"
      return (nil, [Diagnostic(message, at: Diagnostic.Location(source, 0..<0))])
    }
    let document: YAMLDocument
    do throws(Diagnostics) {
      document = try YAMLReader.read(source)
    } catch {
      return (nil, error.hidingLikelySecrets(of: source, environment.observer))
    }
    let findings = Findings(document, observer: environment.observer)
    let recipe = RecipeReader(findings: findings, environment: environment, calls: self).read()
    let faults = Diagnostics(findings.listWithoutRefusedSecrets).sorted()
    return (faults.hasErrors ? nil : recipe, faults.list)
  }

  /// A path relative to the calling recipe's folder, with `.` and `..` removed where possible.
  static func resolve(_ path: String, besides caller: String) -> String {
    guard !path.hasPrefix("/") else { return path }
    var parts = caller.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    parts.removeAll { $0 == "." }
    for part in path.split(separator: "/") where part != "." {
      if part == "..", let last = parts.last, last != "..", !last.isEmpty {
        parts.removeLast()
      } else {
        parts.append(part)
      }
    }
    return parts.joined(separator: "/")
  }
}

/// Reads the top level of a recipe.
struct RecipeReader {
  let findings: Findings
  let environment: RecipeEnvironment
  let calls: RecipeCalls
  private let compiler: ExpressionCompiler
  private let policies: PolicyReader

  init(findings: Findings, environment: RecipeEnvironment, calls: RecipeCalls) {
    self.findings = findings
    self.environment = environment
    self.calls = calls
    let own = findings.document.root["zone"]?.string.flatMap { try? TimeZoneDatabase.system.rules(named: $0) }
    compiler = ExpressionCompiler(findings: findings, zone: own?.name ?? environment.zone ?? "UTC")
    policies = PolicyReader(findings: findings, compiler: compiler)
  }

  func read() -> Recipe? {
    guard let fields = Fields(findings.document.root, of: "a recipe", .recipe, findings, others: .recipe) else {
      return nil
    }
    let name = fields["recipe"].flatMap(recipeName) ?? stem
    let summary = fields.text("summary") ?? ""
    let inputs = fields["inputs"].map(InputReader(findings: findings, compiler: compiler).read) ?? []
    let entries = TriggerReader(
      findings: findings, compiler: compiler, recipe: name, title: summary.isEmpty ? name : summary, inputs: inputs,
      zone: fields["zone"], environment: environment, calls: calls)
    let read = entries.read(environment.passesOverTriggers ? nil : fields["on"])
    let concurrency = fields["concurrencyGroup"].flatMap(policies.concurrency)
    let queue = queue(fields)
    let steps = StepReader(
      findings: findings, compiler: compiler, policies: policies, environment: environment, calls: calls,
      defaults: defaults(fields["defaults"]), ids: StepIdentifiers(), called: CalledRecipes())

    let first = firstScope(inputs)
    var scope = first
    let over = calls.isOutermost ? OverPaths(environment.isOver) : .none
    // With 'jobs', an error has already said that 'steps' belongs there.
    let hasJobs = fields.strays.contains { $0.name == "jobs" }
    let block = (hasJobs ? fields["steps"] : fields.require("steps", "what the recipe does")).map {
      steps.block($0, of: "'steps'", in: &scope, over: over)
    }
    let (outputs, outputType) =
      fields["outputs"].map { compiler.outputs($0, of: "recipe '\(name)'", in: scope) }
      ?? ([], .object(ObjectType("recipe '\(name)'", fields: [])))
    let triggers = entries.answering(read, from: outputType)
    // However the run ended, a name or a step of the top level may not be there.
    let handlers = scope.afterwards(from: first)
    let onFailure = fields["onFailure"].map { value in
      var inner = handlers
      inner.declare("error", .object(RecipeTypes.error))
      return steps.block(value, of: "'onFailure'", in: &inner, over: over.inside("#onFailure/"))
    }
    let finally = fields["finally"].map { value in
      var inner = handlers
      inner.declare("error", .optional(.object(RecipeTypes.error)))
      return steps.block(value, of: "'finally'", in: &inner, over: over.inside("#finally/"))
    }
    if !environment.passesOverTriggers { compiler.refuseUnevaluated(in: findings.document.root) }
    guard let block, steps.called.areWhole else { return nil }
    let recipe = Recipe(
      name: name, summary: summary, source: findings.source, inputs: inputs, triggers: triggers,
      concurrency: concurrency, queue: queue, steps: block, outputs: outputs, onFailure: onFailure, finally: finally,
      secrets: compiler.secrets, topLevelNames: scope.size - first.size, called: steps.called.recipes,
      outputType: outputType, zone: compiler.zone, folderZone: environment.zone,
      isTool: isTool(fields, inputs))
    for warning in recipe.warningsOfOpenForms { findings.add(warning) }
    return recipe
  }

  private func isTool(_ fields: Fields, _ inputs: [Recipe.Input]) -> Bool {
    guard let value = fields["mcp"], fields.bool("mcp") == true else { return false }
    if let secret = inputs.first(where: \.isSecret) {
      findings.warning(
        "'mcp' has no effect, because the input '\(secret.name)' is a secret, which an assistant can't give; read it as ${{ secrets.NAME }}",
        at: value)
    }
    return true
  }

  private func queue(_ fields: Fields) -> String? {
    guard let value = fields["queue"], let name = fields.text("queue") else { return nil }
    if let fault = QueueName.fault(in: name) { findings.error("'\(name)' \(fault)", at: value) }
    return name
  }

  private func defaults(_ value: Value?) -> StepDefaults {
    guard let value, let fields = Fields(value, of: "'defaults'", .defaults, findings) else {
      return StepDefaults()
    }
    return StepDefaults(
      retry: fields["retry"].flatMap { policies.retry($0, scope: Scope(mayMeetUnknowns: environment.isForPlan)) },
      timeout: fields["timeout"].map(policies.timeout))
  }

  private func firstScope(_ inputs: [Recipe.Input]) -> Scope {
    var scope = Scope(mayMeetUnknowns: environment.isForPlan)
    var fields: [ObjectType.Field] = []
    for input in inputs {
      let parts = Names.parts(of: input.name)
      for part in parts { fields.append(ObjectType.Field(part, input.type, summary: input.summary)) }
      for part in parts.dropFirst() { scope.excuse(.string(part)) }
    }
    scope.declare("inputs", .object(ObjectType("inputs", fields: fields)))
    scope.declare("steps", .object(ObjectType("steps", fields: [])))
    scope.declare("run", .object(RecipeTypes.run))
    scope.declare("secrets", .map(.string, .secret(.string)))
    scope.declare("now", .timestamp)
    scope.explainAbsence(
      ofVariable: "env", "no variables of the environment are read; declare an input, or read a secret as secrets.NAME")
    scope.explainAbsence(ofVariable: "github", "it belongs to another system; 'run' tells of the run, as in run.id")
    scope.explainAbsence(
      ofVariable: "event", "steps see inputs; an entry of 'on' gives one by inputs: { NAME: \"${{ event.… }}\" }")
    scope.explainAbsence(ofVariable: "result", "it is what a round of 'repeat' gave; afterwards read steps.ID")
    scope.explainAbsence(ofVariable: "carry", "a carried value is read by its own name")
    scope.explainAbsence(ofVariable: "matrix", "'forEach' names its item, by 'as'")
    scope.explainEvents()
    return scope
  }

  /// The file's name without folder and ending.
  private var stem: String {
    let file = findings.source.name.split(separator: "/").last ?? ""
    return String(file.split(separator: ".").first ?? "recipe")
  }

  private func recipeName(_ value: Value) -> String? {
    guard let text = findings.text(value, of: "'recipe'") else { return nil }
    if Recipe.isName(text) { return text }
    findings.error("'recipe' takes a name of letters, digits, - and _, such as weekly-report", at: value)
    return nil
  }
}
