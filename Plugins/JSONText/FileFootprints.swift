public import ActionKit
public import LocalFiles

extension JSONTextPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration, in context: ActionContext
  ) -> Footprint {
    Footprint(LocalFiles(connection).resources([input["path"]], in: context))
  }
}

extension JSONTextPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    LocalFiles.refusals(of: [input["path"]], on: connection.map { LocalFiles($0) }, in: context)
  }
}
