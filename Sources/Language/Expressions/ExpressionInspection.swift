package import Basics

// Answers editors' questions about an expression: the type of each part, and the completions at a place.
//
// Both parse and check the expression again with an `Inspector` that is told of every checked part; a check without an
// inspector does no extra work. For completion, the text is first made checkable: it is the text before the place, with
// the name `Checker.hole` instead of the word being written, and with every open bracket closed.

/// A part of an expression that an editor can show information about, with the type of its value.
package struct ExpressionPart: Sendable {
  package enum Kind: Sendable {
    /// A variable; of a loop or binding of the expression itself, if `isLocal`.
    case variable(isLocal: Bool)
    /// A field of a value of a type.
    case field(of: ValueType)
    /// A function, by its whole name.
    case function
    /// A method of a value of a type.
    case method(of: ValueType)
    /// A loop or a binding, such as `map`.
    case macro
    case literal
    case other
  }

  package let kind: Kind
  /// The name of the variable, field, function or macro, if the part has one.
  package let name: String
  /// The names that lead to it from a variable: `steps`, `book` of the field `book` in `steps.book`.
  package let path: [String]
  /// The bytes of the text that name it.
  package let mark: Range<Int>
  /// All bytes of the part.
  package let range: Range<Int>
  package let type: ValueType
}

/// A place in an expression to complete at, and the completions that fit.
package struct ExpressionPoint: Sendable {
  package enum Kind: Sendable {
    /// Any value: variables of the scope and of loops around, and functions.
    case value(locals: [(name: String, type: ValueType)])
    /// A member of a value of a type.
    case member(of: ValueType)
    /// A function of a namespace.
    case function(of: String)
    /// The text of a choice, within quotes.
    case choice([String])
    /// Nothing that can be completed: within a text, after a number.
    case nothing
  }

  package let kind: Kind
  /// The number of bytes before the place that belong to the word being written.
  package let written: Int
  /// The type that fits, if that is known.
  package let expected: ValueType?
}

/// Records the parts of an expression as they are checked.
final class Inspector {
  var parts: [ExpressionPart] = []
  /// The types of the parts, by their ranges.
  private(set) var types: [Range<Int>: ValueType] = [:]
  /// The variables of loops and bindings that are in scope at the hole.
  private(set) var localsAtHole: [(name: String, type: ValueType)]?
  /// The type of the value that the hole is a member of.
  private(set) var ownerOfHole: ValueType?
  private(set) var hasHole = false
  /// The type of the value that the hole is compared with.
  private(set) var comparedWithHole: ValueType?

  func note(_ syntax: Syntax, _ type: ValueType, _ checker: Checker) {
    // The type of a declared variable has nothing left to infer, and the type of `steps` is large.
    let isDeclared = if case .name(let name, _) = syntax.kind { checker.local(name) == nil } else { false }
    let type = isDeclared ? type : checker.inference.finished(type)
    types[syntax.range] = type
    func add(_ kind: ExpressionPart.Kind, _ name: String, mark: Range<Int>? = nil, path: [String] = []) {
      parts.append(
        ExpressionPart(
          kind: kind, name: name, path: path, mark: mark ?? syntax.mark, range: syntax.range, type: type))
    }
    func meetHole(_ name: String, of operand: Syntax) {
      guard name == Checker.hole else { return }
      hasHole = true
      ownerOfHole = types[operand.range]
    }
    switch syntax.kind {
    case .name(Checker.hole, _):
      hasHole = true
      localsAtHole = checker.locals.map { ($0.name, checker.inference.finished($0.type)) }
    case .name(let name, _):
      let isLocal = checker.local(name) != nil
      add(.variable(isLocal: isLocal), name, path: isLocal ? [] : [name])
    case .select(let operand, let name, _), .has(let operand, let name):
      meetHole(name, of: operand)
      let path = checker.path(operand)?.names ?? []
      add(.field(of: types[operand.range] ?? .dyn), name, path: path.isEmpty ? [] : path + [name])
    case .index(let operand, let index, _):
      guard case .literal(let value) = index.kind, let name = value.string else { break }
      let path = checker.path(operand)?.names ?? []
      add(
        .field(of: types[operand.range] ?? .dyn), name, mark: index.range, path: path.isEmpty ? [] : path + [name])
    case .call(let name, _, _): add(.function, name, mark: syntax.range.prefix(name.utf8.count))
    case .method(let receiver, let name, _):
      meetHole(name, of: receiver)
      if let (prefix, _) = checker.qualifiedName(receiver), checker.scope.functions.namespaces.contains(prefix) {
        add(.function, "\(prefix).\(name)")
      } else {
        add(.method(of: types[receiver.range] ?? .dyn), name)
      }
    case .loop(let loop): add(.macro, loop.kind.rawValue)
    case .bind: add(.macro, "bind")
    case .optionalMap(_, _, _, let isFlat): add(.macro, isFlat ? "optFlatMap" : "optMap")
    case .literal(let value): add(.literal, value.kindName)
    case .binary(.equal, let left, let right), .binary(.notEqual, let left, let right):
      for (one, other) in [(left, right), (right, left)] {
        if case .name(Checker.hole, _) = one.kind { comparedWithHole = types[other.range] }
      }
    default: break
    }
  }
}

