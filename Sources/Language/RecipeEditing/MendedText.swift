package import Basics
import Recipes

extension EditorService {
  /// The edits of all fixes that `errand check --fix` makes in a file; empty if it makes none.
  ///
  /// - Parameter hasTime: Whether another check may begin; what is mended by then counts.
  package func mendingEdits(of source: Source, hasTime: @escaping () -> Bool = { true }) -> [Diagnostic.Edit] {
    let environment = folder.environment(source.name)
    let mending = Mending(source.bytes, hasTime: hasTime) { text in
      folder.check(Source(name: source.name, bytes: text), in: environment).diagnostics
        .filter { $0.location.map { $0.source.name == source.name } ?? true }
    }
    return edits(from: source.bytes, to: mending.text)
  }
}

/// How many lines are compared one by one, which takes a time that grows with the square of how many differ.
private let mostComparedLines = 4_000

/// What makes another text of one: an edit for each run of lines that differ.
func edits(from old: [UInt8], to new: [UInt8]) -> [Diagnostic.Edit] {
  let (oldLines, newLines) = (lines(of: old), lines(of: new))
  let start = zip(oldLines, newLines).prefix { $0 == $1 }.count
  let rest = min(oldLines.count, newLines.count) - start
  let end = zip(oldLines.reversed(), newLines.reversed()).prefix(rest).prefix { $0 == $1 }.count
  let (oldMiddle, newMiddle) = (oldLines[start..<oldLines.count - end], newLines[start..<newLines.count - end])
  var kept = [(oldMiddle.endIndex, newMiddle.endIndex)]
  if oldMiddle.count + newMiddle.count <= mostComparedLines {
    let difference = Array(newMiddle).difference(from: Array(oldMiddle))
    let removed = Set(difference.removals.map { start + $0.offset })
    let added = Set(difference.insertions.map { start + $0.offset })
    kept =
      Array(zip(oldMiddle.indices.filter { !removed.contains($0) }, newMiddle.indices.filter { !added.contains($0) }))
      + kept
  }
  var edits: [Diagnostic.Edit] = []
  var (left, right) = (start, start)
  for (oldLine, newLine) in kept {
    if left < oldLine || right < newLine {
      let first = left < oldLines.count ? oldLines[left].startIndex : old.count
      let last = oldLine < oldLines.count ? oldLines[oldLine].startIndex : old.count
      let text = String(decoding: newLines[right..<newLine].joined(), as: UTF8.self)
      edits.append(Diagnostic.Edit(first..<last, text))
    }
    (left, right) = (oldLine + 1, newLine + 1)
  }
  return edits
}

/// The lines of a text with their breaks; the last may have none.
private func lines(of text: [UInt8]) -> [ArraySlice<UInt8>] {
  var lines: [ArraySlice<UInt8>] = []
  var start = 0
  while start < text.count {
    let end = text[start...].firstIndex(of: ASCII.newline).map { $0 + 1 } ?? text.count
    lines.append(text[start..<end])
    start = end
  }
  return lines
}

extension CollectionDifference.Change {
  fileprivate var offset: Int {
    switch self {
    case .insert(let offset, _, _), .remove(let offset, _, _): offset
    }
  }
}
