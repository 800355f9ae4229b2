/// How the index and the blocks of a month are built, checked and repaired.
///
/// Neither is synced, so after a crash their ends may hold anything; what is missing or damaged is rebuilt from the
/// month's own file, and only from there on. When a month is first used in a process, the last block is checked against
/// its lines, and every line after it on its own; each later search checks what it reads.
import Basics

extension MonthlyLog {
  /// Brings the index and the blocks of every month up to its file.
  func completeIndexes() throws(StateError) {
    var whole: Set<String> = []
    for month in try months() { try completeIndex(of: month, &whole) }
  }

  /// Brings a month's index and blocks up to its file, and cuts off half a line at the file's end.
  func completeIndex(of month: LogMonth, _ whole: inout Set<String>) throws(StateError) {
    if whole.contains(month.name) { return }
    let size = try onDisk { () throws(FileError) in try fileSystem.size(month.data) } ?? 0
    var covered = try cutIndexToSoundPart(of: month)
    if try !isEndOfLine(covered, of: month, size) {
      // The index belongs to another file, as when an older one replaced a newer one. Its knowledge of lost records is
      // kept for `errand doctor`.
      if covered > size {
        try onDisk { () throws(FileError) in try fileSystem.rename(month.index, to: month.indexAhead) }
      }
      try removeIndex(of: month)
      covered = 0
    }
    if covered < size { try addToIndex(of: month, covered..<size) }
    try makeBlocks(of: month)
    whole.insert(month.name)
  }

  /// Cuts the index and the blocks to the part that is certainly intact, and returns the end of the records it covers.
  private func cutIndexToSoundPart(of month: LogMonth) throws(StateError) -> Int {
    let (blocksSize, indexSize) = try onDisk { () throws(FileError) in
      (try fileSystem.size(month.blocks) ?? 0, try fileSystem.size(month.index) ?? 0)
    }
    var count = blocksSize / LogBlock.size
    var last: LogBlock?
    while count > 0, last == nil {
      last = try block(count - 1, of: month)
      if let block = last {
        let text = try onDisk { () throws(FileError) in
          try fileSystem.part(of: month.index, from: min(block.offset, indexSize), count: min(block.length, indexSize))
        }
        if !block.describes(text) { last = nil }
      }
      if last == nil { count -= 1 }
    }
    if count * LogBlock.size < blocksSize {
      try onDisk { () throws(FileError) in try fileSystem.truncate(month.blocks, to: count * LogBlock.size) }
    }
    var covered = last?.dataEnd ?? 0
    let start = last?.end ?? 0
    var end = start
    try fileSystem.forEachLine(of: month.index, start..<indexSize) { bytes, _ in
      guard let line = Line(bytes), line.offset >= covered else { return false }
      covered = line.end
      end += bytes.count
      return true
    }
    if end < indexSize { try onDisk { () throws(FileError) in try fileSystem.truncate(month.index, to: end) } }
    return covered
  }

  /// Whether a line ends there in a month's file, and the file or another line follows.
  private func isEndOfLine(_ end: Int, of month: LogMonth, _ size: Int) throws(StateError) -> Bool {
    if end == 0 { return true }
    if end > size { return false }
    let around = try onDisk { () throws(FileError) in
      try fileSystem.read(month.data, from: end - 1, count: min(2, size - end + 1))
    }
    let (newline, brace) = (ASCII.newline, ASCII.openBrace)
    return around.first == newline && (end == size || around.last == brace)
  }

  /// A block of a month, or nil if it is damaged.
  func block(_ number: Int, of month: LogMonth) throws(StateError) -> LogBlock? {
    let bytes = try onDisk { () throws(FileError) in
      try fileSystem.read(month.blocks, from: number * LogBlock.size, count: LogBlock.size)
    }
    return LogBlock(bytes, at: 0)
  }

