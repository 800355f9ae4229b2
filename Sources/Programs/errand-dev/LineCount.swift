import Foundation

/// Counts the lines of Swift that hold code: neither blank nor only a comment.
struct LineCount {
  /// The lines of code of each folder, by its path in the package, largest first.
  let folders: [(path: String, lines: Int)]
  var total: Int { folders.reduce(0) { $0 + $1.lines } }

  /// Counts the package's folders, by floor or, where there is none, by folder.
  init(of root: URL) throws(ToolError) {
    var counts: [String: Int] = [:]
    for folder in ["Benchmarks", "Plugins", "Sources", "Tests"] {
      for name in root.appending(path: folder).pathsBelow where name.hasSuffix(".swift") {
        let floor = name.split(separator: "/").first.map { "/\($0)" } ?? ""
        counts[folder + (["Sources", "Tests"].contains(folder) ? floor : ""), default: 0] +=
          LineCount.lines(of: try root.appending(path: "\(folder)/\(name)").text())
      }
    }
    folders = counts.map { ($0.key, $0.value) }.sorted { ($1.lines, $0.path) < ($0.lines, $1.path) }
  }

  /// How many lines of a text hold code.
  static func lines(of text: String) -> Int {
    SwiftLine.all(of: text).count { $0.beginsInText || $0.code.contains { !$0.isWhitespace } }
  }
}
