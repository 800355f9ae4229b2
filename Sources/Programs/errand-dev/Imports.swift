import Foundation

/// One `import` in a file.
struct Import: Hashable {
  let module: String
  /// The line, from 1.
  let line: Int

  /// The imports of a text.
  ///
  /// Literals of several lines and comments are left out: this package holds files that write Swift.
  static func all(in text: String) -> [Import] {
    var found: [Import] = []
    var isLiteral = false
    var isComment = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let quotes = line.ranges(of: "\"\"\"").count
      defer { if !isComment, !quotes.isMultiple(of: 2) { isLiteral.toggle() } }
      if isLiteral { continue }
      if line.contains("/*") { isComment = true }
      defer { if line.contains("*/") { isComment = false } }
      if isComment { continue }
      if let module = module(importedBy: line) { found.append(Import(module: module, line: index + 1)) }
    }
    return found
  }

  private static let modifiers: Set<String> = ["public", "package", "internal", "fileprivate", "private"]
  private static let kinds: Set<String> = [
    "actor", "class", "enum", "func", "let", "protocol", "struct", "typealias", "var",
  ]

  private static func module(importedBy line: Substring) -> String? {
    var words = line.prefix { $0 != ";" }.split(separator: " ")[...]
    words = words.drop { $0.hasPrefix("@") || modifiers.contains(String($0)) }
    guard words.popFirst() == "import", let next = words.popFirst() else { return nil }
    guard let name = kinds.contains(String(next)) ? words.first : next else { return nil }
    return String(name.prefix { $0 != "." })
  }
}

/// A file of a target, as its imports need it.
struct SourceFile {
  let path: String
  let imports: [Import]

  /// The Swift files of a target, sorted.
  static func all(of target: Manifest.Target, in root: URL) throws(ToolError) -> [SourceFile] {
    let folder = root.appending(path: target.folder)
    let names = (FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? [])
      .filter { $0.hasSuffix(".swift") && !$0.hasPrefix("Fixtures/") && !$0.hasPrefix("Snapshots/") }.sorted()
    var files: [SourceFile] = []
    for name in names {
      let text = try folder.appending(path: name).text()
      files.append(SourceFile(path: "\(target.folder)/\(name)", imports: Import.all(in: text)))
    }
    return files
  }
}
