// Makes a text parsable that YAML rejects, so that editors get answers about all of it except the line being written.
//
// The line with the first error is replaced by spaces, together with the lines below it that are indented more, because
// they belong to it. This is repeated until the text can be parsed. Bytes are only replaced by spaces, and line breaks
// are kept, so an offset is the same in both texts. The first rounds blank one part each. Later rounds blank everything
// after the error, because a text with so many errors isn't being edited. So the text is parsed only a limited number
// of times.

package import Basics
import YAMLReader

/// The text with the parts blanked that YAML can't parse; the text itself if there are none.
///
/// A text that isn't valid UTF-8 or is too long is returned as it is, and still can't be parsed.
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

  /// Blanks the line at an offset, or the last line before it that isn't blank, with the lines that belong to it; false
  /// if there is none.
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

  /// The indentation of a line; nil if it is blank.
  private func indentation(_ line: Range<Int>) -> Int? {
    bytes[line].firstIndex { !isBlankOrBreak($0) }.map { $0 - line.lowerBound }
  }
}
