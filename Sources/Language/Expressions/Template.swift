package import Basics

/// A text of a recipe that contains expressions as `${{ … }}`, which are replaced by their values.
///
/// The end of an expression is found with CEL's lexer, so braces and quotes inside the expression don't end it. A
/// template that is exactly one `${{ … }}` has the expression's type; any other template is a text with the values
/// written into it. For a literal `${{`, use an expression with that value: `${{ '${{' }}`.
package struct Template: Sendable {
  package enum Segment: Sendable, Equatable {
    case text(String)
    /// The range between the braces, as UTF-8 offsets in the whole text.
    case expression(Range<Int>)
  }

  package let segments: [Segment]
  private let text: [UInt8]

  /// Whether the text is exactly one expression.
  package var isSingle: Bool {
    if segments.count == 1, case .expression = segments[0] { true } else { false }
  }

  private init(_ text: [UInt8], _ segments: [Segment]) {
    self.text = text
    self.segments = segments
  }

  /// Finds the expressions of a text.
  package static func parse(_ text: String) -> Result<Template, ExpressionError> {
    let bytes = Array(text.utf8)
    var segments: [Segment] = []
    var start = 0
    while let open = opening(in: bytes, from: start) {
      if open > start { segments.append(.text(String(decoding: bytes[start..<open], as: UTF8.self))) }
      switch closing(in: bytes, from: open + 3) {
      case .success(let close):
        segments.append(.expression(open + 3..<close))
        start = close + 2
      case .failure(let faults): return .failure(faults)
      }
    }
    if start < bytes.count || segments.isEmpty {
      segments.append(.text(String(decoding: bytes[start...], as: UTF8.self)))
    }
    return .success(Template(bytes, segments))
  }

  /// Parses a text that is one expression, with or without `${{ … }}`, as in `if` and `until`.
  package static func parseExpression(_ text: String) -> Result<Template, ExpressionError> {
    let bytes = Array(text.utf8)
    let blanks: Set<UInt8> = [ASCII.space, ASCII.tab, ASCII.newline, ASCII.carriageReturn]
    let start = bytes.firstIndex { !blanks.contains($0) } ?? bytes.count
    let end = bytes.lastIndex { !blanks.contains($0) }.map { $0 + 1 } ?? bytes.count
    guard opening(in: bytes, from: start) == start else {
      return .success(Template(bytes, [.expression(0..<bytes.count)]))
    }
    switch closing(in: bytes, from: start + 3) {
    case .failure(let faults): return .failure(faults)
    case .success(let close) where close + 2 == end:
      return .success(Template(bytes, [.expression(start + 3..<close)]))
    case .success(let close):
      let message = "one expression is expected here, but something follows its `}}`; put all of it inside"
      // Parts that were grouped by braces may be grouped differently without them.
      let suggestions = expression(joining: text).map { [Suggestion.code($0, for: 0..<bytes.count)] } ?? []
      return .failure(
        ExpressionError([ExpressionFault(MessageText(message, suggestions).tentative, at: close + 2..<end)]))
    }
  }

  /// The offset where an expression begins that isn't closed at the end of a text; nil if there is none.
  package static func openExpression(in text: [UInt8]) -> Int? {
    var start = 0
    while let open = opening(in: text, from: start) {
      guard case .success(let close) = closing(in: text, from: open + 3) else { return open + 3 }
      start = close + 2
    }
    return nil
  }

  /// The text as one expression, without its braces; nil if that doesn't parse.
  private static func expression(joining text: String) -> String? {
    guard case .success(let template) = parse(text) else { return nil }
    let joined = template.segments.map { segment in
      switch segment {
      case .text(let text): text
      case .expression(let range): String(decoding: template.text[template.trimmed(range)], as: UTF8.self)
      }
    }.joined()
    let bytes = Array(joined.utf8)
    return Parser.parse(bytes, range: 0..<bytes.count).faults.isEmpty ? joined : nil
  }

  private static func opening(in text: [UInt8], from start: Int) -> Int? {
    var index = start
    while index + 2 < text.count {
      if text[index] == ASCII.dollar, text[index + 1] == ASCII.openBrace, text[index + 2] == ASCII.openBrace {
        return index
      }
      index += 1
    }
    return nil
  }

  /// The offset of the `}}` that closes an expression.
  private static func closing(in text: [UInt8], from start: Int) -> Result<Int, ExpressionError> {
    var lexer = Lexer(text, range: start..<text.count)
    var depth = 0
    while true {
      let token = lexer.next()
      switch token.kind {
      case .leftBrace: depth += 1
      case .rightBrace where depth > 0: depth -= 1
      case .rightBrace where token.end < text.count && text[token.end] == ASCII.closeBrace:
        return .success(token.start)
      case .end:
        if let fault = lexer.faults.last { return .failure(ExpressionError([fault])) }
        let isWhole = start == 3 && !text.contains(ASCII.newline)
        let end = Suggestion("add `}}` at the end", .code(" }}", text.count..<text.count))
        let message = MessageText(
          "this `${{` is never closed; `}}` is missing (a literal `${{` is written `${{ '${{' }}`)",
          isWhole ? [end] : [])
        return .failure(ExpressionError([ExpressionFault(message, at: start - 3..<start)]))
      default: break
      }
    }
  }

  /// Checks the expressions.
  ///
  /// - Parameters:
  ///   - expecting: The type that the place requires; a text with several parts fits only a string.
  ///   - takesOptional: Whether a place that accepts any type also accepts a value that may be absent.
  ///   - leavesOutAbsent: Whether an optional is accepted for the value inside it, because the place is left out if the
  ///     value is absent.
  package func compile(
    in scope: ExpressionScope, expecting: ValueType? = nil, takesOptional: Bool = true, leavesOutAbsent: Bool = false
  ) -> Result<CompiledTemplate, ExpressionError> {
    if case .expression(let range) = segments[0], segments.count == 1 {
      return CompiledExpression.compile(
        text, range, in: scope, expecting: expecting, takesOptional: takesOptional, leavesOutAbsent: leavesOutAbsent
      ).map { CompiledTemplate(single: $0) }
    }
    var parts: [CompiledTemplate.Part] = []
    var faults: [ExpressionFault] = []
    for segment in segments {
      switch segment {
      case .text(let text): parts.append(.text(text))
      case .expression(let range):
        switch CompiledExpression.compile(text, range, in: scope) {
        case .failure(let found): faults += found.list
        case .success(let program):
          let place = trimmed(range)
          if let message = Template.notWritable(program.type, String(decoding: text[range], as: UTF8.self), at: place) {
            faults.append(ExpressionFault(message, at: place))
          }
          parts.append(.program(program))
        }
      }
    }
    let template = CompiledTemplate(parts: parts)
    if faults.isEmpty, let expecting {
      var inference = Inference(isSound: true)
      if case .choice(let options) = expecting, case .text(let text)? = parts.first, parts.count == 1 {
        if !options.contains(where: { $0.hasSameScalars(as: text) }) {
          let near = MessageText.didYouMean(text, among: options).map { "; \($0)" } ?? "" as MessageText
          faults.append(ExpressionFault("'\(text)' is not \(expecting)\(near)", at: 0..<self.text.count))
        }
      } else if !inference.accepts(expecting, template.type) {
        let whole = 0..<self.text.count
        faults.append(
          template.type.holdsSecret && inference.accepts(expecting, .string)
            ? ExpressionFault(secret: "this text", at: whole)
            : ExpressionFault(
              "\(expecting) is expected here, but this is a text; a single `${{ … }}` keeps its type", at: whole))
      }
    }
    return faults.isEmpty ? .success(template) : .failure(ExpressionError(faults, type: .string))
  }

  private func trimmed(_ range: Range<Int>) -> Range<Int> {
    var range = range
    while range.count > 1, text[range.lowerBound] <= 0x20 { range = range.lowerBound + 1..<range.upperBound }
    while range.count > 1, text[range.upperBound - 1] <= 0x20 { range = range.lowerBound..<range.upperBound - 1 }
    return range
  }

  /// The reason why a value of the type can't be written into a text, or nil if it can.
  private static func notWritable(_ type: ValueType, _ source: String, at place: Range<Int>) -> MessageText? {
    func write(_ code: String, _ lead: String) -> MessageText {
      MessageText("\(lead) `\(code)`", code.contains("…") ? [] : [.code(code, for: place)])
    }
    let source = source.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    switch type {
    case .int, .uint, .double, .bool, .string, .choice, .timestamp, .duration, .dyn: return nil
    case .secret(let of): return notWritable(of, source, at: place)
    case .list(.string), .list(.choice):
      return "a list cannot be written into a text; \(write("\(source.asReceiver).join(', ')", "join its items:"))"
    case .list: return "a list cannot be written into a text; write one item, or its size with size(…)"
    case .optional(let wrapped):
      let fix: MessageText =
        notWritable(wrapped, source, at: place) == nil
        ? "; \(write("\(source.asReceiver).orValue(…)", "write"))" : ""
      return "an optional \(wrapped) cannot be written into a text\(fix)"
    case .wrapper: return "this may be null, which cannot be written into a text"
    case .null: return "null cannot be written into a text"
    case .object, .map: return "an object cannot be written into a text; write one of its fields"
    case .bytes:
      let (text, code) = (write("string(\(source))", "write"), write("base64.encode(\(source))", "or"))
      return "bytes cannot be written into a text; \(text) \(code)"
    case let type where type.mixedParts != nil:
      return (type.mixedParts ?? []).lazy.compactMap { notWritable($0, source, at: place) }.first
    default: return "\(type) cannot be written into a text"
    }
  }
}

