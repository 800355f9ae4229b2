public import ActionKit
import SMTPClient

/// How the way to an SMTP server is encrypted.
public enum MailSecurity: String, CaseIterable, Sendable {
  /// From the start, as port 465 has it.
  case tls
  /// By STARTTLS before anything else is said; a server that does not offer it is refused.
  case startTLS
  /// Not at all.
  case none

  /// The port that goes with it.
  public var standardPort: Int {
    switch self {
    case .tls: 465
    case .startTLS: 587
    case .none: 25
    }
  }
}

/// An SMTP server, and how mail is handed to it.
public struct MailSettings: Sendable {
  /// The server.
  public var host: String
  /// Its port.
  public var port: Int
  /// How the way is encrypted.
  public var security: MailSecurity
  /// The login name, if there is a login.
  public var username: String?
  /// Their password.
  public var password: String?
  /// The sender of mails that name none.
  public var sender: String?
  /// A file with certificates that are trusted beside the system's.
  public var certificateAuthorities: String?
  /// Time limit for connecting.
  public var connectTimeout = TimeSpan.seconds(10)
  /// How long it may take to send one mail.
  public var sendTimeout = TimeSpan.seconds(120)
  /// The largest mail that is sent, in bytes.
  public var maxBytes = 25 << 20

  /// Creates settings for a server, at the port that goes with the security.
  public init(
    host: String, security: MailSecurity = .tls, username: String? = nil, password: String? = nil
  ) {
    self.host = host
    self.security = security
    port = security.standardPort
    self.username = username
    self.password = password
  }

  /// The server as people and records know it.
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
