import Basics

/// The keys and items of a text that may be incomplete, found by indentation and brackets, without a YAML parser.
///
/// It supports the YAML that recipes use: block mappings and lists, `{}` and `[]`, quoted texts and texts of several
/// lines. A key found here may not be a key in YAML, and a text that isn't YAML has as much of a tree as it resembles.
package struct TextOutline: Sendable {
  package struct Node: Sendable {
    package enum Kind: Sendable { case root, key, item }

    package var kind: Kind
    /// The key, without its quotes.
    package var name = ""
    /// The range of the key; for an item, of its dash or its place in brackets.
    package var nameRange: Range<Int>
    /// The value after the colon or dash on the same line, without a comment; for a block text, with its lines.
    package var value: Range<Int>
    /// The column of the key or dash, in bytes from 0.
    package var column: Int
    /// Whether it is inside brackets.
    package var isFlow = false
    /// Whether the value is a text of several lines, after `|` or `>`.
    package var isBlockText = false
    package var parent: Int
    package var children: [Int] = []
    /// Where the node ends: after its last byte that isn't blank.
    package var end: Int
    /// The index of the item in its list.
    package var index = 0
  }

  package let bytes: [UInt8]
  package private(set) var nodes: [Node]
  /// The offsets where the lines begin.
  package let lineStarts: [Int]

  /// The maximum depth of nested brackets.
  static let deepest = 64

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    nodes = [Node(kind: .root, nameRange: 0..<0, value: 0..<0, column: -1, parent: 0, end: bytes.count)]
    var starts = [0]
    for (offset, byte) in bytes.enumerated() where byte == ASCII.newline { starts.append(offset + 1) }
    lineStarts = starts
    var reader = OutlineReader(self)
    reader.read()
    nodes = reader.nodes
  }

  // MARK: Asking

  package func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// The end of the line that holds an offset, before its line break.
  package func lineEnd(at offset: Int) -> Int {
    var end = bytes[offset...].firstIndex(of: ASCII.newline) ?? bytes.count
    if end > offset, bytes[end - 1] == ASCII.carriageReturn { end -= 1 }
    return end
  }

  /// The number of the line that holds an offset, from 0.
  package func line(at offset: Int) -> Int {
    var (low, high) = (0, lineStarts.count)
    while low < high {
      let middle = low + (high - low) / 2
      if lineStarts[middle] <= offset { low = middle + 1 } else { high = middle }
    }
    return low - 1
  }

  /// The child of a node by its key.
  package func child(_ name: String, of node: Int) -> Int? {
    nodes[node].children.first { nodes[$0].kind == .key && nodes[$0].name.hasSameScalars(as: name) }
  }

  /// The names of the keys in a node.
  package func keys(in node: Int) -> [String] {
    nodes[node].children.compactMap { nodes[$0].kind == .key ? nodes[$0].name : nil }
  }

  /// The value of a node on its line, without quotes.
  package func scalar(_ node: Int) -> String { OutlineReader.unquoted(text(nodes[node].value)) }

  /// The value of a key in a node, without quotes; nil if the node lacks the key.
  package func scalar(_ name: String, of node: Int) -> String? { child(name, of: node).map(scalar) }

  /// The nodes from below the root to a node.
  package func path(to node: Int) -> [Int] {
    var path: [Int] = []
    var node = node
    while node != 0 {
      path.append(node)
      node = nodes[node].parent
    }
    return path.reversed()
  }

  /// The keys that lead to a node, items as `-`: `steps`, `-`, `with`.
  package func names(to node: Int) -> [String] { path(to: node).map { nodes[$0].kind == .item ? "-" : nodes[$0].name } }

  /// The innermost node whose key, dash or value holds an offset; the root if none does.
  package func node(at offset: Int) -> Int {
    var found = 0
    while let inner = nodes[found].children.first(where: {
      nodes[$0].nameRange.lowerBound <= offset && offset <= nodes[$0].end
    }) {
      found = inner
      // If two nodes touch, the later one is at the offset.
      if let next = nodes[nodes[inner].parent].children.first(where: { nodes[$0].nameRange.lowerBound == offset }) {
        found = next
      }
    }
    return found
  }
}

