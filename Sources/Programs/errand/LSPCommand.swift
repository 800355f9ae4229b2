import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import LanguageServer
import RecipeEditing
import Recipes
import SecretSources

extension Dispatch {
  /// `errand lsp`: answers an editor.
  func serveEditor() async -> ExitCode {
    let catalog = catalog
    let given = parsed["config"].text.map { Workspace.absolute($0, in: Workspace.workingFolder) }
    let program = ServerProgram(version: version, configuration: given) { path, root, files in
      ServedFolder(path, root, files, catalog)
    }
    // Reading blocks, and checks take their time.
    return await onThread { LanguageServer.serveStandardStreams(program) } == 0 ? .done : .failed
  }
}

extension ServedFolder {
  /// Opens a folder as `errand check` does; what can't be read of its errand.yaml stops nothing.
  fileprivate init(_ path: String?, _ root: String, _ files: OpenFiles, _ catalog: ActionCatalog) {
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
    let workspace = Workspace(ofEdited: configuration, at: path, in: root, catalog: catalog)
    let secrets = workspace.secretSources()
    let editor = EditorFolder(
      catalog: workspace.catalog,
      environment: { path in
        var environment = workspace.environmentOfChecks()
        environment.read = { path throws(FileError) in try files.read(path) }
        return environment
      },
      files: { workspace.editedFiles(files) },
      filesBeside: { path in
        Workspace.editedFiles(in: ([path] + files.paths).map(Workspace.folder), files)
      },
      secretNames: { secrets.namesWithoutCommands().sorted { $0.precedesByScalars($1) } },
      now: { SystemTime().now() })
    self.init(editor, recipeFolders: workspace.recipeFolders, isFaulty: isFaulty)
  }
}

extension Workspace {
  /// The recipes and tests of the folders of recipes and beside open files, on disk and in the editor.
  fileprivate func editedFiles(_ files: OpenFiles) -> [String] {
    let open = files.paths.map(Workspace.folder).filter { folder in
      configurationPath == nil || folder == root || folder.hasPrefix("\(root)/")
    }
    return Workspace.editedFiles(in: recipeFolders + open, files)
  }

  fileprivate static func editedFiles(in folders: [String], _ files: OpenFiles) -> [String] {
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
