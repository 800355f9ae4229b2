public import ActionKit

extension ShellPlugin: FootprintPlugin {
  /// A command may touch anything, and its run needs the files of this machine from then on.
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    Footprint(reads: [.everything, .file("/")], changes: [.everything])
  }
}