/// The cursor's place among keys and items.
package struct TextCursor: Sendable {
  package enum Place: Sendable, Equatable {
    /// A key of the node's mapping.
    case key
    /// The value of the node.
    case value
    /// Nothing that can be completed: in a comment.
    case nothing
  }

  package let place: Place
  /// The node that contains the key being written, or whose value is being written.
  package let node: Int
  /// The range of the text being written, up to the cursor.
  package let written: Range<Int>
  /// Whether the place is inside brackets.
  package let isFlow: Bool
  /// Whether it is a new item of the node's list in brackets, still empty.
  package let isNewItem: Bool
  /// The column of the key, even if it isn't written yet.
  package let column: Int
  /// The node of the key being written, if its line has one; that node isn't one of the neighbours.
  package let own: Int?

  init(
    place: Place, node: Int, written: Range<Int>, isFlow: Bool = false, isNewItem: Bool = false, column: Int = 0,
    own: Int? = nil
  ) {
    self.place = place
    self.node = node
    self.written = written
    self.isFlow = isFlow
    self.isNewItem = isNewItem
    self.column = column
    self.own = own
  }
}

extension TextOutline {
  /// The cursor at an offset.
  package func cursor(at offset: Int) -> TextCursor {
    let offset = min(max(offset, 0), bytes.count)
    let lineStart = lineStarts[line(at: offset)]
    let before = bytes[lineStart..<offset]
    if OutlineReader.commentStart(bytes, lineStart..<offset) != nil, !isInBlockText(offset) {
      return TextCursor(place: .nothing, node: 0, written: offset..<offset)
    }
    let inner = node(at: offset)
    if nodes[inner].isBlockText, nodes[inner].value.lowerBound <= offset {
      return TextCursor(
        place: .value, node: inner, written: nodes[inner].value.lowerBound..<offset)
    }
    if let flow = flowCursor(at: offset) { return flow }

    // The dashes and the key before the cursor, on its line.
    var start = before.firstIndex { $0 != ASCII.space } ?? offset
    var hasDash = false
    while start < offset, bytes[start] == ASCII.minus, start + 1 == bytes.count || isBlankOrBreak(bytes[start + 1]) {
      hasDash = true
      start += 1
      while start < offset, bytes[start] == ASCII.space { start += 1 }
    }
    var column = start - lineStart
    if let colon = OutlineReader.colon(bytes, start..<offset) {
      let key = nodes.indices.last {
        nodes[$0].kind == .key && nodes[$0].nameRange.lowerBound == start && !nodes[$0].isFlow
      }
      var value = colon + 1
      while value < offset, bytes[value] == ASCII.space { value += 1 }
      return TextCursor(
        place: key == nil ? .nothing : .value, node: key ?? 0, written: value..<offset, column: column)
    }
    let own = nodes.indices.last {
      nodes[$0].kind == .key && nodes[$0].nameRange.lowerBound == start && !nodes[$0].isFlow
    }
    var parent = own.map { nodes[$0].parent } ?? owner(ofColumn: column, hasDash: hasDash, lineStart, start)
    // Below a key with a value on its line, the next key belongs beside it; many editors indent such a line too far.
    if own == nil, !hasDash, takesNoKeys(parent, whileWriting: start < offset) {
      column = nodes[parent].column
      parent = nodes[parent].parent
      start = min(start, lineStart + column)
    }
    return TextCursor(
      place: .key, node: parent, written: start..<offset, column: column, own: own)
  }

  /// Whether a node has a value on its line that isn't continued below.
  private func takesNoKeys(_ node: Int, whileWriting: Bool) -> Bool {
    let value = nodes[node].value
    guard nodes[node].kind == .key, !value.isEmpty, !nodes[node].isFlow, !nodes[node].isBlockText else { return false }
    // An unquoted text may continue on the next line.
    return !whileWriting || !bytes[value].contains(ASCII.space) || "\"'{[$".utf8.contains(bytes[value.lowerBound])
  }

