// Decides which runs to pause because they crash the agent.
//
// A run is suspected of a crash if it was under way (`running`) when an agent crashed by itself (`CrashMark`). Crashes
// from outside, such as `kill -9`, a power cut or a full memory, don't count, so that no number of them pauses a run. A
// suspicion is stored as a note of the run, together with the run's place: the attempts in flight, or, without any, the
// last step that it had reached: a computation after it may be the cause. A run that is suspected twice in a row at the
// same place is paused when the next agent takes the folder over, instead of being resumed a third time, and gives this
// as its reason. A run that got further in between is suspected anew. A person may resume it: that is one more try.
//
// If several runs were under way, it isn't known which of them crashed the agent. An innocent run is paused together
// with the culprit only if it, too, was at the same place both times. The reason names the others, so that a person can
// resume them one by one.
//
// If machines share a database, a program that restarts after a crash marks the runs that it held, if its lease hasn't
// expired yet. The next worker that claims them then counts them as suspected.
import Basics
import RunState
import Runs

extension [RunRecord] {
  /// The notes on runs that were under way at a crash, and the pauses of runs that were suspected at the same place
  /// before.
  func blame(at now: Timestamp) -> [StateEvent] {
    let again = filter { $0.suspicion == $0.whereabouts }
    var events: [StateEvent] = []
    for run in self {
      let place = run.whereabouts
      events.append(
        .runNoted(
          RunNoted(
            run: run.id, at: now, name: RunRecord.crashNote, value: .inline(.string(place)),
            condition: ValueState(run.notes[RunRecord.crashNote]))))
      guard run.suspicion == place else { continue }
      let others = again.map(\.id).filter { $0 != run.id }
      let doubt =
        others.isEmpty
        ? "" : "; these were under way both times as well, and it may be one of them: \(others.joined(separator: ", "))"
      events.append(
        .runStatusChanged(
          RunStatusChanged(
            run: run.id, at: now, status: .paused,
            reason: "the agent crashed twice while this run was \(place)\(doubt); errand runs resume tries it once more"
          )))
    }
    return events
  }
}

extension RunRecord {
  fileprivate static let crashNote = "agent.crashedAt"

  /// Where the run was at the last crash that it may have brought about.
  fileprivate var suspicion: String? {
    guard case .inline(let value)? = notes[RunRecord.crashNote] else { return nil }
    return value.string
  }

  /// Where the run is, as people read it.
  fileprivate var whereabouts: String {
    // Without items, because each crash happens at other items of a loop.
    var inFlight: [String] = []
    for step in stepsInOrder where step.isInFlight && inFlight.count < 5 {
      let place = "'\(step.path.displayed.withoutItems)'"
      if !inFlight.contains(place) { inFlight.append(place) }
    }
    if !inFlight.isEmpty { return "at \(inFlight.joined(separator: ", ")) or at what follows" }
    return stepsInOrder.last.map { "at what follows '\($0.path.displayed.withoutItems)'" } ?? "at its first step"
  }
}

extension StepPath {
  /// The place in the recipe: `put/write` for `put[3]/write` and for `put[4]/write~2`.
  fileprivate var withoutItems: String {
    var place = ""
    var rest = unicodeScalars[...]
    while let scalar = rest.popFirst() {
      if scalar == "[" || scalar == "~" {
        let digits = rest.prefix { ("0"..."9").contains($0) }
        let after = rest.dropFirst(digits.count)
        if !digits.isEmpty, scalar == "~" || after.first == "]" {
          rest = scalar == "[" ? after.dropFirst() : after
          continue
        }
      }
      place.unicodeScalars.append(scalar)
    }
    return place
  }
}
