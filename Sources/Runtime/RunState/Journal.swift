/// The journal: what changed since the snapshot of its generation.
///
/// A journal is lines of JSON, appended in batches. Each batch is written at once and synced before anything in it is
/// acknowledged, and ends in a commit line:
///
///     {"journal":6,"generation":7,"after":120,"chain":"0f…","program":"errand 0.1"}
///     {"commit":120,"sum":"3b…"}
///     {"n":121,"event":"stepEnded","run":"0199…",…}
///     {"n":122,"event":"stepBegan","run":"0199…",…}
///     {"commit":122,"sum":"9c…"}
///
/// The first batch is the header alone: the format of the journal, its generation, and where the generation before
/// ended. Events are numbered through all generations without a gap. A commit line names the last number and a
/// CRC-64/XZ of the batch's bytes before the commit line, continued from the sum of the commit line before (for the
/// header: from `chain`, the last sum of the generation before). So a line that is changed, lost, doubled or moved
/// breaks every sum after it, and a commit line can be predicted to the byte before it is read.
///
/// The bytes after the last good commit line are dropped, with a notice, if a crash can leave them of one batch: the
/// beginning of a batch, or a hole of zeros where the file grew before its sectors were written (`JournalTail`). Any
/// other bytes there, such as a wrong sum, a whole line that isn't an event, or another commit line, are damage to
/// events that may have been acknowledged, and are never dropped.
import Basics

/// The number of the last event, and the sum that the next batch continues.
struct JournalPosition: Sendable, Equatable {
  var sequence = 0
  var chain = Checksum()
}

enum Journal {
  /// As `StateFormat.version`.
  static let format = 6

  static func name(_ generation: Int) -> String { "journal-\(generation).jsonl" }

  /// The name that a damaged journal is kept under for examination.
  static func damagedName(_ generation: Int) -> String { "journal-\(generation).damaged.jsonl" }

  /// The generation in a journal's name.
  static func generation(ofName name: String) -> Int? {
    guard name.hasPrefix("journal-"), name.hasSuffix(".jsonl") else { return nil }
    let digits = name.dropFirst("journal-".count).dropLast(".jsonl".count)
    guard let generation = Int(digits), generation > 0, Journal.name(generation).hasSameScalars(as: name) else {
      return nil
    }
    return generation
  }

  /// The first batch of a generation.
  static func header(
    generation: Int, after position: inout JournalPosition, program: String
  ) -> [UInt8] {
    let header = JournalHeader(
      journal: format, generation: generation, after: position.sequence, chain: position.chain.text, program: program)
    var batch = JournalBatch(position)
    batch.add(header.line)
    return batch.finish(&position)
  }

  static func commitLine(_ position: JournalPosition) -> [UInt8] {
    Array("{\"commit\":\(position.sequence),\"sum\":\"\(position.chain.text)\"}\n".utf8)
  }
}

/// The first line of a journal.
struct JournalHeader {
  var journal: Int
  var generation: Int
  var after: Int
  var chain: String
  var program: String

  var line: [UInt8] {
    // Written by hand, because the JSON writer throws, and this cannot fail.
    Array(
      "{\"journal\":\(journal),\"generation\":\(generation),\"after\":\(after),\"chain\":\"\(chain)\",\"program\":\(JSON.quoted(program))}\n"
        .utf8)
  }
}

extension JournalHeader: Record {
  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    journal = try member("journal", record?.journal)
    generation = try member("generation", record?.generation)
    after = try member("after", record?.after)
    chain = try member("chain", record?.chain)
    program = try member("program", record?.program)
  }
}

/// Events as lines of the journal, without their numbers.
struct JournalLines: Sendable {
  /// One line after another, each without the number that its object begins with.
  fileprivate let bytes: [UInt8]
  /// Where each line ends.
  fileprivate let ends: [Int]

  init(_ events: [StateEvent]) throws(StateError) {
    var text = RecordText()
    var ends: [Int] = []
    ends.reserveCapacity(events.count)
    for event in events {
      try event.check()
      event.write(to: &text)
      text.json.endLine()
      ends.append(text.json.count)
    }
    try text.check()
    bytes = text.json.bytes
    self.ends = ends
  }
}

/// Lines that are written and synced together.
struct JournalBatch {
  private var bytes: [UInt8] = []
  private var position: JournalPosition

  init(_ position: JournalPosition) { self.position = position }

  mutating func add(_ line: [UInt8]) { bytes += line }

  /// Adds events under the next numbers.
  mutating func add(_ lines: JournalLines) {
    var start = 0
    for end in lines.ends {
      position.sequence += 1
      bytes += "{\"n\":\(position.sequence),".utf8
      // Without the brace, which is there already.
      bytes += lines.bytes[start + 1..<end]
      start = end
    }
  }

  /// The bytes to write, commit line included.
  consuming func finish(_ position: inout JournalPosition) -> [UInt8] {
    self.position.chain.update(bytes)
    position = self.position
    bytes += Journal.commitLine(position)
    return bytes
  }
}