  private func isInBlockText(_ offset: Int) -> Bool {
    let inner = node(at: offset)
    return nodes[inner].isBlockText && nodes[inner].value.lowerBound <= offset
  }

  /// The node that a key in a column would belong to, according to the lines above.
  private func owner(ofColumn column: Int, hasDash: Bool, _ lineStart: Int, _ start: Int) -> Int {
    if hasDash,
      let item = nodes.indices.last(where: {
        nodes[$0].kind == .item && !nodes[$0].isFlow && nodes[$0].nameRange.lowerBound >= lineStart
          && nodes[$0].nameRange.lowerBound < start
      })
    {
      return item
    }
    var found = 0
    // The last block node above that is indented less.
    for index in nodes.indices.reversed()
    where !nodes[index].isFlow && nodes[index].kind != .root && nodes[index].nameRange.lowerBound < lineStart {
      guard nodes[index].column < column else { continue }
      found = index
      break
    }
    return found
  }

  /// The cursor inside brackets.
  private func flowCursor(at offset: Int) -> TextCursor? {
    // The innermost bracket that is open at the cursor, from the key or dash that it belongs to.
    var inner = node(at: offset)
    while inner != 0, nodes[inner].isFlow { inner = nodes[inner].parent }
    // The root's value is empty unless all of the text is in brackets.
    guard inner != 0 || !nodes[0].value.isEmpty, nodes[inner].value.lowerBound < offset,
      nodes[inner].value.lowerBound < bytes.count,
      [ASCII.openBrace, ASCII.openBracket].contains(bytes[nodes[inner].value.lowerBound])
    else { return nil }
    var scan = FlowScan(bytes, from: nodes[inner].value.lowerBound, to: offset)
    guard scan.run(), let top = scan.open.last else { return nil }
    // The node whose value is the bracket.
    let owner = nodes.indices.last { nodes[$0].value.lowerBound == top.start && $0 != 0 } ?? inner
    if top.isMap, let key = top.key {
      let node = nodes.indices.last { nodes[$0].isFlow && nodes[$0].nameRange == key }
      return TextCursor(
        place: node == nil ? .nothing : .value, node: node ?? owner, written: top.wordStart..<offset, isFlow: true)
    }
    let own = nodes.indices.last { nodes[$0].isFlow && nodes[$0].nameRange.lowerBound == top.wordStart }
    if top.isMap {
      return TextCursor(
        place: .key, node: owner, written: top.wordStart..<offset, isFlow: true,
        own: own.flatMap { nodes[$0].kind == .key && hasColon($0) ? $0 : nil })
    }
    // A new item is completed like the others.
    let item =
      own.flatMap { nodes[$0].kind == .item ? $0 : nil }
      ?? nodes.indices.last { nodes[$0].isFlow && nodes[$0].kind == .item && nodes[$0].parent == owner }
    return TextCursor(
      place: .value, node: item ?? owner, written: top.wordStart..<offset, isFlow: true, isNewItem: item == nil)
  }
}

extension TextOutline {
  /// Whether a colon follows the key of a node.
  private func hasColon(_ node: Int) -> Bool {
    let rest = bytes[nodes[node].nameRange.upperBound...]
    return rest.first { $0 != ASCII.space } == ASCII.colon
  }
}

/// Scans brackets up to a place, and records the brackets that are open there.
private struct FlowScan {
  struct Bracket {
    var isMap: Bool
    var start: Int
    /// The key whose value is being written.
    var key: Range<Int>?
    /// Where the text being written begins.
    var wordStart: Int
  }

  private(set) var open: [Bracket] = []
  private let bytes: [UInt8]
  private var offset: Int
  private let end: Int

  init(_ bytes: [UInt8], from start: Int, to end: Int) {
    self.bytes = bytes
    offset = start
    self.end = end
  }

