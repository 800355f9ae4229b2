import AgentRuntime
import Basics
import CommandLineParser
import Recipes

extension Dispatch {
  /// `errand lint`: shows what could be simpler or safer in recipes that check.
  func lintRecipes() async throws(RuntimeError) -> ExitCode {
    let (found, failure) = try await examineRecipes("no hints") { checked, _, _ in
      let errors = checked.diagnostics.filter { $0.severity == .error }
      // Hints about a recipe that cannot run would only distract from its errors.
      return errors.isEmpty ? checked.recipe?.hints ?? [] : errors
    }
    return failure ?? (parsed["strict"].isGiven && !found.list.isEmpty ? .failed : .done)
  }
}
