package import Basics
package import RunState
import Runs

/// Follows a run that another program holds, by reading its log.
package struct RunElsewhere {
  private let id: String
  private let store: any StateStore
  private let time: any TimeSource
  private var seen: [StepPath: StepStatus] = [:]
  private var waits: (reason: String?, until: Timestamp?)?

  /// The pause between looks, and so the longest delay of an update.
  private static let pause = TimeSpan.seconds(1)

  package init(_ id: String, _ store: any StateStore, time: any TimeSource) {
    (self.id, self.store, self.time) = (id, store, time)
  }

  /// Reports the run's events from now on, until the run is over, needs a person, or is held here.
  package mutating func follow(_ tell: (RunUpdate) async -> Void) async {
    guard let run = await store.openRun(id) else { return }
    for step in run.steps { seen[step.path] = step.status }
    while !Task.isCancelled, store.run(id) == nil, let run = await store.openRun(id) {
      for update in updates(of: run) { await tell(update) }
      if run.isParked { return }
      do { try await time.sleep(for: RunElsewhere.pause) } catch { return }
    }
    // The events since the last look.
    var last = store.run(id)
    if last == nil { last = try? await store.finishedRun(id) }
    if let last, !Task.isCancelled { for update in updates(of: last) { await tell(update) } }
  }

  /// The updates since the last look at the run.
  private mutating func updates(of run: RunRecord) -> [RunUpdate] {
    var updates: [RunUpdate] = []
    for step in run.steps where seen[step.path] != step.status {
      let (path, title) = (step.path, step.path.displayed)
      if seen.updateValue(step.status, forKey: path) == nil {
        updates.append(.progress(.stepBegan(path: path, title: title, depth: 0)))
      }
      if step.status == .waiting, let wait = step.wait {
        updates.append(.progress(.stepWaits(path: path, title: title, depth: 0, wait: wait)))
      } else if step.status.isEnded {
        let took = step.endedAt?.span(since: step.startedAt) ?? .zero
        updates.append(
          .progress(
            .stepEnded(
              path: path, title: title, depth: 0, status: step.status, took: took, error: step.error, isReplayed: false)
          ))
      }
    }
    let isWaiting = run.status == .waiting || run.status == .queued
    if isWaiting, waits.map({ $0 != (run.reason, run.wakeAt) }) ?? true { updates.append(.waits(run)) }
    waits = isWaiting ? (run.reason, run.wakeAt) : nil
    return updates
  }
}

extension RunRecord {
  /// Whether only a person can resume the run.
  package var isParked: Bool { status == .paused && pendingCancel == nil || status == .uncertain }
}
