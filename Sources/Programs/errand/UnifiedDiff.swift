import Basics
import Recipes

/// The differing lines of two texts, in the unified format of POSIX diff, with some lines around them.
///
/// A secret that one text hides is hidden in both: in a text that YAML can't read, not every secret is known.
struct UnifiedDiff {
  /// How many lines are shown before and behind a change.
  private let context: Int
  private let path: String
  private let lines: [LineDifference.Line]
  private let old: Source
  private let new: Source
  /// The texts to hide, without quotes, the longest first.
  private let secrets: [String]

  init(_ old: Source, _ new: Source, path: String, context: Int = 3) {
    self.context = context
    self.path = path
    secrets = Set((old.hiddenTexts + new.hiddenTexts).filter { $0.utf8.count >= UnifiedDiff.shortestSecret })
      .sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
    lines = LineDifference(from: old.bytes, to: new.bytes).lines
    (self.old, self.new) = (old, new)
  }

  /// A shorter secret is hidden only in its own place.
  private static let shortestSecret = 4

  /// The difference without a line break at its end; empty if there is none.
  func rendered(colour: Bool) -> String {
    let hunks = LineDifference.hunks(of: lines, context: context)
    if hunks.isEmpty { return "" }
    var text = [Style.bold.applied(to: "--- \(path.safe)", colour), Style.bold.applied(to: "+++ \(path.safe)", colour)]
    for hunk in hunks { text += rendered(hunk, colour: colour) }
    return text.joined(separator: "\n")
  }

  private func rendered(_ hunk: Range<Int>, colour: Bool) -> [String] {
    func place(_ change: LineDifference.Line.Change) -> String {
      let before = lines[..<hunk.lowerBound].count { $0.change == .kept || $0.change == change }
      let count = lines[hunk].count { $0.change == .kept || $0.change == change }
      return "\(count == 0 ? before : before + 1)" + (count == 1 ? "" : ",\(count)")
    }
    var displayedLines = ["@@ -\(place(.removed)) +\(place(.added)) @@"]
    for line in lines[hunk] {
      let isEnded = line.bytes.last == ASCII.newline
      let bytes = isEnded ? line.bytes.dropLast() : line.bytes
      let isCut = bytes.last == ASCII.carriageReturn
      let range = bytes.startIndex..<(isCut ? bytes.endIndex - 1 : bytes.endIndex)
      let source = line.change == .added ? new : old
      let text = secrets.reduce(String(decoding: source.displayed(range), as: UTF8.self)) {
        $0.replacing($1, with: MaskedText.mark)
      }
      var displayed = String(line.change.rawValue)
      for scalar in text.unicodeScalars {
        displayed.unicodeScalars.append(
          contentsOf: scalar == "\t" ? "\t".unicodeScalars : String(scalar).safe.unicodeScalars)
      }
      switch line.change {
      case .removed: displayed = Style.red.applied(to: displayed, colour)
      case .added: displayed = Style.green.applied(to: displayed, colour)
      case .kept: break
      }
      displayedLines.append(isCut ? displayed + "\r" : displayed)
      if !isEnded { displayedLines.append("\\ No newline at end of file") }
    }
    return displayedLines
  }
}

extension Source {
  /// The lines of the text's secrets, without blanks and quotes around them.
  fileprivate var hiddenTexts: [String] {
    hidden.flatMap { range in
      bytes[range].split { $0 == ASCII.newline || $0 == ASCII.carriageReturn }.map { line in
        String(decoding: line, as: UTF8.self).withoutQuotes
      }
    }
  }
}
