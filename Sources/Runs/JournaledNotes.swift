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

  func change(_ name: String, _ decide: (_ current: Value?) throws(ActionError) -> Value) async throws(ActionError) {
    while true {
      let current = store.run(run)?.notes[name]
      var value: Value?
      if let current {
        do throws(StateError) { value = try await store.value(current) } catch { throw ActionError(error) }
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
  /// What the run notes of itself, for its actions.
  var notes: JournaledNotes { JournaledNotes(store: store, time: time, run: id) }
}
