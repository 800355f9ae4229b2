package import Basics

/// How a scalar is written in a text, and where each part of its value comes from.
package struct YAMLScalar: Sendable {
  /// How a scalar is written.
  package enum Style: UInt8, Sendable {
    /// Without quotes.
    case plain
    /// In `'`.
    case singleQuoted
    /// In `"`.
    case doubleQuoted
    /// After `|`.
    case literal
    /// After `>`.
    case folded
  }

  /// How the scalar is written.
  package let style: Style
  /// Its bytes in the text, with its quotes or block header, without the line breaks that end a block.
  package let range: Range<Int>
  private let source: Source
  private let wholeRange: Range<Int>
  private let parentIndentation: Int

  init(source: Source, entry: NodeRanges.Scalar) {
    self.source = source
    style = entry.style
    range = entry.trimmed(in: source)
    wholeRange = entry.range
    parentIndentation = Int(entry.parentIndentation)
  }

  /// Whether a comment follows on the same line, which a `#` meant as text makes out of its tail.
  package var isFollowedByComment: Bool { style == .plain && source.comment(after: range.upperBound) != nil }

  /// The byte offset in the text of a UTF-8 offset of the value.
  ///
  /// A character made by an escape or a fold has the offset where that begins. The value's end, and any offset beyond
  /// it, is at the closing quote or the end of the text. Takes time in proportion to the scalar.
  package func offset(ofValueOffset offset: Int) -> Int {
    let walk = walk(to: [max(0, offset)])
    return walk.found.first?.lowerBound ?? walk.end
  }

  /// The location of a part of the value.
  package func location(of valueRange: Range<Int>) -> Diagnostic.Location {
    locations(of: [valueRange]).first ?? Diagnostic.Location(source, range)
  }

  /// The locations of parts of the value, found in one walk through the scalar.
  package func locations(of valueRanges: [Range<Int>]) -> [Diagnostic.Location] {
    let offsets = valueRanges.flatMap { [$0.lowerBound, $0.upperBound - 1] }.map { max(0, $0) }
    let targets = Set(offsets).sorted()
    let walk = walk(to: targets)
    let found = Dictionary(uniqueKeysWithValues: zip(targets, walk.found))
    return valueRanges.map { range in
      let start = found[max(0, range.lowerBound)]?.lowerBound ?? walk.end
      guard !range.isEmpty else { return Diagnostic.Location(source, at: start) }
      return Diagnostic.Location(
        source, start..<max(start, found[max(0, range.upperBound - 1)]?.upperBound ?? walk.end))
    }
  }

  private func walk(to offsets: [Int]) -> ScalarWalk {
    var walk = ScalarWalk(source.bytes, targets: offsets)
    switch style {
    case .plain: walk.plain(range)
    case .singleQuoted: walk.singleQuoted(range.lowerBound + 1..<max(range.lowerBound + 1, range.upperBound - 1))
    case .doubleQuoted: walk.doubleQuoted(range.lowerBound + 1..<max(range.lowerBound + 1, range.upperBound - 1))
    case .literal, .folded: walk.block(wholeRange, isFolded: style == .folded, parentIndentation: parentIndentation)
    }
    return walk
  }
}

/// Reads a scalar once more as YAML does, only counting what comes out, until it is at the last wanted offset.
private struct ScalarWalk {
  /// The bytes that made what is at each wanted offset, as far as the scalar has them.
  private(set) var found: [Range<Int>] = []
  /// Where the scalar's text ends.
  private(set) var end = 0

  private let bytes: [UInt8]
  /// The wanted offsets, in ascending order.
  private let targets: [Int]
  /// How many bytes of the value are counted.
  private var count = 0

  init(_ bytes: [UInt8], targets: [Int]) {
    self.bytes = bytes
    self.targets = targets
  }

  private var isOver: Bool { found.count == targets.count }

  /// Counts bytes of the value that all come from one place.
  private mutating func emit(_ count: Int, from offset: Int, length: Int = 1) {
    self.count += count
    while !isOver, targets[found.count] < self.count { found.append(offset..<offset + length) }
  }

