import ActionKit
package import Basics
import Expressions
import Recipes

// Hovers for the names in expressions, and for the names that a file declares.

extension EditorService {
  func hover(in observer: CheckObserver, _ source: Source, at offset: Int) -> Hover? {
    let declared = observer.declarations.first { declaration in
      declaration.location.source === source
        && (declaration.location.range.contains(offset) || declaration.location.range.upperBound == offset)
    }
    if let declared {
      let name = "**\(declared.name)**"
      let page =
        declared.kind == .input
        ? name + input(declared, TextOutline(source.bytes)).page : declared.type.page("\(name): ")
      return Hover(page, at: declared.location.range)
    }
    guard let (text, part, range) = part(in: observer, source, at: offset) else {
      return hoverOnWord(in: observer, source, at: offset)
    }
    let lines: [String]
    switch part.kind {
    case .function:
      let forms = text.names.functions.declarations.filter { $0.receiver == nil && $0.name == part.name }
      lines = page(of: forms, fitting: argument(of: part, in: text))
    case .method(let type):
      let forms = text.names.functions.declarations.filter { $0.receiver != nil && $0.name == part.name }
      // If some forms accept the value before the dot, only these.
      let fitting = text.names.forms(of: part.name, on: type)
      lines = page(of: fitting.isEmpty ? forms : fitting)
    case .macro:
      let macro = Macro.all.first { $0.name == part.name }
      lines = (macro?.page ?? []) + [part.type.page("Gives ")]
    case .field(let type):
      let field = type.members.first { $0.name == part.name }
      // Inside `has`, the part isn't of the field's type.
      let type = field?.type ?? part.type
      let presence = field?.isOptional == true ? "May be absent." : ""
      lines = [type.page("**\(part.name)**: ", field?.summary ?? "", presence)]
    case .variable(let isLocal):
      let meaning = isLocal ? "" : EditorService.meanings[part.name] ?? ""
      lines = [part.type.page("**\(part.name)**: ", meaning)]
    case .literal, .other: return nil
    }
    let displayed = lines.filter { !$0.isEmpty }
    return displayed.isEmpty ? nil : Hover(displayed.joined(separator: "\n\n"), at: range)
  }

  /// The signatures of one function's forms, its documentation and an example.
  ///
  /// - Parameter argument: The type of the only argument, if it is known.
  private func page(of forms: [FunctionDeclaration], fitting argument: ValueType? = nil) -> [String] {
    let fitting = forms.first { $0.parameters.count == 1 && $0.parameters.first == argument }
    guard let first = fitting ?? forms.first else { return [] }
    let signatures = forms.map(\.signatureInWords).joined(separator: "\n")
    let example = fitting?.example ?? forms.lazy.map(\.example).first { !$0.isEmpty } ?? ""
    return [
      "```cel\n\(signatures)\n```", fitting == nil ? conversion(of: forms) ?? first.summary : first.summary,
      example.isEmpty ? "" : "For example: `\(example)`",
    ]
  }

  /// One description for all forms of a conversion such as `int`.
  private func conversion(of forms: [FunctionDeclaration]) -> String? {
    guard forms.count > 1, let result = forms.first?.result, forms.first?.name == "\(result)",
      forms.allSatisfy({ $0.parameters.count == 1 && $0.result == result })
    else { return nil }
    let types = forms.flatMap(\.parameters).filter { $0 != result }.map { "`\($0.inWords)`" }
    let last = types.last ?? ""
    let list = types.count > 1 ? "\(types.dropLast().joined(separator: ", ")) or \(last)" : last
    return "Converts \(list) to `\(result)`."
  }

  /// The type of a call's only argument, if it is known.
  private func argument(of call: ExpressionPart, in text: CheckObserver.Text) -> ValueType? {
    let (open, end) = (call.mark.upperBound, call.range.upperBound - 1)
    guard open < end, text.value[open] == UInt8(ascii: "(") else { return nil }
    // The text between the parentheses, trimmed.
    let inside = open + 1..<end
    guard let start = inside.first(where: { text.value[$0] > ASCII.space }),
      let last = inside.last(where: { text.value[$0] > ASCII.space })
    else { return nil }
    return text.expressions.lazy.flatMap { text.names.parts(of: text.value, $0) }
      .first { $0.range == start..<last + 1 }?.type
  }

