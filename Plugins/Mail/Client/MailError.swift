public import ActionKit

/// An error of a mail that wasn't sent, or may not have been; the detail holds the server's last reply.
public typealias MailError = ServiceError<MailErrorKind>

/// The kind of an error of a mail.
public enum MailErrorKind: ServiceErrorKind, Equatable {
  /// The mail is invalid or too large; nothing was sent.
  case invalid
  /// libcurl is missing, or is too old.
  case unavailable
  /// No encrypted connection to a trusted server was possible.
  case untrusted
  /// The server was not reached, or the connection broke.
  case connection
  /// A time limit passed.
  case timeout
  /// The calling task was cancelled.
  case cancelled
  /// The login was refused.
  case refusedLogin
  /// The server refused the sender, a recipient or the mail, with this code.
  case refused(Int)
  /// The reply isn't SMTP, or isn't one that SMTP allows here.
  case unreadable

  public var errorKind: ErrorKind {
    switch self {
    case .invalid: .validation
    case .unavailable, .untrusted: .configuration
    case .connection: .network
    case .timeout: .timeout
    case .cancelled: .cancelled
    case .refusedLogin: .authentication
    // Codes from 400 on are temporary, codes from 500 on permanent (RFC 5321, section 4.2.1).
    case .refused(let code): code < 500 ? .server : .validation
    case .unreadable: .plugin
    }
  }

  /// The SMTP reply code.
  public var status: Int? { if case .refused(let code) = self { code } else { nil } }
}
