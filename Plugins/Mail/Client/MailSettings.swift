public import ActionKit
import SMTPClient

/// The encryption of the connection to an SMTP server.
public enum MailSecurity: String, CaseIterable, Sendable {
  /// TLS from the start, as on port 465.
  case tls
  /// STARTTLS before anything else is sent; a server that doesn't offer it is refused.
  case startTLS
  /// No encryption.
  case none

  /// The usual port.
  public var standardPort: Int {
    switch self {
    case .tls: 465
    case .startTLS: 587
    case .none: 25
    }
  }
}

/// An SMTP server, and the settings for sending mail through it.
public struct MailSettings: Sendable {
  /// The server.
  public var host: String
  /// Its port.
  public var port: Int
  /// The encryption of the connection.
  public var security: MailSecurity
  /// The login name, if there is a login.
  public var username: String?
  /// The user's password.
  public var password: String?
  /// The sender of mails that name none.
  public var sender: String?
  /// A file with certificates that are trusted beside the system's.
  public var certificateAuthorities: String?
  /// Time limit for connecting.
  public var connectTimeout = TimeSpan.seconds(10)
  /// Time limit for sending one mail.
  public var sendTimeout = TimeSpan.seconds(120)
  /// The largest mail that is sent, in bytes.
  public var maxBytes = 25 << 20

  /// Creates settings for a server, at the usual port of the encryption.
  public init(
    host: String, security: MailSecurity = .tls, username: String? = nil, password: String? = nil
  ) {
    self.host = host
    self.security = security
    port = security.standardPort
    self.username = username
    self.password = password
  }

  /// The server as messages and records name it.
  var server: String { "\(security == .tls ? "smtps" : "smtp")://\(host):\(port)" }

  var smtpServer: SMTPServer {
    var server = SMTPServer(url: server)
    server.requiresSTARTTLS = security == .startTLS
    server.username = username
    server.password = password
    server.certificateAuthorities = certificateAuthorities
    server.connectTimeout = connectTimeout
    server.sendTimeout = sendTimeout
    return server
  }
}
