/// Mends what can be mended without losing anything that was acknowledged.
///
/// What is damaged is made good from the generation before, or made anew where it holds nothing of its own, or put aside
/// and told of; damage that only a backup can mend is left as it is, unless what was before it is to be kept
/// (`StateSalvage`).
import Basics

extension StateDoctor {
  /// Mends what the examination says can be, and tells what was done; whoever calls holds the folder's lock.
  ///
  /// - Parameter keepingUntilDamage: Whether of a damaged journal what was written before is kept, and the rest lost.
  package func repair(keepingUntilDamage: Bool = false) throws(StateError) -> [String] {
    var done: [String] = []
    guard try onDisk({ () throws(FileError) in try fileSystem.status(path) }) != nil else { return done }
    for (path, mode) in try openToOthers() {
      try onDisk { () throws(FileError) in try fileSystem.setMode(mode & 0o700, of: path) }
      done.append("\(path) is now accessible only to its owner")
    }
    for path in try unfinishedFiles() {
      try onDisk { () throws(FileError) in try fileSystem.remove(path) }
      done.append("\(path) is removed")
    }
    if keepingUntilDamage { done += try keepUntilDamage() }
    try repairGenerations(&done)
    try repair(logs.history, &done)
    try repair(logs.slots, &done)
    try repairNewest(&done)
    try removeSecrets(&done)
    let removed = try collection(isRemoving: true).run(at: now, after: 0)
    if removed > 0 { done.append("\(removed) unreferenced blobs are removed") }
    return done
  }

  private func repairGenerations(_ done: inout [String]) throws(StateError) {
    var opened: StateFolder.Opened
    do throws(StateError) {
      opened = try folder.open()
    } catch  where error.kind == .damaged || error.kind == .newer {
      // Only a backup, or another version, can help.
      return
    }
    done += opened.notices
    if opened.position.sequence == 0, opened.generation == 0 { return }
    var examination = StateExamination()
    try examineWayBack(opened, &examination)
    if opened.snapshotGeneration != nil, !opened.isOld, examination.findings.isEmpty { return }
    if opened.isOld { try logs.history.removeOldIndexes() }
    try logs.adopt(from: &opened)
    _ = try folder.compact(&opened)
    done.append("a new snapshot is written, of generation \(opened.generation)")
  }

  /// Has the state know no more of records that are gone.
  private func repairNewest(_ done: inout [String]) throws(StateError) {
    var opened: StateFolder.Opened
    do throws(StateError) { opened = try folder.open() } catch  where error.kind == .damaged || error.kind == .newer {
      return
    }
    let newest = opened.newest
    if let run = newest.run, try logs.history.entry(run.id) == nil { opened.newest.run = nil }
    if let slot = newest.slot, try logs.slots.entry(slot.id) == nil { opened.newest.slot = nil }
    if opened.newest == newest { return }
    try logs.adopt(from: &opened)
    _ = try folder.compact(&opened)
    done.append("the state continues without the missing records")
  }

  private func repair<Entry: LogRecord>(_ log: MonthlyLog<Entry>, _ done: inout [String]) throws(StateError) {
    for month in try log.months() {
      let health = try log.health(of: month)
      if !health.damaged.isEmpty {
        let count = try log.putDamagedAside(of: month)
        done.append("\(count) damaged lines of \(month.data) are moved to \(log.folder)/\(month.name).damaged")
      } else if !health.isIndexSound || health.isTorn || health.isShort {
        try log.remakeIndex(of: month)
        done.append("\(month.index) is rebuilt")
      }
    }
  }
}
