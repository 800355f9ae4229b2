/// Repairs what can be repaired without losing anything that was acknowledged.
///
/// Damage is repaired from the previous generation, or rebuilt where a file holds nothing of its own, or put aside and
/// reported; damage that only a backup can repair is left as it is, unless the records before it are to be kept
/// (`StateSalvage.swift`).
import Basics

extension StateDoctor {
  /// Repairs what the examination found repairable, and reports what was done; the caller holds the folder's lock.
  ///
  /// - Parameter keepingUntilDamage: Whether the part of a damaged journal before the damage is kept, and the rest
  ///   lost.
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

  /// Makes the state forget missing records.
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
