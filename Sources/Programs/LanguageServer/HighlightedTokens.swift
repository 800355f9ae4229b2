import Basics
import RecipeEditing

/// Semantic tokens as the protocol packs them: five numbers each, relative to the token before.
struct HighlightedTokens {
  static let types = HighlightedToken.Kind.allCases.map(\.rawValue)

  private(set) var numbers: [Int] = []
  private var last = TextPosition(line: 0, character: 0)

  init(_ tokens: [HighlightedToken], _ document: Document) {
    var end = 0
    // In a long line, counting from its start for each token would take quadratic time.
    var known = (offset: 0, position: last)
    for token in tokens.sorted(by: { $0.range.lowerBound < $1.range.lowerBound })
    where token.range.lowerBound >= end && token.range.upperBound <= document.source.bytes.count {
      guard let type = HighlightedToken.Kind.allCases.firstIndex(of: token.kind) else { continue }
      end = token.range.upperBound
      // A token must not cross a line.
      for part in document.source.bytes[token.range].split(whereSeparator: {
        $0 == ASCII.newline || $0 == ASCII.carriageReturn
      }) {
        let start = document.positions.position(of: part.startIndex, from: known)
        known = (part.startIndex, start)
        add(start, document.positions.position(of: part.endIndex, from: known).character - start.character, type)
      }
    }
  }

  private mutating func add(_ start: TextPosition, _ length: Int, _ type: Int) {
    let isSameLine = start.line == last.line
    numbers += [start.line - last.line, start.character - (isSameLine ? last.character : 0), length, type, 0]
    last = start
  }
}
