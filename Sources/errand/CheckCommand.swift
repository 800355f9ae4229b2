import Basics
import CommandLineParser
import Recipes
import Runs

extension Dispatch {
  /// `errand check`: every fault of every recipe.
  func checkRecipes() throws(CommandFailure) -> ExitCode {
    let given = parsed["recipe"].texts
    let workspace = try workspace(besides: given.first)
    let paths = given.isEmpty ? try configuredRecipes(workspace) : given
    // Looked for only once a recipe reads any.
    var secrets: Secrets?
    var found: [Diagnostic] = []
    var isMissing = false
    for path in paths {
      let checked: CheckedRecipe
      do throws(FileError) {
        checked = Recipe.check(try workspace.environment.read(path), in: workspace.environment)
      } catch {
        isMissing = isMissing || error.isNotFound
        found.append(Diagnostic(error.description))
        continue
      }
      found += checked.diagnostics
      guard let recipe = checked.recipe, !recipe.allSecrets.isEmpty else { continue }
      let known = if let secrets { secrets } else { try workspace.secrets() }
      secrets = known
      found += missingSecrets(of: recipe, in: known)
    }
    let faults = Diagnostics(found)
    switch parsed["format"].text ?? "text" {
    case "json": console.out((try? JSON.text(.list(found.map(\.value)), .pretty)) ?? "[]")
    case "sarif": console.out((try? JSON.text(sarif(found), .pretty)) ?? "{}")
    case "github": for fault in found { console.out(fault.githubCommand) }
    default:
      if !found.isEmpty { console.error(faults.rendered(colour: console.colourError)) }
      let count = paths.count == 1 ? "1 recipe" : "\(paths.count) recipes"
      console.say(found.isEmpty ? "\(count) checked, no faults" : "\(count) checked: \(faults.tally)")
    }
    return !faults.hasErrors ? .done : isMissing && paths.count == 1 ? .noInput : .invalid
  }

  /// A secret that is not there here may be there where the recipe runs, so it is no error yet.
  private func missingSecrets(of recipe: Recipe, in secrets: Secrets) -> [Diagnostic] {
    recipe.allSecrets.filter { secrets[$0.name] == nil }.map {
      Diagnostic(
        "the secret '\($0.name)' is not set here; a run would be refused", at: $0.location, severity: .warning)
    }
  }

  private func configuredRecipes(_ workspace: Workspace) throws(CommandFailure) -> [String] {
    var paths: [String] = []
    for folder in workspace.configuration.recipeFolders {
      let full = Workspace.absolute(folder, in: workspace.root)
      do throws(FileError) {
        paths += try Files.list(full).filter { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") }.sorted()
          .map { "\(full)/\($0)" }
      } catch {
        throw CommandFailure(.noInput, error.description)
      }
    }
    return paths
  }

  /// The faults in SARIF 2.1.0 (OASIS), as code scanners read them.
  private func sarif(_ faults: [Diagnostic]) -> Value {
    let results = faults.map { fault -> Value in
      var result = ValueMap()
      result["level"] = .string(fault.severity.rawValue)
      result["message"] = .object(["text": .string(fault.message)])
      if let location = fault.location {
        let start = location.source.position(at: location.range.lowerBound)
        result["locations"] = .list([
          .object([
            "physicalLocation": .object([
              "artifactLocation": .object(["uri": .string(location.source.name)]),
              "region": .object(["startLine": .int(start.line), "startColumn": .int(start.column)]),
            ])
          ])
        ])
      }
      return .map(result)
    }
    return .object([
      "$schema": .string("https://json.schemastore.org/sarif-2.1.0.json"),
      "version": .string("2.1.0"),
      "runs": .list([
        .object([
          "tool": .object(["driver": .object(["name": .string("errand"), "version": .string(version)])]),
          "results": .list(results),
        ])
      ]),
    ])
  }
}

extension Diagnostic {
  /// The fault as `--format json` has it.
  fileprivate var value: Value {
    var map = ValueMap()
    map["severity"] = .string(severity.rawValue)
    map["message"] = .string(message)
    if let location {
      let start = location.source.position(at: location.range.lowerBound)
      let end = location.source.position(at: location.range.upperBound)
      map["file"] = .string(location.source.name)
      map["line"] = .int(start.line)
      map["column"] = .int(start.column)
      map["endLine"] = .int(end.line)
      map["endColumn"] = .int(end.column)
    }
    return .map(map)
  }

  /// The fault as a command of GitHub's workflows, which marks it in the changed file.
  fileprivate var githubCommand: String {
    guard let location else { return "::\(severity.rawValue)::\(message)" }
    let start = location.source.position(at: location.range.lowerBound)
    return "::\(severity.rawValue) file=\(location.source.name),line=\(start.line),col=\(start.column)::\(message)"
  }
}