  /// False if no bracket is open at the place.
  mutating func run() -> Bool {
    while offset < end {
      let byte = bytes[offset]
      switch byte {
      case ASCII.openBrace, ASCII.openBracket:
        guard open.count < TextOutline.deepest else { return false }
        open.append(Bracket(isMap: byte == ASCII.openBrace, start: offset, wordStart: offset + 1))
        offset += 1
        skipBlanks()
      case ASCII.closeBrace, ASCII.closeBracket:
        open.removeLast()
        if open.isEmpty { return false }
        offset += 1
      case ASCII.comma:
        offset += 1
        open[open.count - 1].key = nil
        skipBlanks()
      case ASCII.colon where open[open.count - 1].isMap && open[open.count - 1].key == nil && isColon:
        let word = open[open.count - 1].wordStart
        open[open.count - 1].key = OutlineReader.trimmed(bytes, word..<offset)
        offset += 1
        skipBlanks()
      case ASCII.quote where offset == open[open.count - 1].wordStart,
        ASCII.apostrophe where offset == open[open.count - 1].wordStart:
        offset = OutlineReader.textEnd(bytes, offset..<end) ?? end
      case ASCII.dollar where OutlineReader.beginsExpression(bytes, offset, end):
        offset = OutlineReader.expressionEnd(bytes, offset..<end)
      default: offset += 1
      }
    }
    return !open.isEmpty
  }

  private var isColon: Bool {
    offset + 1 >= bytes.count || isBlankOrBreak(bytes[offset + 1])
      || [ASCII.comma, ASCII.closeBrace, ASCII.openBrace, ASCII.openBracket].contains(bytes[offset + 1])
      || bytes[offset - 1] == ASCII.quote || bytes[offset - 1] == ASCII.apostrophe
  }

  private mutating func skipBlanks() {
    while offset < end, isBlankOrBreak(bytes[offset]) { offset += 1 }
    open[open.count - 1].wordStart = offset
  }
}

/// Parses the lines of a text into nodes.
struct OutlineReader {
  var nodes: [TextOutline.Node]
  private let bytes: [UInt8]
  private let lineStarts: [Int]
  /// The open nodes, the innermost last; their columns increase.
  private var stack = [0]

  init(_ outline: TextOutline) {
    nodes = outline.nodes
    bytes = outline.bytes
    lineStarts = outline.lineStarts
  }

  mutating func read() {
    var line = 0
    while line < lineStarts.count { line = readLine(line) }
    // A node ends where its last descendant ends.
    for index in nodes.indices.reversed() where index != 0 {
      let parent = nodes[index].parent
      if parent != 0 { nodes[parent].end = max(nodes[parent].end, nodes[index].end) }
    }
  }

  private func end(ofLine line: Int) -> Int {
    line + 1 < lineStarts.count ? lineStarts[line + 1] - 1 : bytes.count
  }

  /// Reads a line and the lines that continue its value; returns the next line.
  private mutating func readLine(_ line: Int) -> Int {
    let lineStart = lineStarts[line]
    var end = end(ofLine: line)
    if end > lineStart, bytes[end - 1] == ASCII.carriageReturn { end -= 1 }
    var offset = lineStart
    while offset < end, bytes[offset] == ASCII.space { offset += 1 }
    guard offset < end, bytes[offset] != ASCII.hash else { return line + 1 }
    let content = OutlineReader.commentStart(bytes, lineStart..<end) ?? end
    while offset < content, bytes[offset] == ASCII.minus, offset + 1 >= content || isBlankOrBreak(bytes[offset + 1]) {
      let dash = offset
      offset += 1
      while offset < content, bytes[offset] == ASCII.space { offset += 1 }
      add(.item, "", dash..<dash + 1, column: dash - lineStart, value: offset..<content)
    }
    guard offset < content else { return line + 1 }
    if let colon = OutlineReader.colon(bytes, offset..<content) {
      let name = OutlineReader.trimmed(bytes, offset..<colon)
      var value = colon + 1
      while value < content, bytes[value] == ASCII.space { value += 1 }
      add(
        .key, OutlineReader.unquoted(String(decoding: bytes[name], as: UTF8.self)), name, column: offset - lineStart,
        value: value..<max(value, content))
      offset = value
    } else if stack == [0], [ASCII.openBrace, ASCII.openBracket].contains(bytes[offset]) {
      // The whole text is in brackets.
    } else if stack.last.map({ nodes[$0].kind != .item || nodes[$0].nameRange.lowerBound < lineStart }) ?? true {
      return line + 1
    }
    return readValue(from: offset, to: content, line)
  }

