import ActionKit
import Basics
import RunState

/// The stored values as one step of a run reads and changes them.
///
/// A change is one event, which the state accepts only if the value hasn't changed since the decision, and which notes
/// in the step's record what was done. The note goes when the step ends or begins anew.
struct StepValues: ValueStore {
  let store: any StateStore
  let time: any TimeSource
  let step: StepReference
  var turns = ValueTurns()
  /// Called with the error when a value can't be read because its secret has changed.
  var refuse: @Sendable (StateError) -> Void = { _ in }

  /// How many values there may be: each is read at every start.
  static let mostValues = 10_000
  static let mostBytes = 1 << 20
  /// How often a change is retried after conflicts.
  private static let mostTries = 1000

  var names: [String] { get async { await store.valueNames() } }

  func value(of name: String) async throws(ActionError) -> Value? {
    guard let stored = await store.value(named: name) else { return nil }
    return try await read(stored, name)
  }

  func earlierChange() async throws(ActionError) -> ValueOutcome? {
    guard let change = store.run(step.run)?.steps[step.step]?.change else { return nil }
    guard let stored = change.value else { return ValueOutcome(isChanged: true, value: nil) }
    return ValueOutcome(isChanged: true, value: try await read(stored, step.step))
  }

  func change(
    _ name: String, _ decide: (_ current: Value?) throws(ActionError) -> ValueChange
  ) async throws(ActionError) -> ValueOutcome {
    if let earlier = try await earlierChange() { return earlier }
    return try await turns.take(name) { () async throws(ActionError) in try await changeNow(name, decide) }
  }

  private func changeNow(
    _ name: String, _ decide: (_ current: Value?) throws(ActionError) -> ValueChange
  ) async throws(ActionError) -> ValueOutcome {
    for _ in 0..<StepValues.mostTries {
      let current = await store.value(named: name)
      var value: Value?
      var refusal: StateError?
      if let current {
        do throws(StateError) { value = try await store.restored(current, as: "the stored value '\(name)'") } catch {
          guard error.kind == .secret else { throw ActionError(error) }
          refusal = error
        }
        // A value that holds a former secret isn't known now; it is replaced and removed as it is kept.
        if refusal != nil {
          do throws(StateError) { value = try await store.value(current) } catch { throw ActionError(error) }
        }
      }
      let event: StateEvent
      let result: Value?
      let change: ValueChange
      do throws(ActionError) { change = try decide(value) } catch {
        if let refusal { throw refused(refusal) }
        throw error
      }
      switch change {
      case .keep:
        if let refusal { throw refused(refusal) }
        return ValueOutcome(isChanged: false, value: value)
      case .set(let new):
        let count = await store.valueCount()
        if current == nil, count >= StepValues.mostValues {
          throw ActionError(
            .validation,
            "there are \(count) stored values already, the most allowed; delete some")
        }
        // NaN isn't equal to itself, so later changes would always conflict.
        guard new == new else { throw ActionError(.validation, "a value with NaN in it cannot be stored") }
        let kept: StoredValue
        do throws(StateError) { kept = try await store.keep(new) } catch { throw ActionError(error) }
        if case .blob(let blob) = kept, blob.size > StepValues.mostBytes {
          throw ActionError(
            .validation,
            "a stored value may have at most \(StepValues.mostBytes) bytes of JSON, but this has \(blob.size)")
        }
        event = .valueSet(
          ValueSet(at: time.now(), name: name, value: kept, condition: ValueState(current), change: step))
        result = new
      case .remove:
        event = .valueRemoved(
          ValueRemoved(at: time.now(), name: name, condition: ValueState(current), change: step))
        result = nil
      }
      do throws(StateError) {
        try await store.append(event)
        return ValueOutcome(isChanged: true, value: result)
      } catch {
        // A step in another program changed it first; decide again.
        if error.isConflict { continue }
        throw ActionError(error)
      }
    }
    throw ActionError(
      .conflict, "the stored value '\(name)' was changed by other steps \(StepValues.mostTries) times meanwhile")
  }

  private func read(_ stored: StoredValue, _ name: String) async throws(ActionError) -> Value {
    do throws(StateError) { return try await store.restored(stored, as: "the stored value '\(name)'") } catch {
      throw refused(error)
    }
  }

  private func refused(_ error: StateError) -> ActionError {
    if error.kind == .secret { refuse(error) }
    return ActionError(error)
  }
}

extension RunJournal {
  /// The stored values, for the action of a step.
  func values(of path: StepPath) -> StepValues {
    StepValues(store: store, time: time, step: StepReference(run: id, step: path), turns: turns) { [weak self] in
      self?.refuse(path, because: $0)
    }
  }
}

extension ActionError {
  /// Why the state didn't give or accept a value.
  init(_ error: StateError) {
    switch error.kind {
    case .invalid: self.init(.validation, error.message)
    case .secret: self.init(.configuration, error.message)
    // Whether it is on disk is known only after the state is read again.
    case .fatal: self.init(.internal, error.message, effect: .unknown)
    case .damaged, .newer, .unavailable, .closed, .fenced:
      self.init(.internal, error.message, effect: ActionError.Effect.none)
    }
  }
}
