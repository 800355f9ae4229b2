import ActionTestKit
import Foundation
import Testing

/// A handwritten page: README, or a page of `docs` or `.github`.
struct DocumentationPage: Sendable, CustomTestStringConvertible {
  /// A code block: the words after its fence, and its text with a line end after each line.
  struct Block {
    var language: String
    var text: String
  }

  /// The path in the package.
  let path: String
  let text: String

  var testDescription: String { path }

  init(_ path: String) {
    self.path = path
    text = (try? String(contentsOf: packageFolder.appending(path: path), encoding: .utf8)) ?? ""
  }

  /// Every page, README first.
  static let all: [DocumentationPage] =
    ["README.md"].map(DocumentationPage.init) + pages(in: "docs") + pages(in: ".github")

  private static func pages(in folder: String) -> [DocumentationPage] {
    let names =
      FileManager.default.enumerator(atPath: packageFolder.appending(path: folder).path)?
      .compactMap { $0 as? String } ?? []
    return names.filter { $0.hasSuffix(".md") }.sorted().map { DocumentationPage("\(folder)/\($0)") }
  }

  /// The lines, each with whether it is in a code block or a fence.
  private var lines: [(text: Substring, isCode: Bool)] {
    var isCode = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard line.hasPrefix("```") else { return (line, isCode) }
      isCode.toggle()
      return (line, true)
    }
  }

  /// The code blocks.
  var blocks: [Block] {
    var blocks: [Block] = []
    var open: Block?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if let block = open {
        if line == "```" {
          blocks.append(block)
          open = nil
        } else {
          open?.text += line + "\n"
        }
      } else if line.hasPrefix("```") {
        open = Block(language: String(line.dropFirst(3)), text: "")
      }
    }
    return blocks
  }

  func blocks(_ language: String) -> [String] { blocks.filter { $0.language == language }.map(\.text) }

  /// The text between backquotes in sentences and tables.
  var spans: [String] {
    lines.filter { !$0.isCode }.flatMap { $0.text.split(separator: "`", omittingEmptySubsequences: false).enumerated() }
      .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
  }

  /// The lines of code blocks without a language that begin with a word, and the spans that do.
  func commands(_ word: String) -> [String] {
    let lines = blocks("").flatMap { $0.split(separator: "\n").map(String.init) }
      .map { $0.hasPrefix("$ ") ? String($0.dropFirst(2)) : $0 }
    return (lines + spans).filter { $0.hasPrefix(word + " ") && !$0.hasPrefix(word + " (") }
  }

  /// The targets of the links outside of code.
  var links: [String] {
    let prose = lines.filter { !$0.isCode }.map(\.text).joined(separator: "\n")
    return prose.split(separator: "](").dropFirst().compactMap { $0.split(separator: ")").first.map(String.init) }
  }

  /// The anchors of the headings, as GitHub makes them.
  var anchors: Set<String> {
    Set(
      lines.filter { !$0.isCode && $0.text.hasPrefix("#") }.map { line in
        line.text.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
          .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }.replacing(" ", with: "-")
      })
  }

  /// The file that a link of this page leads to, as a path in the package, and the anchor in it.
  func target(of link: String) -> (path: String, anchor: String?) {
    let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let anchor = parts.count > 1 ? parts[1] : nil
    if parts[0].isEmpty { return (path, anchor) }
    var folders = path.split(separator: "/").dropLast().map(String.init)
    for part in parts[0].split(separator: "/").map(String.init) {
      if part == "..", !folders.isEmpty { folders.removeLast() } else if part != "." { folders.append(part) }
    }
    return (folders.joined(separator: "/"), anchor)
  }

  /// The backquoted texts in the first cells of the table whose head begins with these cells.
  func cells(under head: String) -> [String] {
    let rows = lines.map(\.text).drop { !$0.hasPrefix(head) }.dropFirst(2).prefix { $0.hasPrefix("|") }
    return rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
  }
}
