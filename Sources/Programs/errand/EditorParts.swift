import ActionKit
import Agent
import AgentRuntime
import Basics
import RecipeEditing
import RecipeTesting
import Recipes
import YAMLReader

/// The parts of editing over HTTP that only the whole program has: templates, and tests.
let editorParts = AgentAccess.EditorParts { workspace in
  var found = [FileTemplate(.empty, "", "A recipe of one step.")]
  found += RecipeTemplates.all.map { FileTemplate(.template, $0.name, NewRecipeCommand.summary(of: $0.text)) }
  for plugin in workspace.catalog.plugins {
    found += plugin.actions.filter(NewRecipeCommand.canBegin).map { FileTemplate(.action, $0.id, $0.summary) }
  }
  return found
} newFile: { beginning, workspace throws(RequestRefusedError) in
  do throws(RuntimeError) { return try await text(to: beginning, in: workspace) } catch {
    let kind: RequestRefusedError.Kind =
      switch error.kind {
      case .noInput: .notFound
      case .usage: .request
      default: .configuration
      }
    throw RequestRefusedError(kind, ServerPaths(root: workspace.root).told(error.message))
  }
} test: { paths, files, workspace in
  let outcomes = await TestRun(workspace.surroundingsOfTests(files)).run(paths, width: 1)
  return outcomes.map { outcome in
    TestedFile(
      path: outcome.file, faults: outcome.faults.map { $0.rendered(colour: false) },
      cases: outcome.cases.map { test in
        TestedFile.Case(
          name: test.name, failures: test.failures.map { $0.rendered(colour: false) }, took: test.took)
      })
  }
}

private func text(to beginning: FileBeginning, in workspace: Workspace) async throws(RuntimeError) -> NewText {
  let (name, text): (String, String)
  switch beginning.source {
  case .nothing:
    name = beginning.name ?? "recipe"
    text = """
      recipe: \(name.asYAML)
      summary: Says in one sentence what it does.

      steps:
        - let: { greeting: Hello }

      outputs:
        greeting: ${{ greeting }}

      """
  case .template(let word): (name, text) = try NewRecipeCommand.recipe(from: word, named: beginning.name)
  case .action(let id):
    (name, text) = try NewRecipeCommand.recipe(
      using: id, named: beginning.name, cron: nil, zone: workspace.configuration.zone ?? "UTC", workspace.catalog)
  case .test(let path):
    var faults: Diagnostics?
    let recipe: Recipe
    do throws(RuntimeError) { recipe = try workspace.recipe(at: path) { faults = $0 } } catch {
      throw RuntimeError(error.kind, faults.map { "\(error.message)\n\($0.rendered(colour: false))" } ?? error.message)
    }
    let test = try await NewTestCommand.test(of: recipe, at: path, workspace)
    return NewText(path: NewTestCommand.path(ofTestOf: recipe, at: path), text: test.text)
  }
  let path = NewRecipeCommand.path(of: name, in: workspace)
  return NewText(path: path, text: NewRecipeCommand.fitted(text, to: path, in: workspace))
}
