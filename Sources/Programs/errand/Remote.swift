import Agent
import AgentClient
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import RunState
import SecretSources

// `--remote URL`: the commands that ask an agent ask one elsewhere.
extension Dispatch {
  /// The address of the agent elsewhere, if one is asked.
  private var remoteAddress: String? { parsed["remote"].text ?? String(environment: "ERRAND_REMOTE").filled }

  /// The agent elsewhere that the command asks, if any.
  ///
  /// A token is never an argument, which every account of the machine could read.
  func remoteAgent() async throws(RuntimeError) -> RemoteAgent? {
    guard let address = remoteAddress else {
      if let option = ["token-file", "token-secret"].first(where: { parsed[$0].isGiven }) {
        throw RuntimeError(.usage, "--\(option) belongs to --remote")
      }
      return nil
    }
    return try RemoteAgent(
      address, token: try await remoteToken(), program: "errand \(version)",
      patience: WirePatience(time: SystemTime()) { [console] in console.say($0.safeText()) })
  }

  private func remoteToken() async throws(RuntimeError) -> String {
    if let name = parsed["token-secret"].text {
      if parsed["token-file"].isGiven {
        throw RuntimeError(.usage, "--token-file and --token-secret each name the token; leave one out")
      }
      let workspace = try Workspace(
        catalog: catalog, configurationPath: parsed["config"].text, stateFolder: nil, show: console.show)
      return try await RemoteAgent.token(named: name, from: workspace.secretSources())
    }
    if let path = parsed["token-file"].text { return try RemoteAgent.token(inFile: path) }
    if let token = String(environment: "ERRAND_TOKEN").filled {
      return try RemoteAgent.sound(token, of: "$ERRAND_TOKEN")
    }
    if let path = String(environment: "ERRAND_TOKEN_FILE").filled { return try RemoteAgent.token(inFile: path) }
    throw RuntimeError(
      .usage,
      "--remote needs a token; name a file of mode 0600 with --token-file or $ERRAND_TOKEN_FILE, or a secret with --token-secret, or set $ERRAND_TOKEN"
    )
  }

  /// Refuses `--remote` of a command that asks no agent, or only its own.
  func refuseRemote() throws(RuntimeError) {
    guard parsed["remote"].isGiven, let command = parsed.command.first else { return }
    switch command {
    case "run", "runs", "schedule", "token", "why", "status", "reload", "recipes", "connections", "workers": return
    case "plan" where parsed["show"].isGiven: return
    case "graph" where !isRecipeFile(parsed["subject"].text ?? ""): return
    case "serve", "state", "doctor", "form":
      throw RuntimeError(
        .usage,
        "'errand \(command)' works on the agent's own state; run it on the agent's machine, as the agent's account, without --remote"
      )
    case "mcp":
      throw RuntimeError(
        .usage,
        "an assistant reaches an agent elsewhere itself, at \(parsed["remote"].text ?? "")/mcp with a token; leave out --remote"
      )
    case "open":
      throw RuntimeError(
        .usage,
        "open \(parsed["remote"].text ?? "") in a browser, and log in there with a token; --remote opens no page")
    default:
      throw RuntimeError(.usage, "'errand \(command)' works on files here and asks no agent; leave out --remote")
    }
  }
}

extension RunCommand {
  /// Starts a recipe that an agent elsewhere serves, and follows the run.
  func run(at remote: RemoteAgent) async throws(RuntimeError) -> ExitCode {
    let local = ["sandbox", "set", "confirm", "plan", "record", "replay", "force"].first { parsed[$0].isGiven }
    if let local {
      throw RuntimeError(
        .usage,
        "--\(local) needs the recipe and its services in this process; leave it out, or --remote and $ERRAND_REMOTE")
    }
    let name = parsed["recipe"].text ?? ""
    guard !name.contains("/"), !name.hasSuffix(".yaml"), !name.hasSuffix(".yml") else {
      let stem = (name.split(separator: "/").last ?? "").prefix { $0 != "." }
      throw RuntimeError(
        .usage,
        "with --remote, 'errand run' starts a recipe that is served there, by its name: 'errand run \(stem)'; a file is run here, without --remote and $ERRAND_REMOTE"
      )
    }
    let (inputs, texts) = try dispatch.sentInputs()
    let key = try dispatch.runKey()
    let request = StartRun.with {
      $0.recipe = name
      $0.inputs = inputs
      $0.texts = texts
      $0.key = key
    }
    let session = try await dispatch.session(
      format: parsed["log-format"].text.flatMap(ProgressDisplay.Format.init(rawValue:)) ?? .text)
    let accepted = try await session.access.asking { requests throws(RuntimeError) in try await requests.ask(request) }
    let (run, known) = (accepted.run, accepted.known)
    if let known { session.tellOfKey(run, known) }
    guard parsed["detach"].isGiven else { return try await session.follow(run, at: remote, asJSON: asJSON) }
    console.out(run)
    if known?.isEnded != true {
      console.say("the agent has it; follow it with: \(remote.command) runs follow \(run)")
    }
    return .done
  }
}

extension RemoteAgent {
  /// How a command for this agent begins.
  var command: String { "errand --remote \(url.shellQuoted)" }
}

extension String? {
  /// The text, unless it is empty.
  fileprivate var filled: String? { flatMap { $0.isEmpty ? nil : $0 } }
}
