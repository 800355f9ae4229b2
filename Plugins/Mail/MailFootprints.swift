public import ActionKit
import LocalFiles

extension MailPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    let server = Resource.service(host: connection.host, port: connection.port)
    let files = LocalFiles(folder: connection.folder).resources(
      (input["attachments"]?.list ?? []).map { $0["path"] }, in: context)
    return Footprint(reads: [server] + files, changes: [server])
  }
}

extension MailPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal] {
    LocalFiles.refusals(
      of: (input["attachments"]?.list ?? []).map { $0["path"] }, on: connection.map { LocalFiles(folder: $0.folder) },
      in: context)
  }
}
