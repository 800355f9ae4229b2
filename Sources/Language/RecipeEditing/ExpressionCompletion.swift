package import Basics
import Expressions
package import Recipes

// Completion within expressions.
//
// The file is checked with `"${{ hole__ }}"` in place of the whole value at the cursor, so that the check provides the
// scope there, independent of the value so far. Then the text before the cursor is completed in that scope.

/// An expression that is being written.
struct OpenExpression {
  /// The node whose value is the expression or contains it.
  let node: Int
  /// The expression's text before the cursor, without YAML's quoting.
  let prefix: [UInt8]
  /// Whether it is inside `${{ }}`.
  let isBraced: Bool
}

extension EditorService {
  /// The expression at an offset; nil if there is none.
  func openExpression(_ walk: SchemaWalk, _ cursor: TextCursor) -> OpenExpression? {
    guard cursor.place == .value else { return nil }
    let text = walk.outline.read(cursor.written, isBlockText: walk.outline.nodes[cursor.node].isBlockText)
    if let start = Template.openExpression(in: text) {
      return OpenExpression(node: cursor.node, prefix: Array(text[start...]), isBraced: true)
    }
    guard walk.takesExpression(cursor.node), !String(decoding: text, as: UTF8.self).contains("${{") else { return nil }
    return OpenExpression(node: cursor.node, prefix: text, isBraced: false)
  }

