import Basics

/// A place in a text as the protocol counts: lines from 0, and code units of the line from 0 (LSP 3.17, "Position").
struct TextPosition: Hashable, Sendable {
  /// Which code units are counted; UTF-16 unless both sides know UTF-8.
  enum Encoding: String, Sendable {
    case utf8 = "utf-8"
    case utf16 = "utf-16"
  }

  var line: Int
  var character: Int
}

/// Translates between the protocol's places and byte offsets of one text.
///
/// Lines end with LF, CR LF or CR; a place beyond the end of a line or text is its end.
struct TextPositions: Sendable {
  private let bytes: [UInt8]
  private let lineStarts: [Int]
  private let encoding: TextPosition.Encoding

  init(_ bytes: [UInt8], _ encoding: TextPosition.Encoding = .utf16) {
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

  func offset(of position: TextPosition) -> Int {
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

  func position(of offset: Int) -> TextPosition {
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
  func position(of offset: Int, from known: (offset: Int, position: TextPosition)) -> TextPosition {
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

extension TextPositions {
  /// The bytes that a `Range` of the protocol names; nil if it isn't one.
  func range(_ value: Value) -> Range<Int>? {
    guard let start = value["start"].flatMap(TextPosition.init), let end = value["end"].flatMap(TextPosition.init)
    else {
      return nil
    }
    let (first, last) = (offset(of: start), offset(of: end))
    return min(first, last)..<max(first, last)
  }

  /// A `Range` of the protocol.
  func value(of range: Range<Int>) -> Value {
    .object(["start": position(of: range.lowerBound).value, "end": position(of: range.upperBound).value])
  }

  /// A `TextEdit` of the protocol.
  func value(of edit: Diagnostic.Edit) -> Value {
    .object(["range": value(of: edit.range), "newText": .string(edit.text)])
  }
}

extension TextPosition {
  /// A `Position` of the protocol; nil if the value isn't one.
  init?(_ value: Value) {
    guard let line = value["line"]?.int, let character = value["character"]?.int else { return nil }
    self.init(line: line, character: character)
  }

  var value: Value { .object(["line": .int(line), "character": .int(character)]) }
}
