package import Basics
package import Recipes

extension EditorService {
  /// The errors that other files would have with a text, and don't have without it: in the recipes that call it and in
  /// tests; for errand.yaml, in every recipe and test.
  ///
  /// - Parameter before: The folder without the text.
  package func errorsElsewhere(of source: Source, before: EditorFolder) -> [Diagnostic] {
    let path = Recipe.path(source.name, besides: "")
    let files = EditedFiles(folder, [source])
    let others = EditedFileKind(path: path) == .configuration ? files.paths : files.paths(leadingTo: path)
    return others.flatMap { other -> [Diagnostic] in
      guard let text = files.source(other) else { return [] }
      let errors = folder.errors(in: text)
      guard !errors.isEmpty else { return [] }
      // Most files have none, so the check without the text is rare.
      var known = before.errors(in: (try? before.environment(other).read(other)) ?? text).map(\.message)
      return errors.filter { error in
        guard let index = known.firstIndex(of: error.message) else { return true }
        known.remove(at: index)
        return false
      }
    }
  }
}

extension EditorService {
  /// The paths of the tests of a recipe.
  package func tests(of source: Source) -> [String] {
    let path = Recipe.path(source.name, besides: "")
    let files = EditedFiles(folder, [source])
    return files.paths.filter { other in
      guard EditedFileKind(path: other) == .test else { return false }
      return files.file(other)?.root["recipe"]?.string.map { Recipe.path($0, besides: other) } == path
    }
  }
}

extension EditorFolder {
  /// The errors in a file itself.
  fileprivate func errors(in source: Source) -> [Diagnostic] {
    check(source, in: environment(source.name)).diagnostics.of(source.name).filter { $0.severity == .error }
  }

  /// The recipe that a file is about: the one that it is, or the one that it tests; nil if that can't be told.
  package func subject(of source: Source) -> Recipe? {
    switch EditedFileKind(path: source.name) {
    case .recipe: check(source, in: environment(source.name)).recipe
    case .test: RecipeTestFile.check(source, in: environment(source.name)).file?.recipe
    case .configuration: nil
    }
  }
}
