package import ActionKit
package import Basics
import Expressions
import YAMLReader

/// What a recipe is checked against, beside itself.
package struct RecipeEnvironment: Sendable {
  /// The actions there are.
  package var catalog: ActionCatalog
  /// The plugin of each connection of `errand.yaml`; nil where there is no such file.
  package var connections: [String: String]?
  /// The zone that entries of `on` have if nothing else says so.
  package var zone: String?
  /// Reads a recipe that another one calls, by a path relative to the working folder.
  package var read: @Sendable (_ path: String) throws(FileError) -> Source

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

/// A recipe, if it has no error, and all that is to be said about it and the recipes it calls.
package struct CheckedRecipe: Sendable {
  package let recipe: Recipe?
  package let diagnostics: [Diagnostic]
}

extension Recipe {
  /// Reads a recipe and checks it whole: keys, names, types, literals, schedules, and the recipes that it calls.
  package static func check(_ source: Source, in environment: RecipeEnvironment) -> CheckedRecipe {
    let calls = RecipeCalls(environment: environment)
    let (recipe, diagnostics) = calls.check(source)
    return CheckedRecipe(recipe: recipe, diagnostics: diagnostics)
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

  func check(_ source: Source) -> (Recipe?, [Diagnostic]) {
    let (recipe, diagnostics) = read(source)
    return (recipe, diagnostics + diagnosticsOfCalled)
  }

  /// The recipe that a step calls, or nil with an error.
  func recipe(at path: String, for value: Value, _ findings: Findings) -> Recipe? {
    let path = RecipeCalls.resolve(path, besides: findings.source.name)
    if let start = chain.firstIndex(of: path) {
      let round = (chain[start...] + [path]).joined(separator: " → ")
      findings.error("recipes must not call each other in a circle: \(round)", at: value)
      return nil
    }
    if let known = known[path] {
      if known == nil { findings.error("recipe '\(path)' has errors", at: value) }
      return known
    }
    guard chain.count < RecipeCalls.deepest else {
      findings.error("calls are nested more than \(RecipeCalls.deepest) deep", at: value)
      return nil
    }
    let source: Source
    do throws(FileError) {
      source = try environment.read(path)
    } catch {
      findings.error("\(error)", at: value)
      return nil
    }
    let (recipe, diagnostics) = read(source)
    diagnosticsOfCalled += diagnostics
    known[path] = recipe
    return recipe
  }

  private func read(_ source: Source) -> (Recipe?, [Diagnostic]) {
    chain.append(source.name)
    defer { chain.removeLast() }
    let document: YAMLDocument
    do throws(Diagnostics) {
      document = try YAMLReader.read(source)
    } catch {
      return (nil, error.list)
    }
    let findings = Findings(document)
    let recipe = RecipeReader(findings: findings, environment: environment, calls: self).read()
    let faults = Diagnostics(findings.list).sorted()
    return (faults.hasErrors ? nil : recipe, faults.list)
  }

  /// A path beside the calling recipe, without `.` and `..` where they can be taken away.
  static func resolve(_ path: String, besides caller: String) -> String {
    guard !path.hasPrefix("/") else { return path }
    var parts = caller.split(separator: "/", omittingEmptySubsequences: false).dropLast()
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
    compiler = ExpressionCompiler(findings: findings)
    policies = PolicyReader(findings: findings, compiler: compiler)
  }

  func read() -> Recipe? {
    guard var fields = Fields(findings.document.root, of: "a recipe", findings) else { return nil }
    let name = fields.take("recipe").flatMap(recipeName) ?? stem
    let summary = fields.take("summary").flatMap { findings.text($0, of: "'summary'") } ?? ""
    let inputs = fields.take("inputs").map(self.inputs) ?? []
    let zone = fields.take("zone")
    let triggers = TriggerReader(
      findings: findings, compiler: compiler, inputs: inputs, zone: zone, defaultZone: environment.zone
    ).read(fields.take("on"))
    var defaults = StepDefaults()
    if let value = fields.take("defaults"), var inner = Fields(value, of: "'defaults'", findings) {
      defaults.retry = inner.take("retry").flatMap { policies.retry($0, scope: Scope()) }
      defaults.timeout = inner.take("timeout").map(policies.timeout) ?? TimeLimits()
      inner.finish()
    }
    let concurrency = fields.take("concurrencyGroup").flatMap(policies.concurrency)
    let steps = StepReader(
      findings: findings, compiler: compiler, policies: policies, environment: environment, calls: calls,
      defaults: defaults, ids: StepIdentifiers(), called: CalledRecipes())

    let first = firstScope(inputs)
    var scope = first
    let block = fields.require("steps", "what the recipe does").map { steps.block($0, of: "steps", in: &scope) }
    let outputs = fields.take("outputs").map { compiler.outputs($0, of: "'outputs'", in: scope) } ?? []
    var handlers = first
    // Whatever happened, a name or a step of the top level may not be there.
    for (name, type) in scope.names(after: first.size) { handlers.declare(name, type.asOptional) }
    handlers.add(optionalSteps: scope.steps)
    let onFailure = fields.take("onFailure").map { value in
      var inner = handlers
      inner.declare("error", .object(RecipeTypes.error))
      return steps.block(value, of: "onFailure", in: &inner)
    }
    let finally = fields.take("finally").map { value in
      var inner = handlers
      inner.declare("error", .optional(.object(RecipeTypes.error)))
      return steps.block(value, of: "finally", in: &inner)
    }
    fields.finish()
    guard let block else { return nil }
    return Recipe(
      name: name, summary: summary, source: findings.source, inputs: inputs, triggers: triggers,
      concurrency: concurrency, steps: block, outputs: outputs, onFailure: onFailure, finally: finally,
      secrets: compiler.secrets, topLevelNames: scope.size - first.size, called: steps.called.recipes,
      outputType: ObjectType(
        "the outputs of '\(name)'", fields: outputs.map { ObjectType.Field($0.name, $0.template.type) }))
  }

  private func firstScope(_ inputs: [Recipe.Input]) -> Scope {
    var scope = Scope()
    let fields = inputs.map {
      ObjectType.Field($0.name, $0.isSecret ? .secret($0.type) : $0.type, summary: $0.summary)
    }
    scope.declare("inputs", .object(ObjectType("inputs", fields: fields)))
    scope.declare("steps", .object(ObjectType("steps", fields: [])))
    scope.declare("run", .object(RecipeTypes.run))
    scope.declare("secrets", .map(.string, .secret(.string)))
    scope.declare("now", .timestamp)
    return scope
  }

  /// The file's name without folder and ending.
  private var stem: String {
    let file = findings.source.name.split(separator: "/").last ?? ""
    return String(file.split(separator: ".").first ?? "recipe")
  }

  private func recipeName(_ value: Value) -> String? {
    guard let text = findings.text(value, of: "'recipe'") else { return nil }
    let isName =
      !text.isEmpty && text.utf8.count <= 100
      && text.utf8.allSatisfy {
        (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F
      }
    if isName { return text }
    findings.error("'recipe' takes a name of letters, digits, - and _, such as weekly-report", at: value)
    return nil
  }

  // MARK: Inputs

  private func inputs(_ value: Value) -> [Recipe.Input] {
    guard let map = value.map else {
      findings.error("'inputs' takes a mapping from names to {type, …}", at: value)
      return []
    }
    return map.members.compactMap { member in
      findings.name(member.key, of: "the input").flatMap { input($0, member.value) }
    }
  }

  private func input(_ name: String, _ value: Value) -> Recipe.Input? {
    // A bare type is short for {type: …}.
    if value.string != nil {
      return TypeReader(findings: findings).read(value, of: "input '\(name)'").map {
        Recipe.Input(name: name, type: $0, summary: "", fallback: nil, limits: InputLimits(), isSecret: false)
      }
    }
    guard var fields = Fields(value, of: "input '\(name)'", findings) else { return nil }
    defer { fields.finish() }
    let type =
      fields.require("type", "int, double, bool, string, bytes, timestamp, duration, list(T) or map(string, T)")
      .flatMap { TypeReader(findings: findings).read($0, of: "the type of '\(name)'") }
    let summary = fields.take("summary").flatMap { findings.text($0, of: "'summary'") } ?? ""
    let isSecret = fields.take("secret").flatMap { findings.bool($0, of: "'secret'") } ?? false
    let fallback = fields.take("default")
    let rawChoices = fields.take("choices")
    let rawMin = fields.take("min")
    let rawMax = fields.take("max")
    let rawPattern = fields.take("pattern")
    // A faulty type is one error; its values can be read by no type.
    guard let type else {
      return Recipe.Input(name: name, type: .dyn, summary: summary, fallback: fallback, limits: .init(), isSecret: false)
    }
    var limits = InputLimits()
    if let rawChoices {
      if let items = rawChoices.list, !items.isEmpty {
        limits.choices = items.compactMap { literal($0, type, "choices") }
      } else {
        findings.error("'choices' takes a list of values", at: rawChoices)
      }
    }
    let isOrdered = [.int, .double, .timestamp, .duration].contains(type)
    for raw in [rawMin, rawMax] {
      if let raw, !isOrdered { findings.error("'min' and 'max' go with int, double, timestamp and duration", at: raw) }
    }
    if isOrdered {
      limits.min = rawMin.flatMap { literal($0, type, "min") }
      limits.max = rawMax.flatMap { literal($0, type, "max") }
    }
    if let rawPattern, let text = findings.text(rawPattern, of: "'pattern'") {
      limits.pattern = compiler.pattern(text, at: rawPattern)
      if type != .string { findings.error("'pattern' goes with string", at: rawPattern) }
    }
    var value: Value?
    if let fallback {
      if isSecret {
        findings.error("a secret has no default: it would stand in the recipe for all to read", at: fallback)
      } else if let literal = literal(fallback, type, "default") {
        value = literal
        if let fault = limits.fault(in: literal) { findings.error("the default of '\(name)' \(fault)", at: fallback) }
      }
    }
    // Texts of a few choices are a type of their own, so that a misspelt comparison does not check.
    let texts = limits.choices.compactMap(\.string)
    let isChoice = type == .string && !texts.isEmpty && texts.count == limits.choices.count
    return Recipe.Input(
      name: name, type: isChoice ? .choice(texts) : type, summary: summary, fallback: value ?? fallback.map { _ in .null },
      limits: limits, isSecret: isSecret)
  }

  private func literal(_ value: Value, _ type: ValueType, _ what: String) -> Value? {
    var conformance = Conformance()
    let literal = conformance.bring(value, to: type, path: what)
    for fault in conformance.faults { findings.error(fault.message, at: fault.value) }
    return literal
  }
}
