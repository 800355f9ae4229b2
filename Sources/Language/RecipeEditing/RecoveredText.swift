// How a text that YAML can't read is made readable, so that all but the line that is being written can be asked about.
//
// The text is read, and where its first error is the line becomes spaces, with the lines below that are indented more:
// they belong to it. That is repeated until the text reads. Bytes are only ever blanked and line breaks stay, so that an
// offset means the same in both texts. The first rounds blank one part each, and the last blanks all from its error on,
// because a text with so many errors is not one that is being written; so the time is that of some readings.

package import Basics
import YAMLReader

/// A text that YAML reads, with blanks in the place of what it can't read; the text itself if there is nothing of that.
///
/// What isn't valid UTF-8 or is too long stays as it is and reads no better.
package func recovered(_ source: Source) -> Source {
  var text = BlankedText(source)
  for round in 1...BlankedText.mostRounds {
    let candidate = round == 1 ? source : Source(name: source.name, bytes: text.bytes)
    do throws(Diagnostics) {
      _ = try YAMLReader.read(candidate)
      return candidate
    } catch {
      guard let fault = error.list.first(where: { $0.severity == .error })?.location?.range.lowerBound,
        text.blank(at: fault, throughEnd: round > BlankedText.mostRounds / 2)
      else { return candidate }
    }
  }
  return source
}

private struct BlankedText {
  static let mostRounds = 40

  private(set) var bytes: [UInt8]

  init(_ source: Source) { bytes = source.bytes }

  /// Blanks the line at an offset, or the one before it that isn't blank, and what belongs to it; false if there is none.
  mutating func blank(at offset: Int, throughEnd: Bool) -> Bool {
    var start = lineStart(min(max(offset, 0), bytes.count))
    var end = lineEnd(start)
    while start > 0, indentation(start..<end) == nil {
      start = lineStart(start - 1)
      end = lineEnd(start)
    }
    guard let column = indentation(start..<end) else { return false }
    if throughEnd {
      end = bytes.count
    } else {
      while end < bytes.count {
        let next = end + 1..<lineEnd(end + 1)
        guard (indentation(next) ?? .max) > column else { break }
        end = next.upperBound
      }
    }
    for index in start..<end where bytes[index] != ASCII.newline && bytes[index] != ASCII.carriageReturn {
      bytes[index] = ASCII.space
    }
    return true
  }

  private func lineStart(_ offset: Int) -> Int {
    bytes[..<offset].lastIndex(of: ASCII.newline).map { $0 + 1 } ?? 0
  }

  private func lineEnd(_ offset: Int) -> Int { bytes[offset...].firstIndex(of: ASCII.newline) ?? bytes.count }

  /// How far a line is indented; nil for one that is blank.
  private func indentation(_ line: Range<Int>) -> Int? {
    bytes[line].firstIndex { !isBlankOrBreak($0) }.map { $0 - line.lowerBound }
  }
}