  mutating func plain(_ range: Range<Int>) {
    flow(range) { walk, offset in
      walk.emit(1, from: offset)
      return offset + 1
    }
  }

  mutating func singleQuoted(_ range: Range<Int>) {
    flow(range) { walk, offset in
      let length = walk.bytes[offset] == ASCII.apostrophe ? 2 : 1
      walk.emit(1, from: offset, length: length)
      return offset + length
    }
  }

  mutating func doubleQuoted(_ range: Range<Int>) {
    flow(range) { walk, offset in
      if walk.bytes[offset] == ASCII.backslash, offset + 1 < range.upperBound {
        return isBreak(walk.bytes[offset + 1]) ? walk.joinLines(offset + 1..<range.upperBound) : walk.escape(offset)
      }
      walk.emit(1, from: offset)
      return offset + 1
    }
  }

  /// Reads a scalar whose blanks and line breaks are folded; `read` counts what begins at any other byte, and returns
  /// where it ends.
  private mutating func flow(_ range: Range<Int>, _ read: (_ walk: inout ScalarWalk, _ offset: Int) -> Int) {
    end = range.upperBound
    var offset = range.lowerBound
    while offset < range.upperBound, !isOver {
      offset = isBlankOrBreak(bytes[offset]) ? fold(offset..<range.upperBound) : read(&self, offset)
    }
  }

  /// Blanks stay; a line break takes the blanks around it and becomes a space, or the empty lines after it.
  private mutating func fold(_ range: Range<Int>) -> Int {
    let end = bytes[range].firstIndex { !isBlankOrBreak($0) } ?? range.upperBound
    var breaks = lineBreaks(range.lowerBound..<end)
    if breaks.isEmpty {
      breaks = Array(range.lowerBound..<end)
    } else if breaks.count > 1 {
      breaks.removeFirst()
    }
    for offset in breaks { emit(1, from: offset) }
    return end
  }

  /// A line break behind a backslash leaves nothing but the empty lines after it.
  private mutating func joinLines(_ range: Range<Int>) -> Int {
    let end = bytes[range].firstIndex { !isBlankOrBreak($0) } ?? range.upperBound
    for offset in lineBreaks(range.lowerBound..<end).dropFirst() { emit(1, from: offset) }
    return end
  }

  /// Where line breaks begin, CR LF being one.
  private func lineBreaks(_ range: Range<Int>) -> [Int] {
    range.filter {
      isBreak(bytes[$0])
        && !(bytes[$0] == ASCII.newline && $0 > range.lowerBound && bytes[$0 - 1] == ASCII.carriageReturn)
    }
  }

  private mutating func escape(_ offset: Int) -> Int {
    let digits: Int
    switch bytes[offset + 1] {
    case UInt8(ascii: "x"): digits = 2
    case UInt8(ascii: "u"): digits = 4
    case UInt8(ascii: "U"): digits = 8
    case UInt8(ascii: "N"), ASCII.underscore:
      emit(2, from: offset, length: 2)
      return offset + 2
    case UInt8(ascii: "L"), UInt8(ascii: "P"):
      emit(3, from: offset, length: 2)
      return offset + 2
    default:
      emit(1, from: offset, length: 2)
      return offset + 2
    }
    let end = min(offset + 2 + digits, bytes.count)
    let code = UInt32(String(decoding: bytes[offset + 2..<end], as: UTF8.self), radix: 16)
    // The first half of a character beyond U+FFFF, as JSON escapes it; the second follows, or the text wasn't read.
    if let code, (0xD800..<0xDC00).contains(code) {
      emit(4, from: offset, length: 12)
      return min(offset + 12, bytes.count)
    }
    let scalar = code.flatMap(Unicode.Scalar.init)
    emit(scalar.map(UTF8.width) ?? 1, from: offset, length: end - offset)
    return end
  }
}

// MARK: Block scalars