  private mutating func add(
    _ kind: TextOutline.Node.Kind, _ name: String, _ range: Range<Int>, column: Int, value: Range<Int>
  ) {
    while let top = stack.last, top != 0 {
      let node = nodes[top]
      // The items of a key may be in the same column as the key.
      if node.column < column || node.column == column && kind == .item && node.kind == .key { break }
      stack.removeLast()
    }
    let parent = stack.last ?? 0
    let value = OutlineReader.trimmed(bytes, value)
    var node = TextOutline.Node(
      kind: kind, name: name, nameRange: range, value: value, column: column, parent: parent,
      end: max(range.upperBound, value.upperBound))
    node.index = nodes[parent].children.count
    nodes.append(node)
    nodes[parent].children.append(nodes.count - 1)
    stack.append(nodes.count - 1)
  }

  /// Reads the value after a key or dash, with the lines that continue it.
  private mutating func readValue(from start: Int, to end: Int, _ line: Int) -> Int {
    guard let owner = stack.last else { return line + 1 }
    var start = start
    // An anchor or a tag isn't part of the value.
    while start < end, [ASCII.ampersand, UInt8(ascii: "!")].contains(bytes[start]) {
      while start < end, !isBlankOrBreak(bytes[start]) { start += 1 }
      while start < end, isBlankOrBreak(bytes[start]) { start += 1 }
      nodes[owner].value = start..<max(start, nodes[owner].value.upperBound)
    }
    guard start < end else { return line + 1 }
    switch bytes[start] {
    case UInt8(ascii: "|"), UInt8(ascii: ">"): return readBlockText(owner, line)
    case ASCII.openBrace, ASCII.openBracket:
      let limit = self.limit(below: nodes[owner].column, after: line)
      var flow = FlowReader(bytes, start..<limit, nodes: nodes)
      // Otherwise each change would copy the nodes.
      nodes = []
      flow.read(into: owner)
      nodes = flow.nodes
      nodes[owner].value = start..<max(start, OutlineReader.trimmed(bytes, start..<flow.end).upperBound)
      nodes[owner].end = max(nodes[owner].end, nodes[owner].value.upperBound)
      return nextLine(after: flow.end, line)
    case ASCII.quote, ASCII.apostrophe:
      let limit = self.limit(below: nodes[owner].column, after: line)
      guard let textEnd = OutlineReader.textEnd(bytes, start..<limit), textEnd > end else { return line + 1 }
      nodes[owner].value = start..<textEnd
      nodes[owner].end = max(nodes[owner].end, textEnd)
      return nextLine(after: textEnd, line)
    default: return line + 1
    }
  }

  private mutating func readBlockText(_ owner: Int, _ line: Int) -> Int {
    let limit = self.limit(below: nodes[owner].column, after: line)
    nodes[owner].isBlockText = true
    nodes[owner].value = nodes[owner].value.lowerBound..<max(nodes[owner].value.upperBound, limit)
    // Blanks at the end of the last line are part of the text, because the author may be writing there.
    let last = OutlineReader.trimmed(bytes, nodes[owner].value).upperBound
    nodes[owner].end = max(nodes[owner].end, min(bytes[last...].firstIndex(of: ASCII.newline) ?? limit, limit))
    return nextLine(after: limit, line)
  }

  private func nextLine(after offset: Int, _ line: Int) -> Int {
    var next = line + 1
    while next < lineStarts.count, lineStarts[next] < offset { next += 1 }
    return next
  }

  /// The end of the lines after a line that are indented more than a column.
  private func limit(below column: Int, after line: Int) -> Int {
    var last = end(ofLine: line)
    var next = line + 1
    while next < lineStarts.count {
      let range = lineStarts[next]..<end(ofLine: next)
      let first = bytes[range].firstIndex { !isBlankOrBreak($0) }
      if let first {
        guard first - range.lowerBound > column || [ASCII.closeBrace, ASCII.closeBracket].contains(bytes[first]) else {
          break
        }
        last = range.upperBound
      }
      next += 1
    }
    return last
  }

