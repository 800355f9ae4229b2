// Recipes as they were accepted: their texts are kept beside the run or the schedule, and read again from there.

package import Basics
import Glibc
package import Recipes

extension Recipe {
  /// The texts of the recipe and of the recipes it calls, as a run keeps them.
  package var texts: ValueMap {
    var texts = ValueMap()
    for recipe in all {
      texts[recipe.source.name] = .string(String(decoding: recipe.source.bytes, as: UTF8.self))
    }
    return texts
  }

  /// Reads a recipe and those it calls from texts that were kept.
  package static func reader(of texts: Value) -> @Sendable (_ path: String) throws(FileError) -> Source {
    { path throws(FileError) in
      guard let text = texts[path]?.string else { throw FileError(.read, path, .system(ENOENT)) }
      return Source(name: path, text: text)
    }
  }
}

extension RecipeEnvironment {
  /// The same for texts that were kept when their recipe was accepted, in the version of the language of then.
  ///
  /// Without the refusals of plugins: these were checked when the recipe was read from its file.
  package func ofKept(_ texts: Value, in language: Int) -> RecipeEnvironment {
    var environment = self
    environment.read = Recipe.reader(of: texts)
    environment.language = language
    environment.refusals = nil
    return environment
  }
}
