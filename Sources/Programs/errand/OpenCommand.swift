import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import Glibc

/// `errand open`: opens the pages of the agent, by a link that works once, within a minute; or ends logins.
struct OpenCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    if parsed["everyone"].isGiven, !parsed["log-out"].isGiven {
      throw RuntimeError(.usage, "--everyone belongs to --log-out")
    }
    var session = try await dispatch.session()
    let isServed = { (requests: AgentRequests) async throws(RuntimeError) in try await requests.isServed() }
    if !parsed["state"].isGiven, session.access.remote == nil,
      let state = ServedSandboxes.state(ofFolder: session.workspace.root),
      try await !session.access.asking(isReading: true, isServed)
    {
      console.say("this folder is served in a sandbox; other commands reach it with --state \(state.shellQuoted)")
      console.say("to open it again, from any folder: \(OpenCommand.again(session.workspace, inState: state))")
      session = try await dispatch.session(inState: state)
    }
    if parsed["log-out"].isGiven {
      let isOfAll = parsed["everyone"].isGiven
      let ended = try await session.access.asking { requests throws(RuntimeError) in
        try await requests.ask(EndSessions.with { $0.all = isOfAll }).count
      }
      console.say(ended == 0 ? "there was no login to end" : "\(counted(ended, "login")) ended")
      return .done
    }
    let link = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      guard try await requests.isServed() else {
        throw RuntimeError(.unavailable, "no agent serves this folder; start one with: errand serve")
      }
      return try await requests.ask(IssueLink()).link
    }
    let hasScreen = String(environment: "DISPLAY") != nil || String(environment: "WAYLAND_DISPLAY") != nil
    guard !parsed["print"].isGiven, hasScreen, OpenCommand.show(link) else {
      console.say("This link logs you in once, within a minute:")
      console.out(link)
      return .done
    }
    console.say("opened in the browser")
    return .done
  }

  /// The whole command that opens the pages of an agent in a sandbox, whichever folder it is entered in.
  static func again(_ workspace: Workspace, inState state: String) -> String {
    let configuration = workspace.configurationPath.map { " --config \($0.shellQuoted)" } ?? ""
    return "errand\(configuration) --state \(state.shellQuoted) open"
  }

  /// Hands an address to the desktop; false if there is no program for that.
  private static func show(_ url: String) -> Bool {
    var pid = pid_t()
    var words: [UnsafeMutablePointer<CChar>?] = [strdup("xdg-open"), strdup(url), nil]
    defer { for word in words { free(word) } }
    return posix_spawnp(&pid, "xdg-open", nil, nil, &words, environ) == 0
  }
}