  // MARK: Parts of lines

  static func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
    var range = range
    while !range.isEmpty, isBlankOrBreak(bytes[range.upperBound - 1]) {
      range = range.lowerBound..<range.upperBound - 1
    }
    while !range.isEmpty, isBlankOrBreak(bytes[range.lowerBound]) { range = range.lowerBound + 1..<range.upperBound }
    return range
  }

  static func unquoted(_ text: String) -> String {
    guard let first = text.first, first == "\"" || first == "'" else { return text }
    let inner = text.dropFirst()
    return String(inner.last == first ? inner.dropLast() : inner)
  }

  /// The colon that ends a key at the start of a range.
  static func colon(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    guard let first = range.first.map({ bytes[$0] }), ![ASCII.openBrace, ASCII.openBracket].contains(first) else {
      return nil
    }
    var offset = range.lowerBound
    if first == ASCII.quote || first == ASCII.apostrophe {
      guard let end = textEnd(bytes, range) else { return nil }
      offset = end
    }
    while offset < range.upperBound {
      if bytes[offset] == ASCII.colon, offset + 1 >= bytes.count || isBlankOrBreak(bytes[offset + 1]) { return offset }
      if beginsExpression(bytes, offset, range.upperBound) { return nil }
      offset += 1
    }
    return nil
  }

  /// Where a comment begins in a line, outside of quotes and expressions.
  static func commentStart(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    var offset = range.lowerBound
    var isAtStart = true
    while offset < range.upperBound {
      let byte = bytes[offset]
      if byte == ASCII.hash, isAtStart { return offset }
      if byte == ASCII.quote || byte == ASCII.apostrophe,
        isAtStart || bytes[offset - 1] == ASCII.openBracket
          || bytes[offset - 1] == ASCII.openBrace
      {
        guard let end = textEnd(bytes, offset..<range.upperBound) else { return nil }
        offset = end
        isAtStart = false
        continue
      }
      if beginsExpression(bytes, offset, range.upperBound) {
        offset = expressionEnd(bytes, offset..<range.upperBound)
        isAtStart = false
        continue
      }
      isAtStart = byte == ASCII.space || byte == ASCII.tab
      offset += 1
    }
    return nil
  }

  /// The offset after the closing quote of a text at the start of a range; nil if it isn't closed.
  static func textEnd(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    let quote = bytes[range.lowerBound]
    var offset = range.lowerBound + 1
    while offset < range.upperBound {
      if quote == ASCII.quote, bytes[offset] == ASCII.backslash {
        offset += 2
        continue
      }
      if bytes[offset] == quote {
        if quote == ASCII.apostrophe, offset + 1 < range.upperBound, bytes[offset + 1] == quote {
          offset += 2
          continue
        }
        return offset + 1
      }
      offset += 1
    }
    return nil
  }

  static func beginsExpression(_ bytes: [UInt8], _ offset: Int, _ end: Int) -> Bool {
    offset + 2 < end && bytes[offset] == ASCII.dollar && bytes[offset + 1] == ASCII.openBrace
      && bytes[offset + 2] == ASCII.openBrace
  }

  /// The offset after the `}}` of an expression, or the end of its line.
  static func expressionEnd(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
    var offset = range.lowerBound + 3
    while offset < range.upperBound, bytes[offset] != ASCII.newline {
      if bytes[offset] == ASCII.closeBrace, offset + 1 < range.upperBound, bytes[offset + 1] == ASCII.closeBrace {
        return offset + 2
      }
      offset += 1
    }
    return min(offset, range.upperBound)
  }
}

/// Reads `{}` and `[]` into nodes.
private struct FlowReader {
  var nodes: [TextOutline.Node]
  private(set) var end: Int
  private let bytes: [UInt8]
  private let limit: Int
  private var offset: Int

  init(_ bytes: [UInt8], _ range: Range<Int>, nodes: [TextOutline.Node]) {
    self.bytes = bytes
    self.nodes = nodes
    offset = range.lowerBound
    limit = range.upperBound
    end = limit
  }

