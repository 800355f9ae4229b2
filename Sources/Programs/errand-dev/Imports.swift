import Foundation

/// One `import` in a file.
struct Import: Hashable {
  let module: String
  /// The line, from 1.
  let line: Int

  /// The imports in a text.
  ///
  /// Multi-line strings and comments are skipped: this package holds files that write Swift.
  static func all(in text: String) -> [Import] {
    SwiftLine.all(of: text).enumerated().compactMap { index, line in
      guard !line.beginsInText, let module = module(importedBy: line.code[...]) else { return nil }
      return Import(module: module, line: index + 1)
    }
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

/// A file of a target, with its imports.
struct SourceFile {
  let path: String
  let imports: [Import]

  /// The Swift files of a target, sorted.
  static func all(of target: Manifest.Target, in root: URL) throws(ToolError) -> [SourceFile] {
    let folder = root.appending(path: target.folder)
    let names = folder.pathsBelow.filter {
      $0.hasSuffix(".swift") && !$0.hasPrefix("Fixtures/") && !$0.hasPrefix("Snapshots/")
    }
    var files: [SourceFile] = []
    for name in names {
      let text = try folder.appending(path: name).text()
      files.append(SourceFile(path: "\(target.folder)/\(name)", imports: Import.all(in: text)))
    }
    return files
  }
}
