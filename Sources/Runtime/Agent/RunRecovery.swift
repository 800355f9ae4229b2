import Basics
import RunState

/// Takes over the runs that an agent finds in its state.
enum RunRecovery {
  /// Resumes the runs that were under way, and waits for the waiting ones; returns the runs that only a person can
  /// resume.
  ///
  /// - Parameter folder: The folder where an agent that crashed left its mark, which is removed.
  static func recover(in folder: String?, by host: isolated RunHost) async -> [RunRecord] {
    let store = host.store
    if let folder, CrashMark.isThere(in: folder) {
      let events = await store.openRuns(OpenRunQuery(statuses: [.running])).blame(at: host.time.now())
      // A state that takes nothing more is known by then.
      if (try? await host.keeper.append(events)) != nil { CrashMark.remove(in: folder) }
    }
    var left: [RunRecord] = []
    let events = await store.events(EventQuery(isUnconsumed: true))
    for id in await store.openRuns(OpenRunQuery()).map(\.id) where !host.isWalked(id) {
      // As it is now, because people may have asked for something while those before it were prepared.
      guard let run = store.run(id) else { continue }
      switch run.status {
      case .paused where run.pendingCancel == nil && !run.hasMissingDependency, .uncertain: left.append(run)
      case .paused:
        if (try? await host.continueRun(id, isAsked: true)) == nil, let run = store.run(id) { left.append(run) }
      case .waiting where run.pendingCancel == nil && !run.hasNews(events):
        host.change(id) { $0.host() }
        host.clock.set(.run(id), at: run.wakeAt)
      default: if (try? await host.continueRun(id)) == nil, let run = store.run(id) { left.append(run) }
      }
    }
    return left
  }
}
