// How many runs of a group may be open at once.
//
// Recipes name the group that they belong to, and the run that wants to begin gives the limit. Every open run of the
// group that has begun counts: one that waits for days too, and one that is paused or uncertain. If there is no place
// for a run, its recipe decides:
//
//     queue         stays queued, with a reason that names the runs in its way, and begins when one of them ends;
//                   the oldest first
//     skip          ends as skipped, at once
//     cancelOldest  cancels the oldest open ones, queued ones included, until there is a place, and queues for it
import Basics
import Recipes
import RunState
import Runs

/// Begins runs as the limits of their groups allow.
enum RunGroups {
  /// Whether a run may begin now; if not, the reason or the end of the run is on disk.
  static func isAdmitted(_ run: RunRecord, by host: isolated RunHost) async -> Bool {
    if await hasEntered(run, by: host) == true { return true }
    switch await GroupPlace(of: run, in: host).admission {
    case .begins: return true
    case .skipped(let error):
      await host.keeper.end(run, as: .skipped, error)
      return false
    case .queued(let reason, let cancelling):
      if run.reason != reason { try? await host.keeper.hold(run.id, as: .queued, reason) }
      guard let cancelling, let group = run.origin.group else { return false }
      for other in cancelling {
        // A caller who sees only the run's recipe must not learn of another.
        let whose = other.recipe == run.recipe ? "the run \(run.id)" : "a run of another recipe"
        _ = try? await host.cancel(other.id, reason: "\(whose) of its group '\(group.name)' takes its place")
      }
      // Cancelled runs that were only queued have ended at once.
      guard let run = host.store.run(run.id) else { return false }
      if let hasEntered = await hasEntered(run, by: host) { return hasEntered }
      return await GroupPlace(of: run, in: host).isFree
    }
  }

  /// Whether a run has its place in its group, counted where all programs count; nil where this program counts alone.
  private static func hasEntered(_ run: RunRecord, by host: isolated RunHost) async -> Bool? {
    guard let sharing = host.store.sharing, let group = run.origin.group, run.pendingCancel == nil else { return nil }
    // If the state is away now, the next look asks again.
    return (try? await sharing.enter(run, in: group)) ?? false
  }

  /// Begins the oldest queued runs of a group after a run has left the group.
  static func admitNext(after run: RunRecord, by host: isolated RunHost) async {
    if let sharing = host.store.sharing {
      if run.origin.group != nil { await sharing.wakeQueued() }
      return
    }
    // Each looks again when it begins, because others may have come meanwhile.
    for other in await GroupPlace(of: run, in: host).next where host.store.run(other.id) != nil {
      try? await host.continueRun(other.id)
    }
  }
}

/// The place of a run in its group.
///
/// A store of one machine answers at once, so that nothing changes between a look at the group and the host's next
/// action. In a shared state the place is taken in the database, and this only gives the reason if there was none.
struct GroupPlace {
  /// The decision on a run that is to begin.
  enum Admission {
    case begins
    case skipped(RunError)
    /// - Parameter cancelling: The runs that are to end for it.
    case queued(reason: String, cancelling: [RunRecord]?)
  }

  private let run: RunRecord
  /// The other open runs of the group, oldest first.
  let others: [RunRecord]
  /// The runs in its way: the runs of the group that have begun, and older ones that this program has to begin first.
  private let ahead: [RunRecord]
  private let hasBegun: Bool
  private let isShared: Bool
  /// The other runs that are queued here and have a place now, oldest first.
  ///
  /// Found in one pass, because a group may have thousands of queued runs.
  let next: [RunRecord]

  init(of run: RunRecord, in host: isolated RunHost) async {
    self.run = run
    isShared = host.store.sharing != nil
    guard let group = run.origin.group else {
      (others, ahead, next, self.hasBegun) = ([], [], [], true)
      return
    }
    let found = await host.store.openRuns(OpenRunQuery(group: group.name))
    let lives = host.lives
    // Whether a run has had its place; one that is queued again, because what was uncertain is resolved, keeps it.
    func hasBegun(_ run: RunRecord) -> Bool {
      run.status != .queued || !run.steps.isEmpty || lives[run.id]?.walk != nil
    }
    self.hasBegun = hasBegun(run)
    others = found.filter { $0.id != run.id }
    ahead = others.filter { [isShared] other in
      hasBegun(other) || (isShared || lives[other.id]?.isHosted == true) && other.id.precedesByScalars(run.id)
    }
    var count = others.count(where: hasBegun)
    var next: [RunRecord] = []
    for other in others where !hasBegun(other) && lives[other.id]?.isHosted == true {
      if other.pendingCancel != nil || count < other.origin.group?.limit ?? .max { next.append(other) }
      count += 1
    }
    self.next = next
  }

  /// Whether the limit of its group lets the run begin.
  var isFree: Bool {
    guard let group = run.origin.group, !hasBegun, run.pendingCancel == nil else { return true }
    return ahead.count < group.limit
  }

  var admission: Admission {
    guard let group = run.origin.group, isShared && run.pendingCancel == nil || !isFree else { return .begins }
    if group.onLimit == Recipe.ConcurrencyGroup.OnLimit.skip.rawValue, others.count >= group.limit {
      return .skipped(RunError(.conflict, "the group '\(group.name)' is full: \(named(others, of: group))"))
    }
    let reason = "waits for its group '\(group.name)': \(named(ahead, of: group))"
    guard group.onLimit == Recipe.ConcurrencyGroup.OnLimit.cancelOldest.rawValue else {
      return .queued(reason: reason, cancelling: nil)
    }
    let surplus = others.filter { $0.id.precedesByScalars(run.id) }.prefix(max(0, others.count - group.limit + 1))
    return .queued(reason: reason, cancelling: surplus.filter { $0.pendingCancel == nil })
  }

  /// Names the runs for readers who see only this recipe; `errand why` shows the rest to others.
  private func named(_ runs: [RunRecord], of group: RunGroup) -> String {
    let names = runs.prefix(3).map { other in
      (other.recipe == run.recipe ? "\(other.recipe) \(other.id)" : "one of another recipe")
        + " (\(other.status.rawValue))"
    }.joined(separator: ", ")
    let more = runs.count > 3 ? " and \(runs.count - 3) more" : ""
    return "\(names)\(more) \(runs.count == 1 ? "is" : "are") open, of which there may be \(group.limit) at once"
  }
}
