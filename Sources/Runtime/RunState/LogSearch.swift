import Basics
import Glibc

/// One search in the index of a month, from its end.
struct LogSearch<Summary: LogSummary> {
  private let query: LogQuery<Summary>
  private let needles: [[[UInt8]]]
  private let foldedNeedles: [[UInt8]]
  private let question: LogBlock.Question
  /// The matching lines, last first.
  private(set) var found: [LogLine<Summary>] = []

  /// How many blocks are read at once.
  private static var stride: Int { 256 }

  init(_ query: LogQuery<Summary>) {
    self.query = query
    needles = query.needles.map { $0.map { Array($0.utf8) } }
    foldedNeedles = query.foldedNeedles.map { Array($0.utf8) }
    question = LogBlock.Question(query)
  }

  /// Searches until enough is found; returns the number of the block whose bytes are damaged, or the number after the
  /// last block for the lines after it, and nil if none is damaged.
  mutating func run(in month: LogMonth, _ fileSystem: any FileSystem) throws(StateError) -> Int? {
    let (blockCount, indexSize) = try onDisk { () throws(FileError) in
      ((try fileSystem.size(month.blocks) ?? 0) / LogBlock.size, try fileSystem.size(month.index) ?? 0)
    }
    var upper = blockCount
    var blocks: [UInt8] = []
    var lower = upper
    func readBlocks() throws(StateError) {
      lower = max(0, upper - LogSearch.stride)
      blocks = try onDisk { () throws(FileError) in
        try fileSystem.part(of: month.blocks, from: lower * LogBlock.size, count: (upper - lower) * LogBlock.size)
      }
    }
    var tailStart = 0
    if upper > 0 {
      try readBlocks()
      guard let last = LogBlock(blocks, at: (upper - 1 - lower) * LogBlock.size) else { return upper - 1 }
      tailStart = last.end
    }
    guard tailStart <= indexSize else { return max(blockCount - 1, 0) }
    let tail = try onDisk { () throws(FileError) in
      try fileSystem.part(of: month.index, from: tailStart, count: indexSize - tailStart)
    }
    guard scan(tail, isChecked: false) else { return blockCount }
    while upper > 0, found.count < query.limit {
      if upper <= lower { try readBlocks() }
      upper -= 1
      guard let block = LogBlock(blocks, at: (upper - lower) * LogBlock.size) else { return upper }
      if !block.mayAnswer(question) { continue }
      let text = try onDisk { () throws(FileError) in
        try fileSystem.part(of: month.index, from: block.offset, count: block.length)
      }
      guard block.describes(text), scan(text, isChecked: true) else { return upper }
    }
    return nil
  }

  /// Collects the lines that match, last first; false if a line is damaged or unfinished.
  private mutating func scan(_ text: [UInt8], isChecked: Bool) -> Bool {
    if isChecked, !holdsNeedles(text[...]) { return true }
    var end = text.count
    while end > 0, found.count < query.limit {
      guard text[end - 1] == ASCII.newline else { return false }
      let start = text[..<(end - 1)].lastIndex(of: ASCII.newline).map { $0 + 1 } ?? 0
      let line = text[start..<end]
      end = start
      if !isChecked, !LogLineEnd.isSound(line) { return false }
      if !holdsNeedles(line) { continue }
      guard let entry = LogLine<Summary>(line) else { return false }
      if query.matches(entry.summary) { found.append(entry) }
    }
    return true
  }

  private func holdsNeedles(_ text: ArraySlice<UInt8>) -> Bool {
    needles.allSatisfy { $0.contains { text.holds($0) } } && foldedNeedles.allSatisfy { text.holds(folded: $0) }
  }
}

extension ArraySlice<UInt8> {
  /// Whether the bytes contain a text.
  func holds(_ needle: [UInt8]) -> Bool { place(of: needle) != nil }

  /// Whether the bytes contain a text, whose letters of ASCII are lowercase and match in either case.
  // For speed, because it goes through a whole history, where the module is built for size.
  @_optimize(speed)
  func holds(folded needle: [UInt8]) -> Bool {
    withUnsafeBytes { bytes in
      needle.withUnsafeBytes { needle in
        var place = 0
        while place + needle.count <= bytes.count {
          var length = 0
          while length < needle.count, needle[length] == PrintedNeedle.lowercased(bytes[place + length]) { length += 1 }
          if length == needle.count { return true }
          place += 1
        }
        return false
      }
    }
  }

  /// Where the bytes contain a text first.
  ///
  /// Written here, because `memmem` is unavailable without `_GNU_SOURCE`: eight bytes are compared at a time, and the
  /// rest of the text only if these are equal. For a shorter text the search looks for its first byte, which should be
  /// rare.
  // For speed, because it goes through a whole history, where the module is built for size.
  @_optimize(speed)
  func place(of needle: [UInt8]) -> Int? {
    if needle.count < 8 { return placeOfShort(needle) }
    return withUnsafeBytes { bytes in
      needle.withUnsafeBytes { needle in
        let head = needle.loadUnaligned(as: UInt64.self)
        var place = 0
        while place + needle.count <= bytes.count {
          if bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self) == head,
            UnsafeRawBufferPointer(rebasing: bytes[place..<place + needle.count]).elementsEqual(needle)
          {
            return startIndex + place
          }
          place += 1
        }
        return nil
      }
    }
  }

  private func placeOfShort(_ needle: [UInt8]) -> Int? {
    guard let first = needle.first else { return startIndex }
    return withUnsafeBytes { bytes in
      needle.withUnsafeBytes { needle in
        guard let base = bytes.baseAddress, var place = bytes.baseAddress, let wanted = needle.baseAddress else {
          return nil
        }
        // The number of places left where it may begin.
        var left = bytes.count - needle.count + 1
        while left > 0, let found = memchr(place, Int32(first), left) {
          if memcmp(found, wanted, needle.count) == 0 { return startIndex + (UnsafeRawPointer(found) - base) }
          let next = UnsafeRawPointer(found) + 1
          left -= next - place
          place = next
        }
        return nil
      }
    }
  }

  /// The first position of a byte.
  func firstPlace(of byte: UInt8) -> Int? {
    withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, let found = memchr(base, Int32(byte), bytes.count) else { return nil }
      return startIndex + (UnsafeRawPointer(found) - base)
    }
  }
}
