package import ActionKit
import Agent
package import Basics
import Glibc
import HTTPClient
package import LocalFiles
package import Recipes
import Synchronization

/// Replaces the services of everything that an agent serves (`errand serve --sandbox`), and their files.
///
/// The sandbox of a plugin starts with the first run that needs it, so that recipes may come and change meanwhile. A
/// run whose connections can't all be replaced is refused, and requests that lead anywhere but to a sandbox fail.
package actor ServedSandboxes {
  /// The folder of everything that is thrown away.
  package nonisolated let root: String
  /// Where paths of recipes start.
  package nonisolated let folder: String
  /// The folder of the state.
  package nonisolated let state: String
  private let time: any TimeSource
  private var starting: [String: Task<any RunningSandbox, any Error>] = [:]
  private nonisolated let origins = Mutex<Set<String>>([])
  private nonisolated let madeUp = Mutex<[String: String]>([:])

  package init(time: any TimeSource) throws(RuntimeError) {
    self.time = time
    root = try RuntimeError.creating { () throws(FileError) in try Files.makeTemporaryFolder(ServedSandboxes.prefix) }
    folder = "\(root)/files"
    state = "\(root)/state"
  }

  /// The copy of the folder's files, which runs use in their place.
  package nonisolated func copy(of workspace: Workspace) throws(RuntimeError) -> FolderCopy {
    try RuntimeError.creating { () throws(FileError) in
      try Files.write(Array(workspace.root.utf8), to: "\(root)/\(ServedSandboxes.note)")
    }
    return try workspace.copy(in: root)
  }

  /// The file that says which folder is served.
  private static let note = "folder"

  /// The state of this user's agent that serves a folder in a sandbox; nil if there is none.
  package static func state(ofFolder folder: String) -> String? {
    let place = Files.temporaryFolder
    let found = ((try? Files.list(place)) ?? []).filter { $0.hasPrefix("\(prefix)-") }.map { "\(place)/\($0)" }
    return found.first { root in
      var status = stat()
      guard lstat(root, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
        let noted = try? Files.read("\(root)/\(note)", limit: 1 << 16), noted == Array(folder.utf8)
      else { return false }
      return FolderLock.isHeld("\(root)/state")
    }.map { "\($0)/state" }
  }

  private static let prefix = "errand-sandbox"

  /// The settings of each connection of a recipe; starts the sandboxes that don't run yet.
  package func settings(of recipe: Recipe, in workspace: Workspace) async throws(RuntimeError) -> [String: Value] {
    var settings: [String: Value] = [:]
    for name in recipe.connectionNames {
      guard let plugin = workspace.catalog.plugin(workspace.configuration.plugins[name] ?? name) else { continue }
      settings[name] = plugin.isLocal ? .map(ValueMap()) : try await sandbox(of: plugin).configuration
    }
    return settings
  }

  private func sandbox(of plugin: PluginDescriptor) async throws(RuntimeError) -> any RunningSandbox {
    // Ends with the start.
    let start =
      starting[plugin.name]
      ?? Task { [time, root] in
        let options = SandboxOptions(time: time, folder: "\(root)/made-up")
        guard let sandbox = try await plugin.startSandbox(options) else {
          throw ActionError(
            .configuration, "it has none; leave --sandbox out, or serve the recipes without this one")
        }
        return sandbox
      }
    starting[plugin.name] = start
    do {
      let sandbox = try await start.value
      if let url = HTTPURL(sandbox.baseURL) { _ = origins.withLock { $0.insert(url.origin) } }
      return sandbox
    } catch {
      starting[plugin.name] = nil
      let reason = (error as? ActionError)?.message ?? "\(error)"
      throw RuntimeError(.unavailable, "the sandbox of '\(plugin.name)' did not start: \(reason)")
    }
  }

  /// A secret that no source has.
  ///
  /// It has the form of Standard Webhooks, which every other scheme takes as a text.
  package nonisolated func secret(named name: String) -> String {
    madeUp.withLock { madeUp in
      let text = madeUp[name] ?? "whsec_" + [UInt8].random(24).base64
      madeUp[name] = text
      return text
    }
  }

  /// Lets requests reach the sandboxes, and nothing else.
  package nonisolated var interceptor: PluginContext.Interceptor {
    { [self] _, network in
      SandboxTransport(network: network) { [self] origin in origins.withLock { $0.contains(origin) } }
    }
  }

  /// Ends the sandboxes, and removes their files and the state.
  package func stop() async {
    for start in starting.values { if let sandbox = try? await start.value { await sandbox.stop() } }
    Files.removeTree(root)
  }
}

/// Refuses requests to anything but sandboxes.
private struct SandboxTransport: HTTPTransport {
  let network: any HTTPTransport
  let isSandbox: @Sendable (_ origin: String) -> Bool

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    guard let origin = HTTPURL(request.url)?.origin, isSandbox(origin) else {
      throw HTTPError(.invalidRequest, "\(request.redactedURL) is no sandbox, so nothing was sent.", sent: .nothing)
    }
    return try await network.send(request, into: sink)
  }
}

extension Workspace {
  /// The workspace for serving it in a sandbox: the configured addresses of this machine, or any free port; and the
  /// folder itself where it has no errand.yaml and no folder of recipes.
  package var inSandbox: Workspace {
    var workspace = self
    workspace.hasStandIns = true
    // The made-up state stays in the temporary folder.
    workspace.configuration.database = nil
    workspace.configuration.server.publicURL = nil
    workspace.configuration.server.listen.removeAll { !$0.isLoopback }
    if workspace.configuration.server.listen.isEmpty {
      workspace.configuration.server.listen = [ServerSettings.Address(host: "127.0.0.1", port: 0)]
    }
    if configurationPath == nil, !recipeFolders.contains(where: Workspace.isFolder) {
      workspace.configuration.recipeFolders = ["."]
    }
    return workspace
  }
}
