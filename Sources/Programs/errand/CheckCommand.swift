import Agent
import AgentRuntime
import Basics
import CommandLineParser
import RecipeTesting
import Recipes
import SecretSources

extension Dispatch {
  /// `errand check`: shows every fault of every recipe.
  func checkRecipes() async throws(RuntimeError) -> ExitCode {
    if parsed["dry-run"].isGiven, !parsed["fix"].isGiven {
      throw RuntimeError(.usage, "--dry-run needs --fix")
    }
    return try await examineRecipes("no faults", mends: parsed["fix"].isGiven) { checked, secrets, workspace in
      guard let recipe = checked.recipe else { return checked.diagnostics }
      return checked.diagnostics + (await missingSecrets(of: recipe, in: secrets, workspace))
    }.failure ?? .done
  }

  /// Shows the diagnostics of the recipes that the command line names.
  ///
  /// - Parameter mends: Whether the fixes that leave no doubt are applied first.
  /// - Returns: All diagnostics, and the exit code if one of them is an error.
  func examineRecipes(
    _ nothing: String, mends: Bool = false,
    _ findings: (CheckedRecipe, SecretSources, Workspace) async -> [Diagnostic]
  ) async throws(RuntimeError) -> (found: Diagnostics, failure: ExitCode?) {
    let named = parsed["recipe"].texts
    // errand.yaml is read in any case, and isn't a recipe.
    let configurations = named.filter(Dispatch.isConfiguration)
    let given = named.filter { !Dispatch.isConfiguration($0) }
    if configurations.count > 1 { throw RuntimeError(.usage, "several errand.yaml are named; check one at a time") }
    if let path = configurations.first, !Files.exists(path) { throw RuntimeError(.noInput, "'\(path)' doesn't exist") }
    let place = configurations.first ?? named.first
    var mended = MendedFiles()
    let configuration =
      mends ? try mendConfiguration(besides: place, isNamed: named.isEmpty || !configurations.isEmpty, &mended) : nil
    let workspace: Workspace
    let paths: [String]
    do throws(RuntimeError) {
      workspace = try self.workspace(besides: place, configuration: configuration)
      paths = given.isEmpty && !configurations.isEmpty ? [] : try workspace.recipeFiles(of: given, hasTests: true)
    } catch {
      tellCounts(of: mended)
      if !mended.problems.isEmpty { console.show(Diagnostics(mended.problems)) }
      throw error
    }
    if let path = given.first(where: workspace.holdsSecrets) {
      throw RuntimeError(.usage, "'\(path)' isn't a recipe: errand.yaml names it as a file of secrets")
    }
    let secrets = workspace.secretSources()
    if mends {
      mend(paths, workspace, &mended)
      tellCounts(of: mended)
    }
    var found = mended.problems
    var recipes: [Recipe?] = []
    var isMissing = false
    for path in paths {
      let environment = workspace.environmentOfChecks(with: mended.texts)
      do throws(FileError) {
        let source = try environment.read(path)
        if RecipeTestFile.isName(path) {
          // The faults of the recipe itself are reported where it is checked.
          found += RecipeTestFile.check(source, in: environment).diagnostics.of(path)
          continue
        }
        let checked = Recipe.check(source, in: environment)
        recipes.append(checked.recipe)
        found += await findings(checked, secrets, workspace)
      } catch {
        isMissing = isMissing || error.isNotFound
        recipes.append(nil)
        found.append(Diagnostic(error.description + workspace.hint(on: error)))
      }
    }
    found += workspace.faults(among: recipes, of: given)
    found += workspace.secretSources().warnings().map { Diagnostic($0, severity: .warning) }
    if named.isEmpty || given.contains(where: Workspace.isFolder), let fault = workspace.failureRecipeFault {
      found.append(fault)
    }
    if mends { for index in found.indices { found[index].explainUnappliedFixes(of: mended) } }
    let faults = Diagnostics(found)
    let count = paths.count { !RecipeTestFile.isName($0) }
    show(faults, of: !configurations.isEmpty && count == 0 ? "errand.yaml" : counted(count, "recipe"), nothing)
    return (faults, !faults.hasErrors ? nil : isMissing && paths.count == 1 ? .noInput : .invalid)
  }

