public import ActionKit
import Glibc
import LocalFiles

/// Lets recipes run commands of this machine.
public enum ShellPlugin: ClientLibrary {
  public static let name = "shell"
  public static let summary = "Runs commands on this machine, with only the named variables in their environment."
  public static let actions: [any Action<ShellService>.Type] = [Run.self]
  public static let usage = """
    let shell = ShellClient()
    let result = try await shell.run(ShellCommand(.program("git"), ["log", "-1", "--format=%s"], folder: "/srv/site"))
    print(String(decoding: result.output, as: UTF8.self))
    """

  /// The settings of a connection: the environment, folder and limits of commands.
  public struct Configuration: FieldSet {
    @Field("The folders to search for programs: absolute paths, separated by colons.", .notEmpty)
    var path = ShellSettings.path
    @Field("Names of variables that commands inherit from errand's own environment, such as SSH_AUTH_SOCK.")
    var inherit = ["HOME"]
    @Field(
      "The folder that commands work in, relative to errand.yaml's folder; absent means errand.yaml's folder.",
      .notEmpty)
    var folder: String?
    @Field("The most bytes that a command may write to each of its outputs.", .range(1...64 << 20))
    var maxOutputBytes = 1 << 20
    @Field("How long a command may take to end after it is asked to, before it is killed.", .min(.zero))
    var grace = TimeSpan.seconds(5)
    @Field("Whether to run all commands, or only commands that compute and read; others then do nothing and succeed.")
    var runs = CommandsRun.all
    @Field("Address of a sandbox that decides before each command whether it fails.", .pattern(.baseURL))
    var faults: String?

    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> ShellService {
    var environment = ["PATH": configuration.path, "LANG": "C.UTF-8"]
    for name in configuration.inherit where !name.utf8.contains(0) {
      environment[name] = getenv(name).map { String(cString: $0) }
    }
    let settings = ShellSettings(
      environment: environment, maxOutputBytes: configuration.maxOutputBytes, grace: configuration.grace)
    let client = ShellClient(settings) { words, result, duration in
      var (code, bytes): (Int?, Int) = (nil, 0)
      if case .success(let result) = result { (code, bytes) = (result.exitCode, result.output.count) }
      if case .failure(let error) = result, case .exited(let exit) = error.kind { code = exit }
      context.record(
        ServiceRequest(
          method: "RUN", redactedURL: displayed(words), status: code, bytes: bytes, duration: duration))
    }
    return ShellService(
      client: client, files: LocalFiles(folder: configuration.folder),
      faults: configuration.faults.map { CommandFaults($0) }, runs: configuration.runs)
  }
}

/// The commands that a connection runs.
enum CommandsRun: String, Choice { case all, reads }

/// The service of the action: the client, the folder of commands, and the kinds of commands to run.
public struct ShellService: Sendable {
  let client: any CommandRunning
  let files: LocalFiles
  let faults: CommandFaults?
  let runs: CommandsRun
}

/// A command line for people, shortened if it is long; words that a shell would split or expand are quoted.
func displayed(_ words: [String]) -> String {
  words.map { word in
    let isPlain =
      !word.isEmpty && word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"'\"\\$`*?[]{}()<>|&;~#!".utf8.contains($0) }
    return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
  }.joined(separator: " ").excerpt(300)
}

extension ShellError: ActionErrorConvertible {
  /// The error as the runs see it.
  public var actionError: ActionError {
    switch kind {
    case .invalid: ActionError(.configuration, message)
    case .notStarted: ActionError(.plugin, message, effect: ActionError.Effect.none)
    // The command reported its failure itself, and may have changed things; it may succeed the next time.
    case .exited: ActionError(.plugin, message, detail: detail, retryable: true, effect: .done)
    case .signalled, .tooMuchOutput, .lost: ActionError(.plugin, message, detail: detail, effect: .unknown)
    case .cancelled: ActionError(.cancelled, message, detail: detail, effect: .unknown)
    }
  }
}

extension ShellPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal] {
    var refusals = LocalFiles.refusals(
      of: [input["folder"]], on: connection.map { LocalFiles(folder: $0.folder) }, in: context,
      isFolder: true)
    let program = input["program"].map { $0.string ?? "a program" } ?? "sh"
    for argument in input["arguments"]?.list ?? [] {
      guard let fault = ShellClient.fault(ofArgument: argument.string ?? "", of: program) else { continue }
      refusals.append(Refusal(fault.actionError, of: argument))
    }
    for variable in ["environment", "secretEnvironment"].flatMap({ input[$0]?.map?.members ?? [] }) {
      guard let fault = ShellClient.fault(ofVariable: variable.name ?? "", variable.value.string ?? "") else {
        continue
      }
      refusals.append(Refusal(fault.actionError, of: variable.key))
    }
    return refusals
  }
}
