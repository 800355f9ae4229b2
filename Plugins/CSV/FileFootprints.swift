public import ActionKit
public import LocalFiles

extension CSVPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration, in context: ActionContext
  ) -> Footprint {
    Footprint(LocalFiles(connection).resources([input["path"]], in: context))
  }
}

extension CSVPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    let files = LocalFiles.refusals(
      of: [input["path"]], on: connection.map { LocalFiles($0) }, in: context, for: action == "write" ? .write : .read)
    let isRead = action == "parse" || action == "read"
    return files + (isRead ? TableReading.refusals(of: input) : TableWriting.refusals(of: input))
  }
}
