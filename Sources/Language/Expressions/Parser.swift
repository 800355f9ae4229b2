import Basics

/// Parses an expression by precedence climbing, with the grammar of cel-spec's language definition.
///
/// From loosest to tightest: `?:` (right-associative; its middle is one level tighter), `||`, `&&`, the relations and
/// `in` (one level, left-associative), `+ -`, `* / %`, `!` or `-` repeated, selection and calls. An operator of another
/// language (`and`, `=`, `??`) is recorded as a fault with its CEL form and parsed as that form, so that the rest of
/// the expression is still checked. Any other syntax fault ends the parsing.
package struct Parser {
  /// How deep an expression may nest; limits the depth of the tree and the recursion of checker and evaluator.
  ///
  /// In an optimised build, each level takes less than 3 KiB of stack in each of them, so a thread with 512 KiB is
  /// enough.
  package static let depthLimit = 128
  static let sizeLimit = 100_000

  var lexer: Lexer
  var token: Lexer.Token
  var nesting = 0
  var lexerFaults = 0
  private(set) var faults: [ExpressionFault] = []

  /// Thrown to leave the parser; its fault is already recorded.
  struct Unreadable: Error {}

  private init(_ text: [UInt8], range: Range<Int>) {
    lexer = Lexer(text, range: range)
    token = Lexer.Token(kind: .end, start: range.lowerBound, end: range.lowerBound)
  }

  /// The tree of the expression in a range of the text, as much of it as could be parsed, with its faults.
  static func parse(_ text: [UInt8], range: Range<Int>) -> (syntax: Syntax?, faults: [ExpressionFault]) {
    let size = text[range].reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) }
    guard size <= sizeLimit else {
      let message: MessageText = "the expression has \(size) characters; \(sizeLimit) are the most"
      return (nil, [ExpressionFault(message, at: range)])
    }
    var parser = Parser(text, range: range)
    do throws(Unreadable) {
      try parser.advance()
      guard parser.token.kind != .end else {
        throw parser.fail("an expression is missing here", at: range.lowerBound..<range.lowerBound)
      }
      let syntax = try parser.expression()
      guard parser.token.kind == .end else { throw parser.unexpectedAfterExpression() }
      return (syntax, parser.faults)
    } catch {
      return (nil, parser.faults)
    }
  }

  // MARK: Tokens

  mutating func advance() throws(Unreadable) {
    token = lexer.next()
    if lexer.faults.count > lexerFaults {
      faults.append(contentsOf: lexer.faults[lexerFaults...])
      lexerFaults = lexer.faults.count
      throw Unreadable()
    }
  }

  mutating func consume(_ kind: Lexer.Kind) throws(Unreadable) -> Bool {
    guard token.kind == kind else { return false }
    try advance()
    return true
  }

  var word: String { lexer.string(token.range) }

  /// The byte before a place.
  func textByte(before place: Int) -> UInt8? { place > 0 ? lexer.text[place - 1] : nil }

  func isWord(_ text: StaticString) -> Bool {
    guard token.kind == .identifier, token.end - token.start == text.utf8CodeUnitCount else { return false }
    return lexer.text[token.range].elementsEqual(
      UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func fail(
    _ message: MessageText, at range: Range<Int>? = nil, fix: ExpressionFault.Fix? = nil
  ) -> Unreadable {
    note(message, at: range, fix: fix)
    return Unreadable()
  }

  /// Suggests the CEL form of a part of the text; by default, of the current token.
  func write(_ code: String, for part: Range<Int>? = nil) -> MessageText {
    MessageText("write `\(code)`", [.code(code, for: part ?? token.range)])
  }

  mutating func note(_ message: MessageText, at range: Range<Int>? = nil, fix: ExpressionFault.Fix? = nil) {
    var fault = ExpressionFault(message, at: range ?? token.range)
    fault.fix = fix
    faults.append(fault)
  }

  func node(_ kind: Syntax.Kind, _ range: Range<Int>, mark: Range<Int>? = nil, over children: Int) -> Syntax {
    Syntax(kind, range, mark: mark, depth: children + 1)
  }

  mutating func checkDepth(_ syntax: Syntax) throws(Unreadable) -> Syntax {
    guard syntax.depth <= Parser.depthLimit else { throw tooDeep(syntax.range) }
    return syntax
  }

  mutating func tooDeep(_ range: Range<Int>) -> Unreadable {
    fail("the expression is nested deeper than \(Parser.depthLimit) levels; split it into several", at: range)
  }

  mutating func unexpectedAfterExpression() -> Unreadable {
    switch token.kind {
    case .rightParenthesis, .rightBracket, .rightBrace: return fail("this `\(word)` closes nothing")
    case .comma: return fail("a `,` is allowed only between arguments or items; one expression is expected here")
    case .colon: return fail("a `:` is allowed only in `condition ? value : value` and in maps")
    case .leftBrace: return fail("a map isn't allowed here; an operator or the end of the expression is expected")
    case .identifier where isWord("if"):
      return fail("there is no `if`; a choice is written condition ? value : otherwise")
    case .identifier:
      if let message = replacement(forOperator: word, at: token.range) { return fail(message) }
      if let before = textByte(before: token.start), before == ASCII.apostrophe || before == ASCII.quote {
        return fail(
          "the text ends at the quote before `\(word)`; a quote within a text is written `\\'`, or put the text in "
            + "the other quotes")
      }
      return fail("an operator is missing before `\(word)`")
    case .double where lexer.text[token.start] == ASCII.dot:
      return fail("an item is read with brackets; \(write("[\(word.dropFirst())]")) for `\(word)`")
    case .string: return fail("an operator is missing before this text; texts are joined with `+`")
    case .arrow:
      return fail(
        "there is no `=>`; a comparison is written with >=, and a macro names its variable first, as in items.map(x, x + 1)"
      )
    case .plus, .minus: return fail("an expression changes nothing; the next number is written x + 1")
    default: return fail("an operator is missing before `\(word)`")
    }
  }

  // MARK: Operators

  mutating func expression() throws(Unreadable) -> Syntax {
    nesting += 1
    defer { nesting -= 1 }
    guard nesting <= Parser.depthLimit else { throw tooDeep(token.range) }
    let condition = try disjunction()
    guard token.kind == .question else { return condition }
    let mark = token.range
    try advance()
    let first = try disjunction()
    if token.kind == .question {
      throw fail("a condition in the middle of another needs parentheses: `a ? (b ? c : d) : e`")
    }
    guard try consume(.colon) else {
      if mark.upperBound < lexer.text.count, lexer.text[mark.upperBound] == ASCII.dot {
        let range = mark.lowerBound..<mark.upperBound + 1
        throw fail(
          MessageText(
            "there is no `?.`; a field that may be absent is read as a.?b",
            [Suggestion("write `.?` for `?.`", .code(".?", range))]), at: range)
      }
      throw fail("`: value` is missing here, for when the condition of `?` does not hold")
    }
    let second = try expression()
    return try checkDepth(
      node(
        .conditional(condition, first, second), condition.range.lowerBound..<second.range.upperBound, mark: mark,
        over: max(condition.depth, first.depth, second.depth)))
  }

  mutating func disjunction() throws(Unreadable) -> Syntax {
    var first = try conjunction()
    while token.kind == .doubleQuestion { first = try coalesced(first) }
    guard try takesOr() else { return first }
    var operands = [first]
    repeat { operands.append(try conjunction()) } while try takesOr()
    return try chain(.or(operands), operands)
  }

  /// Parses `left ?? right` as its CEL form: `left` with `.?` and `orValue`.
  mutating func coalesced(_ left: Syntax) throws(Unreadable) -> Syntax {
    let mark = token.range
    try advance()
    let right = try conjunction()
    let range = left.range.lowerBound..<right.range.upperBound
    let depth = max(left.depth, right.depth) + 1
    guard case .select(let operand, let name, _) = left.kind else {
      note("there is no `??`; a field that may be absent is read as `a.?b.orValue(other)`", at: mark)
      return try checkDepth(Syntax(.invalid, range, depth: depth))
    }
    let text = "\(lexer.string(operand.range)).?\(name).orValue(\(lexer.string(right.range)))"
    // In other languages, `??` also replaces null, which isn't absent here.
    note("there is no `??`", at: mark, fix: ExpressionFault.Fix(code: text, range: range, isTentative: true))
    let optional = Syntax(.select(operand, name, isOptional: true), left.range, mark: left.mark, depth: depth)
    return try checkDepth(node(.method(optional, "orValue", [right]), range, mark: mark, over: depth))
  }

  mutating func conjunction() throws(Unreadable) -> Syntax {
    let first = try binary(0)
    guard try takesAnd() else { return first }
    var operands = [first]
    repeat { operands.append(try binary(0)) } while try takesAnd()
    return try chain(.and(operands), operands)
  }

  mutating func chain(_ kind: Syntax.Kind, _ operands: [Syntax]) throws(Unreadable) -> Syntax {
    let range = operands[0].range.lowerBound..<operands[operands.count - 1].range.upperBound
    return try checkDepth(node(kind, range, over: operands.reduce(0) { max($0, $1.depth) }))
  }

  mutating func takesOr() throws(Unreadable) -> Bool {
    switch token.kind {
    case .or: break
    case .singleOr:
      let bar = token.range
      try advance()
      if token.kind == .identifier, let form = replacement(forFilter: word) {
        throw fail("there are no filters after `|`; write \(form)", at: bar.lowerBound..<token.end)
      }
      note("\(write("||", for: bar)) for `|`", at: bar)
      return true
    case .identifier where isWord("or") || isWord("OR"): note("\(write("||")) for `\(word)`")
    default: return false
    }
    try advance()
    return true
  }

  mutating func takesAnd() throws(Unreadable) -> Bool {
    switch token.kind {
    case .and: break
    // As a bitwise operator, it binds closer than a comparison.
    case .singleAnd: note("\(write("&&").tentative) for `&`")
    case .identifier where isWord("and") || isWord("AND"): note("\(write("&&")) for `\(word)`")
    default: return false
    }
    try advance()
    return true
  }

  /// The levels of relations (0), sums (1) and products (2).
  mutating func binary(_ level: Int) throws(Unreadable) -> Syntax {
    if level == 0, isNotOperator { return try notRelation() }
    var left = level == 2 ? try unary() : try binary(level + 1)
    while let symbol = binaryOperator(level) {
      let mark = token.range
      try advance()
      let right = level == 2 ? try unary() : try binary(level + 1)
      left = try checkDepth(
        node(
          .binary(symbol, left, right), left.range.lowerBound..<right.range.upperBound, mark: mark,
          over: max(left.depth, right.depth)))
    }
    return left
  }

  mutating func binaryOperator(_ level: Int) -> BinaryOperator? {
    switch (level, token.kind) {
    case (0, .less): return .less
    case (0, .lessOrEqual): return .lessOrEqual
    case (0, .greater): return .greater
    case (0, .greaterOrEqual): return .greaterOrEqual
    case (0, .equal): return .equal
    case (0, .notEqual): return .notEqual
    case (0, .assign):
      // The operators `=<` and `=~` are rejected when their second character is parsed.
      let next = token.end < lexer.text.count ? lexer.text[token.end] : 0
      if next != ASCII.less, next != ASCII.tilde {
        note("\(write("==")) to compare; an expression assigns nothing")
      }
      return .equal
    case (0, .strictEqual):
      note("\(write("==")) for `===`")
      return .equal
    case (0, .strictNotEqual):
      note("\(write("!=")) for `\(word)`")
      return .notEqual
    case (0, .identifier) where isWord("in"): return .membership
    case (1, .plus): return .add
    case (1, .minus): return .subtract
    case (2, .star): return .multiply
    case (2, .slash): return .divide
    case (2, .percent): return .remainder
    case (2, .power):
      note("there is no `**`; write x * x for a square")
      return .multiply
    default: return nil
    }
  }

  /// Whether the word `not` is used as an operator here, as in other languages: an operand must follow.
  var isNotOperator: Bool {
    guard isWord("not") else { return false }
    var ahead = lexer
    switch ahead.next().kind {
    case .identifier, .not, .leftParenthesis: return true
    default: return false
    }
  }

  /// Parses `not` and its operand: in other languages it negates a whole comparison, while `!` negates only the first
  /// operand.
  mutating func notRelation() throws(Unreadable) -> Syntax {
    nesting += 1
    defer { nesting -= 1 }
    guard nesting <= Parser.depthLimit else { throw tooDeep(token.range) }
    let mark = token.range
    let place = faults.count
    try advance()
    let first = token.start
    let operand = try binary(0)
    var message: MessageText
    if case .binary(_, let left, _) = operand.kind, left.range.lowerBound == operand.range.lowerBound {
      let code = "!(\(lexer.string(operand.range)))"
      message = MessageText("write `\(code)`", [.code(code, for: mark.lowerBound..<operand.range.upperBound)])
    } else {
      message = write("!", for: mark.lowerBound..<first)
    }
    message += " for `not`"
    faults.insert(ExpressionFault(message, at: mark), at: place)
    return try repeated(1, operand, start: mark.lowerBound) { .not($0) }
  }

  mutating func unary() throws(Unreadable) -> Syntax {
    let start = token.start
    switch token.kind {
    case .identifier where isNotOperator:
      nesting += 1
      defer { nesting -= 1 }
      guard nesting <= Parser.depthLimit else { throw tooDeep(token.range) }
      var ahead = lexer
      note("\(write("!", for: start..<ahead.next().start)) for `not`")
      try advance()
      let operand = try unary()
      return try repeated(1, operand, start: start) { .not($0) }
    case .not:
      var count = 0
      while token.kind == .not {
        count += 1
        try advance()
      }
      if token.kind == .minus { throw fail("`!` and `-` cannot follow each other; write parentheses between them") }
      let operand = try postfix()
      return try repeated(count, operand, start: start) { .not($0) }
    case .minus:
      var count = 0
      while token.kind == .minus {
        // The sign is part of a number that follows. Otherwise the smallest integer could not be written.
        var ahead = lexer
        switch ahead.next().kind {
        case .int, .double:
          let operand = try postfix()
          return try repeated(count, operand, start: start) { .negate($0) }
        default: break
        }
        count += 1
        try advance()
      }
      if token.kind == .not { throw fail("`-` and `!` cannot follow each other; write parentheses between them") }
      let operand = try postfix()
      return try repeated(count, operand, start: start) { .negate($0) }
    default: return try postfix()
    }
  }

  mutating func repeated(
    _ count: Int, _ operand: Syntax, start: Int, _ wrap: (Syntax) -> Syntax.Kind
  ) throws(Unreadable) -> Syntax {
    var operand = operand
    for index in (0..<count).reversed() {
      operand = try checkDepth(node(wrap(operand), start + index..<operand.range.upperBound, over: operand.depth))
    }
    return operand
  }
}
