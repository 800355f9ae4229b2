public import ActionKit
import SandboxKit
import LocalFiles

// The sandbox: a mail server in this program (`PostOffice`), which keeps the mails it receives and delivers none. Tests
// order its faults on another port (`ControlEndpoint`); a call is a recipient's address. The faults are:
//
//   refuse       the connection ends before the server has sent anything
//   busy         the mail is refused temporarily (451, or another `status`)
//   recipient    a recipient is refused permanently (550, or another `status`)
//   cutOff       the connection ends before the mail has arrived
//   lostAnswer   the connection ends after the mail has arrived, before the reply; the mail is kept

extension MailPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try await MailSandbox(options)
  }
}

/// The faults of a mail sandbox.
enum MailFault: String, SandboxFaultKind {
  case refuse, busy, recipient, cutOff, lostAnswer

  var keys: Set<SandboxFaultKey> { self == .busy || self == .recipient ? [.status] : [] }
  var standardStatus: Int { self == .busy ? 451 : 550 }
  static let statuses = 400...599
}

/// A mail server on a loopback port.
final class MailSandbox: RunningSandbox {
  let office: PostOffice
  private let control: ControlEndpoint<MailFault>
  /// The folder of attachments; other sandboxes may have filled it.
  private let folder: FolderSandbox

  init(_ options: SandboxOptions) async throws {
    folder = try await FolderSandbox(options)
    control = try ControlEndpoint()
    let office = try PostOffice(port: options.port, control: control)
    self.office = office
    // Ends when the server is stopped.
    Task { await onThread { office.serve() } }
  }

  deinit { office.stop() }

  var baseURL: String { "smtp://127.0.0.1:\(office.port)" }

  var controlURL: String { control.baseURL }

  var configuration: Value {
    .object([
      "host": .string("127.0.0.1"), "port": .int(office.port), "security": .string(MailSecurity.none.rawValue),
      "from": .string("Errand <errand@sandbox.example>"), "folder": .string(folder.baseURL),
    ])
  }

  func summaryLines() -> [String] {
    office.delivered.map { "mail to \($0.recipients.joined(separator: ", ")): \($0.header("Subject") ?? "")" }
  }

  func stop() async {
    office.stop()
    await control.stop()
    await folder.stop()
  }
}
