public import ActionKit
public import LocalFiles

extension FilesPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration, in context: ActionContext
  ) -> Footprint {
    let files = LocalFiles(connection)
    return switch action {
    case "list": Footprint(files.resources([input["folder"]], in: context))
    case "move": Footprint(files.resources([input["from"], input["to"]], in: context))
    default: Footprint(files.resources([input["path"]], in: context))
    }
  }
}
