// Which run is paused because it brings the agent down.
//
// A run counts as suspected of a crash if it was under way (`running`) when an agent brought itself down (`CrashMark`);
// crashes from outside, such as `kill -9`, a power cut or a full memory, count for nothing, so that no number of them
// pauses a run. With a suspicion is kept, as a note of the run, where the run was: which attempts were in flight, or,
// where none was, the last step that it had reached, after which something was computed. A run that is suspected twice
// in a row at the same place is paused when the next agent takes the folder over, instead of being resumed a third time,
// and says so; a run that came further in between is suspected anew. A person may resume it: that is one more try.
//
// Which of several runs brought the agent down cannot be known from outside. One that was under way beside the culprit
// is paused with it only if it, too, was at the same place both times, and the reason names the others, so that a person
// can resume them one by one.
//
// Where machines share a database, a program that starts again after a crash marks the runs that it held, if its lease
// hasn't ended yet. The next worker that takes them up then counts them as suspected.
import Basics
import RunState
import Runs

extension [RunRecord] {
  /// What is noted of the runs that were under way at a crash; those that were suspected at the same place before are
  /// paused.
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
    // Of a loop, other items are under way at each crash.
    var inFlight: [String] = []
    for step in stepsInOrder where step.isInFlight && inFlight.count < 5 {
      let place = "'\(step.path.shown.withoutItems)'"
      if !inFlight.contains(place) { inFlight.append(place) }
    }
    if !inFlight.isEmpty { return "at \(inFlight.joined(separator: ", ")) or at what follows" }
    return stepsInOrder.last.map { "at what follows '\($0.path.shown.withoutItems)'" } ?? "at its first step"
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
