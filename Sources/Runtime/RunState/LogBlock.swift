/// The blocks of a month: `2026-11.blocks`, 768 bytes for each 128 lines of the index. A block describes its lines, so
/// that a search can skip them.
///
/// All numbers are little-endian:
///
///     0     8  where the lines begin in the index        8    8  how many bytes they have
///     16    8  where the first record's line begins      24   8  where the last one's ends
///     32     8  the second that the first span begins in    40   8  the one after the last span ends
///     48   16  the head of the least id                  64  16  the head of the greatest, both filled with zeros
///     80    8  1 if any record names a blob, or 0        88   8  CRC-64/XZ of the lines
///     96  160  a Bloom filter of the ids                256 504  another of the features
///     760   8  a sum of the bytes before
///
/// A key sets four bits of a filter, which are counted from the low end of each byte. The keys of the first filter are
/// the ids and their first six and eight bytes, the keys of the second are the features; each follows a byte for its
/// kind (`=`, `6`, `8`, `#`), and is hashed with FNV-1a. The sum is FNV-1a over units of eight bytes instead of one:
/// fast, because a search checks every block, and certain to find any change within eight bytes. The lines after the
/// last block are fewer than 128.
import Basics

struct LogBlock: Sendable {
  static let size = 768
  static let lineCount = 128
  private static let idFilter = 96..<256
  private static let featureFilter = 256..<760

  private enum Field: Int {
    case offset = 0
    case length = 8
    case dataStart = 16
    case dataEnd = 24
    case earliest = 32
    case latest = 40
    case leastID = 48
    case greatestID = 64
    case namesBlobs = 80
    case textSum = 88
    case sum = 760
  }

  private static let idHead = 16

  /// Bytes that hold many blocks, and where this one begins.
  private let bytes: [UInt8]
  private let start: Int

  /// The block that begins there, or nil if it is damaged.
  init?(_ bytes: [UInt8], at start: Int) {
    guard start >= 0, start + LogBlock.size <= bytes.count else { return nil }
    self.bytes = bytes
    self.start = start
    guard LogBlock.sum(of: bytes, at: start) == UInt64(bitPattern: Int64(self[.sum])) else { return nil }
    guard offset >= 0, length > 0, dataStart >= 0, dataEnd >= dataStart,
      !offset.addingReportingOverflow(length).overflow
    else { return nil }
  }

  private subscript(field: Field) -> Int {
    bytes.withUnsafeBytes {
      Int(
        truncatingIfNeeded: UInt64(
          littleEndian: $0.loadUnaligned(fromByteOffset: start + field.rawValue, as: UInt64.self)))
    }
  }

  var offset: Int { self[.offset] }
  var length: Int { self[.length] }
  /// Where the lines end in the index.
  var end: Int { offset + length }
  var dataStart: Int { self[.dataStart] }
  var dataEnd: Int { self[.dataEnd] }
  var namesBlobs: Bool { self[.namesBlobs] != 0 }

  /// Whether these are the lines that the block was made for.
  func describes(_ text: [UInt8]) -> Bool {
    var sum = Checksum()
    sum.update(text)
    return text.count == length && sum.value == UInt64(bitPattern: Int64(self[.textSum]))
  }

  // MARK: - Asking

  /// The terms of a query, hashed once.
  struct Question: Sendable {
    fileprivate var id: UInt64?
    fileprivate var idStart: [UInt8] = []
    fileprivate var features: [UInt64]?
    fileprivate var from: Int?
    fileprivate var before: Int?

    init<Summary>(_ query: LogQuery<Summary>) {
      if let whole = query.id {
        id = LogBlock.key("=", whole.utf8)
        idStart = Array(whole.utf8.prefix(LogBlock.idHead))
      } else if let prefix = query.idPrefix {
        idStart = Array(prefix.utf8.prefix(LogBlock.idHead))
        if idStart.count >= 8 {
          id = LogBlock.key("8", idStart.prefix(8))
        } else if idStart.count >= 6 {
          id = LogBlock.key("6", idStart.prefix(6))
        }
      }
      features = query.features?.map { LogBlock.key("#", $0.utf8) }
      from = query.from?.seconds
      before = query.before?.seconds
    }
  }

  /// Whether matching lines may be among these.
  func mayAnswer(_ question: Question) -> Bool {
    if let from = question.from, self[.latest] < from { return false }
    if let before = question.before, self[.earliest] > before { return false }
    if let id = question.id, !mayHold(id, LogBlock.idFilter) { return false }
    if let features = question.features, !features.contains(where: { mayHold($0, LogBlock.featureFilter) }) {
      return false
    }
    let idStart = question.idStart
    if idStart.isEmpty { return true }
    let (least, greatest) = (start + Field.leastID.rawValue, start + Field.greatestID.rawValue)
    return !idStart.lexicographicallyPrecedes(bytes[least..<least + idStart.count])
      && !bytes[greatest..<greatest + idStart.count].lexicographicallyPrecedes(idStart)
  }

