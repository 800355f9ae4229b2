/// The files of a state, and how they are opened.
///
///     state.json              the state at the beginning of its generation g; the first generation begins empty,
///                             and needs none
///     journal-<g>.jsonl       what changed since
///     state.previous.json     the snapshot before, of generation p < g, and every journal from p on
///
///     moved.json              the state was moved elsewhere (`MovedState`), and is not opened here
///     state.begun             empty: there was a first journal, so that an empty folder is no new state; made at the end
///                             of a program that leaves no snapshot
///
/// A snapshot begins a new generation, in this order, so that a crash anywhere leaves a way back:
///
/// 1. the runs that ended are added to the history, and the slots that were settled to the ledger;
/// 2. `state.json.new` is written and synced;
/// 3. `journal-<g+1>.jsonl` is put in place with its header;
/// 4. `state.json` becomes `state.previous.json`, `state.json.new` becomes `state.json`, and the folder is synced;
/// 5. the journals before the generation of `state.previous.json` are removed.
///
/// To open: take `state.json`, or `state.previous.json` if that is missing or damaged, and fold the journals from its
/// generation on, as far as there are any; each has to continue exactly where the one before ended. So a crash between
/// 3 and 4 leaves two journals for one snapshot, which is just as good. Only the last journal may end in half a batch.
/// A folder without any of these files is a new state; one with journals and no snapshot is refused.
import Basics

struct StateFolder {
  let path: String
  let fileSystem: any FileSystem
  let program: String

  /// Damage in a journal.
  struct Damage {
    /// The generation of the journal.
    var generation: Int
    /// Where the last good batch before it ends.
    var end: Int
    /// A sentence that names the journal.
    var reason: String
  }

  /// The opened state, ready to continue.
  struct Opened {
    var state = State()
    /// The newest records of the logs as of the snapshot.
    var newest = NewestRecords()
    var position = JournalPosition()
    /// The generation of the last journal; 0 for a new state, which has no files.
    var generation = 0
    /// Whether there is nothing but the journal of the first generation, which begins empty.
    var isFirst = false
    /// The generation of `state.json`, if that is whole, so that it may become the previous one.
    var snapshotGeneration: Int?
    /// The generation of `state.previous.json`, if that was needed.
    var previousGeneration: Int?
    var snapshotSize = 0
    /// The number of the last event that the snapshot holds.
    var snapshotSequence = 0
    var journalSize = 0
    /// Whether a snapshot was interrupted between its two renames, so that the next start only has to finish it.
    var isBetweenRenames = false
    /// Whether any of it was written by an older version, so that it must be converted before it is added to.
    var isOld = false
    /// Where the unacknowledged bytes at the end of the last journal begin.
    var tornTail: (journal: String, end: Int)?
    /// The damage that ended the reading, if reading was to end there.
    var damage: Damage?
    /// Sentences about data that was dropped or recovered.
    var notices: [String] = []

    fileprivate mutating func start(from snapshot: Snapshot) {
      state = snapshot.state
      newest = snapshot.newest
      position = snapshot.position
      generation = snapshot.generation
      snapshotSequence = snapshot.position.sequence
      isOld = snapshot.format < StateFormat.version
    }
  }

  /// The name of the mark of a state that has begun.
  private static let begunName = "state.begun"

  private func file(_ name: String) -> String { "\(path)/\(name)" }

  // MARK: - Opening

  /// Reads the state, and cuts half a batch off the last journal; the caller holds the folder's lock.
  func open() throws(StateError) -> Opened {
    try onDisk { () throws(FileError) in try fileSystem.makeFolder(path) }
    let opened = try read()
    if opened.generation == 0 { return opened }
    // An earlier program may have failed to sync it, so that the current names may be gone after a power failure.
    try onDisk { () throws(FileError) in try fileSystem.syncFolder(path) }
    if let (journal, end) = opened.tornTail {
      try onDisk { () throws(FileError) in try fileSystem.truncate(journal, to: end) }
    }
    return opened
  }

