// The records that a new run keeps from the ended run that it retries.
//
// The new run gets the records that the old one would have if it had been interrupted just before the failure: the walk
// finds them and continues from there, as after a crash (`StepRunner`). So nothing that finished is done again, at any
// depth. A record of a step, an item or a call is one of these:
//
//     passed    it succeeded, was skipped, or failed and `onError` caught that: kept with its value, without the
//               records inside it
//     open      it holds steps and didn't end: kept as begun, with its list, its case, its `now` and the number of its
//               attempt; the round that it is in is kept with its given values and the values that earlier rounds
//               gathered; its time limit begins anew, and the records inside are judged in turn
//     answered  its action was done, and the answer didn't fit its `shape`: kept with the answer, which is looked at
//               again; if the answer of a plain write can't even be kept, such as one that isn't JSON, with the failure
//     handled   its handler didn't end: kept with the failure that led there, and the records inside the handler are
//               judged in turn; so the step itself isn't tried again (unless there are no handling steps, and only the
//               value of `onError` failed)
//     undone    anything else, such as an action that failed or was cancelled: left out, so that it begins anew
//
// A step that holds steps is undone as a whole if its `retry` asked for one attempt more: each attempt is a new scope,
// and the new run has attempts left. A failure that its `retry` doesn't try again, such as the failure of a write that
// was done, leaves it open. `onFailure` and `finally` belong to the end of a recipe: if the steps before them didn't
// end, their records are left out, because they have to run at the new end. If the steps did end (only `finally`
// failed), it is judged too.
import ActionKit
package import Basics
package import Recipes
package import RunState

extension RunRecord {
  /// The events that give a new run what finished of this one, which has ended.
  ///
  /// - Parameter start: When the new run begins; the time limits of open records begin then too.
  package func takenOver(by run: String, of recipe: Recipe, at start: Timestamp) -> [StateEvent] {
    var taking = TakingOver(old: self, run: run, start: start)
    taking.adopt(recipe, "")
    return taking.events
  }
}

private struct TakingOver {
  let old: RunRecord
  let run: String
  let start: Timestamp
  var events: [StateEvent] = []
  /// The indexes of the items that have a record, by the path of their loop.
  private let items: [StepPath: [Int]]

  init(old: RunRecord, run: String, start: Timestamp) {
    self.old = old
    self.run = run
    self.start = start
    var items: [StepPath: [Int]] = [:]
    for record in old.stepsInOrder {
      guard let (loop, index) = record.path.asItem else { continue }
      items[loop, default: []].append(index)
    }
    self.items = items
  }

  /// Keeps what finished of a recipe.
  mutating func adopt(_ recipe: Recipe, _ prefix: String) {
    let isPassed = adopt(recipe.steps, prefix)
    let outputs = old.steps["\(prefix)#outputs"]
    guard isPassed, outputs?.status != .failed, old.steps.allSatisfy({ !$0.path.isIn("\(prefix)#onFailure/") })
    else { return }
    if let outputs { takePassed(outputs) }
    if let finally = recipe.finally { adopt(finally, "\(prefix)#finally/") }
  }

  /// Keeps what finished of a block; true if all of it that has a record did.
  @discardableResult private mutating func adopt(_ block: Block, _ prefix: String) -> Bool {
    for step in block.steps {
      let path = prefix + step.element
      guard let record = old.steps[path] else {
        // Names that depend on nothing but earlier values have no record.
        if case .bindings = step.kind { continue }
        return false
      }
      // A handler of item failures belongs to the items, not to the loop.
      if record.isPassed(isHandled: step.onError != nil && step.loop == nil) {
        takePassed(record)
        continue
      }
      takeUnfinished(step, record)
      return false
    }
    return true
  }

  private mutating func takePassed(_ record: StepRecord) {
    events.append(
      .stepBegan(
        StepBegan(
          run: run, at: record.startedAt, step: record.path, now: record.now, key: old.key(of: record),
          case: record.case)))
    events.append(
      .stepEnded(
        StepEnded(
          run: run, at: record.endedAt ?? record.startedAt, step: record.path, now: record.now, status: record.status,
          output: record.output, error: record.error)))
  }

  private mutating func takeOpen(_ record: StepRecord) {
    events.append(
      .stepBegan(
        StepBegan(
          run: run, at: start, step: record.path, now: record.now, items: record.items, case: record.case)))
    guard record.attempts > 0 else { return }
    events.append(
      .attemptBegan(
        AttemptBegan(
          run: run, at: start, step: record.path, number: record.attempts, carried: record.carried,
          collected: record.collected.all)))
  }

  private mutating func takeUnfinished(_ step: Step, _ record: StepRecord) {
    guard step.loop != nil else { return takeUnfinishedOnce(step, record) }
    // A loop that never began its list is undone.
    guard record.items != nil else { return }
    takeOpen(record)
    for index in items[record.path] ?? [] {
      guard let item = old.steps["\(record.path)[\(index)]"] else { continue }
      if item.isPassed(isHandled: step.onError != nil, inLoop: step.loop) {
        takePassed(item)
      } else {
        takeUnfinishedOnce(step, item)
      }
    }
  }

