public import ActionKit

// The sandbox: a mail server of this program (`PostOffice`), which keeps what it is handed and delivers nothing.

extension MailPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) throws -> any RunningSandbox {
    try MailSandbox(options)
  }
}

/// A mail server on a loopback port.
final class MailSandbox: RunningSandbox {
  let office: PostOffice

  init(_ options: SandboxOptions) throws {
    let office = try PostOffice(port: options.port)
    self.office = office
    // Ends when the server is stopped.
    Task { await onThread { office.serve() } }
  }

  deinit { office.stop() }

  var baseURL: String { "smtp://127.0.0.1:\(office.port)" }

  var configuration: Value {
    .object([
      "host": .string("127.0.0.1"), "port": .int(office.port), "security": .string(MailSecurity.none.rawValue),
      "from": .string("Errand <errand@sandbox.example>"),
    ])
  }

  func summaryLines() -> [String] {
    office.delivered.map { "mail to \($0.recipients.joined(separator: ", ")): \($0.header("Subject") ?? "")" }
  }

  func stop() { office.stop() }
}