extension Path {
  /// The names in the path, if it contains no index and starts at a variable of the scope.
  fileprivate var names: [String]? {
    guard local == nil else { return nil }
    var names = [root]
    for step in steps {
      guard case .field(let name) = step else { return nil }
      names.append(name)
    }
    return names
  }
}

extension Range<Int> {
  fileprivate func prefix(_ count: Int) -> Range<Int> { lowerBound..<Swift.min(upperBound, lowerBound + count) }
}

// MARK: Parts

extension ExpressionScope {
  /// The parts of an expression in order of position, as many as can be parsed.
  package func parts(of text: [UInt8], _ range: Range<Int>) -> [ExpressionPart] {
    inspected(text, range).parts.sorted {
      ($0.mark.lowerBound, $0.range.count) < ($1.mark.lowerBound, $1.range.count)
    }
  }

  private func inspected(_ text: [UInt8], _ range: Range<Int>) -> Inspector {
    let inspector = Inspector()
    guard let syntax = Parser.parse(text, range: range).syntax else { return inspector }
    var checker = Checker(text, range, self)
    checker.isTrial = true
    checker.inspector = inspector
    _ = checker.check(syntax)
    return inspector
  }

  /// The methods that may follow `a.` where `a` is of a type, with one form of each.
  package func methods(of type: ValueType) -> [FunctionDeclaration] {
    var names: Set<String> = []
    return forms(of: nil, on: type).filter { names.insert($0.name).inserted }
  }

  /// The forms of a method, or of all, that take a value of a type.
  package func forms(of name: String?, on type: ValueType) -> [FunctionDeclaration] {
    var inference = Inference(isSound: rules == .sound)
    var type = type
    while case .secret(let of) = type { type = of }
    return functions.declarations.filter { form in
      guard let receiver = form.receiver, name == nil || form.name == name else { return false }
      return inference.accepts(receiver.loosened, type)
    }
  }

  /// The macros of values of a type, each as it is written after the dot.
  package static func macros(of type: ValueType) -> [(name: String, form: String)] {
    let fitting: [String]
    switch type {
    case .list, .map, .object:
      fitting = ["map", "filter", "exists", "all", "existsOne", "sortBy", "transformList", "transformMap"]
    case .optional: fitting = ["optMap", "optFlatMap"]
    case .secret(let of): return macros(of: of)
    default: fitting = []
    }
    return fitting.compactMap { name -> (name: String, form: String)? in
      guard let form = Parser.macroForms[name]?.split(separator: ")").first,
        let dot = form.utf8.firstIndex(of: ASCII.dot)
      else { return nil }
      return (name, String(form[form.utf8.index(after: dot)...]) + ")")
    }
  }
}

extension ValueType {
  /// The type with `dyn` in the place of its type parameters.
  fileprivate var loosened: ValueType {
    switch self {
    case .parameter: .dyn
    case .list(let element): .list(element.loosened)
    case .map(let key, let value): .map(key.loosened, value.loosened)
    case .optional(let wrapped): .optional(wrapped.loosened)
    case .wrapper(let wrapped): .wrapper(wrapped.loosened)
    default: self
    }
  }
}

// MARK: Completion

extension ExpressionScope {
  /// The completions at the end of a text that is the beginning of an expression.
  package func point(atEndOf prefix: [UInt8], expecting: ValueType?) -> ExpressionPoint {
    var end = prefix.count
    while end > 0, prefix[end - 1].isPartOfName { end -= 1 }
    let written = prefix.count - end
    let nothing = ExpressionPoint(kind: .nothing, written: written, expected: nil)
    if end < prefix.count, ASCII.digits.contains(prefix[end]) { return nothing }

    let open = OpenBrackets(prefix, 0..<end)
    if let quote = open.openText {
      // Within a text, only the words of a choice can be completed.
      let inside = prefix.count - quote - 1
      let start = Array(prefix[..<quote])
      let inspector = inspected(atEndOf: start, OpenBrackets(start, 0..<quote))
      guard case .choice(let words)? = inspector.comparedWithHole?.held ?? expecting?.held else {
        return nothing
      }
      return ExpressionPoint(kind: .choice(words), written: inside, expected: nil)
    }
    if end > 0, prefix[end - 1] == ASCII.dot, let name = namespace(endingAt: end - 1, in: prefix) {
      return ExpressionPoint(kind: .function(of: name), written: written, expected: nil)
    }
    let inspector = inspected(atEndOf: Array(prefix[..<end]), open)
    guard inspector.hasHole else { return nothing }
    if let owner = inspector.ownerOfHole {
      return ExpressionPoint(kind: .member(of: owner), written: written, expected: nil)
    }
    guard let locals = inspector.localsAtHole else { return nothing }
    let isWhole = prefix[..<end].allSatisfy { $0 <= ASCII.space }
    return ExpressionPoint(
      kind: .value(locals: locals), written: written,
      expected: inspector.comparedWithHole ?? (isWhole ? expecting : nil))
  }

