// How `forEach` goes through its items.
//
// The list is recorded when the loop begins, and each item has records of its own, so that a loop that was interrupted
// goes on where it was: first the items that had ended are looked at, then those that were in flight are finished, each
// judged by itself, and only then new ones begin. A failure that nothing catches lets no new item begin; what is in
// flight finishes.
import Basics
import Recipes
import RunState

extension StepRunner {
  /// The loop's value; its end is recorded.
  func loop(
    _ loop: Loop, of step: Step, in frame: Frame, at path: StepPath, known: StepRecord?
  ) async throws(StepExit) -> Value {
    if let known, known.status.isEnded {
      guard case .succeeded(let value) = try await replayed(known, isHandled: false) else { return .null }
      return value
    }
    let items: [Value]
    if let known {
      items = try await run.journal.value(known.items).list ?? []
    } else {
      let list = try run.items(of: loop, in: frame, step: path)
      items = list.list ?? []
      let stored = try await run.journal.stored(list)
      run.journal.hold([
        .stepBegan(StepBegan(run: run.id, at: run.time.now(), step: path, now: frame.now, items: stored))
      ])
    }
    do throws(StepExit) {
      let results = try await results(of: items, loop, step, in: frame, at: path, isResumed: known != nil)
      let value = Value.list(loop.givesOutcomes(step) ? results.map(\.value) : results.compactMap(\.output))
      try await end(path, .succeeded, output: value, now: frame.now)
      return value
    } catch .failed(let error) {
      try await end(path, .ended(by: error), error: error, now: frame.now)
      throw .failed(error)
    } catch .cancelled {
      try await end(path, .cancelled, now: frame.now)
      throw .cancelled
    }
  }

  /// What became of one item.
  private struct ItemResult: Sendable {
    var index: Int
    var output: Value?
    var error: RunError?

    /// The item in a loop that gives what became of each.
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
    of items: [Value], _ loop: Loop, _ step: Step, in frame: Frame, at path: StepPath, isResumed: Bool
  ) async throws(StepExit) -> [ItemResult] {
    @Sendable func itemFrame(_ index: Int) -> Frame {
      var inner = frame
      inner.bind(items[index])
      if loop.hasIndex { inner.bind(.int(index)) }
      return inner
    }
    var chosen = Array(items.indices)
    if let condition = loop.condition {
      chosen = []
      for index in items.indices where try run.holds(condition, in: itemFrame(index), step: "\(path)[\(index)]") {
        chosen.append(index)
      }
    }
    /// How many of the chosen ones, which come first, have begun before.
    var begun = 0
    if isResumed {
      let progress = run.journal.progress(of: chosen.map { "\(path)[\($0)]" })
      let all = zip(chosen, progress)
      let old = all.filter { $0.1 == true } + all.filter { $0.1 == false }
      begun = old.count
      chosen = (old + all.filter { $0.1 == nil }).map(\.0)
    }
    return try await withTaskGroup(of: Result<ItemResult, StepExit>.self) { group in
      var done: [ItemResult] = []
      var exits: [StepExit] = []
      var next = 0
      var running = 0
      while next < chosen.count || running > 0 {
        while next < chosen.count, running < loop.maxParallel {
          // New items wait until those that were in flight have finished.
          if next >= begun, !exits.isEmpty || !scope.isOpen || (next == begun && begun > 0 && running > 0) { break }
          let index = chosen[next]
          group.addTask { await item(index, of: loop, step, in: itemFrame(index), at: path) }
          next += 1
          running += 1
        }
        guard let result = await group.next() else { break }
        running -= 1
        switch result {
        case .success(let item): done.append(item)
        case .failure(let exit): exits.append(exit)
        }
        run.report(.loopAdvanced(path: path, done: done.count + exits.count, count: chosen.count))
        // What the item did last need not wait for the others. A failure to keep it is met again at the next commit.
        if running > 0, next == chosen.count || !exits.isEmpty { try? await run.journal.commit() }
      }
      if let exit = StepExit.worst(of: exits) { return Result<[ItemResult], StepExit>.failure(exit) }
      if next < chosen.count {
        // Told to end before all items began.
        do throws(StepExit) { try scope.check() } catch { return .failure(error) }
      }
      return .success(done.sorted { $0.index < $1.index })
    }.get()
  }

  private func item(
    _ index: Int, of loop: Loop, _ step: Step, in frame: Frame, at path: StepPath
  ) async -> Result<ItemResult, StepExit> {
    let path = "\(path)[\(index)]"
    do throws(StepExit) {
      switch try await once(step, in: frame, at: path, known: run.journal.step(path)) {
      case .succeeded(let value): return .success(ItemResult(index: index, output: value))
      case .caught(let error): return .success(ItemResult(index: index, error: error))
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
  /// Whether the loop's value says what became of each item, because some may have no output.
  func givesOutcomes(_ step: Step) -> Bool { onItemError == .continue || step.onError != nil }
}
