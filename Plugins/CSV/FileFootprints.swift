public import ActionKit
public import LocalFiles

extension CSVPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration, in context: ActionContext
  ) -> Footprint {
    Footprint(LocalFiles(connection).resources([input["path"]], in: context))
  }
}
