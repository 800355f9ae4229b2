public import ActionKit

/// A plugin whose actions use a connection's files; most actions use the file that their field `path` names.
public protocol FilePlugin: SandboxedPlugin, FootprintPlugin, RefusingPlugin
where Service == LocalFiles, Configuration == LocalFilesConfiguration {}

extension FilePlugin {
  /// Gives access to the files that the connection allows.
  public static func connect(_ configuration: LocalFilesConfiguration, in context: PluginContext) -> LocalFiles {
    LocalFiles(configuration)
  }

  /// Creates a folder of made-up files.
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try await FolderSandbox(options)
  }

  /// The file at `path`.
  public static func footprint(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration, in context: ActionContext
  ) -> Footprint {
    Footprint(LocalFiles(connection).resources([input["path"]], in: context))
  }

  /// The refusal of the file at `path`; the action `write` writes it, and any other action reads it.
  package static func fileRefusals(
    of action: String, _ input: StepInput, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    LocalFiles.refusals(
      of: [input["path"]], on: connection.map { LocalFiles($0) }, in: context, for: action == "write" ? .write : .read)
  }
}
