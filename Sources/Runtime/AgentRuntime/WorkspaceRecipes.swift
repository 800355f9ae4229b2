import Agent
package import Basics
import Glibc
import RecipeEditing
package import Recipes
package import RunState

extension Workspace {
  /// The folders whose recipes are served.
  package var recipeFolders: [String] { configuration.recipeFolders.map { Workspace.absolute($0, in: root) } }

  /// The folders whose paths are kept from callers elsewhere.
  func serverPaths(besides others: [String]) -> ServerPaths {
    let secrets = configuration.secrets.files + configuration.secrets.ageFiles
    let folders = secrets.map { Workspace.folder(of: Workspace.absolute($0, in: root)) }
    return ServerPaths(root: root, others: [stateFolder] + recipeFolders + folders + others)
  }

  /// Reads a recipe from kept texts or from disk, or returns why it cannot be read.
  ///
  /// - Parameters:
  ///   - run: The run whose recipe it is, with the zone and the version of the language that held when it began.
  ///   - language: The language version of kept texts that belong to no run.
  package func recipe(
    _ file: String, among texts: Value, of run: RunCreated? = nil, in language: Int = LanguageVersion.current
  ) -> (recipe: Recipe?, fault: String?) {
    let onDisk = environment.read
    var environment = self.environment
    if let run {
      environment.zone = run.zone
      environment.refusals = nil
    }
    environment.language = run?.language ?? language
    environment.read = { path throws(FileError) in
      if let text = texts[path]?.string { return Source(name: path, text: text) }
      return try onDisk(path)
    }
    let source: Source
    do throws(FileError) { source = try environment.read(file) } catch { return (nil, error.description) }
    let checked = Recipe.check(source, in: environment)
    return (checked.recipe, checked.diagnostics.first { $0.severity == .error }?.message)
  }

  /// The recipes that a command line names, directly or by their folder; without any, all recipes of the configured
  /// folders.
  ///
  /// - Parameter hasTests: Whether to include the test files among the recipes.
  package func recipeFiles(of given: [String] = [], hasTests: Bool = false) throws(RuntimeError) -> [String] {
    var paths: [String] = []
    for path in given.isEmpty ? recipeFolders : given {
      guard given.isEmpty || Workspace.isFolder(path) else {
        paths.append(path)
        continue
      }
      let folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
      do throws(FileError) {
        paths += try Files.list(folder, showingOthers: true).filter { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") }
          // The configuration may be in the same folder.
          .filter { given.isEmpty || $0 != "errand.yaml" }
          .filter { hasTests || !RecipeTestFile.isName($0) }
          .map { folder == "." ? $0 : "\(folder)/\($0)" }
      } catch {
        let fix = "; 'errand new recipe' makes one there, and 'recipes' in errand.yaml names other folders"
        throw RuntimeError(.noInput, error.description + (error.isNotFound ? fix : ""))
      }
    }
    return paths
  }

  /// The files that say what is run and started, and that users other than this one and root may change: errand.yaml,
  /// recipes, tests, locks.
  package var foreignHolds: [ForeignHold] {
    var paths = [configurationPath].compactMap(\.self)
    for folder in recipeFolders.flatMap({ [$0, "\($0)/tests"] }) + ["\(root)/plugins"] where Workspace.isFolder(folder)
    {
      paths.append(folder)
      paths += ((try? Files.list(folder)) ?? []).filter { name in
        [".yaml", ".yml", ".lock.json"].contains { name.hasSuffix($0) }
      }.map { "\(folder)/\($0)" }
    }
    var seen: Set<ForeignHold> = []
    return paths.compactMap { ForeignHold.of($0) }.filter { seen.insert($0).inserted }
  }

  package static func isFolder(_ path: String) -> Bool { (try? Files.kind(of: path)) == .folder }

  /// A suggestion for the path of a recipe that cannot be read.
  package func hint(on error: FileError) -> String {
    if error.code == EISDIR { return "; name a recipe in it" }
    guard error.isNotFound else { return "" }
    if error.path == "-" { return "; standard input is /dev/stdin" }
    let files = ((try? recipeFiles()) ?? []).map { Workspace.displayed($0) }
    func stem(_ path: String) -> String {
      let name = path.split(separator: "/").last.map { String($0) } ?? path
      return name.split(separator: ".").first.map { String($0) } ?? name
    }
    let nearest = stem(error.path).nearest(among: files.map(stem))
    let asked = files.first { stem($0).hasSameScalars(as: stem(error.path)) }
    let guess = asked ?? files.first { stem($0) == nearest }
    return guess.map { "; did you mean '\($0)'?" } ?? ""
  }

  /// The path as the user would type it in the working folder.
  package static func displayed(_ path: String) -> String {
    let here = workingFolder + "/"
    return path.hasPrefix(here) ? String(path.dropFirst(here.count)) : path
  }
}
