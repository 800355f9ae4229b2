import Foundation

/// A line of Swift, divided into code and comment.
struct SwiftLine {
  /// The line without its comments, and without its part of a multi-line string.
  var code = ""
  /// The text of its comments.
  var comment = ""
  /// Whether it begins inside a multi-line string.
  let beginsInText: Bool

  /// The delimiters of multi-line strings.
  private static let longTexts = [(begin: "\"\"\"", end: "\"\"\""), (begin: "#\"\"\"", end: "\"\"\"#")]

  /// The lines of a file, in order.
  static func all(of text: String) -> [SwiftLine] {
    // The end of the multi-line string that the line is in.
    var end: String?
    var commentDepth = 0
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      var found = SwiftLine(beginsInText: end != nil)
      var rest = line[...]
      while !rest.isEmpty {
        if end == nil, commentDepth == 0 {
          // Most of a line is none of these, and is passed over at once.
          let stop = rest.utf8.firstIndex { [0x22, 0x23, 0x2F].contains($0) } ?? rest.endIndex
          if stop > rest.startIndex {
            found.code += rest[..<stop]
            rest = rest[stop...]
            continue
          }
        }
        if let wanted = end {
          guard let found = rest.range(of: wanted) else { break }
          rest = rest[found.upperBound...]
          end = nil
        } else if commentDepth > 0, rest.hasPrefix("*/") {
          commentDepth -= 1
          rest = rest.dropFirst(2)
        } else if rest.hasPrefix("/*") {
          commentDepth += 1
          rest = rest.dropFirst(2)
        } else if commentDepth > 0 {
          found.comment.append(rest.removeFirst())
        } else if rest.hasPrefix("//") {
          found.comment += rest.drop { $0 == "/" }
          break
        } else if let (begin, wanted) = longTexts.first(where: { rest.hasPrefix($0.begin) }) {
          end = wanted
          found.code += begin
          rest = rest.dropFirst(begin.count)
        } else {
          let after = rest.first == "\"" || rest.hasPrefix("#\"") ? afterText(rest) : rest.dropFirst()
          found.code += rest[..<after.startIndex]
          rest = after
        }
      }
      return found
    }
  }

  /// Returns the rest after a single-line string, since `//` in a string isn't a comment.
  private static func afterText(_ line: Substring) -> Substring {
    if line.first == "#" {
      guard let end = line.dropFirst(2).range(of: "\"#") else { return line[line.endIndex...] }
      return line[end.upperBound...]
    }
    var rest = line.dropFirst()
    while let character = rest.popFirst(), character != "\"" {
      if character == "\\" { rest = rest.dropFirst() }
    }
    return rest
  }
}
