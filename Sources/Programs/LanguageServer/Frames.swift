import Basics

// The base protocol of LSP 3.17: each message is a header, a blank line and JSON.
//
//     Content-Length: 52\r\n
//     \r\n
//     {"jsonrpc":"2.0","id":1,"method":"shutdown"}
//
// A header without a valid length is reported and skipped; the following lines are read as headers until one gives a
// length. So a client that once sent something else, such as a line of a log, is understood again.

/// Takes the bodies out of a stream of bytes.
struct FrameReader {
  enum Found: Equatable {
    case body([UInt8])
    /// A fault in a header.
    case fault(String)
  }

  /// The longest body that is kept.
  let limit: Int
  private var line: [UInt8] = []
  private var body: [UInt8] = []
  private var length: Length = .none
  /// How many bytes of a body are still to come; nil within a header.
  private var missing: Int?
  private var isSkipped = false
  /// Whether the header has lines.
  private var hasLines = false

  private enum Length {
    case none, bytes(Int), faulty(String)
  }

  /// A longer line of a header isn't one; its end is what counts.
  private static let longestLine = 4096

  init(limit: Int = 64 << 20) { self.limit = limit }

  mutating func read(_ bytes: some Sequence<UInt8>) -> [Found] {
    var found: [Found] = []
    for byte in bytes {
      if missing != nil {
        take(byte, &found)
      } else if byte == ASCII.newline {
        endLine(&found)
      } else {
        if line.count >= 2 * Self.longestLine { line.removeFirst(Self.longestLine) }
        line.append(byte)
      }
    }
    return found
  }

  private mutating func take(_ byte: UInt8, _ found: inout [Found]) {
    guard let left = missing else { return }
    if !isSkipped { body.append(byte) }
    missing = left - 1
    if left == 1 { endBody(&found) }
  }

  private mutating func endBody(_ found: inout [Found]) {
    missing = nil
    if !isSkipped { found.append(.body(body)) }
    (body, isSkipped) = ([], false)
  }

  private mutating func endLine(_ found: inout [Found]) {
    if line.last == ASCII.carriageReturn { line.removeLast() }
    defer { line.removeAll(keepingCapacity: true) }
    guard line.isEmpty else {
      hasLines = true
      if let value = Self.valueOfLength(in: line) { length = Self.length(value) }
      return
    }
    guard hasLines else { return }
    switch length {
    case .none: found.append(.fault("a header has no Content-Length"))
    case .faulty(let text): found.append(.fault("Content-Length is '\(text.shortened(to: 40))', not a number of bytes"))
    case .bytes(let count):
      if count > limit { found.append(.fault("a message of \(count) bytes is longer than the most, \(limit)")) }
      (missing, isSkipped) = (count, count > limit)
      body.reserveCapacity(min(count, 1 << 20))
    }
    (length, hasLines) = (.none, false)
    if missing == 0 { endBody(&found) }
  }

  /// Returns the text after the last `Content-Length:` of a line, whatever comes before it.
  private static func valueOfLength(in line: [UInt8]) -> String? {
    let name = Array("content-length:".utf8)
    guard line.count >= name.count else { return nil }
    var start = line.count - name.count
    while start >= 0 {
      let part = line[start..<start + name.count]
      if zip(part, name).allSatisfy({ ($0 | (ASCII.uppercase.contains($0) ? 0x20 : 0)) == $1 }) {
        return String(decoding: line[(start + name.count)...], as: UTF8.self).trimmed
      }
      start -= 1
    }
    return nil
  }

  private static func length(_ text: String) -> Length {
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.digits.contains), let count = Int(text) else {
      return .faulty(text)
    }
    return .bytes(count)
  }

  /// A message with its header.
  static func frame(_ message: Value) -> [UInt8] {
    let body = Array(JSON.displayed(message).utf8)
    return Array("Content-Length: \(body.count)\r\n\r\n".utf8) + body
  }
}
