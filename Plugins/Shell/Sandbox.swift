public import ActionKit
import HTTPClient
import SandboxKit
import LocalFiles

// The sandbox: this machine, on which only what computes and reads is run, in a folder of made-up files. A command that
// writes answers at once with the first exit code that it expects, and with nothing in its outputs; its step says so in
// `isRun`. On a loopback port it is told of trouble (`ControlEndpoint`); a call is a command line. There are the faults
//
//   exit      the command ends with code 1, or another `status`, and has done nothing
//   timeOut   the command is given up as one that takes too long

extension ShellPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try await ShellSandbox(options)
  }
}

/// What can go wrong with a command.
enum CommandFault: String, SandboxFaultKind {
  case exit, timeOut

  var keys: Set<SandboxFaultKey> { self == .exit ? [.status] : [] }
  var standardStatus: Int { 1 }
  static let statuses = 0...255
}

private final class ShellSandbox: RunningSandbox {
  let baseURL = "this machine, where nothing that writes is run"
  private let control: ControlEndpoint<CommandFault>
  private let folder: FolderSandbox

  init(_ options: SandboxOptions) async throws {
    control = try ControlEndpoint()
    folder = try await FolderSandbox(options)
  }

  var controlURL: String { control.baseURL }
  var configuration: Value {
    .object([
      "runs": .string(CommandsRun.reads.rawValue), "folder": .string(folder.baseURL),
      "faults": .string(control.baseURL),
    ])
  }

  func summaryLines() -> [String] { control.log.lines }

  func stop() async {
    await control.stop()
    await folder.stop()
  }
}

/// Asks a sandbox how commands are to fail.
struct CommandFaults: Sendable {
  let url: String
  private let http = HTTPClient(configuration: HTTPClientConfiguration(proxy: .none))

  init(_ url: String) { self.url = url }

  /// The code with which a command ends instead of being run; nil if nothing strikes it.
  func code(for command: ShellCommand, called name: String, _ words: [String]) async throws -> Int? {
    let query = HTTPQuery([HTTPQuery.Item("call", shown(words))]).encoded
    let response: HTTPResponse
    do throws(HTTPError) {
      response = try await http.send(HTTPRequest("GET", "\(url)/sandbox/strike?\(query)"))
    } catch {
      throw ActionError(.configuration, "The sandbox at \(url) does not answer. \(error.message)")
    }
    let fault = try? JSON.parse(response.body)
    switch fault?["kind"]?.string.flatMap({ CommandFault(rawValue: $0) }) {
    case .exit:
      let code = fault?["status"]?.int ?? 1
      guard command.expectedCodes.contains(code) else {
        throw ShellError(
          .exited(code), "'\(name)' exited with code \(code)", detail: "It was made to by the sandbox.")
      }
      return code
    case .timeOut:
      throw ActionError(
        .timeout, "'\(name)' took too long", detail: "It was made to by the sandbox.", effect: .unknown)
    case nil: return nil
    }
  }
}
