// How parallel steps are planned.
//
// Branches, and items of a loop with `maxParallel`, are planned in the order of the text, but the run may do them in
// any order. So a read in one of them isn't done if another may write there, wherever that write is. The writes of the
// others are known only once they are planned: the outermost fork is planned again until nothing that was read or
// declared in it depends on a write found beside it. Findings are kept, so that each round reads less than the one
// before; after some rounds, everything in a fork counts as written beside it.
//
// The items of an unknown list are planned once for all; a write of one item counts for the others too, even if they
// run one after another.
//
// A failure ends the work beside it, sooner or later, so everything beside it is marked with it.
import ActionKit
import Basics
import RunState

/// The findings about the outermost fork being planned, if there is one.
struct PlannedFork {
  /// Something that the plan assumes to be as it is now.
  private struct Reliance {
    var resources: [Resource]
    var position: ConcurrencyPosition
    /// The subject that a write declares to change, and its plugin; nil for a read.
    var subject: (name: String, plugin: String)?
    /// Whether that may differ if something fails.
    var isDoubted = false
  }

  fileprivate var isPlanned = false
  /// The writes in any of its branches, in this round or an earlier one.
  private var changes = PlannedChanges()
  /// The writes that may be done in addition, noted under the failure that leads to them.
  private var otherChanges = PlannedChanges()
  private var reliances: [Reliance] = []
  /// Which branches but the first failed, and where, in the last round and in this one.
  private var oldFailures: [StepPath: [Int: StepPath]] = [:]
  private var failures: [StepPath: [Int: StepPath]] = [:]

  mutating func note(
    _ name: String, of plugin: String, on resources: [Resource], told: [Change]?, in position: ConcurrencyPosition,
    isOther: Bool
  ) {
    if position.isEmpty { return }
    if isOther {
      otherChanges.note(name, of: plugin, on: resources, told: told, isCertain: false, in: position)
    } else {
      changes.note(name, of: plugin, on: resources, told: told, isCertain: false, in: position)
    }
  }

  /// Assumes that the run will read the same.
  mutating func rely(on reads: [Resource], isDoubted: Bool, in position: ConcurrencyPosition) {
    if !position.isEmpty { reliances.append(Reliance(resources: reads, position: position, isDoubted: isDoubted)) }
  }

  /// Assumes that a write will change its subject as the plan shows.
  mutating func rely(on subject: String, of plugin: String, on resources: [Resource], in position: ConcurrencyPosition)
  {
    if position.isEmpty { return }
    reliances.append(Reliance(resources: resources, position: position, subject: (subject, plugin)))
  }

  func writer(beside position: ConcurrencyPosition, of reads: [Resource]) -> String? {
    changes.writer(beside: position, of: reads)
  }

  func otherWriter(beside position: ConcurrencyPosition, of reads: [Resource]) -> String? {
    otherChanges.writer(beside: position, of: reads)
  }

  func writer(beside position: ConcurrencyPosition, of subject: String, _ plugin: String, on resources: [Resource])
    -> String?
  {
    changes.writer(beside: position, of: subject, plugin, on: resources)
  }

  mutating func noteFailure(of branch: Int, of fork: StepPath, at path: StepPath) {
    if branch > 0 { failures[fork, default: [:]][branch] = path }
  }

  /// Where a later branch failed in the last round.
  func failure(after branch: Int, of fork: StepPath) -> StepPath? {
    oldFailures[fork]?.filter { $0.key > branch }.min { $0.key < $1.key }?.value
  }

  /// Whether an assumption doesn't hold.
  private var isStale: Bool {
    failures != oldFailures
      || reliances.contains { reliance in
        if let subject = reliance.subject {
          return writer(beside: reliance.position, of: subject.name, subject.plugin, on: reliance.resources) != nil
        }
        return writer(beside: reliance.position, of: reliance.resources) != nil
          || !reliance.isDoubted && otherWriter(beside: reliance.position, of: reliance.resources) != nil
      }
  }

  /// Ends a round; true if another one is needed.
  mutating func endRound(_ number: Int, of fork: StepPath) -> Bool {
    guard isStale, number <= PlannedFork.mostRounds else { return false }
    if number == PlannedFork.mostRounds {
      changes.note(
        fork, of: "", on: [.everything], told: nil, isCertain: false, in: ConcurrencyPosition().inside(nil, of: fork))
    }
    oldFailures = failures
    failures = [:]
    reliances = []
    return true
  }

  /// After this many rounds, everything in a fork counts as written beside it.
  private static let mostRounds = 4
}

extension Planner {
  /// Plans a fork, and plans it again if something that it relies on is written beside it.
  func forking<Result>(
    at path: StepPath, _ body: () async throws(StepInterruption) -> Result
  ) async throws(StepInterruption) -> Result {
    // A fork inside another is planned again with the outer one.
    if fork.isPlanned { return try await body() }
    fork.isPlanned = true
    let before = progress
    defer { fork = PlannedFork() }
    var number = 1
    while true {
      let result: Swift.Result<Result, StepInterruption>
      do throws(StepInterruption) { result = .success(try await body()) } catch { result = .failure(error) }
      guard fork.endRound(number, of: path) else { return try result.get() }
      progress = before
      number += 1
    }
  }

  /// Plans one branch of a fork, or all branches of a kind if they have no number.
  ///
  /// - Parameter failed: Where a failure beside it may end it before.
  func branch<Result>(
    _ number: Int?, of path: StepPath, unless failed: StepPath? = nil,
    _ body: () async throws(StepInterruption) -> Result
  ) async throws(StepInterruption) -> Result {
    let (outer, depth) = (position, conditions.count)
    position = outer.inside(number, of: path)
    if let failed { conditions.append("unless '\(failed)' fails first") }
    defer {
      position = outer
      conditions.removeSubrange(depth...)
    }
    return try await body()
  }
}
