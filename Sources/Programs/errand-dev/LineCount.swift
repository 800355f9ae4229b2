import Foundation

/// Counts the lines of Swift that hold code: neither blank nor all comment.
struct LineCount {
  /// The lines of code of each folder, by its path in the package, largest first.
  let folders: [(path: String, lines: Int)]
  var total: Int { folders.reduce(0) { $0 + $1.lines } }

  /// Counts what lies in the package's folders, by floor or, where there is none, by folder.
  init(of root: URL) throws(ToolError) {
    var counts: [String: Int] = [:]
    for folder in ["Benchmarks", "Plugins", "Sources", "Tests"] {
      let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.compactMap {
        $0 as? String
      }
      for name in names ?? [] where name.hasSuffix(".swift") {
        let floor = name.split(separator: "/").first.map { "/\($0)" } ?? ""
        counts[folder + (["Sources", "Tests"].contains(folder) ? floor : ""), default: 0] +=
          LineCount.lines(of: try root.appending(path: "\(folder)/\(name)").text())
      }
    }
    folders = counts.map { ($0.key, $0.value) }.sorted { ($1.lines, $0.path) < ($0.lines, $1.path) }
  }

  /// How many lines of a text hold code.
  static func lines(of text: String) -> Int {
    var count = 0
    var isInText = false
    var commentDepth = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var rest = line[...]
      var holdsCode = isInText
      while !rest.isEmpty {
        if isInText {
          guard let end = rest.range(of: "\"\"\"") else { break }
          rest = rest[end.upperBound...]
          isInText = false
        } else if commentDepth > 0 {
          if rest.hasPrefix("*/") {
            commentDepth -= 1
            rest = rest.dropFirst(2)
          } else if rest.hasPrefix("/*") {
            commentDepth += 1
            rest = rest.dropFirst(2)
          } else {
            rest = rest.dropFirst()
          }
        } else if rest.hasPrefix("//") {
          break
        } else if rest.hasPrefix("/*") {
          commentDepth += 1
          rest = rest.dropFirst(2)
        } else if rest.hasPrefix("\"\"\"") {
          isInText = true
          holdsCode = true
          rest = rest.dropFirst(3)
        } else {
          if rest.first?.isWhitespace == false { holdsCode = true }
          rest = rest.first == "\"" || rest.hasPrefix("#\"") ? afterText(rest) : rest.dropFirst()
        }
      }
      if holdsCode { count += 1 }
    }
    return count
  }

  /// What follows a text of one line, in which nothing is a comment.
  private static func afterText(_ line: Substring) -> Substring {
    if line.first == "#" {
      guard let end = line.dropFirst(2).range(of: "\"#") else { return "" }
      return line[end.upperBound...]
    }
    var rest = line.dropFirst()
    while let character = rest.popFirst(), character != "\"" {
      if character == "\\" { rest = rest.dropFirst() }
    }
    return rest
  }
}
