import Basics

/// A place in a text as editors count: lines from 0, and code units of the line from 0 (LSP 3.17, "Position").
package struct TextPosition: Hashable, Sendable {
  /// Which code units are counted; UTF-16 unless both sides know UTF-8.
  package enum Encoding: String, Sendable {
    case utf8 = "utf-8"
    case utf16 = "utf-16"
  }

  package var line: Int
  package var character: Int

  package init(line: Int, character: Int) {
    self.line = line
    self.character = character
  }
}

/// Translates between editors' places and byte offsets of one text.
///
/// Lines end with LF, CR LF or CR; a place beyond the end of a line or text is its end.
package struct TextPositions: Sendable {
  private let bytes: [UInt8]
  private let lineStarts: [Int]
  private let encoding: TextPosition.Encoding

  package init(_ bytes: [UInt8], _ encoding: TextPosition.Encoding = .utf16) {
    self.bytes = bytes
    self.encoding = encoding
    var starts = [0]
    for (offset, byte) in bytes.enumerated() {
      if byte == ASCII.newline
        || byte == ASCII.carriageReturn && !(offset + 1 < bytes.count && bytes[offset + 1] == ASCII.newline)
      {
        starts.append(offset + 1)
      }
    }
    lineStarts = starts
  }

  package func offset(of position: TextPosition) -> Int {
    guard position.line >= 0 else { return 0 }
    guard position.line < lineStarts.count else { return bytes.count }
    var offset = lineStarts[position.line]
    var units = 0
    while offset < bytes.count, units < position.character, !isBreak(bytes[offset]) {
      let (length, width) = character(startingWith: bytes[offset])
      units += width
      offset = min(offset + length, bytes.count)
    }
    return offset
  }

  package func position(of offset: Int) -> TextPosition {
    let offset = min(max(offset, 0), bytes.count)
    var (low, high) = (0, lineStarts.count)
    while low < high {
      let middle = low + (high - low) / 2
      if lineStarts[middle] <= offset { low = middle + 1 } else { high = middle }
    }
    let line = low - 1
    var (place, units) = (lineStarts[line], 0)
    while place < offset {
      let (length, width) = character(startingWith: bytes[place])
      units += width
      place += length
    }
    return TextPosition(line: line, character: units)
  }

  /// The same, counted from a place before it if that is in the same line.
  package func position(of offset: Int, from known: (offset: Int, position: TextPosition)) -> TextPosition {
    let next = known.position.line + 1
    guard offset >= known.offset, offset <= bytes.count, next >= lineStarts.count || offset < lineStarts[next] else {
      return position(of: offset)
    }
    var (place, found) = known
    while place < offset {
      let (length, width) = character(startingWith: bytes[place])
      found.character += width
      place += length
    }
    return found
  }

  private func isBreak(_ byte: UInt8) -> Bool { byte == ASCII.newline || byte == ASCII.carriageReturn }

  /// How many bytes a character takes, and how many code units; a byte that begins none counts as one.
  private func character(startingWith byte: UInt8) -> (length: Int, width: Int) {
    let isUTF8 = encoding == .utf8
    return switch byte {
    case 0xC0...0xDF: (2, isUTF8 ? 2 : 1)
    case 0xE0...0xEF: (3, isUTF8 ? 3 : 1)
    case 0xF0...0xF7: (4, isUTF8 ? 4 : 2)
    default: (1, 1)
    }
  }
}
