import ActionKit
import AgentRuntime
import Basics
import PluginList
import PluginLocks
import RecipeTesting
import Recipes

/// The checks of `errand test` on the plugins of the folder.
///
/// Each lock is as errand wrote it; its actions are documented like the program's own; and a server that is a program
/// on this machine offers the tools of its lock.
struct PluginTests {
  let workspace: Workspace
  let clock: any TimeSource
  private let locks: LockFolder

  init(_ workspace: Workspace, clock: any TimeSource) {
    self.workspace = workspace
    self.clock = clock
    locks = LockFolder(workspace.root, kinds: everyLockKind)
  }

  var names: [String] { locks.names }

  func outcome(of name: String) async -> FileOutcome {
    let began = clock.elapsed()
    var outcome = FileOutcome(file: Workspace.displayed(LockFolder.path(of: name, in: workspace.root)))
    guard let lock = locks.lock(name), let kind = everyLockKind.first(where: { $0.name == lock.kind }) else {
      let fault = locks.fault(of: name) ?? "it can't be read"
      outcome.cases = [outcomeOfCase("is as errand wrote it", [fault], since: began)]
      return outcome
    }
    outcome.cases.append(outcomeOfCase("is as errand wrote it", [], since: began))
    var review = PluginReview(isFromOutside: true)
    review.review(PluginDescriptor(LockedPlugin(lock, kind)))
    outcome.cases.append(outcomeOfCase("says what its actions do", review.faults, since: began))
    let asked = clock.elapsed()
    var context = PluginContext(connection: name, time: clock)
    context.folder = workspace.root
    do throws(PluginLockError) {
      if let drift = try await kind.drift(of: lock, settings: settings(of: name), in: context) {
        outcome.cases.append(outcomeOfCase("is what the server offers", drift, since: asked))
      }
    } catch {
      outcome.cases.append(outcomeOfCase("is what the server offers", [error.message], since: asked))
    }
    outcome.took = clock.elapsed() - began
    return outcome
  }

  private func outcomeOfCase(_ name: String, _ faults: [String], since began: TimeSpan) -> CaseOutcome {
    CaseOutcome(
      name: name, location: nil, failures: faults.map { TestFailure(fault: Diagnostic("\($0)", at: nil)) },
      took: clock.elapsed() - began)
  }

  /// The settings of the plugin's first connection, with the text `secret` for each secret: a test has none.
  private func settings(of plugin: String) -> Value {
    guard let connection = workspace.configuration.connections.first(where: { $0.plugin.hasSameScalars(as: plugin) })
    else { return .map(ValueMap()) }
    var secrets = ValueMap()
    for secret in connection.secrets { secrets[secret.name] = .string("secret") }
    return (try? connection.settings.evaluate(in: [.map(secrets)])) ?? .map(ValueMap())
  }
}
