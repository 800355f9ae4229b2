import Basics
import RunState

/// Takes over the runs that an agent finds in its state.
enum RunRecovery {
  /// Has a host go on with what was going on, and wait for what waits; gives the runs that only a person has go on.
  ///
  /// - Parameter folder: Where an agent that brought itself down left its mark, which is taken away.
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
      case .paused: if (try? await host.carryOn(id, isAsked: true)) == nil, let run = store.run(id) { left.append(run) }
      case .waiting where run.pendingCancel == nil && !run.hasNews(events):
        host.change(id) { $0.host() }
        host.clock.set(.run(id), at: run.wakeAt)
      default: if (try? await host.carryOn(id)) == nil, let run = store.run(id) { left.append(run) }
      }
    }
    return left
  }
}