  /// Reads the bracket at the start, as the value of a node.
  mutating func read(into owner: Int) {
    /// The nodes whose brackets are open, and whether these are mappings.
    var open: [(owner: Int, isMap: Bool)] = []
    /// The node that the next value belongs to.
    var target = owner
    while offset < limit {
      skipBlanks()
      guard offset < limit else { break }
      switch bytes[offset] {
      case ASCII.openBrace, ASCII.openBracket:
        guard open.count < TextOutline.deepest else { return }
        if let top = open.last, !top.isMap { target = add(.item, "", offset..<offset, to: top.owner) }
        nodes[target].value = offset..<offset + 1
        open.append((target, bytes[offset] == ASCII.openBrace))
        offset += 1
      case ASCII.closeBrace, ASCII.closeBracket:
        guard let top = open.popLast() else { return }
        offset += 1
        nodes[top.owner].value = nodes[top.owner].value.lowerBound..<offset
        nodes[top.owner].end = max(nodes[top.owner].end, offset)
        guard !open.isEmpty else {
          end = offset
          return
        }
      case ASCII.comma: offset += 1
      case ASCII.hash where offset > 0 && isBlankOrBreak(bytes[offset - 1]):
        while offset < limit, bytes[offset] != ASCII.newline { offset += 1 }
      default:
        guard let top = open.last else { return }
        let word = readWord(isMap: top.isMap)
        if top.isMap {
          let name = OutlineReader.unquoted(String(decoding: bytes[word], as: UTF8.self))
          target = add(.key, name, word, to: top.owner)
          skipBlanks()
          guard offset < limit, bytes[offset] == ASCII.colon else { continue }
          offset += 1
          skipBlanks()
          nodes[target].value = offset..<offset
          guard offset < limit, ![ASCII.openBrace, ASCII.openBracket].contains(bytes[offset]) else { continue }
          guard ![ASCII.comma, ASCII.closeBrace].contains(bytes[offset]) else { continue }
          nodes[target].value = readWord(isMap: false)
          nodes[target].end = nodes[target].value.upperBound
        } else {
          let item = add(.item, "", word.lowerBound..<word.lowerBound, to: top.owner)
          nodes[item].value = word
          nodes[item].end = word.upperBound
        }
      }
    }
    for top in open {
      nodes[top.owner].value = nodes[top.owner].value.lowerBound..<limit
      nodes[top.owner].end = max(nodes[top.owner].end, limit)
    }
  }

  private mutating func add(_ kind: TextOutline.Node.Kind, _ name: String, _ range: Range<Int>, to parent: Int) -> Int {
    var node = TextOutline.Node(
      kind: kind, name: name, nameRange: range, value: range.upperBound..<range.upperBound, column: 0, isFlow: true,
      parent: parent, end: range.upperBound)
    node.index = nodes[parent].children.count
    nodes.append(node)
    nodes[parent].children.append(nodes.count - 1)
    return nodes.count - 1
  }

  private mutating func skipBlanks() {
    while offset < limit, isBlankOrBreak(bytes[offset]) { offset += 1 }
  }

  /// Reads a scalar; a key ends at its colon.
  private mutating func readWord(isMap: Bool) -> Range<Int> {
    let start = offset
    if bytes[offset] == ASCII.quote || bytes[offset] == ASCII.apostrophe {
      offset = OutlineReader.textEnd(bytes, offset..<limit) ?? limit
      return start..<offset
    }
    while offset < limit {
      if OutlineReader.beginsExpression(bytes, offset, limit) {
        offset = OutlineReader.expressionEnd(bytes, offset..<limit)
        continue
      }
      let byte = bytes[offset]
      if [ASCII.comma, ASCII.closeBrace, ASCII.closeBracket, ASCII.newline].contains(byte) { break }
      if isMap, byte == ASCII.colon { break }
      offset += 1
    }
    if offset == start { offset += 1 }
    return OutlineReader.trimmed(bytes, start..<min(offset, limit))
  }
}

func isBlankOrBreak(_ byte: UInt8) -> Bool {
  byte == ASCII.space || byte == ASCII.tab || byte == ASCII.newline || byte == ASCII.carriageReturn
}
