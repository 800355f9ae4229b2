package import Basics
package import RecipeEditing

/// The agent's description of itself.
package struct AgentStatus: Sendable {
  package var pid: Int
  /// The program's version, as runs name it.
  package var version: String
  /// Whether it stays until it is told to end, and resumes all open runs.
  package var isServing: Bool
  package var since: Timestamp
  /// The folder of the state; with a database, the folder of the lock and the sockets.
  package var folder: String
  /// The URL of the state's database, if it is in one.
  package var database: String?

  /// Whether every service is made up.
  package var isSandbox: Bool
  /// The folders whose paths are for callers on the machine alone.
  package var paths: ServerPaths

  package init(
    pid: Int, version: String, isServing: Bool, since: Timestamp, folder: String, database: String? = nil,
    isSandbox: Bool = false, paths: ServerPaths = ServerPaths()
  ) {
    self.isSandbox = isSandbox
    self.paths = paths
    self.pid = pid
    self.version = version
    self.isServing = isServing
    self.since = since
    self.folder = folder
    self.database = database
  }

  package var program: String { "errand \(version)" }

  /// A text without the paths of the machine, for callers elsewhere.
  package func told(_ text: String) -> String { paths.told(text) }
}