  private func mayHold(_ key: UInt64, _ filter: Range<Int>) -> Bool {
    var rest = LogBlock.mixed(key)
    for _ in 0..<4 {
      let bit = LogBlock.bit(&rest, of: filter)
      if bytes[start + bit >> 3] & 1 << UInt8(bit & 7) == 0 { return false }
    }
    return true
  }

  private static func key(_ kind: Unicode.Scalar, _ text: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    add(UInt8(truncatingIfNeeded: kind.value))
    for byte in text { add(byte) }
    return hash
  }

  /// The hash of a key, mixed again, because the hashes of similar texts differ in few bits.
  private static func mixed(_ key: UInt64) -> UInt64 {
    let mixed = (key ^ key >> 29) &* 0xBF58_476D_1CE4_E5B9
    return mixed ^ mixed >> 32
  }

  /// The next of the four bits of a key, given by sixteen bits of its hash and counted from the block's beginning.
  private static func bit(_ rest: inout UInt64, of filter: Range<Int>) -> Int {
    defer { rest >>= 16 }
    return filter.lowerBound << 3 + Int(truncatingIfNeeded: rest & 0xFFFF) % (filter.count << 3)
  }

  private static func sum(of bytes: [UInt8], at start: Int) -> UInt64 {
    bytes.withUnsafeBytes { bytes in
      var sum: UInt64 = 0xCBF2_9CE4_8422_2325
      for place in stride(from: start, to: start + Field.sum.rawValue, by: 8) {
        let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        sum = (sum ^ word) &* 0x0000_0100_0000_01B3
      }
      return sum
    }
  }

  // MARK: - Making

  private static func set(_ field: Field, _ value: Int, in bytes: inout [UInt8]) {
    withUnsafeBytes(of: UInt64(bitPattern: Int64(value)).littleEndian) {
      bytes.replaceSubrange(field.rawValue..<field.rawValue + 8, with: $0)
    }
  }

  /// Collects the lines of a block.
  struct Maker {
    private(set) var count = 0
    private let offset: Int
    private var text: [UInt8] = []
    private var bytes = [UInt8](repeating: 0, count: LogBlock.size)
    private var data: Range<Int>?
    private var instants: ClosedRange<Int>?
    private var ids: (least: [UInt8], greatest: [UInt8])?
    private var namesBlobs = false

    /// Begins a block of the lines from there on.
    init(at offset: Int) { self.offset = offset }

    mutating func add<Summary>(_ line: LogLine<Summary>, _ lineBytes: ArraySlice<UInt8>) {
      count += 1
      text += lineBytes
      let (id, span) = (Array(line.summary.id.utf8), line.summary.span)
      for key in [LogBlock.key("=", id), LogBlock.key("6", id.prefix(6)), LogBlock.key("8", id.prefix(8))] {
        set(key, in: LogBlock.idFilter)
      }
      for feature in line.summary.features { set(LogBlock.key("#", feature.utf8), in: LogBlock.featureFilter) }
      data = min(data?.lowerBound ?? line.offset, line.offset)..<max(data?.upperBound ?? line.end, line.end)
      let (first, last) = (span.lowerBound.seconds, span.upperBound.seconds + 1)
      instants = min(instants?.lowerBound ?? first, first)...max(instants?.upperBound ?? last, last)
      let head = Array(id.prefix(LogBlock.idHead))
      let known = ids ?? (head, head)
      ids = (
        head.lexicographicallyPrecedes(known.least) ? head : known.least,
        known.greatest.lexicographicallyPrecedes(head) ? head : known.greatest
      )
      if !line.blobs.isEmpty { namesBlobs = true }
    }

    private mutating func set(_ key: UInt64, in filter: Range<Int>) {
      var rest = LogBlock.mixed(key)
      for _ in 0..<4 {
        let bit = LogBlock.bit(&rest, of: filter)
        bytes[bit >> 3] |= 1 << UInt8(bit & 7)
      }
    }

    consuming func finish() -> [UInt8] {
      var bytes = bytes
      var sum = Checksum()
      sum.update(text)
      LogBlock.set(.offset, offset, in: &bytes)
      LogBlock.set(.length, text.count, in: &bytes)
      LogBlock.set(.dataStart, data?.lowerBound ?? 0, in: &bytes)
      LogBlock.set(.dataEnd, data?.upperBound ?? 0, in: &bytes)
      LogBlock.set(.earliest, instants?.lowerBound ?? 0, in: &bytes)
      LogBlock.set(.latest, instants?.upperBound ?? 0, in: &bytes)
      let (least, greatest) = ids ?? ([], [])
      bytes.replaceSubrange(Field.leastID.rawValue..<Field.leastID.rawValue + least.count, with: least)
      bytes.replaceSubrange(Field.greatestID.rawValue..<Field.greatestID.rawValue + greatest.count, with: greatest)
      LogBlock.set(.namesBlobs, namesBlobs ? 1 : 0, in: &bytes)
      LogBlock.set(.textSum, Int(Int64(bitPattern: sum.value)), in: &bytes)
      LogBlock.set(.sum, Int(Int64(bitPattern: LogBlock.sum(of: bytes, at: 0))), in: &bytes)
      return bytes
    }
  }
}