  /// Keeps what finished of a step, or of an item of a loop, that didn't end.
  private mutating func takeUnfinishedOnce(_ step: Step, _ record: StepRecord) {
    let path = record.path
    if let handler = step.onError?.steps, record.failedInHandler, let first = firstFailure(of: record) {
      events.append(
        .stepBegan(
          StepBegan(
            run: run, at: record.startedAt, step: path, now: record.now, key: old.key(of: record), case: record.case)))
      events.append(
        .stepEnded(StepEnded(run: run, at: start, step: path, now: record.now, status: .running, error: first)))
      adopt(handler, "\(path)!/")
      return
    }
    if step.repetition != nil {
      takeRounds(step, record)
    } else {
      takeWork(of: step, record, path)
    }
  }

  /// A repeated step continues in its unfinished round, with the values given to that round; if its last round
  /// succeeded, it continues after that.
  private mutating func takeRounds(_ step: Step, _ record: StepRecord) {
    guard record.attempts > 0 else { return }
    takeOpen(record)
    let path = "\(record.path)/#round"
    guard let round = old.steps[path] else { return }
    if round.status == .succeeded {
      takePassed(round)
    } else {
      takeWork(of: step, round, "\(path)\(record.attempts)")
    }
  }

  /// Keeps the finished part of a step's last attempt, or of its round's.
  ///
  /// - Parameter prefix: The beginning of the paths of the steps inside, in the first attempt.
  private mutating func takeWork(of step: Step, _ record: StepRecord, _ prefix: StepPath) {
    if asksForAnother(step, record) { return }
    let inner = record.attempts > 1 ? "\(prefix)~\(record.attempts)" : prefix
    switch step.kind {
    case .action(let call): takeAnswered(record, call.action)
    case .block(let block, _):
      takeOpen(record)
      adopt(block, "\(inner)/")
    case .parallel(let branches):
      takeOpen(record)
      for branch in branches { adopt(branch.block, "\(inner)/\(branch.name)/") }
    case .call(let call):
      takeOpen(record)
      adopt(call.recipe, "\(inner)/")
    case .cases(let cases):
      // One that chose none is undone.
      guard let chosen = record.case.flatMap({ cases[$0] }) else { return }
      takeOpen(record)
      adopt(chosen.block, inner + chosen.prefix)
    case .bindings, .wait, .approval, .ask, .failure: break
    }
  }

  /// Whether the `retry` of a step would have it tried again.
  private func asksForAnother(_ step: Step, _ record: StepRecord) -> Bool {
    guard let policy = step.retry else { return false }
    if record.lastAttempt?.retryAt != nil { return true }
    guard let error = record.failedInHandler ? firstFailure(of: record) : record.error else { return false }
    return !error.isFinal && record.attempts >= policy.schedule.maxAttempts
      && step.schedule(after: error, standard: nil) != nil
  }

  /// Keeps an answer that didn't fit, or that a plain write was done whose answer can't be used.
  private mutating func takeAnswered(_ record: StepRecord, _ action: ActionDescriptor) {
    guard let last = record.lastAttempt else { return }
    let error = last.answer == nil && action.effect == .write ? last.error ?? record.error : nil
    guard last.answer != nil || error?.isOfAnswer == true else { return }
    events.append(
      .stepBegan(
        StepBegan(
          run: run, at: last.startedAt, step: record.path, now: record.now, attempt: last.number,
          key: old.key(of: record))))
    events.append(
      .attemptEnded(
        AttemptEnded(
          run: run, at: last.endedAt ?? last.startedAt, step: record.path, number: last.number,
          error: error, exchanges: last.exchanges, answer: last.answer)))
  }

  /// The failure of a step itself, where its record holds the failure of its handler.
  private func firstFailure(of record: StepRecord) -> RunError? {
    if let error = record.lastAttempt?.error { return error }
    // The handler's failure has the step's as its cause, unless it had another.
    func isInside(_ step: StepPath) -> Bool { step.isIn(record.path + "/") || step.isIn(record.path + "~") }
    if let cause = record.error?.cause, let step = cause.step, step == record.path || isInside(step) { return cause }
    return old.stepsInOrder.last { $0.error != nil && $0.status.isEnded && isInside($0.path) }?.error
  }
}

extension StepRecord {
  /// Whether the walk continued after it.
  ///
  /// - Parameters:
  ///   - isHandled: Whether the step has an `onError`, which catches what may be caught.
  ///   - loop: The loop that it is an item of, which may continue however an item ends.
  func isPassed(isHandled: Bool, inLoop loop: Loop? = nil) -> Bool {
    switch status {
    case .succeeded, .skipped: true
    case .failed, .timedOut:
      (isHandled && !failedInHandler || loop?.onItemError == .continue) && !isRejected
        && error.map { StepInterruption.failed($0).catchable != nil } ?? false
    default: false
    }
  }

  /// Whether the step's `onError` failed, so that nothing caught the failure.
  var failedInHandler: Bool { error?.step?.isIn(path + "!/") ?? false }
}

extension StepPath {
  /// Where the value of a step's `onError` is computed, after the step's own path.
  static var fallback: String { "!/#value" }
}

extension StepPath {
  /// Whether the path begins with the prefix.
  fileprivate func isIn(_ beginning: String) -> Bool { utf8.starts(with: beginning.utf8) }

  /// The loop and the index, if this is the path of an item.
  fileprivate var asItem: (loop: StepPath, index: Int)? {
    guard utf8.last == ASCII.closeBracket, let bracket = utf8.lastIndex(of: ASCII.openBracket) else { return nil }
    let digits = self[utf8.index(after: bracket)...].dropLast()
    return Int(digits).map { (String(self[..<bracket]), $0) }
  }
}
