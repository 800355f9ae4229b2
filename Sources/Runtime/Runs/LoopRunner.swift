// How `forEach` walks its items.
//
// The list is recorded when the loop begins, and each item has records of its own, so that an interrupted loop resumes
// at the same place: it first reads the items that had ended, then finishes the items in flight, judging each
// separately, and only then begins new items beside the waiting ones. After an uncaught failure no new item begins;
// items in flight finish. A waiting item is in flight, and counts towards `maxParallel`.
import Basics
import Recipes
import RunState

extension StepRunner {
  /// The loop's value; its end is recorded.
  func loop(
    _ loop: Loop, of step: Step, in environment: Environment, at path: StepPath, known: StepRecord?
  ) async throws(StepInterruption) -> Value {
    if let known, known.status.isEnded {
      guard case .succeeded(let value) = try await replayed(known, isHandled: false) else { return .null }
      return value
    }
    let items: [Value]
    if let known {
      items = try await run.journal.value(known.items, as: "the list of '\(path)'").list ?? []
    } else {
      let list = try run.items(of: loop, in: environment, step: path)
      items = list.list ?? []
      let stored = try await run.journal.stored(list, of: path)
      run.journal.hold([
        .stepBegan(StepBegan(run: run.id, at: run.time.now(), step: path, now: environment.now, items: stored))
      ])
    }
    do throws(StepInterruption) {
      let results = try await results(of: items, loop, step, in: environment, at: path, isResumed: known != nil)
      let value = Value.list(loop.givesOutcomes(step) ? results.map(\.value) : results.compactMap(\.output))
      try await end(path, .succeeded, output: value, now: environment.now)
      return value
    } catch {
      if let ended = error.ended { try await end(path, ended.status, error: ended.error, now: environment.now) }
      throw error
    }
  }

  /// How one item ended.
  struct ItemResult: Sendable {
    var index: Int
    var output: Value?
    var error: RunError?

    /// The entry of an item in a loop whose value lists how each item ended.
    var value: Value {
      var map = ValueMap()
      map["index"] = .int(index)
      map["status"] = .string(error.map { StepStatus.ended(by: $0).rawValue } ?? "succeeded")
      map["output"] = output
      map["error"] = error?.value
      return .map(map)
    }
  }

  private func results(
    of items: [Value], _ loop: Loop, _ step: Step, in environment: Environment, at path: StepPath, isResumed: Bool
  ) async throws(StepInterruption) -> [ItemResult] {
    @Sendable func itemEnvironment(_ index: Int) -> Environment {
      var inner = environment
      inner.bind(item: items[index], as: loop.itemName)
      if loop.hasIndex { inner.bind(.int(index)) }
      return inner
    }
    var chosen = Array(items.indices)
    if let condition = loop.condition {
      chosen = []
      for index in items.indices where try run.holds(condition, in: itemEnvironment(index), step: "\(path)[\(index)]") {
        chosen.append(index)
      }
    }
    /// How many of the chosen items, which come first, have begun before, and how many of those are to be judged.
    var (begun, judged) = (0, 0)
    if isResumed {
      let progress = run.journal.progress(ofItemsOf: path, count: items.count)
      func those(_ kind: RunJournal.ItemProgress) -> [Int] { chosen.filter { progress[$0] == kind } }
      let first = those(.ended) + those(.underWay)
      judged = first.count
      begun = judged + those(.waiting).count
      chosen = first + those(.waiting) + those(.new)
    }
    let (old, toJudge) = (begun, judged)
    return try await withTaskGroup(of: (place: Int, result: Result<ItemResult, StepInterruption>).self) { group in
      var done: [ItemResult] = []
      var exits: [StepInterruption] = []
      var failed = 0
      let givesValue = step.onError?.value != nil
      var next = 0
      var running = 0
      var unjudged = toJudge
      var holdsBack = false
      while next < chosen.count || running > 0 {
        while next < chosen.count, running < loop.maxParallel {
          // New items wait until the items that were in flight have finished.
          if next >= old, !exits.isEmpty || !scope.isOpen || unjudged > 0 { break }
          let (place, index) = (next, chosen[next])
          run.waitRegistry.addActive()
          group.addTask { (place, await item(index, of: loop, step, in: itemEnvironment(index), at: path)) }
          next += 1
          running += 1
        }
        if running == 0 { break }
        run.waitRegistry.removeActive()
        guard let (place, result) = await group.next() else { break }
        running -= 1
        if place < toJudge { unjudged -= 1 }
        switch result {
        case .success(let item):
          done.append(item)
          if item.error != nil { failed += 1 }
        case .failure(let exit):
          exits.append(exit)
          if place < toJudge, case .waiting = exit { holdsBack = true }
        }
        run.report(
          .loopAdvanced(
            path: path, done: done.count + exits.count, failed: givesValue ? 0 : failed,
            caught: givesValue ? failed : 0, count: chosen.count))
        // The item's last events need not wait for the others. If keeping them fails, the next commit throws it again.
        if running > 0, next == chosen.count || !exits.isEmpty { try? await run.journal.commit() }
      }
      // The items that were in flight are waiting now, so new items may begin beside them; in a new walk, at once.
      if holdsBack, old < chosen.count { run.waitRegistry.call() }
      if let exit = StepInterruption.mostSevere(of: exits) {
        return Result<[ItemResult], StepInterruption>.failure(exit)
      }
      if next < chosen.count {
        // The loop was told to end before all items began.
        do throws(StepInterruption) { try scope.check() } catch { return .failure(error) }
      }
      return .success(done.sorted { $0.index < $1.index })
    }.get()
  }

  private func item(
    _ index: Int, of loop: Loop, _ step: Step, in environment: Environment, at path: StepPath
  ) async -> Result<ItemResult, StepInterruption> {
    let path = "\(path)[\(index)]"
    do throws(StepInterruption) {
      switch try await once(step, in: environment, at: path, known: run.journal.step(path)) {
      case .succeeded(let value): return .success(ItemResult(index: index, output: value))
      case .caught(let error, let instead): return .success(ItemResult(index: index, output: instead, error: error))
      }
    } catch {
      if loop.onItemError == .continue, let error = error.catchable {
        return .success(ItemResult(index: index, error: error))
      }
      return .failure(error)
    }
  }
}

extension Loop {
  /// Whether the loop's value lists how each item ended, because some may have no output.
  func givesOutcomes(_ step: Step) -> Bool {
    if let onError = step.onError, onError.value != nil { return false }
    return onItemError == .continue || step.onError != nil
  }
}