extension ScalarWalk {
  mutating func block(_ range: Range<Int>, isFolded: Bool, parentIndentation: Int) {
    let header = readHeader(range)
    var offset = header.end
    var indentation = header.indentation.map { max(parentIndentation, 0) + $0 }
    if indentation == nil {
      indentation = max(detectIndentation(offset..<range.upperBound), parentIndentation + 1, 1)
    }
    let margin = indentation ?? 1

    var textEnd = offset
    // The break behind the line before, and the empty lines behind that.
    var lineBreak: Int?
    var emptyLines: [Int] = []
    var isAfterBlank = false
    offset = readEmptyLines(offset..<range.upperBound, margin, &emptyLines)
    while offset < range.upperBound, hasMargin(offset, margin), !isOver {
      let isBlank = isBlank(bytes[offset])
      if let lineBreak, isFolded, !isAfterBlank, !isBlank {
        if emptyLines.isEmpty { emit(1, from: lineBreak) }
      } else if let lineBreak {
        emit(1, from: lineBreak)
      }
      for emptyLine in emptyLines { emit(1, from: emptyLine) }
      isAfterBlank = isBlank
      while offset < range.upperBound, !isBreak(bytes[offset]) {
        emit(1, from: offset)
        offset += 1
      }
      textEnd = offset
      lineBreak = offset < range.upperBound ? offset : nil
      offset = afterBreak(offset)
      emptyLines = []
      offset = readEmptyLines(offset..<range.upperBound, margin, &emptyLines)
    }
    end = textEnd
    if header.keepsFirst, let lineBreak {
      emit(1, from: lineBreak)
      end = afterBreak(lineBreak)
    }
    if header.keepsAll {
      for emptyLine in emptyLines {
        emit(1, from: emptyLine)
        end = afterBreak(emptyLine)
      }
    }
  }

  private func readHeader(_ range: Range<Int>) -> (end: Int, indentation: Int?, keepsFirst: Bool, keepsAll: Bool) {
    var offset = range.lowerBound + 1
    var indentation: Int?
    var (keepsFirst, keepsAll) = (true, false)
    // libyaml accepts a comment here without a blank before it.
    indicators: while offset < range.upperBound {
      switch bytes[offset] {
      case ASCII.minus: keepsFirst = false
      case ASCII.plus: keepsAll = true
      case UInt8(ascii: "1")...UInt8(ascii: "9"): indentation = Int(bytes[offset] - ASCII.zero)
      default: break indicators
      }
      offset += 1
    }
    while offset < range.upperBound, !isBreak(bytes[offset]) { offset += 1 }
    return (afterBreak(offset), indentation, keepsFirst, keepsAll)
  }

  /// The widest indentation of the lines up to and with the first that holds more than spaces.
  private func detectIndentation(_ range: Range<Int>) -> Int {
    var widest = 0
    var offset = range.lowerBound
    while offset < range.upperBound {
      let text = bytes[offset..<range.upperBound].firstIndex { $0 != ASCII.space } ?? range.upperBound
      widest = max(widest, text - offset)
      guard text < range.upperBound, isBreak(bytes[text]) else { break }
      offset = afterBreak(text)
    }
    return widest
  }

  /// Reads lines that hold nothing beyond the margin, and stops behind the margin of the next that does.
  private func readEmptyLines(_ range: Range<Int>, _ margin: Int, _ lines: inout [Int]) -> Int {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let lineStart = offset
      while offset < range.upperBound, offset - lineStart < margin, bytes[offset] == ASCII.space { offset += 1 }
      guard offset < range.upperBound, isBreak(bytes[offset]) else { return offset }
      lines.append(offset)
      offset = afterBreak(offset)
    }
    return offset
  }

  private func hasMargin(_ offset: Int, _ margin: Int) -> Bool {
    offset >= margin && bytes[offset - margin..<offset].allSatisfy { $0 == ASCII.space }
      && (offset == margin || isBreak(bytes[offset - margin - 1]))
  }

  private func afterBreak(_ offset: Int) -> Int {
    guard offset < bytes.count else { return offset }
    return offset
      + (bytes[offset] == ASCII.carriageReturn && offset + 1 < bytes.count && bytes[offset + 1] == ASCII.newline
        ? 2 : 1)
  }
}
