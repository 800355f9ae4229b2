import ActionKit
import HTTPTypes

// How a mail is written (RFC 5322, 2045 to 2047, 2231): lines end in CR LF and have at most 76 octets where we make
// them. Headers hold ASCII only. Content other than short lines of ASCII is encoded as base64. The same mail with the
// same id and date always gives the same bytes.

/// Writes one mail.
struct MailWriter {
  private var lines: [String] = []

  /// The bytes of a mail; the id is written in angle brackets.
  static func bytes(of mail: Mail, id: String, date: Timestamp) -> [UInt8] {
    var writer = MailWriter()
    writer.write(mail, id: id, date: date)
    return Array(writer.lines.joined(separator: "\r\n").utf8) + [ASCII.carriageReturn, ASCII.newline]
  }

  private mutating func write(_ mail: Mail, id: String, date: Timestamp) {
    // HTTP's date format, except that the zone is a number.
    lines.append("Date: \(HTTPDate.text(date).replacing("GMT", with: "+0000"))")
    writeMailboxes("From", [mail.from])
    writeMailboxes("Reply-To", mail.replyTo.map { [$0] } ?? [])
    writeMailboxes("To", mail.to)
    writeMailboxes("Cc", mail.cc)
    // Bcc recipients appear in no header. If there are no others, a `To` field is written all the same.
    if mail.to.isEmpty, mail.cc.isEmpty { lines.append("To: undisclosed-recipients:;") }
    lines.append("Subject: \(MailWriter.phrase(mail.subject))")
    lines.append("Message-ID: <\(id)>")
    lines.append("MIME-Version: 1.0")
    var seed: UInt64 = 0xCBF2_9CE4_8422_2325
    for octet in id.utf8 { seed = (seed ^ UInt64(octet)) &* 0x100_0000_01B3 }
    guard !mail.attachments.isEmpty else { return writeBody(of: mail, seed) }
    writeParts("mixed", seed, mail.attachments) { writer in writer.writeBody(of: mail, seed &+ 1) }
  }

  /// Writes the text, the HTML, or both as alternatives.
  private mutating func writeBody(of mail: Mail, _ seed: UInt64) {
    switch (mail.text, mail.html) {
    case (let text?, let html?):
      let boundary = MailWriter.boundary(seed)
      lines.append("Content-Type: multipart/alternative; boundary=\"\(boundary)\"")
      lines.append("")
      lines.append("--\(boundary)")
      writeText(text, "plain")
      lines.append("--\(boundary)")
      writeText(html, "html")
      lines.append("--\(boundary)--")
    case (let text?, nil): writeText(text, "plain")
    case (nil, let html): writeText(html ?? "", "html")
    }
  }

  /// Writes a first part, then the attachments.
  private mutating func writeParts(
    _ kind: String, _ seed: UInt64, _ attachments: [Mail.Attachment], _ first: (inout MailWriter) -> Void
  ) {
    let boundary = MailWriter.boundary(seed)
    lines.append("Content-Type: multipart/\(kind); boundary=\"\(boundary)\"")
    lines.append("")
    lines.append("--\(boundary)")
    first(&self)
    for attachment in attachments {
      lines.append("--\(boundary)")
      lines.append("Content-Type: \(attachment.type)")
      lines.append("Content-Disposition: attachment;")
      lines.append(" \(MailWriter.fileName(attachment.name))")
      writeBase64(attachment.bytes)
    }
    lines.append("--\(boundary)--")
  }

  private mutating func writeText(_ text: String, _ kind: String) {
    lines.append("Content-Type: text/\(kind); charset=utf-8")
    let own = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n").utf8
      .split(separator: ASCII.newline, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    // Boundaries begin with `=_`, which never occurs in base64.
    let isPlain = own.allSatisfy { line in
      line.utf8.count <= 76 && line.utf8.allSatisfy { $0 == ASCII.tab || ASCII.printable.contains($0) }
        && !line.contains("=_")
    }
    if isPlain {
      lines.append("Content-Transfer-Encoding: 7bit")
      lines.append("")
      lines += own
    } else {
      writeBase64(Array(own.joined(separator: "\r\n").utf8))
    }
  }

  private mutating func writeBase64(_ bytes: [UInt8]) {
    lines.append("Content-Transfer-Encoding: base64")
    lines.append("")
    var rest = bytes[...]
    while !rest.isEmpty {
      lines.append(Array(rest.prefix(57)).base64)
      rest = rest.dropFirst(57)
    }
  }

  private mutating func writeMailboxes(_ field: String, _ mailboxes: [Mailbox]) {
    if mailboxes.isEmpty { return }
    // One on each line, so that no line gets too long.
    lines.append("\(field): " + mailboxes.map(MailWriter.text).joined(separator: ",\r\n "))
  }

  private static func text(of mailbox: Mailbox) -> String {
    guard let name = mailbox.name else { return mailbox.address }
    let isPlain = name.utf8.count <= 60 && name.utf8.allSatisfy { ASCII.printable.contains($0) } && !name.contains("=?")
    if !isPlain { return "\(encodedWords(name))\r\n <\(mailbox.address)>" }
    let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "\"\(quoted)\"\r\n <\(mailbox.address)>"
  }

  /// Text for a header: unchanged if it is short ASCII that can't be mistaken for an encoded word.
  private static func phrase(_ text: String) -> String {
    let isPlain =
      text.utf8.count <= 66 && text.utf8.allSatisfy { ASCII.printable.contains($0) } && !text.contains("=?")
      && text.trimmed.hasSameScalars(as: text)
    return isPlain ? text : encodedWords(text)
  }

  /// A text as encoded words that each hold whole scalars (RFC 2047, section 5).
  private static func encodedWords(_ text: String) -> String {
    var words: [String] = []
    var piece: [UInt8] = []
    for scalar in text.unicodeScalars {
      let octets = Array(String(scalar).utf8)
      if piece.count + octets.count > 42 {
        words.append("=?utf-8?B?\(piece.base64)?=")
        piece = []
      }
      piece += octets
    }
    words.append("=?utf-8?B?\(piece.base64)?=")
    return words.joined(separator: "\r\n ")
  }

  /// A file's name as a parameter: quoted if it is ASCII, otherwise in pieces as in RFC 2231.
  private static func fileName(_ name: String) -> String {
    let isPlain =
      name.utf8.count <= 60
      && name.utf8.allSatisfy { ASCII.printable.contains($0) && $0 != ASCII.quote && $0 != ASCII.backslash }
    if isPlain { return "filename=\"\(name)\"" }
    var pieces: [String] = []
    var piece = ""
    for scalar in name.unicodeScalars {
      let encoded = String(scalar).percentEncoded
      if piece.utf8.count + encoded.utf8.count > 50 {
        pieces.append(piece)
        piece = ""
      }
      piece += encoded
    }
    pieces.append(piece)
    if pieces.count == 1 { return "filename*=utf-8''\(piece)" }
    return pieces.enumerated().map { "filename*\($0)*=\($0 == 0 ? "utf-8''" : "")\($1)" }.joined(separator: ";\r\n ")
  }

  private static func boundary(_ seed: UInt64) -> String { "=_errand_\(String(seed, radix: 16))" }
}
