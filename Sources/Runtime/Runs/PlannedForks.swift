// How what goes on side by side is planned.
//
// Branches, and items of a loop with `maxParallel`, are planned in the order of the text, but the run may do them in any.
// So a read in one of them is not done if another may write there, wherever that stands. What the others write is known
// only once they are planned: the outermost fork is planned again until nothing that was read or told in it depends on
// what was found to be written beside it. What was once found stays, so that each round reads less than the one before,
// and after some rounds whatever is in a fork counts as written beside.
//
// The items of a list that is not known are planned once for all; whatever one of them writes is there for the others,
// also when they come one after another.
//
// A failure ends what goes on beside it, sooner or later. So what is beside it is marked with it.
import ActionKit
import Basics
import RunState

/// What is known of the outermost fork that is being planned, if one is.
struct PlannedFork {
  /// What a plan takes to be as it is now.
  private struct Reliance {
    var resources: [Resource]
    var strand: Strand
    /// What a write tells to change, and its plugin; nil for a read.
    var subject: (name: String, plugin: String)?
    /// Whether that may be otherwise if something fails.
    var isDoubted = false
  }

  fileprivate var isPlanned = false
  /// What is written in any of its branches, in this round or an earlier one.
  private var changes = PlannedChanges()
  /// What may be written beside it, by the failures that lead to it.
  private var otherChanges = PlannedChanges()
  private var reliances: [Reliance] = []
  /// Which branches but the first failed, and where, in the last round and in this one.
  private var oldFailures: [StepPath: [Int: StepPath]] = [:]
  private var failures: [StepPath: [Int: StepPath]] = [:]

  mutating func note(
    _ name: String, of plugin: String, on resources: [Resource], told: [Change]?, in strand: Strand, isOther: Bool
  ) {
    if strand.isEmpty { return }
    if isOther {
      otherChanges.note(name, of: plugin, on: resources, told: told, isCertain: false, in: strand)
    } else {
      changes.note(name, of: plugin, on: resources, told: told, isCertain: false, in: strand)
    }
  }

  /// Takes what is read for what it will be.
  mutating func rely(on reads: [Resource], isDoubted: Bool, in strand: Strand) {
    if !strand.isEmpty { reliances.append(Reliance(resources: reads, strand: strand, isDoubted: isDoubted)) }
  }

  /// Takes what a write tells to change for what it will be.
  mutating func rely(on subject: String, of plugin: String, on resources: [Resource], in strand: Strand) {
    if strand.isEmpty { return }
    reliances.append(Reliance(resources: resources, strand: strand, subject: (subject, plugin)))
  }

  func writer(beside strand: Strand, of reads: [Resource]) -> String? { changes.writer(beside: strand, of: reads) }

  func otherWriter(beside strand: Strand, of reads: [Resource]) -> String? {
    otherChanges.writer(beside: strand, of: reads)
  }

  func writer(beside strand: Strand, of subject: String, _ plugin: String, on resources: [Resource]) -> String? {
    changes.writer(beside: strand, of: subject, plugin, on: resources)
  }

  mutating func noteFailure(of branch: Int, of fork: StepPath, at path: StepPath) {
    if branch > 0 { failures[fork, default: [:]][branch] = path }
  }

  /// Where a later branch fails, as far as the last round told.
  func failure(after branch: Int, of fork: StepPath) -> StepPath? {
    oldFailures[fork]?.filter { $0.key > branch }.min { $0.key < $1.key }?.value
  }

  /// Whether something was taken to be as it is now, or to come for sure, that need not.
  private var isStale: Bool {
    failures != oldFailures
      || reliances.contains { reliance in
        if let subject = reliance.subject {
          return writer(beside: reliance.strand, of: subject.name, subject.plugin, on: reliance.resources) != nil
        }
        return writer(beside: reliance.strand, of: reliance.resources) != nil
          || !reliance.isDoubted && otherWriter(beside: reliance.strand, of: reliance.resources) != nil
      }
  }

  /// Ends a round; gives whether there has to be another.
  mutating func endRound(_ number: Int, of fork: StepPath) -> Bool {
    guard isStale, number <= PlannedFork.mostRounds else { return false }
    if number == PlannedFork.mostRounds {
      changes.note(
        fork, of: "", on: [.everything], told: nil, isCertain: false, in: Strand().inside(nil, of: fork))
    }
    oldFailures = failures
    failures = [:]
    reliances = []
    return true
  }

  /// After so many rounds whatever is in a fork counts as written beside.
  private static let mostRounds = 4
}

extension Planner {
  /// Plans what forks, again if what it relies on is written beside.
  func forking<Result>(
    at path: StepPath, _ body: () async throws(StepInterruption) -> Result
  ) async throws(StepInterruption) -> Result {
    // What forks inside is planned again with what is around it.
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

  /// Plans one branch of what forks, or all that there may be of a kind if they have no number.
  ///
  /// - Parameter failed: Where something beside it fails, which may end it before.
  func branch<Result>(
    _ number: Int?, of path: StepPath, unless failed: StepPath? = nil,
    _ body: () async throws(StepInterruption) -> Result
  ) async throws(StepInterruption) -> Result {
    let (outer, depth) = (strand, conditions.count)
    strand = outer.inside(number, of: path)
    if let failed { conditions.append("unless '\(failed)' fails first") }
    defer {
      strand = outer
      conditions.removeSubrange(depth...)
    }
    return try await body()
  }
}
