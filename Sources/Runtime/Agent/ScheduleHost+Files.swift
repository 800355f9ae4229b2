import Basics
import Recipes
import RunState
import Scheduler

// The files that entries watch. All folders are looked at together: when recipes were read, when the watch of the system
// reports a change, when a file may have stayed unchanged for long enough, and when places in a queue that was full are
// free again.

extension ScheduleHost {
  /// Sets the observer of the watched folders; their paths are relative to the folder of errand.yaml.
  package func observeFolders(_ observer: @escaping @Sendable ([String]) -> Void) { foldersObserver = observer }

  /// Looks for files that came or changed, and starts what they start; returns when a look is over that began after the
  /// call.
  ///
  /// Calls during a look share the next one.
  package func lookForFiles() async {
    guard let watched else { return }
    if let nextLook { return await nextLook.value }
    let before = lastLook
    // Ends when the look is over; it is never cancelled.
    let task = Task {
      await before?.value
      nextLook = nil
      await look(in: watched)
    }
    (lastLook, nextLook) = (task, task)
    await task.value
  }

  private func look(in watched: WatchedFolder) async {
    var entries: [(id: String, pattern: FilePattern, settle: TimeSpan)] = []
    for plan in registry.items.flatMap({ plans[$0.file] ?? [] }) {
      if case .file(let pattern, let settle, existing: _) = plan.trigger.kind {
        entries.append((ScheduleEntry(plan).id, pattern, settle))
      }
    }
    let ids = Set(entries.map(\.id))
    settling = settling.filter { ids.contains($0.key) }
    refused = refused.filter { ids.contains($0.key) }
    guard isLeading, !entries.isEmpty else {
      foldersObserver?([])
      clock?.set(false, at: nil)
      return
    }
    let listings = await watched.list(Set(entries.map(\.pattern)))
    guard isLeading else { return }
    foldersObserver?(Set(listings.values.flatMap(\.folders)).sorted { $0.precedesByScalars($1) })
    var next: Timestamp?
    for entry in entries {
      guard let listing = listings[entry.pattern], let due = await take(listing, for: entry) else { continue }
      next = min(next ?? due, due)
    }
    clock?.set(false, at: next)
    planAlarm()
  }

  /// Decides on the files found for an entry; returns the time for the next look.
  private func take(
    _ listing: FileListing, for entry: (id: String, pattern: FilePattern, settle: TimeSpan)
  ) async -> Timestamp? {
    guard let known = scheduler.files(of: entry.id) else { return nil }
    if let fault = listing.fault, unseen[entry.id] != fault { tell(.seesNone(schedule: entry.id, reason: fault)) }
    unseen[entry.id] = listing.fault
    let isFirst = known.seen?.pattern != entry.pattern.text
    // A file that can't be seen now must not count as a later arrival.
    if isFirst, listing.isBlind { return nil }
    let seen = known.seen?.versions ?? [:]
    var paths: Set<String> = []
    var new: [FoundFile] = []
    var secret: Set<String> = []
    for file in listing.files {
      paths.insert(file.path)
      if seen[file.path] == file.version { continue }
      // Paths are kept as they are, which a secret must not be.
      if (try? store.secrets.masked(text: file.path)) == file.path {
        new.append(file)
      } else {
        secret.insert(file.path)
      }
    }
    await refuse(secret, listing.unnamed, for: entry.id)
    let gone = seen.keys.filter { !paths.contains($0) && !listing.mayHold($0) }
    let now = time.now()
    let (settled, next) = settling[entry.id, default: SettlingFiles()].look(
      at: new, settling: entry.settle, now: now)
    let look = FileLook(
      entry.pattern, present: new, settled: settled, gone: gone.sorted { $0.precedesByScalars($1) })
    let decisions = decide { $0.looked(look, for: entry.id, at: now) }
    let after = scheduler.files(of: entry.id)
    let isCrowded = settled.contains { after?.seen?.versions[$0.path] != $0.version }
    if isCrowded { crowded.insert(entry.id) } else { crowded.remove(entry.id) }
    await carryOut(decisions)
    if isFirst, !new.isEmpty, new.allSatisfy({ after?.seen?.versions[$0.path] == $0.version }) {
      tell(.passedOver(schedule: entry.id, count: new.count))
      return nil
    }
    return next
  }

  /// Records once in the life of an agent that files start nothing because no path can name them: it would hold a secret,
  /// or isn't valid UTF-8.
  private func refuse(_ secret: Set<String>, _ unnamed: Set<String>, for id: String) async {
    let paths = secret.union(unnamed)
    let known = refused.updateValue(paths, forKey: id) ?? []
    let now = time.now()
    let rows = paths.subtracting(known).sorted { $0.precedesByScalars($1) }.map { path in
      let displayed = store.secrets.finder.redact(path)
      let reason =
        unnamed.contains(path)
        ? "the name '\(displayed)' isn't valid UTF-8, so that no path can name the file; rename it"
        : "the path '\(displayed)' holds a known secret, and paths are kept as they are; rename the file"
      tell(.seesNone(schedule: id, reason: reason))
      return StateEvent.slotDecided(
        SlotRecord(
          schedule: id, slot: now, outcome: .refused, at: now, cause: RunCause(.file, schedule: id, path: displayed),
          reason: reason))
    }
    if !rows.isEmpty { await carryOut([Decision(schedule: id, events: rows)]) }
  }
}
