import Basics

/// The messages on standard streams: each is JSON on a line of its own, and nothing else is on them.
///
/// A line that is too long is told once and skipped to its end, so that a peer that sends one line without end takes no
/// more memory than `longest`. A blank line is left out; a carriage return before the line end is JSON's blank.
package struct MessageLines: Sendable {
  /// The longest message that is read.
  package static let longest = 16 << 20

  package enum Line: Sendable, Equatable {
    case message([UInt8])
    case tooLong
  }

  private let limit: Int
  private var held: [UInt8] = []
  private var isSkipping = false

  package init(limit: Int = MessageLines.longest) { self.limit = limit }

  /// Takes what came, and gives the lines that are complete with it.
  package mutating func take(_ bytes: some Collection<UInt8>) -> [Line] {
    var lines: [Line] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: ASCII.newline) {
      hold(rest[..<end], &lines)
      rest = rest[rest.index(after: end)...]
      if !isSkipping, held.contains(where: { $0 != ASCII.space && $0 != ASCII.tab && $0 != ASCII.carriageReturn }) {
        lines.append(.message(held))
      }
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

  /// The error that a line too long is answered with.
  package var tooLong: ModelContextError {
    ModelContextError(.invalidRequest, "a message must not be longer than \(limit) bytes")
  }
}
