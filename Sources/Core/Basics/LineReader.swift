/// Lines of bytes from the other side of a socket, a pipe or an HTTP answer.
///
/// A line that is too long is told once and skipped to its end, so that a peer that sends one line without end takes no
/// more memory than the limit. A blank line is given as it is; a carriage return before the line end is part of the line,
/// as JSON's blank.
package struct LineReader: Sendable {
  /// The longest line that is read from outside.
  package static let longest = 16 << 20

  package enum Line: Sendable, Equatable {
    case line([UInt8])
    case tooLong
  }

  private let limit: Int
  private var held: [UInt8] = []
  private var isSkipping = false

  package init(limit: Int = LineReader.longest) { self.limit = limit }

  /// Takes what came, and gives the lines that are complete with it.
  package mutating func take(_ bytes: some Collection<UInt8>) -> [Line] {
    var lines: [Line] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: ASCII.newline) {
      hold(rest[..<end], &lines)
      rest = rest[rest.index(after: end)...]
      if !isSkipping { lines.append(.line(held)) }
      held.removeAll(keepingCapacity: held.count < 1 << 16)
      isSkipping = false
    }
    hold(rest, &lines)
    return lines
  }

  private mutating func hold(_ part: some Collection<UInt8>, _ lines: inout [Line]) {
    if isSkipping { return }
    guard part.count <= limit - held.count else {
      isSkipping = true
      held = []
      return lines.append(.tooLong)
    }
    held += part
  }
}

extension [UInt8] {
  /// Whether a line holds nothing but JSON's blanks.
  package var isBlankLine: Bool {
    allSatisfy { $0 == ASCII.space || $0 == ASCII.tab || $0 == ASCII.carriageReturn }
  }
}
