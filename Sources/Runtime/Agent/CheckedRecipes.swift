package import Basics
package import Recipes
import Synchronization

/// Caches checked recipes, so that a start or a wake-up of a run need not check again.
///
/// A recipe is found by its file and the hash of its text, and used only if every text it was made from is the same. It
/// is kept as long as a run uses it, and the latest few beyond that, so a run that waits for days takes no memory.
/// Another configuration has a cache of its own.
package final class CheckedRecipes: Sendable {
  /// The most bytes of text of the recipes that are kept without a run.
  private static let mostBytes = 32 << 10

  private struct Key: Hashable {
    var file: String
    var hash: Int

    init(_ file: String, _ text: String) {
      self.file = file
      hash = text.hashValue
    }
  }

  private struct Weak {
    weak let recipe: Recipe?
  }

  private struct Content {
    var known: [Key: Weak] = [:]
    /// The latest recipes, the last used at the end.
    var latest: [Recipe] = []

    mutating func use(_ recipe: Recipe, as key: Key) {
      known[key] = Weak(recipe: recipe)
      latest.removeAll { $0 === recipe }
      latest.append(recipe)
      var bytes = latest.reduce(0) { $0 + $1.source.bytes.count }
      while bytes > CheckedRecipes.mostBytes, !latest.isEmpty { bytes -= latest.removeFirst().source.bytes.count }
      if known.count > 2 * latest.count + 64 { known = known.filter { $0.value.recipe != nil } }
    }
  }

  private let content = Mutex(Content())

  package init() {}

  /// The recipe of a file among texts, if it was checked before.
  package func recipe(_ file: String, among texts: Value, zone: String?) -> Recipe? {
    let key = Key(file, texts[file]?.string ?? "")
    guard let recipe = content.withLock({ $0.known[key]?.recipe }), recipe.folderZone == zone,
      Value.map(recipe.texts) == texts
    else { return nil }
    content.withLock { $0.use(recipe, as: key) }
    return recipe
  }

  /// Keeps a recipe that was checked without faults.
  package func keep(_ recipe: Recipe) {
    let key = Key(recipe.source.name, String(decoding: recipe.source.bytes, as: UTF8.self))
    content.withLock { $0.use(recipe, as: key) }
  }
}