  private func addToIndex(of month: LogMonth, _ range: Range<Int>) throws(StateError) {
    var lines: [UInt8] = []
    func flush() throws(StateError) {
      if lines.isEmpty { return }
      try onDisk { () throws(FileError) in try fileSystem.openForAppending(month.index).append(lines) }
      lines.removeAll(keepingCapacity: true)
    }
    let end = try fileSystem.forEachLine(of: month.data, range) { bytes, offset throws(StateError) in
      // A damaged line is left out here, reported by `errand doctor`, and stays in the file.
      if let entry = Entry(inLine: bytes.dropLast()) {
        lines += try Line(entry.summary, offset: offset, length: bytes.count, blobs: BlobNames.all(in: bytes)).bytes()
      }
      if lines.count > 1 << 20 { try flush() }
      return true
    }
    try flush()
    if end < range.upperBound {
      try onDisk { () throws(FileError) in try fileSystem.truncate(month.data, to: end) }
    }
  }

  /// Adds the blocks that have enough lines.
  func makeBlocks(of month: LogMonth) throws(StateError) {
    let (blocksSize, indexSize) = try onDisk { () throws(FileError) in
      (try fileSystem.size(month.blocks) ?? 0, try fileSystem.size(month.index) ?? 0)
    }
    let count = blocksSize / LogBlock.size
    let start = count > 0 ? try block(count - 1, of: month)?.end ?? 0 : 0
    // Usually there are too few, and counting is faster than reading.
    var lineCount = 0
    try fileSystem.forEachLine(of: month.index, start..<max(start, indexSize)) { _, _ in
      lineCount += 1
      return lineCount < LogBlock.lineCount
    }
    if lineCount < LogBlock.lineCount { return }
    var bytes: [UInt8] = []
    var maker = LogBlock.Maker(at: start)
    try fileSystem.forEachLine(of: month.index, start..<max(start, indexSize)) { lineBytes, offset in
      guard let line = Line(lineBytes) else { return false }
      maker.add(line, lineBytes)
      if maker.count == LogBlock.lineCount {
        bytes += maker.finish()
        maker = LogBlock.Maker(at: offset + lineBytes.count)
      }
      return true
    }
    if !bytes.isEmpty {
      try onDisk { () throws(FileError) in try fileSystem.openForAppending(month.blocks).append(bytes) }
    }
  }

  /// Drops the index from a block on, so that it is rebuilt from there.
  func cutIndex(of month: LogMonth, toBlock number: Int) throws(StateError) {
    guard number > 0, let last = try block(number - 1, of: month) else { return try removeIndex(of: month) }
    try onDisk { () throws(FileError) in
      if try fileSystem.size(month.blocks) ?? 0 > number * LogBlock.size {
        try fileSystem.truncate(month.blocks, to: number * LogBlock.size)
      }
      if try fileSystem.size(month.index) ?? 0 > last.end { try fileSystem.truncate(month.index, to: last.end) }
    }
  }

  func removeIndex(of month: LogMonth) throws(StateError) {
    try onDisk { () throws(FileError) in
      try fileSystem.remove(month.blocks)
      try fileSystem.remove(month.index)
      try removeSums(of: month)
    }
  }

  /// Removes the indexes of format 1, which are no longer read.
  func removeOldIndexes() throws(StateError) {
    try onDisk { () throws(FileError) in
      for name in try fileSystem.list(folder) where name.hasSuffix(".index.jsonl") {
        try fileSystem.remove("\(folder)/\(name)")
      }
    }
  }
}

extension FileSystem {
  /// Calls a closure with each whole line of a part of a file, its end and its offset, until there are no more or the
  /// closure stops; returns where the last of them ends.
  @discardableResult
  func forEachLine(
    of path: String, _ range: Range<Int>, _ body: (ArraySlice<UInt8>, Int) throws(StateError) -> Bool
  ) throws(StateError) -> Int {
    var end = range.lowerBound
    var next = range.lowerBound
    // The beginning of a line that ends further on.
    var rest: [UInt8] = []
    while next < range.upperBound {
      // Twice as much each time for a line that is longer.
      let count = min(max(256 << 10, rest.count), range.upperBound - next)
      let chunk = try onDisk { () throws(FileError) in try read(path, from: next, count: count) }
      if chunk.isEmpty { break }
      next += chunk.count
      rest += chunk
      var start = 0
      while let newline = rest[start...].firstPlace(of: ASCII.newline) {
        guard try body(rest[start...newline], end) else { return end }
        end += newline + 1 - start
        start = newline + 1
      }
      rest.removeFirst(start)
    }
    return end
  }
}