  /// Reads the state and changes nothing; if asked to, as if there were no `state.json`.
  ///
  /// - Parameters:
  ///   - untilDamage: Whether the state before a damaged batch is returned, instead of an error.
  ///   - evenMoved: Whether it is read even if it was moved elsewhere.
  func read(
    fromPrevious: Bool = false, untilDamage: Bool = false, evenMoved: Bool = false
  ) throws(StateError) -> Opened {
    let names = try onDisk { () throws(FileError) in try fileSystem.list(path) }
    if !evenMoved, names.contains(MovedState.name) {
      try StateArchive(path, program: program, fileSystem: fileSystem).refuseMoved()
    }
    let generations = names.compactMap(Journal.generation(ofName:)).sorted()
    var opened = Opened()
    if !fromPrevious, let (snapshot, size) = try snapshot(Snapshot.name, &opened.notices) {
      opened.start(from: snapshot)
      opened.snapshotGeneration = snapshot.generation
      opened.snapshotSize = size
    } else if let (snapshot, _) = try snapshot(Snapshot.previousName, &opened.notices) {
      opened.start(from: snapshot)
      opened.previousGeneration = snapshot.generation
    } else if generations.first == 1 {
      // The first generation begins empty, so its journal holds everything.
      opened.generation = 1
      opened.isFirst = generations.count == 1 && opened.notices.isEmpty
    } else if generations.isEmpty, opened.notices.isEmpty {
      // Its only journal is gone, which is no new state.
      if names.contains(StateFolder.begunName) { throw StateFolder.refusal(["\(file(Journal.name(1))) is missing"]) }
      return opened
    } else {
      throw StateFolder.refusal(opened.notices.isEmpty ? ["\(file(Snapshot.name)) is missing"] : opened.notices)
    }
    if let damage = try fold(generations, into: &opened) {
      guard untilDamage else { throw StateFolder.refusal(opened.notices + [damage.reason], isKeepable: !fromPrevious) }
      opened.damage = damage
    }
    if !fromPrevious, opened.snapshotGeneration == nil, !opened.isFirst, opened.position.sequence > 0 {
      opened.isBetweenRenames = try isBetweenRenames(names, generation: opened.generation)
      if opened.isBetweenRenames { return opened }
      opened.notices.append(
        "\(file(Snapshot.name)) was missing or damaged; the state was recovered from what was before it")
    }
    return opened
  }

  /// Whether a crash left the new snapshot, whole, and its predecessor, but no current snapshot.
  private func isBetweenRenames(_ names: [String], generation: Int) throws(StateError) -> Bool {
    let isFollowing = names.contains(Snapshot.previousName) || names.contains(Journal.name(1))
    guard !names.contains(Snapshot.name), isFollowing, names.contains(Snapshot.newName) else { return false }
    var notices: [String] = []
    return try snapshot(Snapshot.newName, &notices)?.0.generation == generation
  }

