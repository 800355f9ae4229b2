public import ActionKit
import HTTPClient
import LocalFiles
import SMTPClient

/// Sends mail.
public protocol MailSending: Sendable {
  /// Sends a mail to the server, and returns when the server has accepted it for all recipients.
  ///
  /// - Parameter id: The Message-ID without its angle brackets; mail programs recognise a duplicate by it.
  func send(_ mail: Mail, id: String, date: Timestamp) async throws(MailError)
}

/// Sends mail through one SMTP server, each on a connection of its own.
///
/// The server accepts a mail for all its recipients or, if it refuses one of them, not at all.
public struct MailClient: MailSending {
  /// The server.
  public let settings: MailSettings
  /// The folder of recipes' attachments.
  var files = LocalFiles(folder: nil)
  private let report: @Sendable (_ server: String, _ status: Int?, _ bytes: Int, TimeSpan) -> Void

  /// Creates a client; doesn't connect yet.
  public init(
    _ settings: MailSettings,
    report: @escaping @Sendable (_ server: String, _ status: Int?, _ bytes: Int, TimeSpan) -> Void = { _, _, _, _ in }
  ) {
    self.settings = settings
    self.report = report
  }

  /// A Message-ID that is always the same for the same key and sender.
  static func id(for key: String, from sender: Mailbox) throws(MailError) -> String {
    guard let digest = SHA256.digest(of: Array(key.utf8)) else {
      throw MailError(.unavailable, "libcrypto.so.3 cannot be loaded; install the Debian package libssl3.")
    }
    return "\(digest.prefix(32)).errand@\(sender.host)"
  }

  /// Sends a mail to the server, and returns when the server has accepted it for all recipients.
  public func send(_ mail: Mail, id: String, date: Timestamp) async throws(MailError) {
    guard id.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != ASCII.less && $0 != ASCII.greater })
    else {
      throw MailError(.invalid, "'\(id.excerpt(80))' cannot be a Message-ID.")
    }
    let size = mail.attachments.reduce(0) { $0 + $1.bytes.count }
    guard size <= settings.maxBytes else { throw tooLarge(size) }
    let bytes = MailWriter.bytes(of: mail, id: id, date: date)
    guard bytes.count <= settings.maxBytes else { throw tooLarge(bytes.count) }
    if let fault = SMTPTransfer.unavailability { throw MailError(.unavailable, fault) }
    let transfer = SMTPTransfer(settings.smtpServer, from: mail.from.address, to: mail.recipients, bytes)
    let outcome = await withTaskCancellationHandler {
      await onThread { transfer.run() }
    } onCancel: {
      transfer.cancel()
    }
    guard let outcome else { throw MailError(.unavailable, "libcurl 7.88 or later is needed to send mail.") }
    report(settings.server, outcome.status > 0 ? outcome.status : nil, bytes.count, outcome.elapsed)
    try judge(outcome)
  }

  private func tooLarge(_ size: Int) -> MailError {
    MailError(
      .invalid, "The mail has \(size) bytes, and \(settings.maxBytes) are the most; attach less, or raise 'maxBytes'.")
  }

  /// Throws unless the server accepted the mail.
  private func judge(_ outcome: SMTPTransfer.Outcome) throws(MailError) {
    let (host, status) = (settings.host, outcome.status)
    let reply = outcome.reply.isEmpty ? nil : outcome.reply
    // A server that has received the whole mail accepts or refuses it; until its reply, the outcome is unknown.
    let effect: OutsideEffect = outcome.isHandedOver && !(400...599).contains(status) ? .unknown : .none
    if outcome.isCancelled {
      throw MailError(.cancelled, "Sending the mail was ended before \(host) had taken it.", effect: effect)
    }
    if outcome.lacksLogin {
      throw MailError(
        .refusedLogin,
        "The mail server \(host) offers no login at port \(settings.port), and 'username' asks for one; check 'security' and "
          + "'port', or leave out 'username' and 'password'.", detail: reply)
    }
    switch outcome.end {
    case .done: return
    case .unknownHost:
      throw MailError(.connection, "The name of the mail server, \(host), is not known; check 'host'.")
    case .noConnection:
      throw MailError(
        .connection, "No connection to the mail server \(host) at port \(settings.port); check 'host' and 'port'.")
    case .untrusted:
      throw MailError(
        .untrusted,
        "No trusted encrypted way to \(host) at port \(settings.port): \(outcome.detail.isEmpty ? "TLS failed" : outcome.detail). "
          + "Check 'security', 'port' and 'certificateAuthorities'.")
    case .noSTARTTLS:
      throw MailError(
        .untrusted, "The mail server \(host) offers no STARTTLS at port \(settings.port); check 'security' and 'port'.",
        detail: reply)
    case .refusedLogin:
      throw MailError(
        .refusedLogin, "The mail server \(host) refused the login of '\(settings.username ?? "")'; check the password.",
        detail: reply)
    case .timeout:
      throw MailError(.timeout, "The mail server \(host) did not take the mail in time.", effect: effect)
    case .unreadable, .failed: break
    }
    if (400...599).contains(status) {
      let what = outcome.refusedRecipient.map { "the recipient \($0)" } ?? "the mail"
      throw MailError(
        .refused(status), "The mail server \(host) refused \(what) with code \(status)\(words(outcome)).", detail: reply
      )
    }
    if case .unreadable = outcome.end {
      throw MailError(
        .unreadable, "What answers at \(host), port \(settings.port), isn't a mail server.", detail: reply,
        effect: effect
      )
    }
    throw MailError(
      .connection, "The connection to the mail server \(host) ended before it had taken the mail.", effect: effect)
  }

  /// The text of a reply of one line, after a colon.
  private func words(_ outcome: SMTPTransfer.Outcome) -> String {
    let text = outcome.reply.utf8.dropFirst(4)
    guard !text.isEmpty, text.count <= 200, !text.contains(ASCII.newline) else { return "" }
    // The sentence around it ends with a full stop.
    let reply = String(decoding: Array(text), as: UTF8.self).trimmed
    return ": " + (reply.hasSuffix(".") ? String(reply.dropLast()) : reply)
  }
}