  func completions(in expression: OpenExpression, _ source: Source, at offset: Int, _ outline: TextOutline)
    -> [Completion]
  {
    guard let text = scope(at: expression.node, in: source, at: offset, outline) else { return [] }
    let point = text.names.point(atEndOf: expression.prefix, expecting: text.expected)
    let range = max(0, offset - point.written)..<offset
    // A value must be separated from the colon before it.
    let lead =
      !expression.isBraced && range.lowerBound > 0 && source.bytes[range.lowerBound - 1] == ASCII.colon ? " " : ""
    func edit(_ text: String) -> Diagnostic.Edit { Diagnostic.Edit(range, lead + text) }
    let isInApostrophes =
      outline.nodes[expression.node].value.first.map { source.bytes[$0] == ASCII.apostrophe } ?? false
    let isCalled = source.bytes[offset...].first { !$0.isPartOfName } == UInt8(ascii: "(")
    func call(_ name: String, _ form: FunctionDeclaration, _ kind: Completion.Kind, rank: Int) -> Completion {
      let text = isCalled ? name : "\(name)()"
      let place = form.parameters.isEmpty || isCalled ? nil : name.utf8.count + 1..<name.utf8.count + 1
      return Completion(
        kind, name, detail: form.signatureInWords, documentation: form.page, edit: edit(text), selection: place,
        rank: rank)
    }
    switch point.kind {
    case .nothing: return []
    case .choice(let words): return words.map { Completion(.value, $0, edit: edit($0)) }
    case .function(let namespace):
      let macros =
        namespace == "cel"
        ? Macro.all.filter { $0.name == "bind" }.map {
          Completion(.function, $0.name, detail: $0.form, documentation: $0.summary, edit: edit("bind()"))
        } : []
      return macros
        + functions(of: text.names) { $0.hasPrefix("\(namespace).") }.map { form in
          let name = String(form.name.dropFirst(namespace.utf8.count + 1))
          return call(name, form, .function, rank: 0)
        }
    case .member(let type):
      if case .map = type, let steps = stepsOfTest(outline, source, expression.prefix.dropLast(point.written)) {
        return steps.map { Completion(.field, $0, detail: "step", edit: edit($0)) }
      }
      if expression.prefix.dropLast(point.written).ends(with: "secrets.") {
        return secretNames(besides: source).map { Completion(.secret, $0, detail: "secret", edit: edit($0)) }
      }
      var found = type.members.flatMap { field -> [Completion] in
        let detail = field.type.shortened + (field.isOptional ? ", may be absent" : "")
        var plain = Completion(.field, field.name, detail: detail, documentation: field.summary, edit: edit(field.name))
        if !field.name.isPlainName {
          // The name needs brackets instead of a dot.
          guard range.lowerBound > 0, let quoted = field.name.inApostrophes(isInApostrophes: isInApostrophes) else {
            return []
          }
          // After `.?`, the question mark moves into the brackets.
          let start = expression.prefix.dropLast(point.written).hasSuffix(".?") ? 2 : 1
          guard range.lowerBound >= start else { return [] }
          plain.edit = Diagnostic.Edit(
            range.lowerBound - start..<range.upperBound, start == 2 ? "[?\(quoted)]" : "[\(quoted)]")
          plain.match = "\(start == 2 ? ".?" : ".")\(field.name)"
          return [plain]
        }
        guard field.isOptional, range.lowerBound > 0, source.bytes[range.lowerBound - 1] == ASCII.dot else {
          return [plain]
        }
        var optional = plain
        optional.label = "?\(field.name)"
        optional.detail = "optional \(field.type.shortened)"
        optional.edit.text = "?\(field.name)"
        optional.rank = 1
        return [plain, optional]
      }
      if type == .dyn { return found }
      found += ExpressionScope.macros(of: type).map { macro in
        let open = macro.name.utf8.count + 1
        return Completion(
          .method, macro.name, detail: macro.form,
          documentation: Macro.all.first { $0.name == macro.name }?.summary ?? "",
          edit: edit(isCalled ? macro.name : "\(macro.name)()"), selection: isCalled ? nil : open..<open, rank: 2)
      }
      return found + text.names.methods(of: type).map { call($0.name, $0, .method, rank: 3) }
    case .value(let locals):
      var found: [Completion] = []
      func variable(_ name: String, _ type: ValueType, _ meaning: String, rank: Int) {
        let fits = point.expected.map { $0 == type } ?? false
        var variable = Completion(
          .variable, name, detail: type.shortened, documentation: meaning, edit: edit(name), rank: fits ? 0 : rank)
        // `inputs.name` also replaces the path that follows.
        let word = source.bytes[offset...].prefix(while: \.isPartOfName)
        if name.utf8.contains(ASCII.dot), word.endIndex < source.bytes.count, source.bytes[word.endIndex] == ASCII.dot {
          variable.rest = word.count + 1 + source.bytes[(word.endIndex + 1)...].prefix(while: \.isPartOfName).count
        }
        found.append(variable)
      }
      for local in locals.reversed() { variable(local.name, local.type, "", rank: 1) }
      // Names of loops and `let` come before the names that every recipe has.
      let names = text.names.names.sorted { $0.precedesByScalars($1) }
      let own = names.filter { EditorService.meanings[$0] == nil || $0 == "item" }
      for name in own { text.names.type(of: name).map { variable(name, $0, "", rank: 1) } }
      for name in names where !own.contains(name) {
        guard let type = text.names.type(of: name) else { continue }
        variable(name, type, EditorService.meanings[name] ?? "", rank: 2)
        // The most common paths: the outputs of steps and the inputs.
        guard ["steps", "inputs"].contains(name), case .object(let object) = type else { continue }
        for field in object.fields { variable("\(name).\(field.name)", field.type, field.summary, rank: 1) }
      }
      found += functions(of: text.names) { !$0.utf8.contains(ASCII.dot) }.map { call($0.name, $0, .function, rank: 4) }
      found += Macro.all.filter { $0.name == "has" }.map {
        Completion(
          .function, $0.name, detail: "\($0.form) -> bool", documentation: $0.summary,
          edit: edit(isCalled ? "has" : "has()"), selection: isCalled ? nil : 4..<4, rank: 4)
      }
      found += (text.names.functions.namespaces + ["cel"]).sorted(by: { $0.precedesByScalars($1) }).map {
        let isFollowed = source.bytes[offset...].first { !$0.isPartOfName } == ASCII.dot
        return Completion(.function, $0, detail: "functions", edit: edit(isFollowed ? $0 : "\($0)."), rank: 4)
      }
      return found + ["true", "false", "null"].map { Completion(.value, $0, edit: edit($0), rank: 5) }
    }
  }

