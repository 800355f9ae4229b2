// The reader of TZif files (RFC 8536, versions 1 to 3; version 4 differs in leap seconds only).
//
// A file is a header of 44 bytes with six counts, and a block of data: transition times, the index of the local time
// type that begins with each, the types (offset, daylight flag, name), leap seconds, and flags that a
// file made by `zic` does not need. From version 2 on that block is in 32 bits and for old readers; it is followed by a
// second header, the block again in 64 bits, and a footer, "\n" TZ "\n": a POSIX rule for everything after the last
// transition (`TimeZoneFooter`).
//
// Every count is held against the bytes that are there before anything is read, so a damaged file is an error.

import Basics

/// The contents of a TZif file, unchanged.
struct TimeZoneFile {
  /// One kind of local time.
  struct LocalTimeType: Equatable {
    /// Seconds to add to UTC.
    var offset: Int
    var isDaylight: Bool
    var abbreviation: String
  }

  /// The instants when the type changes, ascending, in seconds since the epoch.
  var transitions: [Int] = []
  /// The index in `types` that begins with each transition.
  var typeIndexes: [UInt16] = []
  /// The types; the first holds before the first transition.
  var types: [LocalTimeType] = []
  /// The rule after the last transition; if nil, the last type applies forever.
  var footer: TimeZoneFooter?

  /// The contents of a file with only a rule.
  init(_ rule: TimeZoneFooter) {
    types = [rule.standard]
    footer = rule
  }

  /// The contents of a file with some changes, which are in order; the later of two at one instant counts.
  init(_ changes: [TimeZoneRules.Change], abbreviation: String) {
    var indexes: [Int: UInt16] = [:]
    for offset in [changes.first?.from ?? 0] + changes.map(\.to) where indexes[offset] == nil {
      // A calendar's 1 MiB defines fewer offsets than an index can count.
      indexes[offset] = UInt16(types.count)
      types.append(LocalTimeType(offset: offset, isDaylight: false, abbreviation: abbreviation))
    }
    transitions = changes.map(\.at)
    typeIndexes = changes.map { indexes[$0.to] ?? 0 }
  }

  /// Reads a file.
  init(_ bytes: [UInt8], name: String) throws(TimeZoneError) {
    func damaged(_ what: String) -> TimeZoneError {
      TimeZoneError(
        .damaged, "the zone file of '\(name)' is damaged (\(what)); reinstall the package tzdata")
    }
    guard var block = Block(bytes, at: 0, timeSize: 4) else { throw damaged("no TZif header") }
    if block.version >= 0x32 {
      guard let second = Block(bytes, at: block.end, timeSize: 8) else { throw damaged("no 64-bit data") }
      block = second
    }
    guard block.end <= bytes.count else { throw damaged("it is cut short") }
    guard block.leapCount == 0 else {
      throw TimeZoneError(
        .damaged,
        "the zone file of '\(name)' counts leap seconds, which instants here do not; use the files outside 'right/'")
    }
    guard (1...256).contains(block.typeCount) else { throw damaged("no local time type") }

    for index in 0..<block.timeCount {
      let at =
        block.timeSize == 4 ? bytes.signed32(at: block.times + 4 * index) : bytes.signed64(at: block.times + 8 * index)
      let type = bytes[block.indexes + index]
      guard transitions.last.map({ $0 < at }) ?? true else { throw damaged("transitions out of order") }
      guard type < block.typeCount else { throw damaged("a transition to no type") }
      transitions.append(at)
      typeIndexes.append(UInt16(type))
    }
    for index in 0..<block.typeCount {
      let start = block.types + 6 * index
      let offset = bytes.signed32(at: start)
      let names = bytes[block.names..<block.names + block.nameCount].dropFirst(Int(bytes[start + 5]))
      guard abs(offset) <= TimeZoneFile.largestOffset, !names.isEmpty else { throw damaged("an impossible type") }
      types.append(
        LocalTimeType(
          offset: offset, isDaylight: bytes[start + 4] != 0,
          abbreviation: String(decoding: names.prefix { $0 != 0 }, as: UTF8.self)))
    }
    if block.version >= 0x32 {
      let rest = bytes[block.end...]
      guard rest.first == ASCII.newline, let close = rest.dropFirst().firstIndex(of: ASCII.newline) else {
        throw damaged("no footer")
      }
      let text = rest[(block.end + 1)..<close]
      if !text.isEmpty {
        guard let footer = TimeZoneFooter(text) else { throw damaged("an unreadable footer") }
        self.footer = footer
      }
    }
  }

  /// Offsets stay below this; RFC 8536 wants between -25 and +26 hours.
  static let largestOffset = 26 * 3600

  /// A header, and where its data lie.
  private struct Block {
    var version: UInt8
    var timeSize: Int
    var timeCount: Int
    var typeCount: Int
    var nameCount: Int
    var leapCount: Int
    var times: Int
    var indexes: Int
    var types: Int
    var names: Int
    var end: Int

    init?(_ bytes: [UInt8], at start: Int, timeSize: Int) {
      guard start <= bytes.count, bytes.count - start >= 44, bytes[start..<start + 4].elementsEqual("TZif".utf8) else {
        return nil
      }
      func count(_ index: Int) -> Int {
        // Each is below 2^32, so no sum below overflows.
        bytes.signed32(at: start + 20 + 4 * index) & 0xFFFF_FFFF
      }
      version = bytes[start + 4]
      self.timeSize = timeSize
      leapCount = count(2)
      timeCount = count(3)
      typeCount = count(4)
      nameCount = count(5)
      times = start + 44
      indexes = times + timeCount * timeSize
      types = indexes + timeCount
      names = types + typeCount * 6
      end = names + nameCount + leapCount * (timeSize + 4) + count(1) + count(0)
    }
  }
}

extension [UInt8] {
  /// The big-endian number in the four bytes there, which the caller knows to be there.
  fileprivate func signed32(at start: Int) -> Int {
    Int(Int32(bitPattern: self[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }))
  }

  /// The big-endian number in the eight bytes there, which the caller knows to be there.
  fileprivate func signed64(at start: Int) -> Int {
    Int(Int64(bitPattern: self[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }))
  }
}
