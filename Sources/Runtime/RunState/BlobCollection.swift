/// Removes the blobs that nothing refers to any more.
///
/// A blob is garbage if it is older than an hour, was not written by this process within an hour by the monotonic
/// clock, and is named in none of these: the snapshots and the journals of all kept generations, the damaged files kept
/// beside them, and the history. A pass examines a few thousand blobs at most and the next pass continues with others;
/// in the history it reads only the blocks that have a record with the name of a blob.
///
/// It runs concurrently with everything else. The generations are read before the history, so that a run which moves
/// from one to the other meanwhile is seen in either; and if a snapshot was made while they were read, nothing is
/// removed this time.
import Basics
import Synchronization

struct BlobCollection {
  let blobs: Blobs
  let folder: StateFolder
  let history: History
  /// How long a blob may be unnamed, because its writer is about to name it.
  static let grace = TimeSpan.seconds(3600)
  /// About the most blobs that a pass examines.
  var most = 4096
  /// Whether half-written blobs are removed at once.
  var isRemoving = true
  /// Whether to stop early, checked now and then.
  var isOver: () -> Bool = { false }

  /// Makes one pass; returns the number of blobs that were removed.
  func run(at now: Timestamp, after part: Int) throws(StateError) -> Int {
    blobs.forgetRecent(olderThan: .seconds(3600))
    var removed = 0
    let unnamed = try self.unnamed(at: now, after: part) { candidates throws(StateError) in
      try history.removeNamed(from: &candidates, isOver)
    }
    for name in unnamed.sorted(by: { $0.precedesByScalars($1) }) where !isOver() {
      if try blobs.remove(unnamed: name) { removed += 1 }
    }
    return removed
  }

  /// Removes the given blobs if nothing refers to them, even if they aren't an hour old; returns how many it removed.
  ///
  /// A blob that this process wrote within a minute stays, because it may be about to be named again.
  func remove(_ names: Set<String>) throws(StateError) -> Int {
    var candidates = names
    try removeNamed(from: &candidates)
    try history.removeNamed(from: &candidates, isOver)
    var removed = 0
    for name in candidates.sorted(by: { $0.precedesByScalars($1) }) {
      if try blobs.remove(unnamed: name, writtenBefore: .seconds(60)) { removed += 1 }
    }
    return removed
  }

  /// The blobs that are old enough and that nothing refers to; none if a snapshot came meanwhile.
  ///
  /// The caller takes out what the history names; it may have read the history already.
  func unnamed(
    at now: Timestamp, after part: Int, _ removeNamedInHistory: (inout Set<String>) throws(StateError) -> Void
  ) throws(StateError) -> Set<String> {
    var candidates = try candidates(at: now, after: part)
    if candidates.isEmpty { return [] }
    let before = try journals()
    try removeNamed(from: &candidates)
    guard try journals() == before else { return [] }
    try removeNamedInHistory(&candidates)
    return candidates
  }

  /// The blobs that are old enough, starting with a part by number and wrapping around.
  private func candidates(at now: Timestamp, after part: Int) throws(StateError) -> Set<String> {
    let parts = try blobs.parts()
    guard let limit = now.advanced(by: TimeSpan(nanoseconds: -BlobCollection.grace.nanoseconds)) else { return [] }
    var names: Set<String> = []
    for index in parts.indices where names.count < most && !isOver() {
      let part = parts[(index + part) % parts.count]
      try onDisk { () throws(FileError) in
        for name in try blobs.fileSystem.list("\(blobs.folder)/\(part)") {
          let path = "\(blobs.folder)/\(part)/\(name)"
          guard let status = try blobs.fileSystem.status(path), status.modified < limit else { continue }
          if BlobNames.isName(name.utf8) {
            names.insert(name)
          } else if name.hasSuffix(".new"), isRemoving {
            // Half a blob, from an interrupted write.
            try blobs.fileSystem.remove(path)
          }
        }
      }
    }
    return names
  }

  private func journals() throws(StateError) -> [String] {
    try onDisk { () throws(FileError) in try folder.fileSystem.list(folder.path) }
      .filter { Journal.generation(ofName: $0) != nil }.sorted()
  }

  /// Takes out the blobs that the files of the open state name.
  private func removeNamed(from candidates: inout Set<String>) throws(StateError) {
    let names = try onDisk { () throws(FileError) in try folder.fileSystem.list(folder.path) }
    for name in names where name.hasSuffix(".json") || name.hasSuffix(".jsonl") {
      let path = "\(folder.path)/\(name)"
      let size = try onDisk { () throws(FileError) in try folder.fileSystem.size(path) } ?? 0
      var offset = 0
      while offset < size {
        let bytes: [UInt8]
        do throws(FileError) {
          bytes = try folder.fileSystem.read(path, from: offset, count: min(1 << 20, size - offset))
        } catch  where error.isNotFound {
          // A snapshot came, so the journals have changed.
          break
        } catch {
          throw StateError(error)
        }
        BlobNames.forEach(in: bytes[...]) { name, _ in candidates.remove(name) }
        if bytes.count < BlobNames.length + 2 { break }
        // A name may lie across the end.
        offset += bytes.count == size - offset ? bytes.count : bytes.count - (BlobNames.length + 1)
      }
    }
  }
}

extension MonthlyLog {
  /// Takes out the blobs that records name.
  func removeNamed(from candidates: inout Set<String>, _ isOver: () -> Bool) throws(StateError) {
    for month in try months() {
      if candidates.isEmpty { return }
      // The files only grow while they are read without the lock, unless they must be repaired.
      let (blocks, size) = try whole.withLock { whole throws(StateError) in
        try completeIndex(of: month, &whole)
        return try onDisk { () throws(FileError) in
          ((try fileSystem.size(month.blocks) ?? 0) / LogBlock.size, try fileSystem.size(month.index) ?? 0)
        }
      }
      var start = 0
      for number in 0..<blocks {
        if isOver() { throw .interrupted }
        guard let block = try block(number, of: month) else { throw damage(month.blocks) }
        start = block.end
        if block.namesBlobs { try removeNamed(from: &candidates, of: month, block.offset..<block.end) }
      }
      try removeNamed(from: &candidates, of: month, start..<max(start, size))
    }
  }

  private func removeNamed(
    from candidates: inout Set<String>, of month: LogMonth, _ range: Range<Int>
  ) throws(StateError) {
    var named: [String] = []
    let end = try fileSystem.forEachLine(of: month.index, range) { bytes, _ in
      guard let line = Line(bytes) else { return false }
      named += line.blobs
      return true
    }
    guard end == range.upperBound else { throw damage(month.index) }
    candidates.subtract(named)
  }

  private func damage(_ path: String) -> StateError {
    StateError(.damaged, "\(path) is damaged; it is rebuilt when it is next searched")
  }
}

extension StateError {
  /// The time ran out; nothing was removed that is needed.
  static let interrupted = StateError(.closed, "the state is being closed")
}
