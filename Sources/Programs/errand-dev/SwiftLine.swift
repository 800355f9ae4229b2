import Foundation

/// A line of Swift as far as it is code.
struct SwiftLine {
  /// The line without its comments, and without what it holds of a text of several lines.
  var code = ""
  /// Whether it begins within a text of several lines.
  let beginsInText: Bool

  /// What texts of several lines begin and end with.
  private static let longTexts = [(begin: "\"\"\"", end: "\"\"\""), (begin: "#\"\"\"", end: "\"\"\"#")]

  /// The lines of a file, in order.
  static func all(of text: String) -> [SwiftLine] {
    // What ends the text of several lines that a line stands in.
    var end: String?
    var commentDepth = 0
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      var found = SwiftLine(beginsInText: end != nil)
      var rest = line[...]
      while !rest.isEmpty {
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
          rest = rest.dropFirst()
        } else if rest.hasPrefix("//") {
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

  /// What follows a text of one line, in which nothing is a comment.
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
