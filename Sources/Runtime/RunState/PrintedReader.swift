/// Reads lines of a run's log: from a place on or up to one, of one step or attempt, or lines that hold a text.
import Basics

/// The lines that are asked for.
package struct PrintedQuery: Sendable {
  /// Only lines of this step and the steps inside it.
  package var step: StepPath?
  package var attempt: Int?
  /// Only lines that show this text, each with the lines around it; they are searched forwards.
  package var find: String?
  /// How many lines of the log to skip; a negative number counts lines from the end.
  package var from = 0
  /// Only the last lines of the first so many; `from` isn't regarded then.
  package var before: Int?
  /// How many lines at most.
  package var most = 1000

  package init() {}
}

extension StateStore {
  /// Some lines that programs of a run printed.
  package func printed(ofRun id: String, _ query: PrintedQuery) async throws(StateError) -> PrintedPiece {
    var query = query
    if query.before == nil, query.from < 0 {
      query.before = .max
      query.most = min(query.most, Int(clamping: query.from.magnitude))
    }
    var reader = PrintedReader(query)
    if let before = query.before {
      var chunk = try await printed(ofRun: id, at: .line(max(0, max(0, before) - 1)))
      reader.end(at: chunk, before)
      while !reader.takeBackwards(chunk), chunk.start.line > 0, !Task.isCancelled {
        chunk = try await printed(ofRun: id, at: .before(chunk.start))
      }
      return reader.piece
    }
    var chunk = try await printed(ofRun: id, at: .line(query.from))
    while !reader.take(chunk), !chunk.isLast, !Task.isCancelled {
      chunk = try await printed(ofRun: id, at: .after(chunk.end))
    }
    return reader.piece
  }

  /// Some lines from a position on.
  package func printed(ofRun id: String, from position: Int) async throws(StateError) -> PrintedPiece {
    var query = PrintedQuery()
    query.from = position
    return try await printed(ofRun: id, query)
  }

  /// Passes on the bytes of all lines of a step or an attempt, each with its line end.
  package func printedText(
    ofRun id: String, step: StepPath?, attempt: Int?, _ take: ([UInt8]) async throws -> Void
  ) async throws {
    var query = PrintedQuery()
    (query.step, query.attempt) = (step, attempt)
    var reader = PrintedReader(query)
    var chunk = try await printed(ofRun: id, at: .line(0))
    while true {
      let bytes = reader.text(of: chunk)
      if !bytes.isEmpty { try await take(bytes) }
      if chunk.isLast || Task.isCancelled { return }
      chunk = try await printed(ofRun: id, at: .after(chunk.end))
    }
  }
}

struct PrintedReader {
  private let query: PrintedQuery
  private let needle: PrintedNeedle?
  private var filter: PrintedFilter
  private(set) var piece = PrintedPiece(lines: [], numbers: [], next: 0, isLast: true)
  private var size = 0
  /// The lines just before, at most as many as are shown around a match.
  private var recent: [(number: Int, line: PrintedLine)] = []
  /// The records after those, which are read if one that follows matches.
  private var unread: [(line: Int, record: ArraySlice<UInt8>)] = []
  /// How many of the next lines are shown because they follow a match.
  private var following = 0

  /// How many lines are shown before and after one that is searched for.
  private static let around = 2
  /// The most bytes of text.
  private static let mostBytes = 256 << 10

  init(_ query: PrintedQuery) {
    self.query = query
    needle = query.find.flatMap(PrintedNeedle.init)
    filter = PrintedFilter(step: query.step, attempt: query.attempt)
    piece.earlier = query.from > 0 ? query.from : nil
  }

  private var isFull: Bool { piece.lines.count >= max(0, query.most) || size >= PrintedReader.mostBytes }

  private mutating func add(_ line: PrintedLine, _ number: Int) {
    piece.lines.append(line)
    piece.numbers.append(number)
    size += line.size
  }

  private static func line(of record: ArraySlice<UInt8>) -> PrintedLine? {
    guard let value = try? JSON.parse(Array(record)) else { return nil }
    return try? PrintedLine(reading: value)
  }

  // MARK: Forwards

  /// Takes the lines of the next chunk; returns whether there are enough.
  mutating func take(_ chunk: PrintedChunk) -> Bool {
    var isEnough = false
    chunk.forEachRecord { record, line in
      if line + PrintedChunk.lineCount(of: record) <= query.from || !filter.takes(record) { return true }
      if let needle, following == 0, !needle.mayBe(in: record) {
        skip(record, line)
        return true
      }
      guard let printed = PrintedReader.line(of: record) else { return true }
      if needle != nil { readSkipped() }
      for (index, single) in printed.lines.enumerated() where line + index >= query.from {
        if isFull {
          (piece.next, piece.isLast, isEnough) = (line + index, false, true)
          return false
        }
        take(single, line + index + 1)
      }
      return true
    }
    if !isEnough { (piece.next, piece.isLast) = (chunk.end.line, chunk.isLast) }
    return isEnough
  }

