import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import LanguageServer
import RecipeEditing

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
  init(_ path: String?, _ root: String, _ files: OpenFiles, _ catalog: ActionCatalog) {
    let (workspace, isFaulty) = Workspace.edited(at: path, in: root, files, catalog)
    self.init(workspace.editorFolder(files), recipeFolders: workspace.recipeFolders, isFaulty: isFaulty)
  }
}
