public import ActionKit
public import LocalFiles

extension FilesPlugin {
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

  public static func refusals(
    of action: String, _ input: StepInput, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    let files = connection.map { LocalFiles($0) }
    let operation: FileError.Operation? =
      switch action {
      case "append": .append
      case "delete": .remove
      case "move": .move
      case "read", "readBytes": .read
      case "write": .write
      default: nil
      }
    return LocalFiles.refusals(
      of: [input["path"], input["from"], input["to"]], on: files, in: context, for: operation)
      + LocalFiles.refusals(of: [input["folder"]], on: files, in: context, isFolder: true)
  }
}
