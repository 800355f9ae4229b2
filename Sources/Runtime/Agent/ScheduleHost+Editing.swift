package import Basics
import Recipes
import RunState
import Scheduler

// The questions of the editor of files about the recipes that are served.
extension ScheduleHost {
  /// Sets the observer of recipes that are read again because they were saved; it must not wait.
  package func observeRecipes(_ observer: @escaping @Sendable ([RecipeRegistry.News]) -> Void) {
    recipesObserver = observer
  }

  /// Notes when files were read.
  func note(_ news: [RecipeRegistry.News]) {
    for item in news {
      switch item {
      case .added(let item, _), .changed(let item, _): servedSince[item.file] = time.now()
      case .removed(let item): servedSince[item.file] = nil
      case .broken, .unlisted: break
      }
    }
  }

  /// Reads the recipes again, and gives the reason why a file isn't served as it is; nil if it is.
  func lookAgain(for file: String, having bytes: [UInt8]) async -> String? {
    let news = await look()
    recipesObserver?(news)
    let text = String(decoding: bytes, as: UTF8.self)
    if registry.items.first(where: { $0.file == file })?.texts[file]?.string == text { return nil }
    return registry.findings(of: file).first { $0.severity == .error }?.message
      ?? "the agent hasn't read it yet, and does so within a minute"
  }

  /// The recipe of a file as it is served, with its text.
  package func served(file: String) -> (recipe: String, text: String, since: Timestamp?)? {
    guard let item = registry.items.first(where: { $0.file == file }), let text = item.texts[file]?.string else {
      return nil
    }
    return (item.name, text, servedSince[file])
  }

  /// How many errors a file has as it was read last.
  package func errors(in file: String) -> Int { registry.findings(of: file).count { $0.severity == .error } }

  /// Why a sound recipe can't be served beside the others, with the other file: its name, or the path of a webhook, is
  /// another's.
  func clash(of recipe: Recipe, in file: EditableFile) -> (file: String?, message: String)? {
    let others = registry.items.filter { $0.file != file.fullPath }
    if let other = others.first(where: { $0.name.hasSameScalars(as: recipe.name) }) {
      return (other.file, "it has the name '\(recipe.name)' already; give the recipe another one")
    }
    let paths = recipe.pathsAreTaken { path in others.contains { $0.paths.contains(path) } ? "another recipe" : nil }
    return paths.first.map { (nil, $0.message) }
  }

  /// The workers of a shared state that serve another text of a recipe, as far as the state tells: the one that decides
  /// on its schedules.
  package func otherServers(of recipe: String, having text: String) async -> [String] {
    guard let sharing = store.scheduling, !isLeading else { return [] }
    for schedule in await store.schedules() where schedule.recipe.hasSameScalars(as: recipe) {
      guard let stored = schedule.texts, let texts = try? await store.restored(stored, as: "the recipe"),
        let other = texts[schedule.file]?.string, other != text
      else { continue }
      return [(try? await sharing.leaderName()) ?? "the worker that decides on the schedules"]
    }
    return []
  }
}
