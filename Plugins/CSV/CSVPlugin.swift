public import ActionKit
public import LocalFiles

/// Lets recipes read and write tables as CSV (RFC 4180), in texts and in files of this machine.
public enum CSVPlugin: SandboxedPlugin {
  public static let name = "csv"
  public static let summary = "Reads and writes tables as CSV, with typed columns."
  public static let actions: [any Action<LocalFiles>.Type] = [
    ReadTable.self, ParseTable.self, WriteTable.self, FormatTable.self,
  ]

  public typealias Configuration = LocalFilesConfiguration

  public static func connect(_ configuration: LocalFilesConfiguration, in context: PluginContext) -> LocalFiles {
    LocalFiles(configuration)
  }

  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try await FolderSandbox(options)
  }
}
