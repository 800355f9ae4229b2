// The words about a name in a recipe, which are declared in Markdown, as a page shows them.
import Basics

extension Part {
  /// The most characters of a text.
  private static let longestMarkdown = 8_000

  /// Paragraphs, lists, headings and code; a link is its text.
  static func markdown(_ text: String) -> Markup {
    var (parts, items, code): ([Markup], [Markup], [String]?) = ([], [], nil)
    var paragraph: [Markup] = []
    func flush() {
      let words = Markup(paragraph)
      if !words.text.isEmpty { parts.append(.element("p", [:], words)) }
      if !items.isEmpty { parts.append(.element("ul", [:], Markup(items))) }
      (paragraph, items) = ([], [])
    }
    for line in text.shortened(to: longestMarkdown).split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        if let lines = code { parts.append(.element("pre", [:], Markup(field: lines.joined(separator: "\n")))) }
        flush()
        code = code == nil ? [] : nil
      } else if code != nil {
        code?.append(String(line))
      } else if line.hasPrefix("- ") {
        if !paragraph.isEmpty { flush() }
        items.append(.element("li", [:], inMarkdown(line.dropFirst(2))))
      } else if line.isEmpty {
        flush()
      } else {
        if !items.isEmpty { flush() }
        let content = line.drop { $0 == "#" }
        if !paragraph.isEmpty { paragraph.append(" ") }
        paragraph.append(
          content.count < line.count ? .element("strong", [:], inMarkdown(content.dropFirst())) : inMarkdown(line))
      }
    }
    if let code { parts.append(.element("pre", [:], Markup(field: code.joined(separator: "\n")))) }
    flush()
    return Markup(parts)
  }

  private static func inMarkdown(_ line: Substring) -> Markup {
    Markup(
      MarkdownLine.pieces(of: line).map { piece in
        let text = piece.isCode ? code(piece.text) : Markup(piece.text)
        return piece.isBold ? .element("strong", [:], text) : text
      })
  }
}
