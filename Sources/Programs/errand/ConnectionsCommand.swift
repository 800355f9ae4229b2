import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations

/// `errand connections`: lists the connections and the secrets that are needed, without values.
struct ConnectionsCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let answer = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.ask(ListConnections())
    }
    if asJSON {
      try await show(answer, to: ListConnections.self)
      return .done
    }
    guard !answer.connections.isEmpty || !answer.secrets.isEmpty else {
      console.say("errand.yaml has no connections, and no secret is needed")
      return .done
    }
    let clock = session.workspace.wallClock(session.time.now())
    if !answer.connections.isEmpty {
      let rows = answer.connections.map { connection -> [String] in
        [
          connection.name.safe, connection.plugin.safe, connection.address?.safe ?? "", connection.limits,
          connection.note(clock),
          connection.recipes.map(\.safe).joined(separator: ", "),
        ]
      }
      console.out(
        console.table(
          ["CONNECTION", "PLUGIN", "ADDRESS", "LIMITS", "NOTE", "RECIPES"], rows,
          cutFirst: ["RECIPES", "LIMITS", "ADDRESS", "NOTE"]))
    }
    if answer.secrets.isEmpty { return .done }
    if !answer.connections.isEmpty { console.out("") }
    let rows = answer.secrets.map { secret in
      [
        secret.name.safe, secret.words, secret.connections.map(\.safe).joined(separator: ", "),
        secret.recipes.map(\.safe).joined(separator: ", "),
      ]
    }
    console.out(
      console.table(["SECRET", "COMES FROM", "CONNECTIONS", "RECIPES"], rows, cutFirst: ["RECIPES", "CONNECTIONS"]))
    for secret in answer.secrets {
      if let fault = secret.fault { console.error("'\(secret.name.safe)' is unavailable: \(fault.safe)") }
    }
    return .done
  }
}

extension ConnectionRecord {
  /// Whether its service has asked for a pause that isn't over.
  fileprivate func note(_ clock: WallClock) -> String {
    guard let heldUntil, heldUntil > clock.now else { return "" }
    return "refuses until \(clock.date(heldUntil))"
  }

  /// Its limits, such as `4 at once, 60 per 1 min`.
  fileprivate var limits: String {
    let rate = requests.map { "\($0) per \(per?.inWords ?? "second")" }
    return [maxParallel.map { "\($0) at once" }, rate].compactMap(\.self).joined(separator: ", ")
  }
}

extension SecretRecord {
  /// Its source, or why there is none.
  fileprivate var words: String {
    switch status {
    case .found: source?.safe ?? "found"
    case .notAsked: "\(source?.safe ?? "a command"), not asked"
    case .missing: "missing"
    case .unavailable: "unavailable"
    }
  }
}
