package import Basics
import Recipes

extension EditorService {
  /// The edits of all fixes that `errand check --fix` makes in a file; empty if it makes none.
  ///
  /// - Parameter hasTime: Whether there is time for another check; fixes that were found before then are used.
  package func mendingEdits(of source: Source, hasTime: @escaping () -> Bool = { true }) -> [Diagnostic.Edit] {
    let environment = folder.environment(source.name)
    let search = FixSearch(source.bytes, hasTime: hasTime) { text in
      folder.check(Source(name: source.name, bytes: text), in: environment).diagnostics.of(source.name)
    }
    return edits(from: source.bytes, to: search.text)
  }
}

/// The edits that change one text into another: an edit for each run of lines that differ.
func edits(from old: [UInt8], to new: [UInt8]) -> [Diagnostic.Edit] {
  let lines = LineDifference(from: old, to: new, mostCompared: 4_000)
  let kept = zip(
    lines.old.indices.filter { !lines.removed.contains($0) }, lines.new.indices.filter { !lines.added.contains($0) })
  var edits: [Diagnostic.Edit] = []
  var (left, right) = (0, 0)
  for (oldLine, newLine) in Array(kept) + [(lines.old.count, lines.new.count)] {
    if left < oldLine || right < newLine {
      let first = left < lines.old.count ? lines.old[left].startIndex : old.count
      let last = oldLine < lines.old.count ? lines.old[oldLine].startIndex : old.count
      let text = String(decoding: lines.new[right..<newLine].joined(), as: UTF8.self)
      edits.append(Diagnostic.Edit(first..<last, text))
    }
    (left, right) = (oldLine + 1, newLine + 1)
  }
  return edits
}
