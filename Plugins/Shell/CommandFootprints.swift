public import ActionKit

extension ShellPlugin: FootprintPlugin {
  /// A command may touch anything; it needs this machine's files, and so does the rest of its run.
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    Footprint(reads: [.everything, .file("/")], changes: [.everything])
  }
}
