import ActionKit
import Basics
import RunState

/// What a run notes of itself, in its record.
///
/// A change is one event, which the state takes only if the note is still what the decision was made on.
struct JournaledNotes: RunNotes {
  let store: any StateStore
  let time: any TimeSource
  let run: String
  /// Told why a note is not given of which a secret has changed.
  let refuse: @Sendable (String) -> Void

  func change(_ name: String, _ decide: (_ current: Value?) throws(ActionError) -> Value) async throws(ActionError) {
    while true {
      let current = store.run(run)?.notes[name]
      var value: Value?
      if let current {
        do throws(StateError) { value = try await store.restored(current, as: "the note '\(name)'") } catch {
          if error.kind == .secret { refuse(error.message) }
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
        // Another step was faster, and the decision is made anew.
        if error.isOutrun { continue }
        throw ActionError(error)
      }
    }
  }
}

extension RunJournal {
  /// What the run notes of itself, for the action of a step.
  func notes(of path: StepPath) -> JournaledNotes {
    JournaledNotes(store: store, time: time, run: id) { [weak self] in self?.refuse(path, because: $0) }
  }
}