  /// The function or method whose arguments are being written at the end of a text, by the name before its parenthesis,
  /// and the index of the argument.
  package static func openCall(atEndOf prefix: [UInt8]) -> (name: String, argument: Int)? {
    var lexer = Lexer(prefix, range: 0..<prefix.count)
    var open: [(name: Range<Int>?, commas: Int)] = []
    var before: Lexer.Token?
    while true {
      let token = lexer.next()
      switch token.kind {
      case .leftParenthesis: open.append((before?.kind == .identifier ? before?.range : nil, 0))
      case .leftBracket, .leftBrace: open.append((nil, 0))
      case .rightParenthesis, .rightBracket, .rightBrace: _ = open.popLast()
      case .comma: if let last = open.indices.last { open[last].commas += 1 }
      case .end:
        guard let call = open.last(where: { $0.name != nil }), let name = call.name else { return nil }
        var start = name.lowerBound
        while start > 0, prefix[start - 1].isPartOfName || prefix[start - 1] == ASCII.dot { start -= 1 }
        return (String(decoding: prefix[start..<name.upperBound], as: UTF8.self), call.commas)
      default: break
      }
      before = token
    }
  }

  private func inspected(atEndOf prefix: [UInt8], _ open: OpenBrackets) -> Inspector {
    let whole = prefix + Checker.hole.utf8 + open.closing.utf8
    let inspector = inspected(whole, 0..<whole.count)
    if inspector.hasHole { return inspector }
    // `has(` accepts only a field.
    let chain = prefix + "\(Checker.hole).x\(open.closing)".utf8
    return inspected(chain, 0..<chain.count)
  }

  /// The namespace whose name ends at a place, such as `stats`, unless a variable or a longer chain is meant.
  private func namespace(endingAt end: Int, in text: [UInt8]) -> String? {
    var start = end
    while start > 0, text[start - 1].isPartOfName || text[start - 1] == ASCII.dot { start -= 1 }
    let name = String(decoding: text[start..<end], as: UTF8.self)
    // `cel` isn't a namespace of functions: it has only a macro.
    return (functions.namespaces.contains(name) || name == "cel") && type(of: name) == nil ? name : nil
  }
}

/// The open constructs at the end of a text: brackets, conditions, a quoted text.
private struct OpenBrackets {
  /// The text that closes all open constructs.
  private(set) var closing = ""
  /// The offset of the quote that begins the open text.
  private(set) var openText: Int?

  init(_ text: [UInt8], _ range: Range<Int>) {
    var lexer = Lexer(text, range: range)
    var open: [String] = []
    while true {
      let token = lexer.next()
      switch token.kind {
      case .leftParenthesis: open.append(")")
      case .leftBracket: open.append("]")
      case .leftBrace: open.append("}")
      case .question: if !OpenBrackets.isOptionalAccess(text, token, range) { open.append(" : null") }
      case .colon: if open.last == " : null" { open.removeLast() }
      case .rightParenthesis, .rightBracket, .rightBrace:
        while open.last == " : null" { open.removeLast() }
        _ = open.popLast()
      case .invalid where [ASCII.quote, ASCII.apostrophe].contains(text[token.start]): openText = token.start
      case .end:
        closing = open.reversed().joined()
        return
      default: break
      }
      if openText != nil { return }
    }
  }

  /// Whether a `?` belongs to `a.?b` or `a[?i]`.
  private static func isOptionalAccess(_ text: [UInt8], _ token: Lexer.Token, _ range: Range<Int>) -> Bool {
    guard token.start > range.lowerBound else { return true }
    let before = text[token.start - 1]
    return before == ASCII.dot || before == ASCII.openBracket || before == ASCII.openBrace || before == ASCII.comma
  }
}

extension ValueType {
  /// The type inside secrets and optionals.
  fileprivate var held: ValueType {
    switch self {
    case .secret(let of), .optional(let of): of.held
    default: self
    }
  }
}

extension UInt8 {
  /// Whether the byte may be part of a name in expressions: a letter, a digit or an underscore.
  package var isPartOfName: Bool { isLetter(self) || isDigit(self) }
}
