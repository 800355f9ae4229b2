/// The snapshot: `state.json`, the whole state at the beginning of a generation.
///
/// One JSON object for people and `jq`, indented, with members in their order, because a recipe's results may depend on
/// the order of a map's keys:
///
///     {
///       "chain": "9c…",            the last sum of the journal before
///       "checksum": "51…",         CRC-64/XZ of the file with zeros in the place of these sixteen digits
///       "format": 6,
///       "generation": 8,
///       "newest": {"run": {"id": "0199…", "at": "2026-11-20T09:00:00Z"}, "slot": …},   of the logs, absent if empty
///       "program": "errand 0.1",
///       "sequence": 122,           the number of the last event that is in the state
///       "state": {"runs": …, "ended": …, "values": …, "events": …, "schedules": …, "slots": …}
///     }
///
/// The journal of the same generation continues from there. A higher format than this version's is refused before
/// anything else is checked, the checksum included; a lower one is read, and rewritten in this format at once.
import Basics

package enum StateFormat {
  /// 1: runs and values; 2: also events, schedules, slots, waits and decisions; 3: also
  /// values that are kept without their secrets, and schedules that are reset; 4: also steps that begin and end
  /// with an attempt, and standard keys that are left out; 5: also tokens with the scope `tokens`; 6: also
  /// answers, links that carry the right to decide or to answer, and logins of browsers.
  ///
  /// A change that an older version cannot read needs a higher number, here and in `Journal`.
  package static let version = 6
  /// The limits for the program's own files: only depth is limited, to the depth that the JSON writer can write.
  static let limits = JSON.Limits(bytes: .max, depth: JSON.deepest)
}

struct Snapshot: Sendable {
  static let name = "state.json"
  static let previousName = "state.previous.json"
  static let newName = "state.json.new"
  /// The name that a damaged snapshot is kept under for examination.
  static let damagedName = "state.damaged.json"

  var generation: Int
  var position: JournalPosition
  var state: State
  var newest: NewestRecords
  var program: String
  /// The format of the file.
  private(set) var format = StateFormat.version

  /// Writes the file in pieces.
  func write(_ take: ([UInt8]) throws(FileError) -> Void) throws(StateError) {
    var checksum = Checksum()
    try write(with: Checksum()) { checksum.update($0) }
    try write(with: checksum, take)
  }

  private func write(
    with checksum: Checksum, _ take: ([UInt8]) throws(FileError) -> Void
  ) throws(StateError) {
    try writeInPieces(.pretty, take) { text in
      text.json.begin("{")
      var writer = RecordWriter(consume text)
      writer.set("chain", position.chain.text)
      writer.set("checksum", checksum.text)
      writer.set("format", StateFormat.version)
      writer.set("generation", generation)
      if newest != NewestRecords() { writer.set("newest", newest) }
      writer.set("program", program)
      writer.set("sequence", position.sequence)
      writer.set("state", state)
      text = writer.finish()
      text.json.end("}")
      text.json.endLine()
    }
  }

  /// Where the sixteen digits are; only members that cannot hold quotes come before them.
  private static func checksumDigits(in bytes: [UInt8]) -> Range<Int>? {
    let label = Array("\"checksum\": \"".utf8)
    let head = bytes.prefix(200)
    for start in head.indices where head[start...].starts(with: label) {
      let digits = start + label.count..<start + label.count + 16
      return digits.upperBound < bytes.count ? digits : nil
    }
    return nil
  }

  init(generation: Int, position: JournalPosition, state: State, newest: NewestRecords, program: String) {
    self.generation = generation
    self.position = position
    self.state = state
    self.newest = newest
    self.program = program
  }

  /// Reads the bytes that `write` wrote.
  init(reading bytes: [UInt8], name: String) throws(StateError) {
    func damage(_ reason: String) -> StateError { StateError(.damaged, "\(name) is damaged: \(reason)") }
    let object: Value
    do { object = try JSON.parse(bytes, limits: StateFormat.limits) } catch {
      let place = error.spot.map { "line \($0.position.line), column \($0.position.column): " } ?? ""
      throw damage("\(place)\(error.message)")
    }
    guard let format = object["format"]?.int, format > 0 else { throw damage("it names no format") }
    if format > StateFormat.version {
      throw .newer(name, format: format, program: object["program"]?.string)
    }
    guard let digits = Snapshot.checksumDigits(in: bytes),
      let written = Checksum(String(decoding: bytes[digits], as: UTF8.self))
    else { throw damage("its checksum is not where it should be") }
    var zeroed = bytes
    zeroed.replaceSubrange(digits, with: Checksum().text.utf8)
    var checksum = Checksum()
    checksum.update(zeroed)
    guard checksum == written else { throw damage("its content does not match its checksum") }
    do throws(RecordError) {
      guard let map = object.map else { throw RecordError("it isn't an object") }
      var record = RecordReader(map)
      let chain: String = try record.read("chain")
      let _: String = try record.read("checksum")
      self.format = try record.read("format")
      generation = try record.read("generation")
      newest = try record.readIfPresent("newest") ?? NewestRecords()
      program = try record.read("program")
      let sequence: Int = try record.read("sequence")
      state = try record.read("state")
      try record.finish()
      guard let sum = Checksum(chain) else { throw RecordError("'chain' isn't a checksum") }
      position = JournalPosition(sequence: sequence, chain: sum)
    } catch {
      throw StateError(
        .newer,
        "\(name) holds what this version cannot read: \(error.message). Use the version that wrote it, or a newer one.")
    }
  }
}

extension StateError {
  static func newer(_ name: String, format: Int, program: String?) -> StateError {
    StateError(
      .newer,
      "\(name) has format \(format), which \(program ?? "a newer version") wrote; this version reads format \(StateFormat.version) and older. Use that version, or a newer one."
    )
  }
}
