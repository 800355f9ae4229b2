import Basics
import Glibc
import Threads

/// Reads a journal's bytes and returns the committed events.
///
/// While other threads decode the events of one stretch of lines, this one folds the events of the previous stretch and
/// checks the sums of the next.
struct JournalReader: Sendable {
  /// The bytes after the last good commit line.
  enum Tail: Equatable {
    case none
    /// The beginning of a batch that was never acknowledged.
    case torn(bytes: Int)
    /// Damage that no crash leaves, at a byte offset.
    case damaged(offset: Int, reason: String)
  }

  /// Where the last good commit line ends.
  private(set) var end = 0
  private(set) var position: JournalPosition
  /// The format of the journal's header.
  private(set) var format = Journal.format
  /// The version that wrote it.
  private(set) var program = "an unknown version"
  private let name: String
  let bytes: [UInt8]

  /// Starts to read the journal of a generation that continues from a position.
  init(_ bytes: [UInt8], name: String, after position: JournalPosition) {
    self.bytes = bytes
    self.name = name
    self.position = position
  }

  /// Reads every committed batch, and returns what follows.
  mutating func read(
    generation: Int, into apply: (StateEvent) throws(RecordError) -> Void
  ) throws(StateError) -> Tail {
    var isHeaderRead = false
    var pieces = Pieces(after: position.sequence)
    var batch: [Range<Int>] = []
    var lineStart = 0
    while let newline = index(of: ASCII.newline, from: lineStart) {
      let line = lineStart..<newline
      lineStart = newline + 1
      if !isCommit(line) {
        batch.append(line)
        continue
      }
      var next = position
      if isHeaderRead {
        next.sequence += batch.count
      } else {
        guard batch.count == 1, let header = try header(batch[0]), let chain = Checksum(header.chain) else { break }
        // By its own header first, to tell a damaged journal from one of another state.
        next = JournalPosition(sequence: header.after, chain: chain)
      }
      next.chain.update(bytes[end..<line.lowerBound])
      guard bytes[line.lowerBound..<lineStart].elementsEqual(Journal.commitLine(next)) else { break }
      if isHeaderRead {
        for line in batch { pieces.add(bytes[line]) }
        if pieces.areMany { try fold(pieces.next { [self] in read($0) }, apply) }
      } else {
        try checkHeader(batch[0], generation: generation)
        isHeaderRead = true
      }
      position = next
      end = lineStart
      batch.removeAll(keepingCapacity: true)
    }
    try fold(pieces.next { [self] in read($0) }, apply)
    try fold(pieces.next { [self] in read($0) }, apply)
    return isHeaderRead ? tail() : .damaged(offset: 0, reason: "its header is damaged")
  }

  func index(of byte: UInt8, from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, let found = memchr(base + start, Int32(byte), bytes.count - start) else {
        return nil
      }
      return UnsafeRawPointer(found) - base
    }
  }

  func isCommit(_ line: Range<Int>) -> Bool {
    // This byte alone rules out nearly all events.
    line.count > 2 && bytes[line.lowerBound + 2] == UInt8(ascii: "c")
      && bytes[line].starts(with: "{\"commit\":".utf8)
  }

  private func damage(_ offset: Int, _ reason: String) -> StateError {
    StateError(.damaged, "\(name) is damaged at byte \(offset): \(reason)")
  }

  /// The header, or nil if it is damaged.
  private func header(_ line: Range<Int>) throws(StateError) -> JournalHeader? {
    guard let value = try? JSON.parse(Array(bytes[line])) else { return nil }
    if let format = value["journal"]?.int, format > Journal.format {
      throw StateError.newer(name, format: format, program: value["program"]?.string)
    }
    return try? JournalHeader(reading: value)
  }

  private mutating func checkHeader(_ line: Range<Int>, generation: Int) throws(StateError) {
    guard let header = try header(line) else { return }
    program = header.program
    format = header.journal
    guard header.generation == generation else {
      throw damage(0, "it is of generation \(header.generation), not \(generation)")
    }
    guard header.after == position.sequence, header.chain.hasSameScalars(as: position.chain.text) else {
      throw damage(0, "it does not follow what was read before it")
    }
  }

  /// Committed lines of many batches as one JSON list, which is parsed several times faster than line by line.
  private struct Piece: Sendable {
    var text: [UInt8] = [ASCII.openBracket]
    /// The number of the last event before them.
    var sequence: Int
    var count = 0

    mutating func add(_ line: ArraySlice<UInt8>) {
      if count > 0 { text.append(ASCII.comma) }
      text += line
      count += 1
    }
  }

  /// Events with the number of the first.
  private typealias Events = Result<(events: [StateEvent], first: Int), StateError>

  /// Committed lines that are still to be decoded, in pieces for several threads.
  private struct Pieces {
    private var all: [Piece]
    /// The earlier pieces, which other threads are decoding.
    private var underWay: ParallelWork<Piece, Events>?

    init(after sequence: Int) { all = [Piece(sequence: sequence)] }

    var areMany: Bool { all.count > 16 }

    mutating func add(_ line: ArraySlice<UInt8>) {
      if let last = all.last, last.text.count > 128 << 10 { begin() }
      all[all.count - 1].add(line)
    }

    private mutating func begin() {
      if let last = all.last { all.append(Piece(sequence: last.sequence + last.count)) }
    }

    /// The events of the pieces under way, once they are decoded; starts these.
    mutating func next(_ read: @escaping @Sendable (Piece) -> Events) -> [Events] {
      let events = underWay?.outcomes() ?? []
      begin()
      underWay = ParallelWork(all.dropLast().filter { $0.count > 0 }, read)
      all.removeFirst(all.count - 1)
      return events
    }
  }

  /// Folds events whose sums have been checked.
  private func fold(_ pieces: [Events], _ apply: (StateEvent) throws(RecordError) -> Void) throws(StateError) {
    for piece in pieces {
      let (events, first) = try piece.get()
      for (offset, event) in events.enumerated() {
        do { try apply(event) } catch { throw notUnderstood(first + offset, error.message) }
      }
    }
  }

  private func read(_ piece: Piece) -> Events {
    var events: [StateEvent] = []
    events.reserveCapacity(piece.count)
    do {
      for line in try JSON.parse(piece.text + [ASCII.closeBracket], limits: StateFormat.limits).list ?? [] {
        guard let map = line.map else { throw RecordError("it isn't an object") }
        var record = RecordReader(map)
        guard try record.read("n") == piece.sequence + events.count + 1 else {
          throw RecordError("its number doesn't match")
        }
        events.append(try StateEvent(from: &record))
        try record.finish()
      }
      return .success((events, piece.sequence + 1))
    } catch {
      let reason = (error as? RecordError)?.message ?? (error as? JSONError)?.message ?? "\(error)"
      return .failure(notUnderstood(piece.sequence + events.count + 1, reason))
    }
  }

  private func notUnderstood(_ sequence: Int, _ reason: String) -> StateError {
    StateError(
      .newer,
      "\(name) holds what this version cannot read (event \(sequence): \(reason)); it was written by \(program). Use that version, or a newer one."
    )
  }
}
