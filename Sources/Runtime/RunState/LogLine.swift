/// The index of a month: `2026-11.index`, which has a line for each record, with everything that a list needs:
///
///     {"id":"0199…","recipe":"…","status":"succeeded",…,"offset":0,"length":5120,"blobs":["3fa9…"],"sum":"…"}
///
/// After the record's summary come the bytes of its line in `2026-11.jsonl`, the blobs that it may name, and the
/// CRC-64/XZ of the line up to there.
import Basics

struct LogLine<Summary: LogSummary>: RecordObject {
  var summary: Summary
  var offset: Int
  var length: Int
  var blobs: [String]

  /// Where the record's line ends.
  var end: Int { offset + length }

  init(_ summary: Summary, offset: Int, length: Int, blobs: [String]) {
    self.summary = summary
    self.offset = offset
    self.length = length
    self.blobs = blobs
  }

  func write(to record: inout RecordWriter) {
    summary.write(to: &record)
    record.set("offset", offset)
    record.set("length", length)
    record.set("blobs", blobs)
  }

  init(from record: inout RecordReader) throws(RecordError) {
    summary = try Summary(from: &record)
    offset = try record.read("offset")
    length = try record.read("length")
    blobs = try record.readIfPresent("blobs") ?? []
    guard offset >= 0, length > 0, !offset.addingReportingOverflow(length).overflow else {
      throw RecordError("a line cannot begin at byte \(offset) and have \(length)")
    }
  }

  func bytes() throws(StateError) -> [UInt8] {
    let members = try recordedBytes(of: self).dropLast()
    return members + LogLineEnd.bytes(after: members)
  }

  /// Reads a line with its end; nil if it is damaged.
  init?(_ line: ArraySlice<UInt8>) {
    guard LogLineEnd.isSound(line),
      let value = try? JSON.parse(line.dropLast(LogLineEnd.count) + [ASCII.closeBrace]),
      let entry = try? Self(reading: value)
    else { return nil }
    self = entry
  }
}

/// The last member of a line, its checksum.
enum LogLineEnd {
  private static let label = Array(",\"sum\":\"".utf8)
  private static let lineEnd = Array("\"}\n".utf8)
  static let count = label.count + 16 + lineEnd.count

  static func bytes(after members: ArraySlice<UInt8>) -> [UInt8] {
    var sum = Checksum()
    sum.update(members)
    return label + Array(sum.text.utf8) + lineEnd
  }

  /// Whether a line is intact.
  static func isSound(_ line: ArraySlice<UInt8>) -> Bool {
    line.count > count && line.suffix(count).elementsEqual(bytes(after: line.dropLast(count)))
  }
}