  /// The names of the existing secrets, and of the secrets that files in the folder read.
  func secretNames(besides source: Source) -> [String] {
    let environment = folder.environment(source.name)
    // Only a rename searches more files.
    let others = folder.files().prefix(EditorService.mostFiles).compactMap { try? environment.read($0) }
    var read: Set<String> = []
    for file in [source] + others {
      // Each place in an expression where a name may follow `secrets.`.
      for dot in file.bytes.indices where file.bytes[dot] == ASCII.dot && file.bytes[..<dot].hasSuffix("secrets") {
        let start = file.bytes[..<dot].lastIndex(of: ASCII.newline) ?? 0
        guard holds(Array(file.bytes[start..<dot]), "${{") else { continue }
        let name = file.bytes[(dot + 1)...].prefix(while: \.isPartOfName)
        if !name.isEmpty { read.insert(String(decoding: name, as: UTF8.self)) }
      }
    }
    return read.union(folder.secretNames()).sorted { $0.precedesByScalars($1) }
  }

  /// The maximum number of files that are read to complete a name.
  private static let mostFiles = 200

  /// The type of an expression that is a node's whole value.
  func type(of node: Int, in source: Source) -> ValueType? {
    let whole = recovered(source)
    let value = TextOutline(source.bytes).nodes[node].value
    let text = observed(whole).texts.first { $0.source === whole && $0.range?.lowerBound == value.lowerBound }
    return text.flatMap { text in
      text.expressions.first.flatMap {
        text.names.parts(of: text.value, $0).max { $0.range.count < $1.range.count }?.type
      }
    }
  }

  /// The ids of the steps of the tested recipe, if a test's expression ends with `steps.`.
  private func stepsOfTest(
    _ outline: TextOutline, _ source: Source, _ prefix: some BidirectionalCollection<UInt8>
  ) -> [String]? {
    guard EditedFileKind(path: source.name) == .test, prefix.ends(with: "steps.") else { return nil }
    return tested(by: outline, source)?.steps
  }

  /// The checked text at a node's value, with its scope.
  func scope(at node: Int, in source: Source, at offset: Int, _ outline: TextOutline) -> CheckObserver.Text? {
    for probe in probes(at: node, in: source, at: offset, outline) {
      let whole = recovered(probe)
      guard whole.holds(Self.hole) else { continue }
      let texts = observed(whole).texts.filter { $0.source === whole }
      if let found = texts.first(where: { $0.mayHold(Self.hole) }) { return found }
      // The value of a faulty step isn't evaluated. The scope of the last text before it is the most useful one then.
      let place = outline.nodes[node].nameRange.lowerBound
      return texts.filter { ($0.range?.lowerBound ?? .max) < place }.max {
        ($0.range?.lowerBound ?? 0) < ($1.range?.lowerBound ?? 0)
      } ?? texts.first
    }
    return nil
  }

  private static let hole = "hole__"

  /// The file with a complete expression in place of the node's value; in open brackets, also with all brackets closed.
  private func probes(at node: Int, in source: Source, at offset: Int, _ outline: TextOutline) -> [Source] {
    let value = outline.nodes[node].value
    var range = value.isEmpty || value.lowerBound > offset ? offset..<offset : value
    let lineEnd = outline.lineEnd(at: offset)
    if !outline.nodes[node].isFlow { range = range.lowerBound..<max(range.upperBound, lineEnd) }
    range = range.lowerBound..<max(range.upperBound, offset)
    let before = source.bytes[..<range.lowerBound]
    let hole = (before.last == ASCII.colon ? " " : "") + "\"${{ hole__ }}\""
    let plain = Source(name: source.name, bytes: Array(before) + hole.utf8 + source.bytes[range.upperBound...])
    guard outline.nodes[node].isFlow else { return [plain] }
    let closing = outline.bracketsOpen(at: range.lowerBound)
    let rest = source.bytes[max(lineEnd, range.upperBound)...]
    return [plain, Source(name: source.name, bytes: Array(before) + hole.utf8 + closing.utf8 + rest)]
  }

  /// The results of checking a text.
  package func observed(_ source: Source) -> CheckObserver {
    let observer = CheckObserver()
    var environment = folder.environment(source.name)
    environment.observer = observer
    _ = folder.check(source, in: environment)
    return observer
  }

  /// One form of each function whose name fits.
  private func functions(of scope: ExpressionScope, _ fits: (String) -> Bool) -> [FunctionDeclaration] {
    var names: Set<String> = []
    return scope.functions.declarations.filter { form in
      form.receiver == nil && form.name != "dyn" && fits(form.name) && names.insert(form.name).inserted
    }
  }
}

