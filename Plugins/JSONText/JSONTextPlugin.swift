public import ActionKit
public import LocalFiles

/// Lets recipes read and write JSON (RFC 8259), in texts and in files of this machine.
public enum JSONTextPlugin: SandboxedPlugin {
  public static let name = "json"
  public static let summary = "Reads and writes JSON, in texts and in files."
  public static let actions: [any Action<LocalFiles>.Type] = [
    ReadJSON.self, ParseJSON.self, WriteJSON.self, FormatJSON.self,
  ]

  public typealias Configuration = LocalFilesConfiguration

  public static func connect(_ configuration: LocalFilesConfiguration, in context: PluginContext) -> LocalFiles {
    LocalFiles(configuration)
  }

  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try await FolderSandbox(options)
  }
}
