import AgentRuntime
import Basics
import CommandLineParser
import Recipes

extension Dispatch {
  /// `errand lint`: shows what could be simpler or safer in recipes that check.
  func lintRecipes() throws(RuntimeError) -> ExitCode {
    let given = parsed["recipe"].texts
    let workspace = try workspace(besides: given.first)
    let paths = try workspace.recipeFiles(of: given)
    var found: [Diagnostic] = []
    var recipes: [Recipe?] = []
    var isMissing = false
    for path in paths {
      let environment = workspace.environmentOfChecks(of: path)
      do throws(FileError) {
        let checked = Recipe.check(try environment.read(path), in: environment)
        recipes.append(checked.recipe)
        let errors = checked.diagnostics.filter { $0.severity == .error }
        // Hints about a recipe that cannot run would only distract from its errors.
        found += errors.isEmpty ? checked.recipe?.hints ?? [] : errors
      } catch {
        isMissing = isMissing || error.isNotFound
        recipes.append(nil)
        found.append(Diagnostic(error.description + workspace.hint(on: error)))
      }
    }
    found += workspace.faults(among: recipes, of: given)
    let hints = Diagnostics(found)
    show(hints, of: paths.count, "no hints")
    if hints.hasErrors { return isMissing && paths.count == 1 ? .noInput : .invalid }
    return parsed["strict"].isGiven && !found.isEmpty ? .failed : .done
  }
}
