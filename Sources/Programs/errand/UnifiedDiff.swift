import Basics
import Recipes

/// The differing lines of two texts, in the unified format of POSIX diff, with some lines around them.
///
/// A secret that one text hides is hidden in both: in a text that YAML can't read, not every secret is known.
struct UnifiedDiff {
  /// A line, with its break; the last may have none.
  private struct Line {
    /// `-`, `+` or a blank.
    let sign: Character
    let bytes: ArraySlice<UInt8>
    let source: Source
  }

  /// How many lines are shown before and behind a change.
  private let context: Int
  private let path: String
  private var lines: [Line] = []
  /// The texts to hide, without quotes, the longest first.
  private let secrets: [String]

  init(_ old: Source, _ new: Source, path: String, context: Int = 3) {
    self.context = context
    self.path = path
    secrets = Set((old.hiddenTexts + new.hiddenTexts).filter { $0.utf8.count >= UnifiedDiff.shortestSecret })
      .sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
    let difference = LineDifference(from: old.bytes, to: new.bytes)
    var (left, right) = (0, 0)
    while left < difference.old.count || right < difference.new.count {
      if left < difference.old.count, difference.removed.contains(left) {
        lines.append(Line(sign: "-", bytes: difference.old[left], source: old))
        left += 1
      } else if right < difference.new.count, difference.added.contains(right) {
        lines.append(Line(sign: "+", bytes: difference.new[right], source: new))
        right += 1
      } else {
        guard left < difference.old.count, right < difference.new.count else { break }
        lines.append(Line(sign: " ", bytes: difference.old[left], source: old))
        (left, right) = (left + 1, right + 1)
      }
    }
  }

  /// A shorter secret is hidden only in its own place.
  private static let shortestSecret = 4

  /// The difference without a line break at its end; empty if there is none.
  func rendered(colour: Bool) -> String {
    let changes = lines.indices.filter { lines[$0].sign != " " }
    guard let first = changes.first else { return "" }
    var hunks: [Range<Int>] = []
    var start = max(0, first - context)
    var end = first
    for change in changes {
      if change - end > 2 * context {
        hunks.append(start..<min(lines.count, end + 1 + context))
        start = change - context
      }
      end = change
    }
    hunks.append(start..<min(lines.count, end + 1 + context))
    var text = [Style.bold.applied(to: "--- \(path.safe)", colour), Style.bold.applied(to: "+++ \(path.safe)", colour)]
    for hunk in hunks { text += rendered(hunk, colour: colour) }
    return text.joined(separator: "\n")
  }

  private func rendered(_ hunk: Range<Int>, colour: Bool) -> [String] {
    func place(_ sign: Character) -> String {
      let before = lines[..<hunk.lowerBound].count { $0.sign == " " || $0.sign == sign }
      let count = lines[hunk].count { $0.sign == " " || $0.sign == sign }
      return "\(count == 0 ? before : before + 1)" + (count == 1 ? "" : ",\(count)")
    }
    var displayedLines = ["@@ -\(place("-")) +\(place("+")) @@"]
    for line in lines[hunk] {
      let isEnded = line.bytes.last == ASCII.newline
      let bytes = isEnded ? line.bytes.dropLast() : line.bytes
      let isCut = bytes.last == ASCII.carriageReturn
      let range = bytes.startIndex..<(isCut ? bytes.endIndex - 1 : bytes.endIndex)
      let text = secrets.reduce(String(decoding: line.source.displayed(range), as: UTF8.self)) {
        $0.replacing($1, with: MaskedText.mark)
      }
      var displayed = "\(line.sign)"
      for scalar in text.unicodeScalars {
        displayed.unicodeScalars.append(
          contentsOf: scalar == "\t" ? "\t".unicodeScalars : String(scalar).safe.unicodeScalars)
      }
      switch line.sign {
      case "-": displayed = Style.red.applied(to: displayed, colour)
      case "+": displayed = Style.green.applied(to: displayed, colour)
      default: break
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
