import Basics
import Synchronization

/// The findings in the files of a month, after a check of every line.
struct LogHealth {
  /// How many records are whole.
  var count = 0
  /// Where damaged lines begin.
  var damaged: [Int] = []
  /// Whether the last line has no end.
  var isTorn = false
  /// Whether index and blocks match the records.
  var isIndexSound = true
  /// Whether the index has more than the records: a record is on the disk before its line of the index is written.
  var isShort = false
  /// Whether the sought record was found.
  var hasSought = false
  /// The blobs that records name.
  var blobs: Set<String> = []
}

extension MonthlyLog {
  /// Reads all of a month without changing anything.
  ///
  /// - Parameter sought: The id of a record that should be there.
  func health(of month: LogMonth, lookingFor sought: String? = nil) throws(StateError) -> LogHealth {
    var health = LogHealth()
    let (size, indexSize, blocksSize) = try onDisk { () throws(FileError) in
      (
        try fileSystem.size(month.data) ?? 0, try fileSystem.size(month.index) ?? 0,
        try fileSystem.size(month.blocks) ?? 0
      )
    }
    // The lines of the index, a stretch at a time, in step with the lines of the records.
    var index: [Range<Int>] = []
    var next = 0
    var place = 0
    let end = try fileSystem.forEachLine(of: month.data, 0..<size) { bytes, offset throws(StateError) in
      let text = Entry.text(inLine: bytes.dropLast())
      if let text {
        health.count += 1
        health.blobs.formUnion(BlobNames.references(in: text))
        if let sought, Entry(inLine: bytes.dropLast())?.summary.id.hasSameScalars(as: sought) == true {
          health.hasSought = true
        }
      } else {
        health.damaged.append(offset)
      }
      if next == index.count, health.isIndexSound {
        index.removeAll(keepingCapacity: true)
        next = 0
        place = try fileSystem.forEachLine(of: month.index, place..<max(place, indexSize)) { bytes, _ in
          guard index.count < 4096, let line = Line(bytes) else { return false }
          index.append(line.offset..<line.end)
          return true
        }
      }
      if next < index.count, index[next] == offset..<offset + bytes.count {
        next += 1
      } else if text != nil {
        health.isIndexSound = false
      }
      return true
    }
    health.isTorn = end < size
    if try onDisk({ () throws(FileError) in try fileSystem.size(month.indexAhead) }) != nil { health.isShort = true }
    if indexSize > 0, let last = try lastLine(of: month, indexSize), last.end > end { health.isShort = true }
    if next < index.count || place < indexSize || blocksSize % LogBlock.size != 0 { health.isIndexSound = false }
    for number in 0..<blocksSize / LogBlock.size where health.isIndexSound {
      guard let block = try block(number, of: month), block.end <= indexSize else {
        health.isIndexSound = false
        break
      }
      let text = try onDisk { () throws(FileError) in
        try fileSystem.part(of: month.index, from: block.offset, count: block.length)
      }
      if !block.describes(text) { health.isIndexSound = false }
    }
    return health
  }

  /// The last whole line of a month's index.
  private func lastLine(of month: LogMonth, _ size: Int) throws(StateError) -> Line? {
    var last: Line?
    // No line is longer than that.
    try fileSystem.forEachLine(of: month.index, max(0, size - 1 << 20)..<size) { bytes, _ in
      if let line = Line(bytes) { last = line }
      return true
    }
    return last
  }

  /// Rewrites a month without its damaged lines, which are kept in `2026-11.damaged`; returns their number.
  func putDamagedAside(of month: LogMonth) throws(StateError) -> Int {
    let next = month.next
    var count = 0
    try whole.withLock { whole throws(StateError) in
      let size = try onDisk { () throws(FileError) in try fileSystem.size(month.data) } ?? 0
      try clear(next)
      let good = try onDisk { () throws(FileError) in try fileSystem.openForAppending(next.data) }
      let bad = try onDisk { () throws(FileError) in
        try fileSystem.openForAppending("\(folder)/\(month.name).damaged")
      }
      try fileSystem.forEachLine(of: month.data, 0..<size) { bytes, _ throws(StateError) in
        let isGood = Entry.text(inLine: bytes.dropLast()) != nil
        if !isGood { count += 1 }
        try onDisk { () throws(FileError) in try (isGood ? good : bad).append(Array(bytes)) }
        return true
      }
      try onDisk { () throws(FileError) in
        try good.sync()
        try bad.sync()
      }
      try replace(month, with: next, &whole)
    }
    return count
  }

  /// Rewrites a month with some records changed, unless none is; damaged lines are copied unchanged.
  ///
  /// - Parameter change: Returns the replacement for a record, or nil to keep it.
  func rewrite(_ month: LogMonth, _ change: (Entry) throws(StateError) -> Entry?) throws(StateError) -> Bool {
    let next = month.next
    var isChanged = false
    try whole.withLock { whole throws(StateError) in
      let size = try onDisk { () throws(FileError) in try fileSystem.size(month.data) } ?? 0
      try clear(next)
      let file = try onDisk { () throws(FileError) in try fileSystem.openForAppending(next.data) }
      try fileSystem.forEachLine(of: month.data, 0..<size) { bytes, _ throws(StateError) in
        var line = Array(bytes)
        if let entry = Entry(inLine: bytes.dropLast()), let other = try change(entry) {
          line = try other.line()
          isChanged = true
        }
        let changed = line
        try onDisk { () throws(FileError) in try file.append(changed) }
        return true
      }
      guard isChanged else { return try onDisk { () throws(FileError) in try fileSystem.remove(next.data) } }
      try onDisk { () throws(FileError) in try file.sync() }
      try replace(month, with: next, &whole)
    }
    return isChanged
  }

  /// Removes what an earlier attempt to rewrite a month left.
  func clear(_ next: LogMonth) throws(StateError) {
    try onDisk { () throws(FileError) in
      for path in [next.data, next.index, next.blocks] { try fileSystem.remove(path) }
    }
  }

  /// Puts the files that were written beside a month in their place; an index that was not written is rebuilt.
  func replace(_ month: LogMonth, with next: LogMonth, _ whole: inout Set<String>) throws(StateError) {
    whole.remove(month.name)
    try removeIndex(of: month)
    try onDisk { () throws(FileError) in
      try fileSystem.syncFolder(folder)
      try fileSystem.rename(next.data, to: month.data)
      try fileSystem.syncFolder(folder)
      if try fileSystem.size(next.index) != nil { try fileSystem.rename(next.index, to: month.index) }
      if try fileSystem.size(next.blocks) != nil { try fileSystem.rename(next.blocks, to: month.blocks) }
    }
    try completeIndex(of: month, &whole)
  }

  /// Rebuilds a month's index.
  func remakeIndex(of month: LogMonth) throws(StateError) {
    try whole.withLock { whole throws(StateError) in
      whole.remove(month.name)
      try removeIndex(of: month)
      try onDisk { () throws(FileError) in try fileSystem.remove(month.indexAhead) }
      try completeIndex(of: month, &whole)
    }
  }
}
