public import ActionKit
import LocalFiles

/// Lets recipes send mail.
public enum MailPlugin: ClientLibrary {
  public static let name = "mail"
  public static let summary = "Sends mail through an SMTP server: text, HTML and attachments, encrypted in transit."
  public static let actions: [any Action<MailClient>.Type] = [SendMail.self]
  public static let usage = """
    let client = MailClient(MailSettings(host: "smtp.example.org", username: "ana", password: "…"))
    let mail = try Mail(from: "ana@example.org", to: ["ben@example.org"], subject: "Hello", text: "Are you there?")
    try await client.send(mail, id: "1@example.org", date: SystemTime().now())
    """

  /// The settings of a connection to one SMTP server.
  public struct Configuration: ValidatedFieldSet {
    @Field("Name of the SMTP server.", .pattern(.host)) var host: String
    @Field("The server's port; absent means the usual one for 'security': 465, 587 or 25.", .range(1...65_535))
    var port: Int?
    @Field("How the connection is encrypted: tls from the start, startTLS before anything else is sent, or not at all.")
    var security = MailSecurity.tls
    @Field("Login name; absent means no login.", .notEmpty, .mayHoldSecret) var username: String?
    @Field("The user's password, or the one that the service issues for programs.", .notEmpty)
    var password: Secret<String>?
    @Field("The sender of mails that name none: ana@example.org or Ana <ana@example.org>.", .pattern(.mailbox))
    var from: String?
    @Field(
      "The folder that attachments are in, relative to errand.yaml's folder; absent means errand.yaml's folder.",
      .notEmpty)
    var folder: String?
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = TimeSpan.seconds(10)
    @Field("Time limit for sending one mail.", .min(.milliseconds(1))) var sendTimeout = TimeSpan.seconds(120)
    @Field("The largest mail to send, in bytes, with its attachments encoded.", .range(1024...1 << 30))
    var maxBytes = 25 << 20

    public init() {}

    public func conflicts() -> [Conflict] {
      var conflicts: [Conflict] = []
      if (username == nil) != (password == nil) {
        conflicts.append(Conflict("goes with 'password', and one of them is missing", at: "username"))
      }
      let isLocal = ["localhost", "127.0.0.1", "[::1]"].contains(host)
      if password != nil, security == .none, !isLocal {
        conflicts.append(Conflict("must not be none where a password is sent", at: "security"))
      }
      return conflicts
    }
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> MailClient {
    var settings = MailSettings(host: configuration.host)
    settings.security = configuration.security
    settings.port = configuration.port ?? configuration.security.standardPort
    settings.username = configuration.username
    settings.password = configuration.password?.reveal()
    settings.sender = configuration.from
    settings.certificateAuthorities = configuration.certificateAuthorities.map(context.path)
    settings.connectTimeout = configuration.connectTimeout
    settings.sendTimeout = configuration.sendTimeout
    settings.maxBytes = configuration.maxBytes
    var client = MailClient(settings) { server, status, bytes, duration in
      context.record(
        ServiceRequest(method: "MAIL", redactedURL: server, status: status, bytes: bytes, duration: duration))
    }
    client.files = LocalFiles(folder: configuration.folder, limit: "maxBytes")
    return client
  }
}

extension MailSecurity: Choice {}

extension TextPattern {
  /// The name or address of a host.
  static let host = TextPattern(
    "a host such as smtp.example.org", regex: "^([A-Za-z0-9._-]{1,255}|\\[[0-9A-Fa-f:.]{2,45}\\])$",
    accepted: ["smtp.example.org", "127.0.0.1", "[::1]"], refused: ["smtp example", "smtps://x", "x/y", "", "x:25"]
  ) { text in
    let isIPv6 = text.hasPrefix("[") && text.hasSuffix("]")
    let octets = isIPv6 ? text.utf8.dropFirst().dropLast() : text.utf8[...]
    let others: Substring.UTF8View = isIPv6 ? ":."[...].utf8 : "._-"[...].utf8
    return (isIPv6 ? 2...45 : 1...255).contains(octets.count)
      && octets.allSatisfy { octet in
        switch octet {
        case ASCII.digits: true
        case 0x41...0x46, 0x61...0x66: true
        case 0x47...0x5A, 0x67...0x7A: !isIPv6
        default: others.contains(octet)
        }
      }
  }

  /// A mail address, with a name or without.
  static let mailbox = TextPattern(
    "a mail address such as ana@example.org or Ana <ana@example.org>",
    regex: "^([^<>\\x00-\\x1F\\x7F]*<[^<>@\\s]+@[A-Za-z0-9.-]+>|[^<>@\\s]+@[A-Za-z0-9.-]+)$",
    accepted: ["ana@example.org", "Ana Ö. <ana@example.org>", "\"Ö, Ana\" <a.b+c@x.example>"],
    refused: ["ana", "ana@", "@example.org", "ana@example.org\r\nBcc: eve@example.org", "a b@example.org", ""]
  ) { Mailbox($0) != nil }
}
