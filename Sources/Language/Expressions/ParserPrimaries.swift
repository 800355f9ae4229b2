import Basics

// The parts that bind most tightly: selections, calls, names, brackets and literals.
extension Parser {
  mutating func postfix() throws(Unreadable) -> Syntax {
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

  mutating func selection(from operand: Syntax) throws(Unreadable) -> Syntax {
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
        let dot = operand.range.upperBound..<mark.upperBound
        throw fail(
          MessageText(
            "`\(name)` cannot be a field's name after a dot; write ['\(name)']", [.code("['\(name)']", for: dot)]))
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
        throw fail(
          MessageText(
            "a double has digits after its point: \(number).0",
            [.code("0", for: operand.range.upperBound + 1..<operand.range.upperBound + 1)]),
          at: start..<mark.lowerBound)
      }
      throw fail("the name of a field or a method is missing after the dot", at: mark)
    }
  }

  mutating func arguments() throws(Unreadable) -> (list: [Syntax], end: Int) {
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

  mutating func unclosed(_ bracket: String, _ open: Range<Int>) -> Unreadable {
    let closing = bracket == "(" ? ")" : bracket == "[" ? "]" : "}"
    if token.kind == .end {
      var end = token.start
      while end > open.upperBound, lexer.text[end - 1] <= ASCII.space { end -= 1 }
      let fix = Suggestion("add `\(closing)` at the end", .code(closing, end..<end), isTentative: true)
      return fail(MessageText("this `\(bracket)` is never closed; `\(closing)` is missing", [fix]), at: open)
    }
    switch token.kind {
    case .identifier:
      if let message = replacement(forOperator: word, at: token.range) { return fail(message) }
    case .arrow: return fail("\(write(",")) for `=>`: a macro names its variable first, as in items.map(x, x + 1)")
    case .colon where bracket == "[":
      return fail("a part of a text is read with a.substring(from, to), one of a list with a.slice(from, to)")
    default: break
    }
    return fail("`\(closing)` or `,` is expected here, not `\(word)`")
  }

  // MARK: Primaries

  mutating func primary() throws(Unreadable) -> Syntax {
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
    case .end: throw fail("the expression ends where a value is expected")
    case .greater where textByte(before: start) == ASCII.minus:
      let arrow = start - 1..<token.end
      throw fail(
        "\(write(",", for: arrow)) for `->`: a macro names its variable first, as in items.map(x, x + 1)", at: arrow)
    case .less where textByte(before: start) == ASCII.equals:
      let sign = start - 1..<token.end
      throw fail("\(write("<=", for: sign)) for `=<`", at: sign)
    case .slash where token.end < lexer.text.count && lexer.text[token.end] == ASCII.asterisk:
      throw fail("there is no `/*`; a comment begins with `//` and ends with the line", at: start..<token.end + 1)
    case .quotedIdentifier: throw fail("backticks are allowed only after a dot")
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .plus, .star, .slash, .percent, .and, .or,
      .question, .assign, .arrow, .power, .singleAnd, .singleOr, .doubleQuestion, .strictEqual, .strictNotEqual:
      throw fail("a value is missing before `\(word)`")
    default: throw fail("expected a value here, not `\(word)`")
    }
  }

  mutating func name(isRooted: Bool, start: Int) throws(Unreadable) -> Syntax {
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
      throw fail(MessageText(replacement(forReserved: name)))
    case "True", "False", "None", "nil", "undefined", "NULL", "TRUE", "FALSE":
      let word = ["None": "null", "nil": "null", "undefined": "null"][name] ?? name.lowercased()
      // `undefined` may mean an absent value, and null isn't absent.
      note("\(write(word).tentative(if: name == "undefined")) for `\(name)`")
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
          "has() takes a field: has(a.b)", at: arguments[0].range,
          fix: presence(of: arguments[0]).map { ExpressionFault.Fix(code: $0, range: start..<end, isTentative: true) })
      }
      if isOptional {
        let code = "has(\(lexer.string(operand.range)).\(field))"
        throw fail(
          MessageText(
            "has() doesn't take `.?` on the last field; write has(a.b)", [.code(code, for: start..<end)]),
          at: arguments[0].range)
      }
      return node(.has(operand, field), start..<end, mark: arguments[0].mark, over: depth)
    }
    return node(.call(name, isRooted: isRooted, arguments), start..<end, mark: mark, over: depth)
  }

  /// Suggests how to check the presence of a value that isn't a field.
  func presence(of syntax: Syntax) -> String? {
    if case .name = syntax.kind { return "\(lexer.string(syntax.range)).hasValue()" }
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

  mutating func list() throws(Unreadable) -> Syntax {
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

  mutating func map() throws(Unreadable) -> Syntax {
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

  mutating func literal() throws(Unreadable) -> Syntax {
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
        throw fail(MessageText(error.message), at: error.range)
      }
    default: throw fail("a number is expected after `-`")
    }
    try advance()
    return node(.literal(value), range, over: 0)
  }
}