  /// The hover for `has`, `cel` and namespaces, which aren't parts with a value.
  private func hoverOnWord(in observer: CheckObserver, _ source: Source, at offset: Int) -> Hover? {
    for text in observer.texts where text.source === source {
      guard let range = text.range, range.lowerBound <= offset, offset <= range.upperBound else { continue }
      let tokens = text.expressions.flatMap { ExpressionToken.read(text.value, $0) }
      for (token, place) in zip(tokens, text.locations(of: tokens.map(\.range))) where token.kind == .name {
        guard let place, place.range.lowerBound <= offset, offset <= place.range.upperBound else { continue }
        let word = String(decoding: text.value[token.range], as: UTF8.self)
        guard let page = page(ofWord: word, text.names) else { continue }
        return Hover(page.joined(separator: "\n\n"), at: place.range)
      }
    }
    return nil
  }

  private func page(ofWord word: String, _ scope: ExpressionScope) -> [String]? {
    if word == "has" || word == "cel" { return Macro.all.first { $0.name == (word == "has" ? word : "bind") }?.page }
    guard scope.functions.namespaces.contains(word) else { return nil }
    var names: Set<String> = []
    let forms = scope.functions.declarations.filter { form in
      form.receiver == nil && form.name.hasPrefix("\(word).") && names.insert(form.name).inserted
    }
    return ["**\(word)**: functions", forms.map { "- `\($0.name)`: \($0.summary)" }.joined(separator: "\n")]
  }

  /// The meanings of the names that the language defines.
  static let meanings = [
    "inputs": "The values that the recipe was started with.",
    "steps": "The outputs of the steps before, by their ids.",
    "run": "The run itself.",
    "secrets": "The secrets, by their names; only fields that take a secret are given one.",
    "now": "The time at which the step begins.",
    "item": "The item of the loop.",
    "result": "What the round gave.",
    "error": "What went wrong.",
    "event": "What came, and when.",
  ]

  /// The smallest part of an expression that has its name at an offset of a file.
  private func part(
    in observer: CheckObserver, _ source: Source, at offset: Int
  ) -> (text: CheckObserver.Text, part: ExpressionPart, range: Range<Int>)? {
    for text in observer.texts where text.source === source {
      guard let range = text.range, range.lowerBound <= offset, offset <= range.upperBound else { continue }
      let parts = text.expressions.flatMap { text.names.parts(of: text.value, $0) }
      let places = text.locations(of: parts.map(\.mark))
      let found = zip(parts, places).compactMap { part, place in place.map { (part, $0.range) } }
        .filter { $0.1.lowerBound <= offset && offset <= $0.1.upperBound }
        .min { ($0.1.count, $0.0.range.count) < ($1.1.count, $1.0.range.count) }
      if let found { return (text, found.0, found.1) }
    }
    return nil
  }

  /// The function whose arguments are being written at an offset.
  package func signatureHelp(in source: Source, at offset: Int) -> SignatureHelp? {
    let offset = min(max(offset, 0), source.bytes.count)
    let outline = TextOutline(source.bytes)
    let walk = SchemaWalk(folder.schemas[EditedFileKind(path: source.name).schema.rawValue], outline)
    let cursor = walk.cursor(at: offset)
    guard let expression = openExpression(walk, cursor),
      let call = ExpressionScope.openCall(atEndOf: expression.prefix)
    else { return nil }
    let declarations = FunctionLibrary.standard.declarations
    var forms = declarations.filter { $0.receiver == nil && $0.name == call.name }
    let last = call.name.split(separator: ".").last.map(String.init) ?? call.name
    if forms.isEmpty { forms = declarations.filter { $0.receiver != nil && $0.name == last } }
    var displayed = forms.map { (text: $0.signatureInWords, summary: $0.summary) }
    if displayed.isEmpty {
      displayed = Macro.all.filter { $0.name == last }.map { (text: $0.form, summary: $0.summary) }
    }
    guard !displayed.isEmpty else { return nil }
    let active = forms.firstIndex { $0.parameters.count > call.argument || $0.isVariadic } ?? 0
    return SignatureHelp(forms: displayed, active: active, argument: call.argument)
  }
}
