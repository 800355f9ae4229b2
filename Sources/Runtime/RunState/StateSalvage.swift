import Basics

/// Keeps the part of a damaged journal before the damage.
///
/// The kept part is reliable: every sum in it matches. The rest is lost, and the actions that it recorded may have been
/// done outside, so its runs and schedules are paused until a person has looked. The damaged journals are copied first,
/// then the state is written as a snapshot of a new generation, and as one more, so that neither the state nor the
/// previous generation needs them. A crash anywhere leaves either the damage as it was, or a sound state whose previous
/// generation an ordinary repair fixes.
extension StateDoctor {
  func keepUntilDamage() throws(StateError) -> [String] {
    var opened: StateFolder.Opened
    do throws(StateError) { opened = try folder.read(untilDamage: true) } catch  where error.kind == .damaged {
      // There is no snapshot to start from.
      return []
    }
    guard let damage = opened.damage else { return [] }
    let generations = try onDisk { () throws(FileError) in try fileSystem.list(path) }
      .compactMap(Journal.generation(ofName:)).filter { $0 >= damage.generation }.sorted()
    var lost = LostEvents(after: opened.position.sequence, of: opened.state)
    if !generations.contains(damage.generation) { lost.missJournal() }
    var done = ["\(damage.reason); everything up to event \(opened.position.sequence) is kept"]
    var copies: [String] = []
    for generation in generations {
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(file(Journal.name(generation))) }),
        lost.read(bytes[(generation == damage.generation ? min(damage.end, bytes.count) : 0)...])
      else { continue }
      let copy = file(Journal.damagedName(generation))
      try onDisk { () throws(FileError) in try fileSystem.replace(copy, in: path, with: bytes) }
      copies.append(copy)
    }
    done += lost.sentences
    if !copies.isEmpty { done.append("what can't be kept is copied to \(copies.joined(separator: ", "))") }
    try pause(lost, in: &opened.state, &done)
    if opened.isOld { try logs.history.removeOldIndexes() }
    try logs.adopt(from: &opened)
    opened.generation = max(opened.generation, generations.last ?? 0)
    _ = try folder.compact(&opened)
    _ = try folder.compact(&opened)
    return done
  }

  private func file(_ name: String) -> String { "\(path)/\(name)" }

  private func pause(_ lost: LostEvents, in state: inout State, _ done: inout [String]) throws(StateError) {
    let reason = "the journal was damaged, and what the run did since may be lost: check what it has done already"
    for id in lost.runs {
      guard let run = state.runs[id], run.status != .paused, run.status != .uncertain else { continue }
      try state.fold(.runStatusChanged(RunStatusChanged(run: id, at: now, status: .paused, reason: reason)))
      done.append(
        "the run \(id) of '\(run.recipe)' is paused; check what it has done already, then: errand runs resume \(id)")
    }
    let note = "the journal was damaged, and slots since may have been started already"
    for id in lost.schedules where state.schedules[id]?.pause == nil {
      let pause = PauseRecord(at: now, origin: .person, note: note)
      try state.fold(.schedulePaused(SchedulePaused(schedule: id, pause: pause)))
      done.append("the schedule '\(id)' is paused, so that no slot starts twice; then: errand schedule resume \(id)")
    }
  }
}
