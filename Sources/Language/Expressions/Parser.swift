import Basics

/// Reads an expression by precedence climbing; the grammar is that of cel-spec's language definition.
///
/// From loosest to tightest: `?:` (right-associative; its middle is one level tighter), `||`, `&&`, the relations and
/// `in` (one level, left-associative), `+ -`, `* / %`, `!` or `-` repeated, selection and calls. What another language
/// would write (`and`, `=`, `??`) is recorded as a fault with its CEL form and read as that form, so that the rest of
/// the expression is still looked at; any other fault of syntax ends the reading.
package struct Parser {
  /// How deep an expression may nest, which bounds the tree and so the recursion of checker and evaluator.
  ///
  /// Optimised, a level of any kind takes less than 3 KiB of stack in each of them, so that a thread of 512 KiB bears it.
  package static let depthLimit = 128
  static let sizeLimit = 100_000

  private var lexer: Lexer
  private var token: Lexer.Token
  private var nesting = 0
  private var lexerFaults = 0
  private(set) var faults: [ExpressionFault] = []

  /// Thrown to leave the parser; its fault is already recorded.
  private struct Unreadable: Error {}

  private init(_ text: [UInt8], range: Range<Int>) {
    lexer = Lexer(text, range: range)
    token = Lexer.Token(kind: .end, start: range.lowerBound, end: range.lowerBound)
  }

  /// The tree of the expression in that range of the text, or as much of it as could be read, with its faults.
  static func parse(_ text: [UInt8], range: Range<Int>) -> (syntax: Syntax?, faults: [ExpressionFault]) {
    let size = text[range].reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) }
    guard size <= sizeLimit else {
      let message = "the expression has \(size) characters; \(sizeLimit) are the most"
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

  private mutating func advance() throws(Unreadable) {
    token = lexer.next()
    if lexer.faults.count > lexerFaults {
      faults.append(contentsOf: lexer.faults[lexerFaults...])
      lexerFaults = lexer.faults.count
      throw Unreadable()
    }
  }

  private mutating func consume(_ kind: Lexer.Kind) throws(Unreadable) -> Bool {
    guard token.kind == kind else { return false }
    try advance()
    return true
  }

  private var word: String { lexer.string(token.range) }

  /// The byte before a place.
  private func textByte(before place: Int) -> UInt8? { place > 0 ? lexer.text[place - 1] : nil }

  private func isWord(_ text: StaticString) -> Bool {
    guard token.kind == .identifier, token.end - token.start == text.utf8CodeUnitCount else { return false }
    return lexer.text[token.range].elementsEqual(
      UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private mutating func fail(
    _ message: String, at range: Range<Int>? = nil, fix: ExpressionFault.Fix? = nil
  ) -> Unreadable {
    note(message, at: range, fix: fix)
    return Unreadable()
  }

  private mutating func note(_ message: String, at range: Range<Int>? = nil, fix: ExpressionFault.Fix? = nil) {
    var fault = ExpressionFault(message, at: range ?? token.range)
    fault.fix = fix
    faults.append(fault)
  }

  private func node(_ kind: Syntax.Kind, _ range: Range<Int>, mark: Range<Int>? = nil, over children: Int) -> Syntax {
    Syntax(kind, range, mark: mark, depth: children + 1)
  }

  private mutating func checkDepth(_ syntax: Syntax) throws(Unreadable) -> Syntax {
    guard syntax.depth <= Parser.depthLimit else { throw tooDeep(syntax.range) }
    return syntax
  }

  private mutating func tooDeep(_ range: Range<Int>) -> Unreadable {
    fail("the expression is nested deeper than \(Parser.depthLimit) levels; split it into several", at: range)
  }

  private mutating func unexpectedAfterExpression() -> Unreadable {
    switch token.kind {
    case .rightParenthesis, .rightBracket, .rightBrace: return fail("this `\(word)` closes nothing")
    case .comma: return fail("a `,` stands between arguments or items only; one expression is wanted here")
    case .colon: return fail("a `:` stands in `condition ? value : value` and in maps only")
    case .leftBrace: return fail("a map cannot stand here; an operator or the end of the expression is wanted")
    case .identifier where isWord("if"):
      return fail("there is no `if`; a choice is written condition ? value : otherwise")
    case .identifier:
      if let message = replacement(forOperator: word) { return fail(message) }
      if let before = textByte(before: token.start), before == UInt8(ascii: "'") || before == UInt8(ascii: "\"") {
        return fail(
          "the text ends at the quote before `\(word)`; a quote within a text is written `\\'`, or the text stands in "
            + "the other quotes")
      }
      return fail("an operator is missing before `\(word)`")
    case .double where lexer.text[token.start] == UInt8(ascii: "."):
      return fail("an item is read with brackets; write `[\(word.dropFirst())]` for `\(word)`")
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

  private mutating func expression() throws(Unreadable) -> Syntax {
    nesting += 1
    defer { nesting -= 1 }
    guard nesting <= Parser.depthLimit else { throw tooDeep(token.range) }
    let condition = try disjunction()
    guard token.kind == .question else { return condition }
    let mark = token.range
    try advance()
    let first = try disjunction()
    if token.kind == .question {
      throw fail("a condition within the middle of another stands in parentheses: `a ? (b ? c : d) : e`")
    }
    guard try consume(.colon) else {
      if mark.upperBound < lexer.text.count, lexer.text[mark.upperBound] == UInt8(ascii: ".") {
        throw fail(
          "there is no `?.`; a field that may be absent is read as a.?b", at: mark.lowerBound..<mark.upperBound + 1)
      }
      throw fail("`: value` is missing here, for when the condition of `?` does not hold")
    }
    let second = try expression()
    return try checkDepth(
      node(
        .conditional(condition, first, second), condition.range.lowerBound..<second.range.upperBound, mark: mark,
        over: max(condition.depth, first.depth, second.depth)))
  }

  private mutating func disjunction() throws(Unreadable) -> Syntax {
    var first = try conjunction()
    while token.kind == .doubleQuestion { first = try coalesced(first) }
    guard try takesOr() else { return first }
    var operands = [first]
    repeat { operands.append(try conjunction()) } while try takesOr()
    return try chain(.or(operands), operands)
  }

  /// Reads `left ?? right` as the `left` with a `.?` and an `orValue` that it should be.
  private mutating func coalesced(_ left: Syntax) throws(Unreadable) -> Syntax {
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
    note("there is no `??`", at: mark, fix: ExpressionFault.Fix(code: text, range: range))
    let optional = Syntax(.select(operand, name, isOptional: true), left.range, mark: left.mark, depth: depth)
    return try checkDepth(node(.method(optional, "orValue", [right]), range, mark: mark, over: depth))
  }

  private mutating func conjunction() throws(Unreadable) -> Syntax {
    let first = try binary(0)
    guard try takesAnd() else { return first }
    var operands = [first]
    repeat { operands.append(try binary(0)) } while try takesAnd()
    return try chain(.and(operands), operands)
  }

  private mutating func chain(_ kind: Syntax.Kind, _ operands: [Syntax]) throws(Unreadable) -> Syntax {
    let range = operands[0].range.lowerBound..<operands[operands.count - 1].range.upperBound
    return try checkDepth(node(kind, range, over: operands.reduce(0) { max($0, $1.depth) }))
  }

  private mutating func takesOr() throws(Unreadable) -> Bool {
    switch token.kind {
    case .or: break
    case .singleOr: note("write `||` for `|`")
    case .identifier where isWord("or") || isWord("OR"): note("write `||` for `\(word)`")
    default: return false
    }
    try advance()
    return true
  }

  private mutating func takesAnd() throws(Unreadable) -> Bool {
    switch token.kind {
    case .and: break
    case .singleAnd: note("write `&&` for `&`")
    case .identifier where isWord("and") || isWord("AND"): note("write `&&` for `\(word)`")
    default: return false
    }
    try advance()
    return true
  }

  /// The levels of relations (0), sums (1) and products (2).
  private mutating func binary(_ level: Int) throws(Unreadable) -> Syntax {
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

  private mutating func binaryOperator(_ level: Int) -> BinaryOperator? {
    switch (level, token.kind) {
    case (0, .less): return .less
    case (0, .lessOrEqual): return .lessOrEqual
    case (0, .greater): return .greater
    case (0, .greaterOrEqual): return .greaterOrEqual
    case (0, .equal): return .equal
    case (0, .notEqual): return .notEqual
    case (0, .assign):
      // What follows without a gap is refused when it is read: `=<`, `=~`.
      let next = token.end < lexer.text.count ? lexer.text[token.end] : 0
      if next != UInt8(ascii: "<"), next != UInt8(ascii: "~") {
        note("write `==` to compare; an expression assigns nothing")
      }
      return .equal
    case (0, .strictEqual):
      note("write `==` for `===`")
      return .equal
    case (0, .strictNotEqual):
      note("write `!=` for `\(word)`")
      return .notEqual
    case (0, .identifier) where isWord("in"): return .membership
    case (1, .plus): return .add
    case (1, .minus): return .subtract
    case (2, .star): return .multiply
    case (2, .slash): return .divide
    case (2, .percent): return .remainder
    case (2, .power):
      note("there is no `**`; a square is written x * x")
      return .multiply
    default: return nil
    }
  }

  private mutating func unary() throws(Unreadable) -> Syntax {
    let start = token.start
    switch token.kind {
    case .identifier where isWord("not"):
      // `not` may be a name; it is the operator of other languages only when an operand follows.
      var ahead = lexer
      switch ahead.next().kind {
      case .identifier, .not, .leftParenthesis: break
      default: return try postfix()
      }
      note("write `!` for `not`")
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
        // The sign belongs to a number that follows, or the least integer could not be written.
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

  private mutating func repeated(
    _ count: Int, _ operand: Syntax, start: Int, _ wrap: (Syntax) -> Syntax.Kind
  ) throws(Unreadable) -> Syntax {
    var operand = operand
    for index in (0..<count).reversed() {
      operand = try checkDepth(node(wrap(operand), start + index..<operand.range.upperBound, over: operand.depth))
    }
    return operand
  }

  // MARK: Selections and calls

  private mutating func postfix() throws(Unreadable) -> Syntax {
    var operand = try primary()
    while true {
      switch token.kind {
      case .dot: operand = try checkDepth(try selection(from: operand))
      case .leftBracket:
        let open = token
        try advance()
        let isOptional = try consume(.question)
        let index = try expression()
        let end = token.end
        guard try consume(.rightBracket) else { throw unclosed("[", open.range) }
        operand = try checkDepth(
          node(
            .index(operand, index, isOptional: isOptional), operand.range.lowerBound..<end, mark: index.range,
            over: max(operand.depth, index.depth)))
      case .leftParenthesis:
        throw fail("only a function or a method can be called, by its name")
      default: return operand
      }
    }
  }

  private mutating func selection(from operand: Syntax) throws(Unreadable) -> Syntax {
    try advance()
    let isOptional = try consume(.question)
    let mark = token.range
    let start = operand.range.lowerBound
    switch token.kind {
    case .quotedIdentifier:
      let name = lexer.string(mark.lowerBound + 1..<mark.upperBound - 1)
      try advance()
      return node(
        .select(operand, name, isOptional: isOptional), start..<mark.upperBound, mark: mark, over: operand.depth)
    case .identifier:
      let name = word
      if ["in", "true", "false", "null"].contains(name) {
        throw fail("`\(name)` cannot be a field's name after a dot; write ['\(name)']")
      }
      try advance()
      guard token.kind == .leftParenthesis else {
        return node(
          .select(operand, name, isOptional: isOptional), start..<mark.upperBound, mark: mark, over: operand.depth)
      }
      if isOptional { throw fail("a method cannot be called after `.?`; use optMap()", at: mark) }
      let (arguments, end) = try arguments()
      let depth = arguments.reduce(operand.depth) { max($0, $1.depth) }
      if let expanded = try expandMethod(operand, name, arguments, start..<end, mark: mark, over: depth) {
        return expanded
      }
      return node(.method(operand, name, arguments), start..<end, mark: mark, over: depth)
    default:
      if case .literal(let value) = operand.kind, let number = value.int {
        throw fail("a double has digits after its point: \(number).0", at: start..<mark.lowerBound)
      }
      throw fail("the name of a field or a method is missing after the dot", at: mark)
    }
  }

  private mutating func arguments() throws(Unreadable) -> (list: [Syntax], end: Int) {
    let open = token
    try advance()
    var list: [Syntax] = []
    while token.kind != .rightParenthesis {
      list.append(try expression())
      if try !consume(.comma) { break }
    }
    let end = token.end
    guard try consume(.rightParenthesis) else { throw unclosed("(", open.range) }
    return (list, end)
  }

  private mutating func unclosed(_ bracket: String, _ open: Range<Int>) -> Unreadable {
    let closing = bracket == "(" ? ")" : bracket == "[" ? "]" : "}"
    if token.kind == .end {
      return fail("this `\(bracket)` is never closed; `\(closing)` is missing", at: open)
    }
    switch token.kind {
    case .identifier:
      if let message = replacement(forOperator: word) { return fail(message) }
    case .arrow: return fail("write `,` for `=>`: a macro names its variable first, as in items.map(x, x + 1)")
    case .colon where bracket == "[":
      return fail("a part of a text is read with a.substring(from, to), one of a list with a.slice(from, to)")
    default: break
    }
    return fail("`\(closing)` or `,` is wanted here, not `\(word)`")
  }

  // MARK: Primaries

  private mutating func primary() throws(Unreadable) -> Syntax {
    let start = token.start
    switch token.kind {
    case .leftParenthesis:
      let open = token.range
      try advance()
      let inner = try expression()
      let end = token.end
      guard try consume(.rightParenthesis) else { throw unclosed("(", open) }
      return Syntax(inner.kind, start..<end, mark: inner.mark == inner.range ? nil : inner.mark, depth: inner.depth)
    case .leftBracket: return try list()
    case .leftBrace: return try map()
    case .dot:
      try advance()
      guard token.kind == .identifier else { throw fail("a name is missing after the dot") }
      return try name(isRooted: true, start: start)
    case .identifier: return try name(isRooted: false, start: start)
    case .minus, .int, .uint, .double, .string, .bytes: return try literal()
    case .end: throw fail("the expression ends where a value is wanted")
    case .greater where textByte(before: start) == UInt8(ascii: "-"):
      throw fail(
        "write `,` for `->`: a macro names its variable first, as in items.map(x, x + 1)", at: start - 1..<token.end)
    case .less where textByte(before: start) == UInt8(ascii: "="):
      throw fail("write `<=` for `=<`", at: start - 1..<token.end)
    case .slash where token.end < lexer.text.count && lexer.text[token.end] == UInt8(ascii: "*"):
      throw fail("there is no `/*`; a comment begins with `//` and ends with its line", at: start..<token.end + 1)
    case .quotedIdentifier: throw fail("backticks stand only after a dot")
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .plus, .star, .slash, .percent, .and, .or,
      .question, .assign, .arrow, .power, .singleAnd, .singleOr, .doubleQuestion, .strictEqual, .strictNotEqual:
      throw fail("a value is missing before `\(word)`")
    default: throw fail("a value is wanted here, not `\(word)`")
    }
  }

  private mutating func name(isRooted: Bool, start: Int) throws(Unreadable) -> Syntax {
    let mark = token.range
    let name = word
    switch name {
    case "true", "false", "null":
      if isRooted { throw fail("`\(name)` is a value and has no dot before it") }
      try advance()
      return node(.literal(name == "null" ? .null : .bool(name == "true")), mark, over: 0)
    case "in": throw fail("a value is missing before `in`")
    case "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
      "namespace", "return", "var", "void", "while":
      throw fail(replacement(forReserved: name))
    case "True", "False", "None", "nil", "undefined", "NULL", "TRUE", "FALSE":
      let word = ["None": "null", "nil": "null", "undefined": "null"][name] ?? name.lowercased()
      note("write `\(word)` for `\(name)`")
      try advance()
      return node(.literal(word == "null" ? .null : .bool(word == "true")), mark, over: 0)
    default: break
    }
    try advance()
    guard token.kind == .leftParenthesis else {
      if token.kind == .leftBrace {
        throw fail("there are no message types; a map is written { 'name': value }", at: mark.lowerBound..<token.end)
      }
      return node(.name(name, isRooted: isRooted), start..<mark.upperBound, mark: mark, over: 0)
    }
    let (arguments, end) = try arguments()
    let depth = arguments.reduce(0) { max($0, $1.depth) }
    if name == "has", !isRooted, arguments.count == 1 {
      guard case .select(let operand, let field, let isOptional) = arguments[0].kind else {
        throw fail(
          "has() asks for a field and wants one inside: has(a.b)", at: arguments[0].range,
          fix: presence(of: arguments[0]).map { ExpressionFault.Fix(code: $0, range: start..<end) })
      }
      if isOptional { throw fail("has() wants no `.?` on the last field; write has(a.b)", at: arguments[0].range) }
      return node(.has(operand, field), start..<end, mark: arguments[0].mark, over: depth)
    }
    return node(.call(name, isRooted: isRooted, arguments), start..<end, mark: mark, over: depth)
  }

  /// How to ask for what is not a field.
  private func presence(of syntax: Syntax) -> String? {
    guard case .index(let operand, let index, _) = syntax.kind else { return nil }
    let text = lexer.string(operand.range)
    if case .literal(let value) = index.kind, value.int != nil {
      return "size(\(text)) > \(lexer.string(index.range))"
    }
    if case .literal(let value) = index.kind, let name = value.string,
      name.utf8.allSatisfy({ isLetter($0) || isDigit($0) })
    {
      return "has(\(text).\(name))"
    }
    return "\(lexer.string(index.range)) in \(text)"
  }

  private mutating func list() throws(Unreadable) -> Syntax {
    let open = token
    try advance()
    var elements: [Syntax.Element] = []
    if token.kind == .comma { try advance() }
    while token.kind != .rightBracket {
      let isOptional = try consume(.question)
      elements.append(Syntax.Element(value: try expression(), isOptional: isOptional))
      if try !consume(.comma) { break }
    }
    let end = token.end
    guard try consume(.rightBracket) else { throw unclosed("[", open.range) }
    return node(.list(elements), open.start..<end, over: elements.reduce(0) { max($0, $1.value.depth) })
  }

  private mutating func map() throws(Unreadable) -> Syntax {
    let open = token
    try advance()
    var entries: [Syntax.Entry] = []
    if token.kind == .comma { try advance() }
    while token.kind != .rightBrace {
      let isOptional = try consume(.question)
      let key = try expression()
      guard try consume(.colon) else { throw fail("`: value` is missing after the key of a map") }
      entries.append(Syntax.Entry(key: key, value: try expression(), isOptional: isOptional))
      if try !consume(.comma) { break }
    }
    let end = token.end
    guard try consume(.rightBrace) else { throw unclosed("{", open.range) }
    return node(
      .map(entries), open.start..<end, over: entries.reduce(0) { max($0, $1.key.depth, $1.value.depth) })
  }

  private mutating func literal() throws(Unreadable) -> Syntax {
    let start = token.start
    let isNegative = token.kind == .minus
    if isNegative { try advance() }
    let range = start..<token.end
    let digits = lexer.text[token.range]
    let value: Value
    switch token.kind {
    case .int:
      let magnitude = decodeInteger(digits)
      if isNegative, let magnitude, magnitude <= UInt(Int.max) + 1 {
        value = .int(Int(truncatingIfNeeded: 0 &- magnitude))
      } else if let magnitude, let number = Int(exactly: magnitude) {
        value = .int(number)
      } else {
        throw fail("an int lies between \(Int.min) and \(Int.max); larger numbers are doubles, as `1e20`", at: range)
      }
    case .uint:
      guard let number = decodeInteger(digits.dropLast()) else {
        throw fail("a uint is at most \(UInt.max)", at: range)
      }
      value = .uint(number)
    case .double:
      guard let number = Double(String(decoding: digits, as: UTF8.self)), number.isFinite else {
        throw fail("this number is larger than a double can be", at: range)
      }
      value = .double(isNegative ? -number : number)
    case .string, .bytes:
      let isBytes = token.kind == .bytes
      do {
        let octets = try decodeTextLiteral(lexer.text, token.range, isBytes: isBytes)
        value = isBytes ? .bytes(octets) : .string(String(decoding: octets, as: UTF8.self))
      } catch {
        throw fail(error.message, at: error.range)
      }
    default: throw fail("a number is wanted after `-`")
    }
    try advance()
    return node(.literal(value), range, over: 0)
  }
}

// MARK: Macros

extension Parser {
  /// The loop or binding that a method call of that name and number of arguments stands for, or nil if it is none.
  private mutating func expandMethod(
    _ receiver: Syntax, _ name: String, _ arguments: [Syntax], _ range: Range<Int>, mark: Range<Int>, over depth: Int
  ) throws(Unreadable) -> Syntax? {
    let count = arguments.count
    if let meant = Parser.otherNames[name], count == 2, case .name = arguments[0].kind {
      note("there is no \(name)(); write `\(meant)`", at: mark)
      return try expandMethod(receiver, meant, arguments, range, mark: mark, over: depth)
    }
    func loop(_ kind: Syntax.Loop.Kind, names: Int, filtered: Bool = false) throws(Unreadable) -> Syntax? {
      var found: [String] = []
      for argument in arguments[..<names] {
        guard case .name(let variable, isRooted: false) = argument.kind else { return nil }
        found.append(variable)
      }
      let loop = Syntax.Loop(
        kind: kind, range: receiver, names: found, filter: filtered ? arguments[count - 2] : nil,
        body: arguments[count - 1])
      return node(.loop(loop), range, mark: mark, over: depth)
    }
    let expanded: Syntax?
    switch (name, count) {
    case ("all", 2): expanded = try loop(.all, names: 1)
    case ("all", 3): expanded = try loop(.all, names: 2)
    case ("exists", 2): expanded = try loop(.exists, names: 1)
    case ("exists", 3): expanded = try loop(.exists, names: 2)
    case ("exists_one", 2), ("existsOne", 2): expanded = try loop(.existsOne, names: 1)
    case ("exists_one", 3), ("existsOne", 3): expanded = try loop(.existsOne, names: 2)
    case ("filter", 2): expanded = try loop(.filter, names: 1)
    case ("map", 2): expanded = try loop(.map, names: 1)
    case ("map", 3): expanded = try loop(.map, names: 1, filtered: true)
    case ("sortBy", 2): expanded = try loop(.sortBy, names: 1)
    case ("transformList", 3): expanded = try loop(.transformList, names: 2)
    case ("transformList", 4): expanded = try loop(.transformList, names: 2, filtered: true)
    case ("transformMap", 3): expanded = try loop(.transformMap, names: 2)
    case ("transformMap", 4): expanded = try loop(.transformMap, names: 2, filtered: true)
    case ("transformMapEntry", 3): expanded = try loop(.transformMapEntry, names: 2)
    case ("transformMapEntry", 4): expanded = try loop(.transformMapEntry, names: 2, filtered: true)
    case ("optMap", 2), ("optFlatMap", 2):
      guard case .name(let variable, isRooted: false) = arguments[0].kind else {
        expanded = nil
        break
      }
      expanded = node(
        .optionalMap(receiver, variable, arguments[1], isFlat: name == "optFlatMap"), range, mark: mark, over: depth)
    case ("bind", 3):
      guard case .name("cel", _) = receiver.kind else { return nil }
      guard case .name(let variable, isRooted: false) = arguments[0].kind else {
        throw fail("cel.bind() names its variable first: cel.bind(x, value, expression)", at: arguments[0].range)
      }
      return node(.bind(variable, arguments[1], arguments[2]), range, mark: mark, over: depth)
    case ("all", _), ("exists", _), ("exists_one", _), ("existsOne", _), ("filter", _), ("map", _), ("sortBy", _),
      ("transformList", _), ("transformMap", _), ("transformMapEntry", _), ("optMap", _), ("optFlatMap", _):
      throw fail("\(name)() is written \(Parser.macroForms[name] ?? name)", at: range)
    default: return nil
    }
    if let expanded { return expanded }
    throw fail(
      "\(name)() names its variable first: \(Parser.macroForms[name] ?? name)", at: arguments.first?.range ?? range)
  }

  /// What other languages call the macros.
  private static let otherNames = [
    "any": "exists", "some": "exists", "every": "all", "collect": "map", "select": "filter", "where": "filter",
    "find": "filter", "forEach": "map",
  ]

  /// How each macro is written, for messages.
  static let macroForms: [String: String] = [
    "all": "items.all(x, condition)", "exists": "items.exists(x, condition)",
    "exists_one": "items.exists_one(x, condition)", "existsOne": "items.existsOne(x, condition)",
    "filter": "items.filter(x, condition)", "map": "items.map(x, value) or items.map(x, condition, value)",
    "sortBy": "items.sortBy(x, key)", "transformList": "items.transformList(index, x, value)",
    "transformMap": "entries.transformMap(key, x, value)",
    "transformMapEntry": "entries.transformMapEntry(key, x, {newKey: value})",
    "optMap": "optional.optMap(x, value)", "optFlatMap": "optional.optFlatMap(x, optionalValue)",
  ]
}
