import Basics

/// A token of an expression that may be incomplete, for syntax highlighting.
package struct ExpressionToken: Sendable {
  package enum Kind: Sendable {
    case name, keyword, number, dot, openParenthesis, other
    /// A text or bytes in quotes, closed or not.
    case text
    /// A name in backticks.
    case quotedName
  }

  package let kind: Kind
  package let range: Range<Int>

  /// The tokens of an expression.
  ///
  /// - Parameter endsAtBraces: Whether to stop at the `}}` that closes the expression.
  package static func read(_ text: [UInt8], _ range: Range<Int>, endsAtBraces: Bool = false) -> [ExpressionToken] {
    var lexer = Lexer(text, range: range)
    var tokens: [ExpressionToken] = []
    var depth = 0
    while true {
      let token = lexer.next()
      switch token.kind {
      case .end: return tokens
      case .leftBrace: depth += 1
      case .rightBrace:
        if endsAtBraces, depth == 0, token.end < range.upperBound, text[token.end] == ASCII.closeBrace { return tokens }
        depth = max(0, depth - 1)
      default: break
      }
      tokens.append(ExpressionToken(kind: kind(token, lexer), range: token.range))
    }
  }

  private static func kind(_ token: Lexer.Token, _ lexer: Lexer) -> Kind {
    switch token.kind {
    case .identifier: ["true", "false", "null", "in"].contains(lexer.string(token.range)) ? .keyword : .name
    case .quotedIdentifier: .quotedName
    case .int, .uint, .double: .number
    case .string, .bytes: .text
    case .invalid where [ASCII.quote, ASCII.apostrophe].contains(lexer.text[token.start]): .text
    case .dot: .dot
    case .leftParenthesis: .openParenthesis
    default: .other
    }
  }
}
