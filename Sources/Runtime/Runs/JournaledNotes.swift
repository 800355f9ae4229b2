import ActionKit
import Basics
import RunState

/// The notes that a run keeps in its record.
///
/// A change is one event, which the state accepts only if the note hasn't changed since the decision.
struct JournaledNotes: RunNotes {
  let store: any StateStore
  let time: any TimeSource
  let run: String
  /// Called with the error when a note can't be read because its secret has changed.
  let refuse: @Sendable (StateError) -> Void

  func change(_ name: String, _ decide: (_ current: Value?) throws(ActionError) -> Value) async throws(ActionError) {
    while true {
      let current = store.run(run)?.notes[name]
      var value: Value?
      if let current {
        do throws(StateError) { value = try await store.restored(current, as: "the note '\(name)'") } catch {
          if error.kind == .secret { refuse(error) }
          throw ActionError(error)
        }
      }
      let new = try decide(value)
      do throws(StateError) {
        let kept = try await store.keep(new)
        try await store.append(
          .runNoted(RunNoted(run: run, at: time.now(), name: name, value: kept, condition: ValueState(current))))
        return
      } catch {
        // Another step changed the note first; decide again.
        if error.isConflict { continue }
        throw ActionError(error)
      }
    }
  }
}

extension RunJournal {
  /// The run's notes, for the action of a step.
  func notes(of path: StepPath) -> JournaledNotes {
    JournaledNotes(store: store, time: time, run: id) { [weak self] in self?.refuse(path, because: $0) }
  }
}
