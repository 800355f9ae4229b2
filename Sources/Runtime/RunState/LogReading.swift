import Basics
import Synchronization

/// How far a record of a log has been read, piece by piece because it may be large.
///
/// The text is the record's own JSON object. It is verified only after the last piece, which is empty, because its sum
/// isn't known before.
package struct LogCursor: Sendable {
  package let id: String
  fileprivate var place = 0
  fileprivate var sum = Checksum()
  fileprivate var written: Checksum?
  /// Whether all of the text was returned, and is intact.
  package fileprivate(set) var isOver = false

  package init(_ id: String) { self.id = id }

  /// The cursor of one who has all of the text.
  var atEnd: LogCursor {
    var end = self
    end.isOver = true
    return end
  }
}

extension MonthlyLog {
  /// The next piece of a record's text, of whole characters; nil if there is no such record.
  func piece(_ cursor: inout LogCursor, most: Int) throws(StateError) -> [UInt8]? {
    let (id, place) = (cursor.id, cursor.place)
    // The record is looked up each time, and read with the lock held, because pruning moves content inside a file.
    let found = try whole.withLock { whole throws(StateError) -> (bytes: [UInt8], count: Int, damage: StateError)? in
      guard let (line, month) = try lines(Query(id: id), &whole).first else { return nil }
      let damage = month.damage(at: line.offset, of: "\(Entry.label) \(id)")
      func read(_ offset: Int, _ count: Int) throws(StateError) -> [UInt8] {
        try onDisk { () throws(FileError) in
          try fileSystem.part(of: month.data, from: line.offset + offset, count: count)
        }
      }
      let (start, end) = (Entry.textStart, line.length - Entry.lineEnd.count)
      guard start <= end, place <= end - start else { throw damage }
      if cursor.written == nil {
        guard let sum = Entry.sum(inLine: try read(0, start)[...]), try read(end, Entry.lineEnd.count) == Entry.lineEnd
        else { throw damage }
        cursor.written = sum
      }
      return (try read(start + place, min(most, end - start - place)), end - start, damage)
    }
    guard let (read, count, damage) = found else { return nil }
    var bytes = read
    if place + bytes.count < count { bytes.removeLast(bytes.bytesOfCutCharacter) }
    cursor.sum.update(bytes)
    cursor.place += bytes.count
    if place == count {
      guard cursor.sum == cursor.written else { throw damage }
      cursor.isOver = true
    } else if bytes.isEmpty {
      throw damage
    }
    return bytes
  }
}

extension BidirectionalCollection<UInt8> {
  /// How many bytes at the end belong to an incomplete character.
  package var bytesOfCutCharacter: Int {
    let tail = suffix(4).reversed()
    for (index, byte) in tail.enumerated() where byte & 0xC0 != 0x80 {
      let length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
      return index + 1 < length ? index + 1 : 0
    }
    return 0
  }
}