  private mutating func take(_ line: PrintedLine, _ number: Int) {
    guard let needle else { return add(line, number) }
    if needle.isShown(by: line.text) {
      for (number, line) in recent { add(line, number) }
      recent = []
      add(line, number)
      piece.matches.append(number)
      following = PrintedReader.around
    } else if following > 0 {
      add(line, number)
      following -= 1
    } else {
      recent.append((number, line))
      if recent.count > PrintedReader.around { recent.removeFirst() }
    }
  }

  private mutating func skip(_ record: ArraySlice<UInt8>, _ line: Int) {
    unread.append((line, record))
    if unread.count > PrintedReader.around { unread.removeFirst() }
  }

  private mutating func readSkipped() {
    for (line, record) in unread {
      for (index, single) in (PrintedReader.line(of: record)?.lines ?? []).enumerated().suffix(PrintedReader.around)
      where line + index >= query.from {
        recent.append((line + index + 1, single))
      }
    }
    unread = []
    recent = recent.suffix(PrintedReader.around)
  }

  // MARK: Backwards

  /// Begins to read backwards from the end of the first so many lines.
  mutating func end(at chunk: PrintedChunk, _ before: Int) {
    piece.next = min(max(0, before), chunk.end.line)
    piece.isLast = before > chunk.end.line || before == chunk.end.line && chunk.isLast
    piece.earlier = nil
  }

  /// Takes the lines of the chunk before; returns whether there are enough.
  mutating func takeBackwards(_ chunk: PrintedChunk) -> Bool {
    var records: [(line: Int, record: ArraySlice<UInt8>)] = []
    chunk.forEachRecord { record, line in
      if filter.takes(record) { records.append((line, record)) }
      return line < piece.next
    }
    var added: [(number: Int, line: PrintedLine)] = []
    for (line, record) in records.reversed() {
      for (index, single) in (PrintedReader.line(of: record)?.lines ?? []).enumerated().reversed()
      where line + index < piece.next {
        if piece.lines.count + added.count >= max(0, query.most) || size >= PrintedReader.mostBytes {
          piece.earlier = line + index + 1
          break
        }
        added.append((line + index + 1, single))
        size += single.size
      }
      if piece.earlier != nil { break }
    }
    piece.lines.insert(contentsOf: added.reversed().map(\.line), at: 0)
    piece.numbers.insert(contentsOf: added.reversed().map(\.number), at: 0)
    return piece.earlier != nil
  }

  // MARK: As text

  /// The bytes of the lines of a chunk.
  mutating func text(of chunk: PrintedChunk) -> [UInt8] {
    var bytes: [UInt8] = []
    chunk.forEachRecord { record, _ in
      if filter.takes(record), let line = PrintedReader.line(of: record) {
        bytes += line.text.utf8
        bytes.append(ASCII.newline)
      }
      return true
    }
    return bytes
  }
}

/// Whether records are of a step and an attempt, by their beginnings.
struct PrintedFilter {
  let step: StepPath?
  let attempt: Int?
  /// Most records have the same beginning as the one before.
  private var last: (head: ArraySlice<UInt8>, isTaken: Bool)?

  private static let label = Array(",\"stream\":\"".utf8)

  init(step: StepPath?, attempt: Int?) {
    self.step = step
    self.attempt = attempt
  }

  mutating func takes(_ record: ArraySlice<UInt8>) -> Bool {
    if step == nil, attempt == nil { return true }
    // A quote within a text is escaped, so that this is where the member begins.
    guard let end = record.place(of: PrintedFilter.label) else { return false }
    let start = PrintedChunk.head(of: record).members
    guard start < end else { return false }
    let head = record[start..<end]
    if let last, last.head == head { return last.isTaken }
    let isTaken = holds(head)
    last = (head, isTaken)
    return isTaken
  }

  private func holds(_ head: ArraySlice<UInt8>) -> Bool {
    guard let value = try? JSON.parse([ASCII.openBrace] + head + [ASCII.closeBrace]), let path = value["step"]?.string,
      let number = value["attempt"]?.int
    else { return false }
    if let attempt, number != attempt { return false }
    let line = PrintedLine(step: path, attempt: number, stream: .note, at: .earliest, text: "")
    return step.map { line.belongs(to: $0) } ?? true
  }
}
