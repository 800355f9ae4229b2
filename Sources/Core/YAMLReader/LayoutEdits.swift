package import Basics

// Changes to a text's layout: keys are added beside others, moved, or wrapped. Moved lines keep their comments, and are
// indented like their new neighbours. If the layout is ambiguous, there is no change.

extension YAMLDocument {
  /// The changes that add a key, written with its value on one line, after another of the same map.
  package func adding(_ text: String, after member: ValueMap.Member) -> [Diagnostic.Edit]? {
    guard let place = Member(member, self) else { return nil }
    if isInFlow(place.key.lowerBound) { return [Diagnostic.Edit(place.end..<place.end, ", \(text)")] }
    let end = source.lineEnd(after: place.end)
    return [Diagnostic.Edit(end..<end, lineBreak + indentation(place.column) + text)]
  }

  /// The changes that take a member out of a map that has others.
  package func removing(_ member: ValueMap.Member, from map: ValueMap) -> [Diagnostic.Edit]? {
    guard let place = Member(member, self) else { return nil }
    if let range = isInFlow(place.key.lowerBound) ? place.rangeInFlow : place.lines {
      return [Diagnostic.Edit(range, "")]
    }
    // The first one behind a dash.
    let next = map.members.lazy.compactMap { self.range(of: $0.key).lowerBound }.filter { $0 >= place.end }.min()
    guard !isInFlow(place.key.lowerBound), let next, source.bytes[place.end..<next].allSatisfy(isBlankOrBreak) else {
      return nil
    }
    return [Diagnostic.Edit(place.key.lowerBound..<next, "")]
  }

  /// The changes that make a map the only item of a list.
  package func listing(_ value: Value) -> [Diagnostic.Edit]? {
    let range = range(of: value)
    guard let map = value.map, !map.isEmpty else { return nil }
    if "{".utf8.contains(source.bytes[range.lowerBound]) {
      return [
        Diagnostic.Edit(range.lowerBound..<range.lowerBound, "["),
        Diagnostic.Edit(range.upperBound..<range.upperBound, "]"),
      ]
    }
    let start = range.lowerBound
    return [Diagnostic.Edit(start..<start, "- ")] + shifting(range, by: 2)
  }

  /// The change that writes another value on the line of the key; nil if a comment would be lost.
  package func rewriting(_ value: Value, as text: String) -> Diagnostic.Edit? {
    let range = range(of: value)
    guard let last = source.bytes[..<range.lowerBound].lastIndex(where: { !isBlankOrBreak($0) }),
      source.bytes[last] == ASCII.colon, !source.bytes[range].contains(ASCII.hash)
    else { return nil }
    return Diagnostic.Edit(last + 1..<range.upperBound, " \(text)")
  }

  /// The changes that put a member into a new map of a key, under another name and behind other members.
  ///
  /// - Parameters:
  ///   - before: The lines to write before that key.
  ///   - beside: The lines to write before the member.
  package func wrapping(
    _ member: ValueMap.Member, in key: String, after before: [String], beside: [String], as name: String
  ) -> [Diagnostic.Edit]? {
    guard let place = Member(member, self) else { return nil }
    if isInFlow(place.key.lowerBound) {
      let text = (before + ["\(key): { \((beside + [name]).joined(separator: ", "))"]).joined(separator: ", ")
      return [Diagnostic.Edit(place.key, text), Diagnostic.Edit(place.end..<place.end, " }")]
    }
    let inner = (beside + [name]).map { indentation(place.column + 2) + $0 }
    let lines =
      before.enumerated().map { ($0.offset == 0 ? "" : indentation(place.column)) + $0.element }
      + [indentation(place.column) + "\(key):"] + inner
    return [Diagnostic.Edit(place.key, lines.joined(separator: lineBreak))]
      + shifting(place.key.lowerBound..<place.end, by: 2)
  }