  /// Writes the faults or hints of recipes in the requested format.
  private func show(_ faults: Diagnostics, of checked: String, _ nothing: String) {
    switch parsed["format"].text ?? "text" {
    case "json": console.out(json: .list(faults.list.map(\.entryWithFixes)))
    case "sarif": console.out(json: sarif(faults.list))
    case "github": for fault in faults.list { console.out(fault.githubCommand) }
    default:
      if !faults.list.isEmpty { console.error(faults.rendered(colour: console.colourError)) }
      console.say(faults.list.isEmpty ? "\(checked) checked, \(nothing)" : "\(checked) checked: \(faults.tally)")
    }
  }

  /// A warning, not an error: a secret that is missing here may be set where the recipe runs.
  private func missingSecrets(
    of recipe: Recipe, in sources: SecretSources, _ workspace: Workspace
  ) async -> [Diagnostic] {
    var warnings: [Diagnostic] = []
    let run =
      workspace.database == nil ? "a run would be refused" : "a run would be left to another machine that has it"
    let delivery = "deliveries would be answered with 503"
    for (secret, effect) in recipe.allSecrets.map({ ($0, run) }) + recipe.webhookSecrets.map({ ($0, delivery) }) {
      let message: String
      do throws(SecretError) {
        if try await sources.find(secret.name, runsCommands: false) != nil { continue }
        message = "the secret '\(secret.name)' is not set here; \(effect)"
      } catch {
        message = "the secret '\(secret.name)' cannot be read here; \(effect): \(error.message)"
      }
      warnings.append(Diagnostic(message, at: secret.location, severity: .warning))
    }
    return warnings
  }

  /// The faults in SARIF 2.1.0 (OASIS), as code scanners read them.
  private func sarif(_ faults: [Diagnostic]) -> Value {
    let results = faults.map { fault -> Value in
      var result = ValueMap()
      result["level"] = .string(fault.severity == .hint ? "note" : fault.severity.rawValue)
      result["message"] = .object(["text": .string(fault.message)])
      if let location = fault.location {
        let start = location.source.position(at: location.range.lowerBound)
        result["locations"] = .list([
          .object([
            "physicalLocation": .object([
              "artifactLocation": .object(["uri": .string(location.source.name.asURIPath)]),
              "region": .object(["startLine": .int(start.line), "startColumn": .int(start.column)]),
            ])
          ])
        ])
        let fixes = fault.displayedFixes
        if !fixes.isEmpty { result["fixes"] = .list(fixes.map { $0.sarif(in: location.source) }) }
      }
      return .map(result)
    }
    return .object([
      "$schema": .string("https://json.schemastore.org/sarif-2.1.0.json"),
      "version": .string("2.1.0"),
      "runs": .list([
        .object([
          "tool": .object(["driver": .object(["name": .string("errand"), "version": .string(version)])]),
          "columnKind": .string("unicodeCodePoints"),
          "results": .list(results),
        ])
      ]),
    ])
  }
}

extension Workspace {
  /// The faults between the recipes of folders, as `serve` finds them.
  ///
  /// - Parameters:
  ///   - recipes: The recipes that were read, nil for a faulty one.
  ///   - given: The arguments of the command line; single files need not be served together.
  func faults(among recipes: [Recipe?], of given: [String]) -> [Diagnostic] {
    guard given.isEmpty || given.contains(where: Workspace.isFolder) else { return [] }
    var faults: [Diagnostic] = []
    var known: [Recipe] = []
    for case .some(let recipe) in recipes {
      if let other = known.first(where: { $0.name.hasSameScalars(as: recipe.name) }) {
        if other.source.name != recipe.source.name {
          faults.append(recipe.nameIsTaken(by: other.source.name, other.source))
        }
      } else {
        faults += recipe.pathsAreTaken { path in
          known.first { $0.paths.contains(path) }.map { "'\($0.source.name)'" }
        }
        known.append(recipe)
      }
    }
    // The missing recipe may be a faulty file, or in another folder.
    if recipes.contains(where: { $0 == nil }) { return faults }
    var names = known.map(\.name)
    if !given.isEmpty, known.contains(where: { !$0.entriesAfterNone(of: names).isEmpty }) {
      names += ((try? recipeFiles()) ?? []).compactMap { recipe($0, among: .null).recipe?.name }
    }
    return faults + known.flatMap { $0.entriesAfterNone(of: names) }
  }
}

extension Diagnostic {
  /// The fault as a GitHub workflow command, which marks it in the changed file.
  fileprivate var githubCommand: String {
    let command = severity == .hint ? "notice" : severity.rawValue
    guard let location else { return "::\(command)::\(message)" }
    let start = location.source.position(at: location.range.lowerBound)
    return "::\(command) file=\(location.source.name),line=\(start.line),col=\(start.column)::\(message)"
  }
}