extension SchemaWalk {
  /// The cursor at an offset; a possible first key of an item counts as its value if that is an expression.
  func cursor(at offset: Int) -> TextCursor {
    let cursor = outline.cursor(at: offset)
    guard cursor.place == .key, cursor.own == nil, outline.nodes[cursor.node].kind == .item,
      takesExpression(cursor.node)
    else { return cursor }
    return TextCursor(
      place: .value, node: cursor.node, written: cursor.written, isFlow: cursor.isFlow, column: cursor.column)
  }

  /// Whether a node's value is an expression without `${{ }}`.
  func takesExpression(_ node: Int) -> Bool { takes("expression", node) }

  /// Whether a node's value may have the form that the schema defines under a name.
  func takes(_ name: String, _ node: Int) -> Bool {
    refers(declarations(of: node), to: name)
  }
}

extension TextOutline {
  /// The text of a value as YAML reads it, as far as it is known before the value is closed.
  func read(_ range: Range<Int>, isBlockText: Bool) -> [UInt8] {
    guard let first = range.first.map({ bytes[$0] }) else { return [] }
    if isBlockText {
      let header = bytes[range].firstIndex(of: ASCII.newline).map { $0 + 1 } ?? range.upperBound
      return Array(bytes[header..<range.upperBound])
    }
    guard first == ASCII.quote || first == ASCII.apostrophe else { return Array(bytes[range]) }
    var text: [UInt8] = []
    var offset = range.lowerBound + 1
    while offset < range.upperBound {
      let escapes = first == ASCII.quote ? ASCII.backslash : ASCII.apostrophe
      if bytes[offset] == escapes, offset + 1 < range.upperBound { offset += 1 }
      text.append(bytes[offset])
      offset += 1
    }
    return text
  }

  /// The closing brackets for the brackets that are open at an offset.
  func bracketsOpen(at offset: Int) -> String {
    path(to: node(at: offset)).reversed().reduce(into: "") { closing, index in
      let value = nodes[index].value
      guard value.lowerBound < offset, value.lowerBound < bytes.count else { return }
      switch bytes[value.lowerBound] {
      case ASCII.openBrace: closing += " }"
      case ASCII.openBracket: closing += " ]"
      default: break
      }
    }
  }
}

extension String {
  /// Whether the name can be written after a dot.
  fileprivate var isPlainName: Bool {
    guard let first = utf8.first, !ASCII.digits.contains(first), utf8.allSatisfy(\.isPartOfName) else { return false }
    return !["in", "true", "false", "null"].contains(self)
  }

  /// The text in apostrophes, which are doubled inside a YAML text in apostrophes; nil if it would need escapes.
  fileprivate func inApostrophes(isInApostrophes: Bool) -> String? {
    let special: Set<UInt8> = [ASCII.apostrophe, ASCII.quote, ASCII.backslash]
    guard utf8.allSatisfy({ $0 >= ASCII.space && !special.contains($0) }) else { return nil }
    let quote = isInApostrophes ? "''" : "'"
    return quote + self + quote
  }
}

extension BidirectionalCollection<UInt8> {
  fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }

  /// Whether an expression ends with a name and a dot, not just with the end of a longer name.
  fileprivate func ends(with name: String) -> Bool {
    guard hasSuffix(name) else { return false }
    guard let before = dropLast(name.utf8.count).last else { return true }
    return before != ASCII.dot && !before.isPartOfName
  }
}

extension ValueType {
  /// The fields of a value of the type, or of the value inside it.
  var members: [ObjectType.Field] {
    switch self {
    case .object(let object): object.fields
    case .optional(let of), .wrapper(let of), .secret(let of): of.members
    default: []
    }
  }

  /// The words of a choice; empty for any other type.
  var choices: [String] {
    switch self {
    case .choice(let words): words
    case .optional(let of), .wrapper(let of): of.choices
    default: []
    }
  }
}

extension FunctionDeclaration {
  /// The function's documentation, with its example.
  var page: String { example.isEmpty ? summary : "\(summary)\n\n```cel\n\(example)\n```" }
}
