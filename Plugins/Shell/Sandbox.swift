public import ActionKit

// The sandbox: this machine, on which only what computes and reads is run. A command that writes answers at once with
// the first exit code that it expects, and with nothing in its outputs; its step says so in `isRun`.

extension ShellPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) -> any RunningSandbox { ShellSandbox() }
}

private struct ShellSandbox: RunningSandbox {
  let baseURL = "this machine, where nothing that writes is run"
  let configuration = Value.object(["runs": .string(CommandsRun.reads.rawValue)])

  func summaryLines() -> [String] { [] }
  func stop() {}
}
