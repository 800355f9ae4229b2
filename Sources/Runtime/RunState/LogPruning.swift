/// How old records leave a log.
///
/// By age, whole months are removed, so that a record is kept until its whole month is old enough. Age counts from the
/// end of the second-to-last month that has records, and not from the clock alone: a clock that is years ahead for a
/// while would remove everything. By number, the oldest months are removed as long as enough is left without them. In
/// the first month that stays, the oldest blocks are removed once they are at least a fifth of it and a thousand
/// records, because its files have to be rewritten for that.
///
/// A month's index is removed before its records are, durably, so that no index is ever used for another file. Files
/// are rewritten beside the old ones while those are read and added to; only the additions meanwhile are copied with
/// the lock held. A crash leaves the old month or the new one, and at worst an index to rebuild.
import Basics
import Synchronization

extension MonthlyLog {
  /// Removes what is too old or too much, and returns the months that are gone or became shorter.
  ///
  /// Only one caller may prune at a time.
  func prune(
    olderThan age: TimeSpan?, at now: Timestamp, keeping most: Int?, leastBlocks: Int = 8
  ) throws(StateError) -> [String] {
    let months = try months()
    let cutoff = months.dropLast().last.flatMap { last in
      age.flatMap { min(now, last.end).advanced(by: TimeSpan(nanoseconds: -max(0, $0.nanoseconds))) }
    }
    let old = months.prefix { month in cutoff.map { month.end <= $0 } ?? false }
    var pruned = try old.map { month throws(StateError) in try remove(month) }
    guard let most else { return pruned }
    var left = most
    for month in months.dropFirst(old.count).reversed() {
      if left <= 0 {
        pruned.append(try remove(month))
        continue
      }
      let (blocks, tail) = try size(of: month)
      let surplus = max(0, (blocks * LogBlock.lineCount + tail - left)) / LogBlock.lineCount
      if surplus >= max(leastBlocks, blocks / 5) {
        try dropBlocks(surplus, of: month)
        pruned.append(month.name)
      }
      left -= blocks * LogBlock.lineCount + tail
    }
    return pruned
  }

  /// How many blocks a month has, and how many lines after them.
  private func size(of month: LogMonth) throws(StateError) -> (blocks: Int, tail: Int) {
    try whole.withLock { whole throws(StateError) in
      try completeIndex(of: month, &whole)
      let (blocksSize, indexSize) = try onDisk { () throws(FileError) in
        (try fileSystem.size(month.blocks) ?? 0, try fileSystem.size(month.index) ?? 0)
      }
      let count = blocksSize / LogBlock.size
      let start = count > 0 ? try block(count - 1, of: month)?.end ?? 0 : 0
      var tail = 0
      try fileSystem.forEachLine(of: month.index, start..<max(start, indexSize)) { _, _ in
        tail += 1
        return true
      }
      return (count, tail)
    }
  }

  private func remove(_ month: LogMonth) throws(StateError) -> String {
    try whole.withLock { whole throws(StateError) in
      whole.remove(month.name)
      try removeIndex(of: month)
      try onDisk { () throws(FileError) in
        try fileSystem.syncFolder(folder)
        try fileSystem.remove(month.data)
        try fileSystem.syncFolder(folder)
      }
    }
    return month.name
  }

  private func dropBlocks(_ number: Int, of month: LogMonth) throws(StateError) {
    guard let last = try block(number - 1, of: month) else { return }
    try rewrite(month, from: Copied(index: last.end, data: last.dataEnd)) { _ in .keep }
  }

  // MARK: - Changing records

  /// The fate of a record when its month is rewritten.
  private enum Change {
    case keep, drop
    case replace(Entry)
  }

  /// How far a month was copied: places in its index and its file, and in the new file.
  private struct Copied {
    var index = 0
    var data = 0
    var written = 0
    /// The sums of the records in the new file.
    var sums = MonthSums()
  }

