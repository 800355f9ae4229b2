import Basics
import Recipes
import RunState
import Runs

// How many runs of a group may be open at once.
//
// A group is named by the recipes that belong to it, and its limit is that of the run which wants to begin. Every open
// run of the group counts that has begun: one that waits for days too, and one that is paused or uncertain. A run for
// which there is no place does what its recipe says:
//
//     queue         stays queued, with a reason that names the runs in its way, and begins when one of them ends;
//                   the oldest first
//     skip          ends as skipped, at once
//     cancelOldest  cancels the oldest open ones, queued ones included, until there is a place, and queues for it

extension RunHost {
  /// The open runs of a run's group, oldest first, without itself.
  private func others(of run: RunRecord) -> [RunRecord] {
    guard let group = run.origin.group else { return [] }
    return store.openRuns.filter { $0.id != run.id && $0.origin.group?.name.hasSameScalars(as: group.name) == true }
  }

  /// Whether a run has had its place; one that is queued again, because what was uncertain is resolved, keeps it.
  private func hasBegun(_ run: RunRecord) -> Bool {
    run.status != .queued || !run.steps.isEmpty || active[run.id] != nil
  }

  /// Those in the way of a run: what has begun, and what this program has to begin earlier.
  private func ahead(of run: RunRecord, among others: [RunRecord]) -> [RunRecord] {
    others.filter { hasBegun($0) || hosted.contains($0.id) && $0.id.precedesByScalars(run.id) }
  }

  /// Whether the limit of its group lets a run begin.
  func hasPlace(_ run: RunRecord) -> Bool {
    guard let group = run.origin.group, !hasBegun(run), run.pendingCancel == nil else { return true }
    return ahead(of: run, among: others(of: run)).count < group.limit
  }

  /// Whether a run may begin now; if not, what becomes of it is on disk.
  func isAdmitted(_ run: RunRecord) async -> Bool {
    guard let group = run.origin.group, !hasPlace(run) else { return true }
    let others = others(of: run)
    if group.onLimit == Recipe.ConcurrencyGroup.OnLimit.skip.rawValue, others.count >= group.limit {
      let error = RunError(.conflict, "the group '\(group.name)' is full: \(RunHost.named(others, of: group))")
      try? await append([.runEnded(RunEnded(run: run.id, at: time.now(), status: .skipped, error: error))])
      return false
    }
    let reason =
      "waits for its group '\(group.name)': \(RunHost.named(ahead(of: run, among: others), of: group))"
    if run.reason != reason {
      try? await append([
        .runStatusChanged(RunStatusChanged(run: run.id, at: time.now(), status: .queued, reason: reason))
      ])
    }
    if group.onLimit == Recipe.ConcurrencyGroup.OnLimit.cancelOldest.rawValue {
      let surplus = others.filter { $0.id.precedesByScalars(run.id) }.prefix(max(0, others.count - group.limit + 1))
      for other in surplus where other.pendingCancel == nil {
        _ = try? await cancel(other.id, reason: "the run \(run.id) of its group '\(group.name)' takes its place")
      }
      // Those that were only queued have left at once.
      if let run = store.run(run.id) { return hasPlace(run) }
    }
    return false
  }

  private static func named(_ runs: [RunRecord], of group: RunGroup) -> String {
    let names = runs.prefix(3).map { "\($0.recipe) \($0.id) (\($0.status.rawValue))" }.joined(separator: ", ")
    let more = runs.count > 3 ? " and \(runs.count - 3) more" : ""
    return "\(names)\(more) \(runs.count == 1 ? "is" : "are") open, of which there may be \(group.limit) at once"
  }

  /// Has the oldest queued runs of a group begin that a run has left.
  func admitNext(inGroupOf run: RunRecord) async {
    for other in others(of: run) where hosted.contains(other.id) && !hasBegun(other) {
      guard let other = store.run(other.id), hasPlace(other) else { continue }
      try? await carryOn(other.id)
    }
  }
}
