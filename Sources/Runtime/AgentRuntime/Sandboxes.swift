import ActionKit
package import Basics
package import LocalFiles
package import Recipes

/// Replaces the services of a recipe, and copies the files that it uses.
package struct Sandboxes: Sendable {
  /// The settings of each connection.
  package private(set) var settings: [String: Value] = [:]
  /// The folder's files, in a copy, so that a rehearsal replaces no real file.
  package let copy: FolderCopy
  private let root: String
  private var running: [String: any RunningSandbox] = [:]

  /// Starts the sandboxes of a recipe's plugins.
  package init(of recipe: Recipe, in workspace: Workspace, time: any TimeSource) async throws(RuntimeError) {
    root = try RuntimeError.creating { () throws(FileError) in try Files.makeTemporaryFolder("errand-sandbox") }
    do throws(RuntimeError) { copy = try workspace.copy(in: root) } catch {
      Files.removeTree(root)
      throw error
    }
    do throws(RuntimeError) {
      for name in recipe.connectionNames {
        let plugin = workspace.configuration.plugins[name] ?? name
        if let descriptor = workspace.catalog.plugin(plugin) { try await start(descriptor, as: name, time: time) }
      }
    } catch {
      _ = await stop()
      throw error
    }
  }

  private mutating func start(
    _ plugin: PluginDescriptor, as connection: String, time: any TimeSource
  ) async throws(RuntimeError) {
    if plugin.isLocal {
      settings[connection] = .map(ValueMap())
      return
    }
    if running[plugin.name] == nil {
      do throws(ActionError) {
        guard let sandbox = try await plugin.startSandbox(SandboxOptions(time: time, folder: copy.folderOfMadeUpFiles))
        else {
          throw ActionError(
            .configuration, "it has none; record a run with --record FILE, and rehearse with --replay FILE")
        }
        running[plugin.name] = sandbox
      } catch {
        throw RuntimeError(.unavailable, "the sandbox of '\(plugin.name)' did not start: \(error.message)")
      }
    }
    settings[connection] = running[plugin.name]?.configuration
  }

  /// The sandboxes by their plugins, in order.
  private var inOrder: [(key: String, value: any RunningSandbox)] {
    running.sorted { $0.key.precedesByScalars($1.key) }
  }

  /// The plugins and the addresses of their sandboxes.
  package var addresses: [(plugin: String, url: String)] { services.map { ($0.key, $0.value.baseURL) } }

  /// The sandboxes that replace a service; the others only hold made-up files.
  private var services: [(key: String, value: any RunningSandbox)] {
    inOrder.filter { $0.value.baseURL != copy.folderOfMadeUpFiles }
  }

  /// Summaries of the requests to the sandboxes.
  package func summaryLines() async -> [String] {
    var lines: [String] = []
    for (_, sandbox) in services { lines += await sandbox.summaryLines() }
    return lines
  }

  /// Ends the sandboxes and removes their files.
  ///
  /// - Parameter keepsWritten: Whether the files that the run wrote stay, which it gives with their bytes.
  package func stop(keepsWritten: Bool = false) async -> [(path: String, bytes: Int)] {
    for (_, sandbox) in inOrder { await sandbox.stop() }
    let written = keepsWritten ? await copy.written() : []
    if written.isEmpty { Files.removeTree(root) }
    return written
  }
}
