/// The parts in which the log of a run is read.
///
/// Every store gives the same: records as lines of JSON, and how many lines are before them. So lines are found, filtered
/// and searched by one reader (`PrintedReader`), wherever they are kept.
import Basics

/// A place between two records of a log.
package struct PrintedPlace: Sendable, Equatable {
  /// How many lines are before it.
  package var line: Int
  /// Where the store has it: a byte of a file, or a row.
  package var mark: Int

  package init(line: Int, mark: Int) {
    self.line = line
    self.mark = mark
  }

  package static let start = PrintedPlace(line: 0, mark: 0)
}

/// The part of a log that is asked for.
package enum PrintedPoint: Sendable {
  /// The part with the line that has so many before it, or the last part if there are fewer.
  case line(Int)
  case after(PrintedPlace)
  case before(PrintedPlace)
}

/// Some records of a log, one after another.
package struct PrintedChunk: Sendable {
  /// The records, each with a line feed.
  package var bytes: [UInt8]
  package var start: PrintedPlace
  package var end: PrintedPlace
  /// Whether nothing came after it when it was read.
  package var isLast: Bool

  package init(bytes: [UInt8], start: PrintedPlace, end: PrintedPlace, isLast: Bool) {
    self.bytes = bytes
    self.start = start
    self.end = end
    self.isLast = isLast
  }

  /// No records.
  package static func nothing(at place: PrintedPlace) -> PrintedChunk {
    PrintedChunk(bytes: [], start: place, end: place, isLast: true)
  }

  /// Rows of a store, each with a record.
  package init(_ rows: [(mark: Int, text: String)], from start: PrintedPlace, isLast: Bool) {
    self.init(bytes: [], start: start, end: start, isLast: isLast)
    for row in rows {
      bytes += row.text.utf8
      bytes.append(ASCII.newline)
      end.line += PrintedChunk.lineCount(of: bytes[(bytes.count - 1 - row.text.utf8.count)...])
      end.mark = row.mark
    }
  }

  /// A part of a log whose records are rows in memory, marked by their number.
  package init(of rows: [String], at point: PrintedPoint) {
    var start = PrintedPlace.start
    var last = rows.count
    func count(_ row: Int) -> Int { PrintedChunk.lineCount(of: Array(rows[row].utf8.prefix(24))[...]) }
    switch point {
    case .after(let place): start = place
    case .line(let line):
      while start.mark < rows.count - 1 {
        let next = start.line + count(start.mark)
        if next > line { break }
        start = PrintedPlace(line: next, mark: start.mark + 1)
      }
    case .before(let place):
      start = place
      last = place.mark
      while start.mark > 0, last - start.mark < PrintedChunk.mostRows {
        start.mark -= 1
        start.line -= count(start.mark)
      }
    }
    let end = min(last, start.mark + PrintedChunk.mostRows)
    let part = start.mark < end ? (start.mark..<end).map { (mark: $0 + 1, text: rows[$0]) } : []
    self.init(part, from: start, isLast: end >= rows.count)
  }

  /// About how many bytes are read at once.
  package static let size = 256 << 10
  /// How many rows are read at once.
  package static let mostRows = 1000

  private static let label = Array("{\"lines\":".utf8)

  /// How many lines a record is, by its beginning.
  package static func lineCount(of record: ArraySlice<UInt8>) -> Int { head(of: record).count }

  /// How many lines a record is, and where its other members begin.
  static func head(of record: ArraySlice<UInt8>) -> (count: Int, members: Int) {
    guard record.starts(with: label) else { return (1, min(record.startIndex + 1, record.endIndex)) }
    var place = record.startIndex + label.count
    var count = 0
    // No record has more lines than bytes, and its text has at most 64 KiB.
    while place < record.endIndex, ASCII.digits.contains(record[place]), count < 1 << 20 {
      count = count * 10 + Int(record[place] - ASCII.zero)
      place += 1
    }
    return (max(1, count), min(place + 1, record.endIndex))
  }

  /// Calls a function with each record and the number of lines before it, until it returns false.
  func forEachRecord(_ take: (ArraySlice<UInt8>, Int) -> Bool) {
    var line = start.line
    var rest = bytes[...]
    while let end = rest.firstPlace(of: ASCII.newline) {
      let record = rest[..<end]
      guard take(record, line) else { return }
      line += PrintedChunk.lineCount(of: record)
      rest = rest[(end + 1)...]
    }
  }
}
