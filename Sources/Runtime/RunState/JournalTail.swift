import Basics

/// Distinguishes half a batch, which a crash leaves after the last commit line, from damage to acknowledged events.
///
/// At most one batch is being written at any time, and nothing follows it before it is synced. So a crash leaves a
/// beginning of the batch, or a file of full length with some sectors that were never written. Those are zeros that
/// begin at the batch's start or at the beginning of a sector, and end at the end of a sector or of the file. Whole
/// commit lines after such a hole, zeros anywhere else, and any other byte that a batch doesn't begin with are damage.
///
/// One case can't be distinguished from the file alone: a last batch that was acknowledged and has since lost its end,
/// cut off or filled with zeros, looks like one that a crash interrupted.
extension JournalReader {
  /// The smallest unit that disks write at once.
  private static let sector = 512

  /// Classifies the bytes after the last good commit line.
  func tail() -> Tail {
    if end == bytes.count { return .none }
    let torn = Tail.torn(bytes: bytes.count - end)
    let readable: Int
    switch hole() {
    case .none: readable = bytes.count
    case .some(.failure(let damage)): return damage.tail
    case .some(.success(let start)): readable = start
    }
    var expected = position
    var lineStart = end
    while let newline = index(of: ASCII.newline, from: lineStart), newline < readable {
      if isCommit(lineStart..<newline) {
        return .damaged(offset: lineStart, reason: "the sum of the batch before it is wrong")
      }
      guard number(ofEvent: lineStart..<newline) == expected.sequence + 1 else {
        return .damaged(offset: lineStart, reason: "event \(expected.sequence + 1) cannot be read")
      }
      expected.sequence += 1
      lineStart = newline + 1
    }
    expected.chain.update(bytes[end..<lineStart])
    let fragment = bytes[lineStart..<readable]
    if fragment.isEmpty || fragment.elementsEqual(Journal.commitLine(expected).prefix(fragment.count))
      || isBeginning(fragment, ofEvent: expected.sequence + 1)
    {
      return torn
    }
    return .damaged(offset: lineStart, reason: "the line isn't the beginning of event \(expected.sequence + 1)")
  }

  /// Damage found while looking for holes.
  private struct Damage: Error {
    var tail: Tail

    init(_ offset: Int, _ reason: String) { tail = .damaged(offset: offset, reason: reason) }
  }

  /// Where the first of the unwritten sectors begins, if there are any.
  private func hole() -> Result<Int, Damage>? {
    var first: Int?
    var start = end
    while let zero = index(of: 0, from: start) {
      let stop = bytes[zero...].firstIndex { $0 != 0 } ?? bytes.count
      first = first ?? zero
      let begins = zero == end || zero.isMultiple(of: JournalReader.sector)
      guard begins, stop == bytes.count || stop.isMultiple(of: JournalReader.sector) else {
        return .failure(Damage(zero, "\(stop - zero) zeros are where there were none"))
      }
      start = stop
    }
    guard let first else { return nil }
    if let commit = commit(after: first) {
      return .failure(Damage(first, "zeros are in the place of what was committed at byte \(commit)"))
    }
    return .success(first)
  }

  /// Where a whole commit line begins after a hole, which is at the beginning of a line or right after zeros.
  private func commit(after hole: Int) -> Int? {
    var lineStart = hole
    while let newline = index(of: ASCII.newline, from: lineStart) {
      // Only the last zero of a hole can be before a line; a line of JSON has none.
      let start = bytes[lineStart..<newline].lastIndex(of: 0).map { $0 + 1 } ?? lineStart
      if isCommit(start..<newline) { return start }
      lineStart = newline + 1
    }
    return nil
  }

  /// Whether a line that was cut off anywhere may look like this.
  private func isBeginning(_ fragment: ArraySlice<UInt8>, ofEvent sequence: Int) -> Bool {
    let head = Array("{\"n\":\(sequence),".utf8)
    guard fragment.prefix(head.count).elementsEqual(head.prefix(fragment.count)) else { return false }
    // The parser examines an incomplete text only up to its end.
    var letters = fragment
    while let last = letters.last, last >= 0x80, fragment.count - letters.count < 4 { letters.removeLast() }
    if String(validating: letters, as: UTF8.self) == nil { return false }
    do {
      _ = try JSON.parse(Array(fragment), limits: StateFormat.limits)
      return true
    } catch {
      // The fault must be the end: in a word, a number, a letter of several bytes, or a pair of escapes at most.
      return (error.spot?.offset ?? 0) > fragment.count - "\\ud83e\\udd8".utf8.count - 1
    }
  }

  private func number(ofEvent line: Range<Int>) -> Int? {
    guard let map = (try? JSON.parse(Array(bytes[line]), limits: StateFormat.limits))?.map else { return nil }
    return map["n"]?.int
  }
}
