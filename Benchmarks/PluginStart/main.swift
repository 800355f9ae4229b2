import ActionKit
import Basics
// For the linker only, see there.
import CUnicodeNames
import Glibc
import PluginList
import Recipes

// Checks a recipe as `errand check` does, with the shipped plugins and more of them: the start whose growth with the
// number of plugins is measured. `generate` beside this file makes the copies of `Made` that a variant is linked with.

let path = CommandLine.arguments.dropFirst().first ?? ""
// The made ones first, so that a look-up passes them all.
let environment = RecipeEnvironment(catalog: ActionCatalog(madePlugins + everyPlugin)) { path throws(FileError) in
  Source(name: path, bytes: try Files.read(path))
}
do {
  let checked = Recipe.check(Source(name: path, bytes: try Files.read(path)), in: environment)
  print(Diagnostics(checked.diagnostics).rendered(), terminator: "")
  exit(checked.recipe == nil ? 1 : 0)
} catch {
  print(error)
  exit(1)
}
