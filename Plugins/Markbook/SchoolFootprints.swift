public import ActionKit
import LocalFiles

extension MarkbookPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    let school = Resource.service(connection.baseURL)
    switch action {
    case "getBackupURL": return Footprint(reads: [school])
    case "downloadBackup":
      let file = LocalFiles(folder: connection.folder).resources([input["to"]], in: context)
      return Footprint(reads: [school] + file, changes: file)
    default: return Footprint([school])
    }
  }
}

extension MarkbookPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal] {
    LocalFiles.refusals(
      of: [action == "downloadBackup" ? input["to"] : nil],
      on: connection.map { LocalFiles(folder: $0.folder) }, in: context)
  }
}