/// A template with checked expressions.
package struct CompiledTemplate: Sendable {
  enum Part: Sendable {
    case text(String)
    case program(CompiledExpression)
  }

  /// The type of the value: the type of a single expression, otherwise a string.
  package let type: ValueType
  private let parts: [Part]
  private let isSingle: Bool

  init(single program: CompiledExpression) {
    parts = [.program(program)]
    type = program.type
    isSingle = true
  }

  init(parts: [Part]) {
    self.parts = parts
    isSingle = false
    let isSecret = parts.contains { if case .program(let program) = $0 { program.type.holdsSecret } else { false } }
    type = isSecret ? .secret(.string) : .string
  }

  /// The expressions, in order.
  package var programs: [CompiledExpression] {
    parts.compactMap { if case .program(let program) = $0 { program } else { nil } }
  }

  /// The names of the declared variables that the expressions read.
  package var readVariables: Set<String> { programs.reduce(into: []) { $0.formUnion($1.readVariables) } }

  /// The places where the expressions read a variable, with the fields that they read.
  package func references(_ root: String) -> [(path: [String], range: Range<Int>)] {
    programs.flatMap { $0.references(root) }
  }

  /// The names if the template only reads a path, such as `steps`, `get` and `day` for `steps.get.day`.
  package var pathRead: [String]? { isSingle ? programs[0].pathRead : nil }

  /// The value, if it doesn't depend on any variable.
  package var constant: Value? {
    if isSingle { return programs[0].constant }
    return programs.allSatisfy { $0.constant != nil } ? try? evaluate([]) : nil
  }

  /// The value of the template, given the values of the scope's variables by slot.
  package func evaluate(
    _ variables: [Value], limits: EvaluationLimits = EvaluationLimits()
  ) throws(EvaluationError) -> Value {
    try evaluate { program throws(EvaluationError) in try program.evaluate(variables, limits: limits) }
  }

  /// The value of the template, asking only for the variables that the expressions read.
  package func evaluate(
    limits: EvaluationLimits = EvaluationLimits(), _ value: (String) -> Value?
  ) throws(EvaluationError) -> Value {
    try evaluate { program throws(EvaluationError) in try program.evaluate(limits: limits, value) }
  }

  /// The text, with unknown values replaced by words.
  package func text(
    _ variables: [Value], unknown: (Unknown) -> String
  ) throws(EvaluationError) -> String {
    let value = try evaluate { program throws(EvaluationError) -> Value in
      do throws(EvaluationError) { return try program.evaluate(variables) } catch {
        guard let met = error.unknown else { throw error }
        return .string(unknown(met))
      }
    }
    return value.string ?? ""
  }

  private func evaluate(
    _ run: (CompiledExpression) throws(EvaluationError) -> Value
  ) throws(EvaluationError) -> Value {
    if isSingle, case .program(let program) = parts[0] { return try run(program) }
    var result = ""
    for part in parts {
      switch part {
      case .text(let text): result += text
      case .program(let program):
        result += try inserted(try run(program), program.range)
        guard result.utf8.count <= ValueExtent.most.bytes else {
          throw .limit("the text is too large: at most \(ValueExtent.most.bytes >> 20) MiB are allowed").placed(
            at: program.range)
        }
      }
    }
    return .string(result)
  }

  private func inserted(_ value: Value, _ range: Range<Int>) throws(EvaluationError) -> String {
    switch value.content {
    case .int(let number): return String(number)
    case .uint(let number): return String(number)
    case .double(let number): return written(number, exponentFrom: 21)
    case .bool(let flag): return flag ? "true" : "false"
    case .string(let text): return text
    case .timestamp(let instant): return instant.description
    case .duration(let span): return span.description
    default: throw EvaluationError("\(value.kindName) cannot be written into a text", at: range)
    }
  }
}
