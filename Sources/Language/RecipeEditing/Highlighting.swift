package import Basics
import Expressions
import Recipes

extension EditorService {
  /// The tokens of the expressions in a file, in text order, each on one line.
  package func highlights(of source: Source) -> [HighlightedToken] {
    let files = EditedFiles(folder, [source])
    guard let file = files.file(Recipe.path(source.name, besides: "")) else { return [] }
    var tokens: [HighlightedToken] = []
    /// The ends of the checked texts, by their start offsets.
    var known: [Int: Int] = [:]
    for text in files.check(file).texts {
      // A text that aliases repeat is highlighted once.
      guard let range = text.range, known[range.lowerBound] == nil else { continue }
      let words = text.expressions.flatMap { range in
        ExpressionWords(text.value, range, text.parts(of: range), text.names).list
      }
      if words.isEmpty { continue }
      known[range.lowerBound] = range.upperBound
      for (word, location) in zip(words, text.locations(of: words.map(\.range))) {
        if let location { tokens.append(HighlightedToken(word.kind, location.range)) }
      }
    }
    tokens += source.unreadExpressions(except: known)
    return source.onOneLine(tokens)
  }
}

/// The tokens of an expression that are highlighted.
private struct ExpressionWords {
  private(set) var list: [HighlightedToken] = []
  /// The end of its last token.
  private(set) var end: Int

  /// - Parameters:
  ///   - parts: The checked parts of the expression.
  ///   - scope: The scope of the expression.
  init(_ text: [UInt8], _ range: Range<Int>, _ parts: [ExpressionPart] = [], _ scope: ExpressionScope? = nil) {
    let tokens = ExpressionToken.read(text, range, endsAtBraces: scope == nil)
    end = tokens.last?.range.upperBound ?? range.lowerBound
    let known = Dictionary(parts.map { ($0.mark, $0) }, uniquingKeysWith: { first, _ in first })
    for (index, token) in tokens.enumerated() {
      switch token.kind {
      case .keyword: add(.keyword, token)
      case .number: add(.number, token)
      case .text: add(.string, token)
      case .quotedName: add(.property, token)
      case .name:
        let before = index > 0 ? tokens[index - 1].kind : .other
        let after = index + 1 < tokens.count ? tokens[index + 1].kind : .other
        let name = String(decoding: text[token.range], as: UTF8.self)
        add(
          known[token.range].flatMap(ExpressionWords.kind)
            ?? ExpressionWords.kind(name, isMember: before == .dot, before: after, scope), token)
      case .dot, .openParenthesis, .other: break
      }
    }
  }

  private mutating func add(_ kind: HighlightedToken.Kind, _ token: ExpressionToken) {
    list.append(HighlightedToken(kind, token.range))
  }

  private static func kind(_ part: ExpressionPart) -> HighlightedToken.Kind? {
    switch part.kind {
    case .variable: .variable
    case .field: .property
    case .function: .function
    case .method: .method
    case .macro: .macro
    case .literal, .other: nil
    }
  }

  /// The kind of a name that the check doesn't know.
  private static func kind(
    _ name: String, isMember: Bool, before next: ExpressionToken.Kind, _ scope: ExpressionScope?
  ) -> HighlightedToken.Kind {
    if next == .openParenthesis { return isMember ? .method : name == "has" ? .macro : .function }
    if isMember { return .property }
    let isNamespace = next == .dot && scope?.functions.namespaces.contains(name) ?? false
    return isNamespace ? .function : .variable
  }
}

extension Source {
  /// The tokens after `${{` up to the end of the line, outside of checked texts.
  fileprivate func unreadExpressions(except known: [Int: Int]) -> [HighlightedToken] {
    let ranges = known.sorted { $0.key < $1.key }
    var tokens: [HighlightedToken] = []
    var next = 0
    var lineStart = 0
    while lineStart < bytes.count {
      let lineEnd = bytes[lineStart...].firstIndex(of: ASCII.newline) ?? bytes.count
      let end = OutlineReader.commentStart(bytes, lineStart..<lineEnd) ?? lineEnd
      var offset = lineStart
      while offset < end {
        while next < ranges.count, ranges[next].value <= offset { next += 1 }
        if next < ranges.count, ranges[next].key <= offset {
          offset = ranges[next].value
        } else if OutlineReader.beginsExpression(bytes, offset, end) {
          let words = ExpressionWords(bytes, offset + 3..<end)
          tokens += words.list
          offset = words.end
        } else {
          offset += 1
        }
      }
      // A checked text may end on a later line.
      lineStart = max(lineEnd + 1, offset)
    }
    return tokens
  }

  /// The tokens in order, without overlaps, and split at line breaks.
  fileprivate func onOneLine(_ tokens: [HighlightedToken]) -> [HighlightedToken] {
    var result: [HighlightedToken] = []
    for token in tokens.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      var start = token.range.lowerBound
      guard start >= result.last?.range.upperBound ?? 0 else { continue }
      while start < token.range.upperBound {
        let end = bytes[start..<token.range.upperBound].firstIndex(of: ASCII.newline) ?? token.range.upperBound
        let line = OutlineReader.trimmed(bytes, start..<end)
        if !line.isEmpty { result.append(HighlightedToken(token.kind, line)) }
        start = end + 1
      }
    }
    return result
  }
}
