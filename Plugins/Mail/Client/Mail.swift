public import ActionKit
import HTTPTypes

/// A mail, whose addresses have been read and whose header lines hold no line end.
public struct Mail: Sendable {
  /// A file that goes with a mail.
  public struct Attachment: Sendable {
    /// What it is called where it arrives.
    public var name: String
    /// Its media type, such as `application/pdf`.
    public var type: String
    /// What is in it.
    public var bytes: [UInt8]

    /// Creates an attachment; the type follows from the name's ending if it is not given.
    public init(name: String, type: String? = nil, bytes: [UInt8]) {
      self.name = name
      self.type = type ?? MediaType.named(after: name)
      self.bytes = bytes
    }
  }

  /// Who sends it.
  public var from: Mailbox
  /// The recipients.
  public var to: [Mailbox]
  /// Who is to know of it.
  public var cc: [Mailbox]
  /// Recipients whom the others do not see.
  public var bcc: [Mailbox]
  /// Address for replies, if not the sender's.
  public var replyTo: Mailbox?
  /// What it is about, on one line.
  public var subject: String
  /// What it says.
  public var text: String?
  /// What it says, as HTML; beside a text, programs show the one that they can.
  public var html: String?
  /// What goes with it.
  public var attachments: [Attachment]

  /// The addresses that it is handed to the server for, each once.
  public var recipients: [String] {
    var known: Set<String> = []
    return (to + cc + bcc).map(\.address).filter { known.insert($0).inserted }
  }

  /// The most recipients that a server has to take at a time (RFC 5321, section 4.5.3.1.8).
  public static let mostRecipients = 100

  /// Creates a mail, and throws what is wrong with it.
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
    let shown = String(String.UnicodeScalarView(text.excerpt(80).unicodeScalars.map { $0.value < 0x20 ? "·" : $0 }))
    throw MailError(
      .invalid, "'\(shown)' isn't a mail address; write it as ana@example.org or Ana <ana@example.org>.")
  }

  /// Refuses what could end a header line and begin another.
  private static func checkLine(_ text: String, _ what: String) throws(MailError) {
    guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw MailError(.invalid, "The \(what) holds a line end or another control character, and has to be one line.")
    }
  }
}
