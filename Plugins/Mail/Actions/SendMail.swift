import ActionKit
import LocalFiles

enum SendMail: DoingAction {
  static let name = "send"
  static let summary =
    "Sends a mail to all its recipients or to none; its Message-ID is always the same for the same step of a run."
  static let effect = Effect.write
  static let examples = [
    Example(
      "A text", "from: reports@example.org\nto: [ana@example.org]\nsubject: The backup is done\ntext: |\n  All is well."
    ),
    Example(
      "All of it",
      "from: Reports <reports@example.org>\nto: ['Ana Ö. <ana@example.org>']\ncc: [ben@example.org]\n"
        + "bcc: [archive@example.org]\nreplyTo: ana@example.org\nsubject: Résumé – week 47\ntext: See the table.\n"
        + "html: <p>See the <b>table</b>.</p>"),
  ]

  struct Attached: FieldSet {
    @Field("Path of the file.", .notEmpty) var path: String
    @Field("The file's name for the receiver; absent means its name here.", .notEmpty, .maxLength(200))
    var name: String?
    @Field("The file's media type, such as application/pdf; absent means the type of the name's ending.", .notEmpty)
    var type: String?
  }

  struct Input: ValidatedFieldSet {
    @Field("The sender, if not the connection's 'from': ana@example.org or Ana <ana@example.org>.", .pattern(.mailbox))
    var from: String?
    @Field("The recipients.", .maxLength(Mail.mostRecipients), .each(.pattern(.mailbox))) var to: [String] = []
    @Field("The recipients of a copy.", .maxLength(Mail.mostRecipients), .each(.pattern(.mailbox)))
    var cc: [String] = []
    @Field("Recipients that the others don't see.", .maxLength(Mail.mostRecipients), .each(.pattern(.mailbox)))
    var bcc: [String] = []
    @Field("Address for replies, if not the sender's.", .pattern(.mailbox)) var replyTo: String?
    @Field("The subject, on one line.", .notEmpty, .maxLength(500)) var subject: String
    @Field("The mail's text.") var text: String?
    @Field("The mail's text as HTML; if there is also a plain text, mail programs show the one that they can.")
    var html: String?
    @Field("The files to attach.", .maxLength(50)) var attachments: [Attached] = []

    func conflicts() -> [Conflict] {
      var conflicts: [Conflict] = []
      if to.isEmpty, cc.isEmpty, bcc.isEmpty { conflicts.append(Conflict("needs a recipient in 'to', 'cc' or 'bcc'")) }
      let count = Set(to + cc + bcc).count
      if count > Mail.mostRecipients {
        conflicts.append(
          Conflict("names \(count) recipients, and a server takes \(Mail.mostRecipients) at a time; send several mails")
        )
      }
      if text == nil, html == nil { conflicts.append(Conflict("needs 'text' or 'html'")) }
      return conflicts
    }
  }

  struct Output: FieldSet {
    @Field("The Message-ID without its angle brackets, to find the mail again.") var messageID: String
    @Field("The number of addresses that the server accepted it for.") var recipients: Int
  }

  static func run(_ input: Input, on client: MailClient, in context: ActionContext) async throws -> Output {
    var attachments: [Mail.Attachment] = []
    var size = 0
    for attached in input.attachments {
      do throws(ActionError) {
        let file = try client.files.file(attached.path, in: context)
        let bytes = try await file.read(limit: max(0, client.settings.maxBytes - size))
        size += bytes.count
        let own = file.path.utf8.split(separator: ASCII.slash).last.map { String(decoding: $0, as: UTF8.self) }
        attachments.append(Mail.Attachment(name: attached.name ?? own ?? "file", type: attached.type, bytes: bytes))
      } catch {
        var error = error
        error.message = "an attachment cannot be sent: \(error.message)"
        throw error
      }
    }
    let mail = try mail(input, on: client, attachments)
    let id = try MailClient.id(for: context.idempotencyKey, from: mail.from)
    do throws(MailError) { try await client.send(mail, id: id, date: context.time.now()) } catch {
      var failure = error.actionError
      // Lets a person search for the mail to find out whether it was sent.
      if failure.effect == .unknown {
        failure.message += " If it was taken, it has the Message-ID <\(id)>."
      }
      throw failure
    }
    return try Output {
      $0.messageID = id
      $0.recipients = mail.recipients.count
    }
  }

  static func preview(_ input: Input, on client: MailClient, in context: ActionContext) throws -> [Change] {
    let mail = try mail(input, on: client, [])
    for attached in input.attachments { _ = try client.files.file(attached.path, in: context) }
    let files = input.attachments.isEmpty ? "" : ", with \(input.attachments.map(\.path).joined(separator: ", "))"
    return [Change("A mail to \(mail.recipients.joined(separator: ", "))", from: nil, to: input.subject + files)]
  }

  static let lacksSender = ActionError(
    .validation, "the mail has no sender; give it a 'from', here or in the connection")

  private static func mail(
    _ input: Input, on client: MailClient, _ attachments: [Mail.Attachment]
  ) throws -> Mail {
    guard let from = input.from ?? client.settings.sender else {
      throw lacksSender
    }
    return try Mail(
      from: from, to: input.to, cc: input.cc, bcc: input.bcc, replyTo: input.replyTo, subject: input.subject,
      text: input.text, html: input.html, attachments: attachments)
  }
}