  /// Rewrites the months with records that match, without these or with others in their place; returns the number of
  /// those records.
  ///
  /// Only one caller may rewrite or prune at a time. Records are added meanwhile.
  ///
  /// - Parameter replacement: The record to keep instead, or nil to drop it.
  func replace(
    _ query: Query, with replacement: (Entry) throws(StateError) -> Entry?
  ) throws(StateError) -> Int {
    var months: [LogMonth] = []
    var one = query
    one.limit = 1
    for month in try self.months() {
      let isThere = try whole.withLock { whole throws(StateError) in try !lines(of: month, one, &whole).isEmpty }
      if isThere { months.append(month) }
    }
    var count = 0
    for month in months {
      try rewrite(month) { line throws(StateError) in
        guard query.matches(line.summary) else { return .keep }
        let bytes = try onDisk { () throws(FileError) in
          try fileSystem.read(month.data, from: line.offset, count: line.length)
        }
        // `errand doctor` reports damaged records; until then they can be restored from a backup.
        guard let entry = Entry(inLine: bytes.dropLast()) else { return .keep }
        count += 1
        guard let other = try replacement(entry) else { return .drop }
        return .replace(other)
      }
    }
    return count
  }

  /// Writes a month anew beside its files, from one place on, and puts it in their place.
  ///
  /// The lock is held only for the records that were added meanwhile.
  private func rewrite(
    _ month: LogMonth, from start: Copied = Copied(), _ change: (Line) throws(StateError) -> Change
  ) throws(StateError) {
    let next = month.next
    try clear(next)
    var copied = start
    try copy(month, to: next, &copied, change)
    try makeBlocks(of: next)
    try whole.withLock { whole throws(StateError) in
      try completeIndex(of: month, &whole)
      try copy(month, to: next, &copied, change)
      try makeBlocks(of: next)
      try replace(month, with: next, &whole)
      keepSums(copied.sums, of: month)
    }
  }

  /// Copies the records and their index lines from one place on, and syncs the records.
  private func copy(
    _ month: LogMonth, to next: LogMonth, _ copied: inout Copied, _ change: (Line) throws(StateError) -> Change
  ) throws(StateError) {
    let size = try onDisk { () throws(FileError) in try fileSystem.size(month.index) } ?? 0
    let data = try onDisk { () throws(FileError) in try fileSystem.openForAppending(next.data) }
    let index = try onDisk { () throws(FileError) in try fileSystem.openForAppending(next.index) }
    var lines: [UInt8] = []
    var place = copied
    /// Copies the bytes up to a place, also of damaged lines, which the index doesn't have.
    func copyBytes(to end: Int) throws(StateError) {
      while place.data < end {
        let bytes = try onDisk { () throws(FileError) in
          try fileSystem.read(month.data, from: place.data, count: min(1 << 20, end - place.data))
        }
        guard !bytes.isEmpty else { throw StateError(.damaged, "\(month.data) ends before its index does") }
        try onDisk { () throws(FileError) in try data.append(bytes) }
        place.data += bytes.count
        place.written += bytes.count
      }
    }
    var end = place.data
    try fileSystem.forEachLine(of: month.index, place.index..<max(place.index, size)) { bytes, _ throws(StateError) in
      guard var line = Line(bytes) else {
        throw StateError(.damaged, "\(month.index) is damaged at byte \(place.index); it is rebuilt when it is read")
      }
      place.index += bytes.count
      end = line.end
      switch try change(line) {
      case .keep:
        line.offset += place.written - place.data
        let bytes = try line.bytes()
        place.sums.add(line, length: bytes.count)
        lines += bytes
      case .drop:
        try copyBytes(to: line.offset)
        place.data = end
      case .replace(let entry):
        try copyBytes(to: line.offset)
        place.data = end
        let (length, blobs) = try entry.writeLine { piece throws(FileError) in try data.append(piece) }
        let other = Line(entry.summary, offset: place.written, length: length, blobs: blobs)
        let bytes = try other.bytes()
        place.sums.add(other, length: bytes.count)
        lines += bytes
        place.written += length
      }
      if lines.count > 1 << 20 {
        let full = lines
        try onDisk { () throws(FileError) in try index.append(full) }
        lines = []
      }
      return true
    }
    try copyBytes(to: end)
    let rest = lines
    try onDisk { () throws(FileError) in
      if !rest.isEmpty { try index.append(rest) }
      try data.sync()
    }
    copied = place
  }
}
