public import ActionKit
import HTTPTypes

/// A mail, whose addresses have been read and whose header lines hold no line end.
public struct Mail: Sendable {
  /// A file attached to a mail.
  public struct Attachment: Sendable {
    /// The file name that recipients see.
    public var name: String
    /// Its media type, such as `application/pdf`.
    public var type: String
    /// The content.
    public var bytes: [UInt8]

    /// Creates an attachment; if no type is given, the name's extension determines it.
    public init(name: String, type: String? = nil, bytes: [UInt8]) {
      self.name = name
      self.type = type ?? MediaType.named(after: name)
      self.bytes = bytes
    }
  }

  /// The sender.
  public var from: Mailbox
  /// The recipients.
  public var to: [Mailbox]
  /// Recipients of a copy.
  public var cc: [Mailbox]
  /// Recipients of a copy that the other recipients don't see.
  public var bcc: [Mailbox]
  /// Address for replies, if not the sender's.
  public var replyTo: Mailbox?
  /// The subject, on one line.
  public var subject: String
  /// The body as plain text.
  public var text: String?
  /// The body as HTML; if there is a plain text as well, mail programs choose one of them.
  public var html: String?
  /// The attached files.
  public var attachments: [Attachment]

  /// The addresses of all recipients, without duplicates.
  public var recipients: [String] {
    var known: Set<String> = []
    return (to + cc + bcc).map(\.address).filter { known.insert($0).inserted }
  }

  /// The number of recipients that every server must accept (RFC 5321, section 4.5.3.1.8).
  public static let mostRecipients = 100

  /// Creates a mail, or throws the first error in it.
  public init(
    from: String, to: [String], cc: [String] = [], bcc: [String] = [], replyTo: String? = nil, subject: String,
    text: String? = nil, html: String? = nil, attachments: [Attachment] = []
  ) throws(MailError) {
    self.from = try Mail.mailbox(from)
    self.to = try Mail.mailboxes(to)
    self.cc = try Mail.mailboxes(cc)
    self.bcc = try Mail.mailboxes(bcc)
    self.replyTo = if let replyTo { try Mail.mailbox(replyTo) } else { nil }
    self.subject = subject
    self.text = text
    self.html = html
    self.attachments = attachments
    guard !(to + cc + bcc).isEmpty else { throw MailError(.invalid, "The mail has no recipient.") }
    guard recipients.count <= Mail.mostRecipients else {
      throw MailError(
        .invalid, "The mail has \(recipients.count) recipients, and a server takes \(Mail.mostRecipients) at a time.")
    }
    guard text != nil || html != nil else { throw MailError(.invalid, "The mail has neither text nor HTML.") }
    try Mail.check(subject: subject)
    for attachment in attachments {
      try Mail.check(attachmentName: attachment.name)
      try Mail.check(mediaType: attachment.type)
    }
  }

  static func check(subject: String) throws(MailError) { try checkLine(subject, "subject") }

  static func check(attachmentName name: String) throws(MailError) { try checkLine(name, "name of an attachment") }

  static func check(mediaType type: String) throws(MailError) {
    if let fault = MediaType.fault(of: type) { throw MailError(.invalid, fault) }
  }

  private static func mailboxes(_ texts: [String]) throws(MailError) -> [Mailbox] {
    var mailboxes: [Mailbox] = []
    for text in texts { mailboxes.append(try mailbox(text)) }
    return mailboxes
  }

  private static func mailbox(_ text: String) throws(MailError) -> Mailbox {
    if let mailbox = Mailbox(text) { return mailbox }
    let displayed = String(String.UnicodeScalarView(text.excerpt(80).unicodeScalars.map { $0.value < 0x20 ? "·" : $0 }))
    throw MailError(
      .invalid, "'\(displayed)' isn't a mail address; write it as ana@example.org or Ana <ana@example.org>.")
  }

  /// Refuses characters that could end a header line and begin another.
  private static func checkLine(_ text: String, _ what: String) throws(MailError) {
    guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw MailError(.invalid, "The \(what) holds a line end or another control character, and has to be one line.")
    }
  }
}
