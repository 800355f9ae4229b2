public import ActionKit
import HTTPClient
import SandboxKit
import LocalFiles

// The sandbox: this machine, with a folder of made-up files. Only commands that compute or read are run. A command that
// writes isn't run: it returns the first exit code that it expects, with empty outputs, and its step says so in
// `isRun`. Tests order faults on a loopback port (`ControlEndpoint`); a call is a command line. The faults are:
//
//   exit      the command exits with code 1, or another `status`, and has done nothing
//   timeOut   the command fails as if it took too long

extension ShellPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try await ShellSandbox(options)
  }
}

/// The faults of a shell sandbox.
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

/// Asks a sandbox for the faults of commands.
struct CommandFaults: Sendable {
  let url: String
  private let http = HTTPClient(configuration: HTTPClientConfiguration(proxy: .none))

  init(_ url: String) { self.url = url }

  /// The exit code of a command that a fault replaces; nil if the command is to run.
  func code(for command: ShellCommand, called name: String, _ words: [String]) async throws -> Int? {
    let query = HTTPQuery([HTTPQuery.Item("call", displayed(words))]).encoded
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