  /// The snapshot with that name; nil if it is missing or, with a notice, damaged.
  private func snapshot(_ name: String, _ notices: inout [String]) throws(StateError) -> (Snapshot, Int)? {
    guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(file(name)) }) else { return nil }
    do {
      return (try Snapshot(reading: bytes, name: file(name)), bytes.count)
    } catch  where error.kind == .damaged {
      notices.append(error.message)
      return nil
    }
  }

  private static func refusal(_ reasons: [String], isKeepable: Bool = false) -> StateError {
    let keep =
      isKeepable ? " keep what was written before the damage (errand doctor --repair --keep-until-damage)," : ""
    return StateError(
      .damaged,
      reasons.joined(separator: "; ")
        + ". Nothing was changed. Put a backup of the folder in its place,\(keep) or move it away to begin with an empty state."
    )
  }

  /// Folds the journals from the snapshot's generation on, up to damage if there is any.
  private func fold(_ generations: [Int], into opened: inout Opened) throws(StateError) -> Damage? {
    let first = opened.generation
    let last = max(first, generations.last ?? first)
    for generation in first...last {
      let name = file(Journal.name(generation))
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(name) }) else {
        return Damage(generation: generation, end: 0, reason: "\(name) is missing")
      }
      var reader = JournalReader(bytes, name: name, after: opened.position)
      let tail: JournalReader.Tail
      do {
        tail = try reader.read(generation: generation) { event throws(RecordError) in try opened.state.apply(event) }
      } catch  where error.kind == .damaged {
        return Damage(generation: generation, end: 0, reason: error.message)
      }
      if reader.format < Journal.format { opened.isOld = true }
      opened.position = reader.position
      opened.generation = generation
      opened.journalSize = reader.end
      switch tail {
      case .none: break
      case .torn(let count) where generation == last:
        opened.tornTail = (name, reader.end)
        opened.notices.append(
          "\(name): \(count) bytes after the last commit were dropped; they were being written when the machine or the program stopped, and were never acknowledged"
        )
      case .torn:
        return Damage(
          generation: generation, end: reader.end,
          reason: "\(name) ends in half a batch, though another journal follows")
      case .damaged(let offset, let reason):
        return Damage(
          generation: generation, end: reader.end, reason: "\(name) is damaged at byte \(offset): \(reason)")
      }
    }
    return nil
  }

  // MARK: - Continuing

  /// Begins the first generation of a new state, and returns its journal.
  func begin(_ opened: inout Opened) throws(StateError) -> any AppendableFile {
    var position = opened.position
    let header = Journal.header(generation: 1, after: &position, program: program)
    try onDisk { () throws(FileError) in try fileSystem.replace(file(Journal.name(1)), in: path, with: header) }
    opened.position = position
    opened.generation = 1
    opened.isFirst = true
    opened.journalSize = header.count
    return try journal(of: 1)
  }

  /// Cuts the journal of a generation to a size.
  func cut(_ generation: Int, to size: Int) throws(StateError) {
    try onDisk { () throws(FileError) in try fileSystem.truncate(file(Journal.name(generation)), to: size) }
  }

  /// The journal to append to.
  func journal(of generation: Int) throws(StateError) -> any AppendableFile {
    try onDisk { () throws(FileError) in try fileSystem.openForAppending(file(Journal.name(generation))) }
  }

  /// Marks a state that has no snapshot as begun.
  func markBegun() throws(StateError) {
    try onDisk { () throws(FileError) in
      if try fileSystem.size(file(StateFolder.begunName)) != nil { return }
      _ = try fileSystem.openForAppending(file(StateFolder.begunName))
      try fileSystem.syncFolder(path)
    }
  }

  /// Begins a new generation with a snapshot of the state, and returns its journal; finished records are in the logs by
  /// then.
  func compact(_ opened: inout Opened) throws(StateError) -> any AppendableFile {
    let generation = opened.generation + 1
    let snapshot = Snapshot(
      generation: generation, position: opened.position, state: opened.state, newest: opened.newest, program: program)
    var position = opened.position
    let header = Journal.header(generation: generation, after: &position, program: program)
    let hasGoodSnapshot = opened.snapshotGeneration != nil
    let oldest = opened.snapshotGeneration ?? opened.previousGeneration ?? opened.generation
    let new = try onDisk { () throws(FileError) in try fileSystem.create(file(Snapshot.newName)) }
    var size = 0
    try snapshot.write { piece throws(FileError) in
      try new.append(piece)
      size += piece.count
    }
    try onDisk { () throws(FileError) in
      try new.sync()
      try fileSystem.replace(file(Journal.name(generation)), in: path, with: header)
      if hasGoodSnapshot {
        try fileSystem.rename(file(Snapshot.name), to: file(Snapshot.previousName))
      } else if try fileSystem.size(file(Snapshot.name)) != nil {
        try fileSystem.rename(file(Snapshot.name), to: file(Snapshot.damagedName))
      }
      try fileSystem.rename(file(Snapshot.newName), to: file(Snapshot.name))
      try fileSystem.syncFolder(path)
      for name in try fileSystem.list(path) {
        if let generation = Journal.generation(ofName: name), generation < oldest { try fileSystem.remove(file(name)) }
      }
    }
    opened.position = position
    opened.generation = generation
    opened.previousGeneration = opened.snapshotGeneration ?? opened.previousGeneration
    opened.snapshotGeneration = generation
    opened.snapshotSize = size
    opened.snapshotSequence = position.sequence
    opened.journalSize = header.count
    opened.isOld = false
    opened.isFirst = false
    opened.tornTail = nil
    return try journal(of: generation)
  }
}
