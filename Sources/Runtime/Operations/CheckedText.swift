// Lists the actions for recipes, and checks the text of a recipe that isn't served.
import ActionKit
import Agent
import Basics
import Recipes
import RunState

extension AgentParts {
  /// The most bytes of a recipe that is checked for a caller.
  static let mostChecked = 256 << 10

  /// Checks the text of a recipe; nothing runs.
  ///
  /// It may use the files of recipes that are served, and no others.
  func check(_ text: String, _ file: String) async throws(RequestRefusedError) -> Value {
    guard text.utf8.count <= AgentParts.mostChecked else {
      throw RequestRefusedError(.request, "a recipe of \(text.utf8.count) bytes isn't checked; it may have 256 KiB")
    }
    let environment = await (try steered()).environmentOfTexts()
    let checked = Recipe.check(Source(name: file, text: text), in: environment)
    return .list(Diagnostics(checked.diagnostics).list.map(\.entry))
  }

  /// The actions that recipes can use.
  func actions() async throws(RequestRefusedError) -> Value {
    let catalog = await (try steered()).environmentOfTexts().catalog
    return .list(catalog.actionIDs.compactMap { catalog.action($0)?.entry })
  }
}
