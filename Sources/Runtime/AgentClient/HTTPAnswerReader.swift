import Basics
import HTTPTypes
import Operations

/// Reads one answer of HTTP/1.1 (RFC 9112): its status, its head, and its body by length or in chunks.
///
/// It serves requests over Unix sockets, which need no library. Interim answers (1xx) are skipped, and the trailer after
/// the last chunk is left out.
struct HTTPAnswerReader {
  struct Fault: Error { var message: String }

  private enum Part {
    case head
    /// A body of so many bytes more.
    case bytes(Int)
    /// A body without a length, up to the end of the connection.
    case rest
    /// The line with the size of a chunk.
    case size
    /// A chunk of so many bytes more.
    case chunk(Int)
    /// The line end after a chunk.
    case chunkEnd
    case trailer
    case over
  }

  private var part = Part.head
  /// What is left of a line that isn't whole yet, or the head.
  private var held: [UInt8] = []
  private(set) var head: (status: Int, headers: HTTPHeaders)?
  /// The bytes of the body that have come, until the caller removes them.
  var body: [UInt8] = []

  /// The longest line between chunks.
  private static let mostOfLine = 256

  /// Takes what came; whether the answer is whole.
  mutating func take(_ bytes: UnsafeRawBufferPointer) throws(Fault) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch part {
      case .over: return true
      case .head: if let line = try line(of: &rest, most: ExactForm.mostOfHead) { try readHead(line) }
      case .rest:
        body += rest
        return false
      case .bytes(let left):
        let count = pass(&rest, left)
        part = count == 0 ? .over : .bytes(count)
      case .chunk(let left):
        let count = pass(&rest, left)
        part = count == 0 ? .chunkEnd : .chunk(count)
      case .size: if let line = try line(of: &rest, most: HTTPAnswerReader.mostOfLine) { try readSize(line) }
      case .chunkEnd:
        if let line = try line(of: &rest, most: HTTPAnswerReader.mostOfLine) {
          guard line.isEmpty else { throw Fault(message: "a part of its answer is longer than it says") }
          part = .size
        }
      case .trailer:
        if let line = try line(of: &rest, most: ExactForm.mostOfHead), line.isEmpty { part = .over }
      }
    }
    if case .over = part { return true }
    return false
  }

  /// Whether the answer is whole if the connection ends here.
  var isWholeAtEnd: Bool {
    switch part {
    case .over, .rest: true
    default: false
    }
  }

  /// The lines of the head so far.
  private var lines: [String] = []
  /// The bytes of all heads, and of what follows the last chunk.
  private var bytesOfHeads = 0

  private mutating func pass(_ rest: inout Slice<UnsafeRawBufferPointer>, _ left: Int) -> Int {
    let count = min(left, rest.count)
    body += rest.prefix(count)
    rest = rest.dropFirst(count)
    return left - count
  }

  /// The next line without its end; nil if it isn't whole yet.
  private mutating func line(of rest: inout Slice<UnsafeRawBufferPointer>, most: Int) throws(Fault) -> [UInt8]? {
    let end = rest.firstIndex(of: ASCII.newline)
    let piece = rest[..<(end ?? rest.endIndex)]
    let isOfHead = most == ExactForm.mostOfHead
    if isOfHead { bytesOfHeads += piece.count + (end == nil ? 0 : 1) }
    guard (isOfHead ? bytesOfHeads : held.count + piece.count) <= most else {
      throw Fault(
        message: isOfHead
          ? "the head of its answer is longer than \(most >> 10) KiB, the most that is read of one"
          : "its answer isn't valid HTTP")
    }
    held += piece
    guard let end else {
      rest = rest[rest.endIndex...]
      return nil
    }
    rest = rest[rest.index(after: end)...]
    defer { held = [] }
    if held.last == ASCII.carriageReturn { held.removeLast() }
    return held
  }

  private mutating func readHead(_ line: [UInt8]) throws(Fault) {
    if !line.isEmpty {
      lines.append(String(decoding: line, as: UTF8.self))
      // Anything but HTTP isn't read to its end.
      if lines.count == 1 { _ = try HTTPAnswerReader.status(lines[0]) }
      return
    }
    guard let first = lines.first else { throw Fault(message: "its answer begins with no status") }
    let status = try HTTPAnswerReader.status(first)
    let fields = lines.dropFirst().map { line in
      let end = line.firstIndex(of: ":") ?? line.endIndex
      return HTTPHeaders.Field(String(line[..<end]), String(line[end...].dropFirst()).trimmed)
    }
    lines = []
    if status < 200 { return }
    let headers = HTTPHeaders(fields)
    head = (status, headers)
    if headers["Transfer-Encoding"]?.lowercasedASCII == "chunked" {
      part = .size
    } else if let text = headers["Content-Length"] {
      guard text.utf8.allSatisfy(ASCII.digits.contains), let length = Int(text) else {
        throw Fault(message: "the length of its answer is no number")
      }
      part = length == 0 ? .over : .bytes(length)
    } else {
      part = status == 204 ? .over : .rest
    }
  }

  private static func status(_ line: String) throws(Fault) -> Int {
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3, let status = Int(words[1]),
      (100...599).contains(status)
    else { throw Fault(message: "it answers with '\(line.safe.shortened(to: 60))'") }
    return status
  }

  private mutating func readSize(_ line: [UInt8]) throws(Fault) {
    let digits = String(decoding: line.prefix { $0 != ASCII.semicolon }, as: UTF8.self).trimmed
    guard !digits.hasPrefix("+"), !digits.hasPrefix("-"), let size = Int(digits, radix: 16) else {
      throw Fault(message: "the length of a part of its answer is no number")
    }
    part = size == 0 ? .trailer : .chunk(size)
  }
}
