// How a plan walks branches and loops.
import ActionKit
import Basics
import Expressions
import Recipes
import RunState

extension Planner {
  // MARK: Branches

  /// The failure that is reported if several happen in parallel.
  func first(of failures: [RunError], at path: StepPath) -> RunError? {
    guard let first = failures.first else { return nil }
    if failures.count > 1, let step = first.step { contested[step] = path }
    return first
  }

  /// The error that handlers see.
  func value(of failure: RunError) -> Value {
    guard let fork = failure.step.flatMap({ contested[$0] }) else { return failure.value }
    return Unknown("decided by what fails first in '\(fork.withoutIndexes)'").value
  }

  func value(
    of branches: [Branch], in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    var value = ValueMap()
    var other = ValueMap()
    var isSame = true
    var failures: [RunError] = []
    // The branches begin together, so their waits don't add up; the longest counts.
    let (before, known) = (ahead, latest)
    var end = (ahead: ahead, latest: latest)
    for (number, branch) in branches.enumerated() {
      (ahead, latest) = (before, known)
      let failed = failures.first?.step ?? fork.failure(after: number, of: path)
      do throws(StepInterruption) {
        let own = try await self.branch(number, of: path, unless: failed) { () async throws(StepInterruption) in
          var environment = environment
          return try await run(branch.block, in: &environment, prefix: "\(path)/\(branch.name)/")
        }
        value[branch.name] = own.value
        other[branch.name] = own.otherwise ?? own.value
        if own.otherwise != nil { isSame = false }
      } catch {
        guard case .failed(let failure) = error else { throw error }
        failures.append(failure)
        fork.noteFailure(of: number, of: path, at: failure.step ?? path)
      }
      end = (max(end.ahead, ahead), max(end.latest, latest))
    }
    (ahead, latest) = end
    if let failure = first(of: failures, at: path) { throw .failed(failure) }
    return PlannedValue(.map(value), otherwise: isSame ? nil : .map(other))
  }

  // MARK: Loops

  func value(
    of loop: Loop, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    guard loop.maxParallel > 1 else { return try await items(of: loop, step, in: environment, at: path) }
    return try await forking(at: path) { () async throws(StepInterruption) in
      try await items(of: loop, step, in: environment, at: path)
    }
  }

  func items(
    of loop: Loop, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    let list: Value
    switch try known(loop.items, in: environment.environment, at: path) {
    case .known(let value): list = value
    case .unknown(let unknown):
      try await supposeItems(of: loop, unknown, step, in: environment, at: path)
      return PlannedValue(unknown.value)
    }
    // The list may differ if something fails.
    var otherwise: Unknown?
    if let other = environment.otherwise, case .unknown(let unknown)? = try? known(loop.items, in: other, at: path) {
      otherwise = unknown
      await suppose(after: unknown, at: path) { () async throws(StepInterruption) in
        try await supposeItems(of: loop, unknown, step, in: PlannedEnvironment(other), at: path)
      }
    }
    guard let items = list.list else {
      throw failure("'forEach' takes a list, but this is \(list.kindName)", at: path)
    }
    let isForked = loop.maxParallel > 1
    var results: [StepRunner.ItemResult] = []
    var failures: [RunError] = []
    /// Why the number of results is unknown.
    var doubt: Unknown?
    for (index, item) in items.enumerated() {
      do throws(StepInterruption) {
        let planned =
          !isForked
          ? try await self.item(item, index, of: loop, step, in: environment, at: path)
          : try await branch(index, of: path, unless: failures.first?.step) { () async throws(StepInterruption) in
            try await self.item(item, index, of: loop, step, in: environment, at: path)
          }
        otherwise = otherwise ?? planned.otherwise
        doubt = doubt ?? planned.doubt
        if let result = planned.result { results.append(result) }
      } catch {
        guard isForked, case .failed(let failure) = error else { throw error }
        failures.append(failure)
      }
    }
    if let failure = first(of: failures, at: path) { throw .failed(failure) }
    if loop.onItemError == .continue, !results.isEmpty {
      otherwise = otherwise ?? Unknown("\(Planner.whether)'\(path.withoutIndexes)' fails for an item")
    }
    if let doubt { return PlannedValue(doubt.value) }
    let value = Value.list(loop.givesOutcomes(step) ? results.map(\.value) : results.compactMap(\.output))
    return PlannedValue(value, otherwise: otherwise.map { Unknown($0.reason).value })
  }

  /// Plans one item; gives what leaves open how it ends, and whether it runs at all.
  func item(
    _ item: Value, _ index: Int, of loop: Loop, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> (result: StepRunner.ItemResult?, otherwise: Unknown?, doubt: Unknown?) {
    let path = "\(path)[\(index)]"
    var inner = environment
    inner.bind(item)
    if loop.hasIndex { inner.bind(.int(index)) }
    var otherwise: Unknown?
    if let condition = loop.condition {
      let decision = try decide(condition, in: inner, at: path)
      otherwise = decision.otherwise
      switch decision.now {
      case .known(true): settle(&inner, by: condition)
      case .known(false):
        if let unknown = decision.otherwise, let other = inner.otherwise {
          await suppose(after: unknown, if: "`\(condition.text)`", at: path) { () async throws(StepInterruption) in
            _ = try await once(step, in: PlannedEnvironment(other), at: path)
          }
        }
        return (nil, otherwise, nil)
      case .unknown(let unknown):
        await supposeItem("where `\(condition.text)` (\(unknown.reason))", step, in: inner, at: path)
        return (nil, otherwise, unknown)
      }
    }
    do throws(StepInterruption) {
      let (planned, caught) = try await once(step, in: inner, at: path)
      let result = StepRunner.ItemResult(index: index, output: planned.value, error: caught)
      return (result, otherwise ?? planned.otherwise?.firstUnknown, nil)
    } catch {
      guard loop.onItemError == .continue, let failure = error.catchable else { throw error }
      return (StepRunner.ItemResult(index: index, error: failure), otherwise, nil)
    }
  }

  /// Plans what may happen for the items of an unknown list.
  func supposeItems(
    of loop: Loop, _ unknown: Unknown, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) {
    let element: ValueType = if case .list(let element) = loop.items.program.type { element } else { .dyn }
    var inner = environment
    inner.bind(unknown.value(of: element))
    if loop.hasIndex { inner.bind(Unknown(unknown.reason).value) }
    var text = "for each item of `\(loop.items.text)` (\(unknown.reason))"
    if let condition = loop.condition {
      switch try holds(condition, in: inner.environment, at: path) {
      case .known(true): break
      case .known(false): return
      case .unknown: text += " where `\(condition.text)`"
      }
    }
    // The changes of one item are there for the next.
    try await forking(at: path) { () async throws(StepInterruption) in
      try await branch(nil, of: path) { () async throws(StepInterruption) in
        await supposeItem(text, step, in: inner, at: "\(path)[*]")
      }
    }
  }

  /// Plans what may happen for an item.
  func supposeItem(_ text: String, _ step: Step, in environment: PlannedEnvironment, at path: StepPath) async {
    let count = plan.entries.count
    await suppose(text, at: path) { () async throws(StepInterruption) in
      _ = try await once(step, in: environment, at: path)
      if plan.entries.count == count { note(.undecided, at: path) }
    }
  }
}