  /// The changes that put a member of a map into the map under another key of it, which is added where it is missing.
  package func moving(_ member: ValueMap.Member, under name: String, of map: ValueMap) -> [Diagnostic.Edit]? {
    guard let place = Member(member, self) else { return nil }
    let target = map.members.first { $0.name == name }
    let isFlow = isInFlow(place.key.lowerBound)
    guard let target else {
      if isFlow {
        return [
          Diagnostic.Edit(place.key.lowerBound..<place.key.lowerBound, "\(name): { "),
          Diagnostic.Edit(place.end..<place.end, " }"),
        ]
      }
      let start = place.key.lowerBound
      let key = Diagnostic.Edit(start..<start, "\(name):\(lineBreak)\(indentation(place.column + 2))")
      return [key] + shifting(start..<place.end, by: 2)
    }
    guard let inner = target.value.map, let start = target.value.place.offset else {
      guard target.value.isNull, !isFlow, let outer = Member(target, self), let lines = place.lines else { return nil }
      let lineEnd = source.lineEnd(after: outer.end)
      let moved = moved(place, to: outer.column + 2)
      return [Diagnostic.Edit(lineEnd..<lineEnd, lineBreak + moved), Diagnostic.Edit(lines, "")]
    }
    let end = range(of: target.value).upperBound
    let text = String(decoding: source.bytes[place.key.lowerBound..<place.end], as: UTF8.self)
    guard let removal = isFlow ? place.rangeInFlow : place.lines else { return nil }
    guard !removal.overlaps(start..<end) else { return nil }
    if "{".utf8.contains(source.bytes[start]) {
      guard !text.utf8.contains(ASCII.newline), member.value.map == nil, member.value.list == nil, end > start + 1
      else { return nil }
      var last = end - 1
      while last > start + 1, isBlankOrBreak(source.bytes[last - 1]) { last -= 1 }
      let addition = inner.isEmpty ? " \(text) " : source.bytes[last - 1] == ASCII.comma ? " \(text)" : ", \(text)"
      return [Diagnostic.Edit(last..<last, addition), Diagnostic.Edit(removal, "")]
    }
    guard !isFlow, let first = inner.members.first.flatMap({ Member($0, self) }) else { return nil }
    let lineEnd = source.lineEnd(after: end)
    let moved = moved(place, to: first.column)
    return [Diagnostic.Edit(lineEnd..<lineEnd, lineBreak + moved), Diagnostic.Edit(removal, "")]
  }

  /// The lines of a member, indented to a column.
  private func moved(_ place: Member, to column: Int) -> String {
    let line = place.key.lowerBound..<source.lineEnd(after: place.end)
    let shifts = shifting(line, by: column - place.column).map {
      Diagnostic.Edit($0.range.lowerBound - line.lowerBound..<$0.range.upperBound - line.lowerBound, $0.text)
    }
    return indentation(column) + String(decoding: shifts.applied(to: Array(source.bytes[line])), as: UTF8.self)
  }

  /// The line break that the text has.
  private var lineBreak: String {
    let first = source.bytes.firstIndex(of: ASCII.newline) ?? 0
    return first > 0 && source.bytes[first - 1] == ASCII.carriageReturn ? "\r\n" : "\n"
  }

  private func indentation(_ column: Int) -> String { String(repeating: " ", count: column) }

  /// The changes that indent the lines after the first by so much more.
  private func shifting(_ range: Range<Int>, by columns: Int) -> [Diagnostic.Edit] {
    guard columns != 0 else { return [] }
    var edits: [Diagnostic.Edit] = []
    var line = source.lineEnd(after: range.lowerBound)
    while line < range.upperBound,
      let next = source.bytes[line..<range.upperBound].firstIndex(of: ASCII.newline).map({ $0 + 1 }),
      next < range.upperBound
    {
      let text = source.bytes[next..<range.upperBound].firstIndex { $0 != ASCII.space } ?? range.upperBound
      if text < range.upperBound, !isBreak(source.bytes[text]) {
        edits.append(
          columns > 0
            ? Diagnostic.Edit(next..<next, indentation(columns))
            : Diagnostic.Edit(next..<min(next - columns, text), ""))
      }
      line = source.lineEnd(after: next)
    }
    return edits
  }

  /// The ranges of a key and its value.
  private struct Member {
    let key: Range<Int>
    /// Where the value ends.
    let end: Int
    let column: Int
    private let source: Source

    /// Nil if the value doesn't follow the key; the value of an alias doesn't.
    init?(_ member: ValueMap.Member, _ document: YAMLDocument) {
      key = document.range(of: member.key)
      let value = document.range(of: member.value)
      guard !key.isEmpty, value.lowerBound >= key.upperBound else { return nil }
      source = document.source
      end = value.upperBound
      column = key.lowerBound - source.lineStart(before: key.lowerBound)
    }

    /// The lines that it has for itself, with their ends.
    var lines: Range<Int>? {
      let start = source.lineStart(before: key.lowerBound)
      guard source.bytes[start..<key.lowerBound].allSatisfy({ $0 == ASCII.space }) else { return nil }
      let lineEnd = source.lineEnd(after: end)
      return start..<(source.bytes[lineEnd...].firstIndex(of: ASCII.newline).map { $0 + 1 } ?? lineEnd)
    }

    /// The member's range in braces, with the comma before it, or after it if it is the first.
    var rangeInFlow: Range<Int>? {
      let bytes = source.bytes
      if let before = bytes[..<key.lowerBound].lastIndex(where: { !isBlankOrBreak($0) }), bytes[before] == ASCII.comma {
        return before..<end
      }
      guard let after = bytes[end...].firstIndex(where: { !isBlankOrBreak($0) }), bytes[after] == ASCII.comma else {
        return nil
      }
      return key.lowerBound..<(bytes[(after + 1)...].firstIndex { !isBlankOrBreak($0) } ?? after + 1)
    }
  }
}
