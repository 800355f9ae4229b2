/// The texts of a line of Markdown without its marks.
///
/// Only the syntax of declarations and of the pages made of them is read: code between backticks, bold text between pairs
/// of asterisks, and links, whose text is kept.
package enum MarkdownLine {
  package struct Piece: Equatable, Sendable {
    package var text: String
    package var isBold = false
    package var isCode = false

    package init(_ text: String, isBold: Bool = false, isCode: Bool = false) {
      (self.text, self.isBold, self.isCode) = (text, isBold, isCode)
    }
  }

  package static func pieces(of line: some StringProtocol) -> [Piece] {
    var pieces: [Piece] = []
    var piece = Piece("")
    var rest = Substring(line)
    func flush() {
      if !piece.text.isEmpty { pieces.append(piece) }
      piece.text = ""
    }
    while let character = rest.first {
      if character == "`" {
        flush()
        piece.isCode.toggle()
        rest = rest.dropFirst()
      } else if !piece.isCode, rest.hasPrefix("**") {
        flush()
        piece.isBold.toggle()
        rest = rest.dropFirst(2)
      } else if !piece.isCode, character == "[", let end = rest.linkAtStart() {
        piece.text += MarkdownLine.pieces(of: rest[end.text]).map(\.text).joined()
        rest = rest[end.end...]
      } else {
        piece.text.append(character)
        rest = rest.dropFirst()
      }
    }
    flush()
    return pieces
  }
}

extension Substring {
  /// The text of the link `[text](address)` at the beginning, and where the link ends.
  fileprivate func linkAtStart() -> (text: Range<Index>, end: Index)? {
    guard let close = firstIndex(of: "]"), self[close...].hasPrefix("]("), let end = self[close...].firstIndex(of: ")")
    else { return nil }
    return (index(after: startIndex)..<close, index(after: end))
  }
}
