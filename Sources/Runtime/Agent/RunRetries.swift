// Retrying an ended run.
//
// The new run has the texts, inputs and overrides of the old one, so that it is the same recipe even if the file has
// changed. Its finished parts, at any depth, are kept and never repeated (`TakenOver`). If the answer of a write didn't
// fit its shape, the answer is checked again, unless a person gives the output of the write: then the write has
// succeeded with it.
package import Basics
import Recipes
package import RunState
import Runs
import Synchronization

/// The output that a person gives for a write whose answer didn't fit its shape.
package struct GivenOutput: Sendable {
  /// The write; nil if there is only one.
  var step: StepPath?
  var value: Value
  /// Who says it, if known.
  var by: String?

  package init(step: StepPath?, value: Value, by: String?) {
    self.step = step
    self.value = value
    self.by = by
  }
}

/// Tries ended runs again.
package final class RunRetries: Sendable {
  private let keeper: RunKeeper
  private let prepare: @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  /// The runs that are being tried again at this moment.
  private let retried = Mutex<Set<String>>([])

  init(
    _ keeper: RunKeeper, _ prepare: @escaping @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  ) {
    self.keeper = keeper
    self.prepare = prepare
  }

  /// Accepts a run that retries an ended one; it is on disk when this returns, and still has to be started.
  ///
  /// - Parameters:
  ///   - key: The key of the request, which the run gets in place of the old one's.
  ///   - asked: The cause, with who asked.
  package func retry(
    _ ended: RunRecord, as id: String, program: String, given: GivenOutput? = nil, key: RunKey? = nil,
    asked: RunCause = RunCause(.retry)
  ) async throws(RunRefusedError) -> RunCreated {
    guard ended.status.isEnded else {
      let way =
        ended.status == .uncertain
        ? "tell what happened: errand runs resolve \(ended.id) STEP" : "resume it: errand runs resume \(ended.id)"
      throw RunRefusedError("the run \(ended.id) is not over (\(ended.status.rawValue)); \(way)")
    }
    if let erased = ended.erasedAt {
      throw RunRefusedError(
        "the data of the run \(ended.id) was erased on \(erased.description.prefix(10)), so it cannot be retried; start a new one"
      )
    }
    guard ended.status != .succeeded else {
      throw RunRefusedError(
        "the run \(ended.id) has succeeded, so there is nothing to retry; start a new one")
    }
    // A second run would take over the same, and do once more what the first has done since.
    guard retried.withLock({ $0.insert(ended.id).inserted }) else {
      throw RunRefusedError(
        "the run \(ended.id) is being retried at this moment; errand runs list shows as which run")
    }
    defer { retried.withLock { _ = $0.remove(ended.id) } }
    if let (later, status) = try await retry(of: ended) {
      throw RunRefusedError(
        "the run \(ended.id) was retried as \(later) (\(status.rawValue)), which kept what succeeded; "
          + (status == .succeeded
            ? "start a new one"
            : "\(status.isEnded ? "retry" : "resume") that: errand runs \(status.isEnded ? "retry" : "resume") \(later)")
      )
    }
    let prepared = try await prepare(ended)
    let recipe = prepared.recipe
    var origin = ended.origin
    origin.needs = prepared.needs
    origin.run = id
    origin.at = keeper.time.now()
    origin.program = program
    origin.base = nil
    origin.cause = asked
    origin.cause.run = ended.id
    origin.attempt += 1
    // The key of a request to retry belongs to that retry alone.
    origin.key = key ?? (ended.origin.key?.request == nil ? ended.origin.key : nil)
    var taken = ended.takenOver(by: id, of: recipe, at: origin.at)
    if let given {
      try await settle(&taken, by: given, in: ended, of: recipe, at: origin.at)
    } else if let step = taken.lazy.compactMap(\.stepWithUnusableAnswer).first {
      throw RunRefusedError(
        "'\(step.displayed)' was done, but its answer can't be used, and a retry doesn't do it again; say what it gave: "
          + "errand runs retry \(ended.id) \(step.displayed.shellQuoted) --output "
          + (recipe.outputTemplate(ofStepAt: step).map(\.shellQuoted) ?? "JSON"))
    }
    do throws(StateError) { try await keeper.append([keeper.creation(of: origin)] + taken) } catch {
      throw RunRefusedError(error.message)
    }
    return origin
  }

  /// Replaces the stored answer of a write by the end of its attempt, with the output that a person gives.
  private func settle(
    _ events: inout [StateEvent], by given: GivenOutput, in ended: RunRecord, of recipe: Recipe, at now: Timestamp
  ) async throws(RunRefusedError) {
    let answered = events.enumerated().compactMap { index, event in
      if case .attemptEnded(let end) = event { (index: index, end: end) } else { nil }
    }
    let paths = joined(answered.map { "'\($0.end.step.displayed)'" })
    guard !answered.isEmpty else {
      throw RunRefusedError(
        "no write of the run \(ended.id) gave an answer that can't be used, so a retry takes no output")
    }
    let named = answered.filter { answer in given.step.map { $0.hasSameScalars(as: answer.end.step.displayed) } ?? true
    }
    guard let answer = named.first, named.count == 1 else {
      throw RunRefusedError(
        given.step.map { "the answer of '\($0)' isn't one that can't be used; these are: \(paths)" }
          ?? "say which step gave the output; these gave answers that can't be used: \(paths)")
    }
    let end = answer.end
    var settled = StepEnded(
      run: end.run, at: end.at, step: end.step, attempt: end.number, status: .succeeded, exchanges: end.exchanges)
    do {
      settled.output = try await keeper.store.keep(try recipe.output(given.value, ofStepAt: end.step))
    } catch {
      let message = (error as? ResolutionError)?.message ?? (error as? StateError)?.message
      throw RunRefusedError(message ?? "\(error)")
    }
    settled.resolution = ResolutionRecord(choice: "done", by: given.by, at: now, doubt: nil)
    events[answer.index] = .stepEnded(settled)
  }

  /// The run that tried an ended one again.
  private func retry(of ended: RunRecord) async throws(RunRefusedError) -> (String, RunStatus)? {
    if let run = await keeper.store.openRuns(OpenRunQuery(retryOf: ended.id)).first { return (run.id, run.status) }
    do throws(StateError) {
      return try await keeper.store.finishedRuns(HistoryQuery(limit: 1, recipe: ended.recipe, retryOf: ended.id)).first
        .map { ($0.id, $0.status) }
    } catch {
      throw RunRefusedError(error.message)
    }
  }
}

extension StateEvent {
  /// The step that a retry keeps as done, though nothing of its answer was kept.
  fileprivate var stepWithUnusableAnswer: StepPath? {
    if case .attemptEnded(let end) = self, end.answer == nil { end.step } else { nil }
  }
}
