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
    let attachments = input["attachments"]?.list ?? []
    var refusals = LocalFiles.refusals(
      of: attachments.map { $0["path"] }, on: connection.map { LocalFiles(folder: $0.folder) }, in: context)
    func check(_ value: Value?, _ check: (String) throws(MailError) -> Void) {
      guard let value, let text = value.string else { return }
      do throws(MailError) { try check(text) } catch { refusals.append(Refusal(error.actionError, of: value)) }
    }
    check(input["subject"], Mail.check(subject:))
    for attachment in attachments {
      check(attachment["name"], Mail.check(attachmentName:))
      check(attachment["type"], Mail.check(mediaType:))
    }
    if input["from"] == nil, let connection, connection.from == nil {
      refusals.append(Refusal(SendMail.lacksSender, of: input.value))
    }
    return refusals
  }
}
