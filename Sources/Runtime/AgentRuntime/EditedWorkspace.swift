package import ActionKit
package import Basics
package import RecipeEditing
package import Recipes
import SecretSources

// The folder as editors see it: `errand lsp`, and the agent for the pages.

extension Workspace {
  /// The environment that recipes are checked in, with the settings of this folder's connections.
  ///
  /// - Parameter texts: Texts of files, which replace the texts on disk.
  package func environmentOfChecks(with texts: [String: Source] = [:]) -> RecipeEnvironment {
    var environment = environment
    if !texts.isEmpty {
      environment.read = { [read = environment.read] path throws(FileError) in
        if let text = texts[path] { return text }
        return try read(path)
      }
    }
    if configurationPath != nil { environment.settings = configuration.settings }
    return environment
  }

  /// The folder as an editor sees it.
  ///
  /// - Parameter files: The texts that replace those on disk.
  package func editorFolder(_ files: OpenFiles) -> EditorFolder {
    let secrets = secretSources()
    return EditorFolder(
      catalog: catalog,
      environment: { path in
        var environment = environmentOfChecks()
        environment.read = { path throws(FileError) in try files.read(path) }
        return environment
      },
      files: { editedFiles(files) },
      filesBeside: { path in
        Workspace.editedFiles(in: ([path] + files.paths).map(Workspace.folder), files)
      },
      secretNames: { secrets.namesWithoutCommands().sorted { $0.precedesByScalars($1) } },
      now: { SystemTime().now() })
  }

  /// Opens a folder as `errand check` does; the unreadable parts of its errand.yaml stop nothing.
  ///
  /// - Parameter path: The path of errand.yaml, if there is one.
  /// - Returns: The folder, and whether its errand.yaml has errors.
  package static func edited(
    at path: String?, in root: String, _ files: OpenFiles, _ catalog: ActionCatalog
  ) -> (workspace: Workspace, isFaulty: Bool) {
    let catalog = catalog.looking(in: root)
    var (configuration, isFaulty) = (nil as Configuration?, false)
    if let path {
      if let source = try? files.read(path) {
        let read = Configuration.read(source, catalog: catalog)
        // A text that isn't YAML leaves nothing to check against, not even that there are no connections.
        configuration = read.configuration.source == nil ? nil : read.configuration
        isFaulty = read.diagnostics.contains { $0.severity == .error }
      } else {
        isFaulty = true
      }
    }
    return (Workspace(ofEdited: configuration, at: path, in: root, catalog: catalog), isFaulty)
  }

  /// The recipes and tests of the folders of recipes and beside open files, on disk and in the editor.
  private func editedFiles(_ files: OpenFiles) -> [String] {
    let open = files.paths.map(Workspace.folder).filter { folder in
      configurationPath == nil || folder == root || folder.hasPrefix("\(root)/")
    }
    return Workspace.editedFiles(in: recipeFolders + open, files)
  }

  private static func editedFiles(in folders: [String], _ files: OpenFiles) -> [String] {
    let folders = Set(folders.map { Recipe.path($0, besides: "") }.flatMap { [$0, "\($0)/tests"] })
    var paths = Set(files.paths.filter { folders.contains(Workspace.folder(of: $0)) })
    for folder in folders { paths.formUnion(((try? Files.list(folder)) ?? []).map { "\(folder)/\($0)" }) }
    return paths.filter { path in
      guard path.hasSuffix(".yaml") || path.hasSuffix(".yml") else { return false }
      switch EditedFileKind(path: path) {
      case .configuration: return false
      case .recipe, .test: return true
      }
    }.sorted { $0.precedesByScalars($1) }
  }
}
