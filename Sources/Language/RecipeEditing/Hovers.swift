import ActionKit
package import Basics
import Expressions
import Recipes

// What is shown about a thing that is pointed at: what a key is for, what an action does, the type of a part of an
// expression; and the function whose arguments are being written.

extension EditorService {
  /// What is at fault in a file, and what could be better, each with its fixes.
  package func diagnostics(of source: Source) -> [Diagnostic] {
    let checked = folder.check(source, in: folder.environment(source.name))
    let found = checked.diagnostics + (checked.recipe?.hints ?? [])
    return found.filter { $0.location.map { $0.source.name == source.name } ?? true }.map { $0.placed(in: source) }
      + faultsElsewhere(found, source)
  }

  /// For each other file whose errors stop this one, that it has some, where this one names it.
  private func faultsElsewhere(_ found: [Diagnostic], _ source: Source) -> [Diagnostic] {
    var told: Set<String> = []
    return found.compactMap { fault in
      guard fault.severity == .error, let place = fault.location, place.source.name != source.name,
        told.insert(place.source.name).inserted
      else { return nil }
      let link = links(in: source).first { $0.path == Recipe.path(place.source.name, besides: "") }
      let line = place.source.position(at: place.range.lowerBound).line
      return Diagnostic(
        "'\(place.source.name.path(from: source.name))' has an error in line \(line): \(fault.message)",
        at: Diagnostic.Location(source, link?.range ?? 0..<0),
        notes: [Diagnostic.Note("the error", at: place)])
    }
  }

  /// What is at an offset.
  package func hover(in source: Source, at offset: Int) -> Hover? {
    let whole = recovered(source)
    let observer = observed(whole)
    return hover(in: observer, whole, at: offset) ?? hoverOnKey(source, at: offset)
  }

  // MARK: Keys and values

  private func hoverOnKey(_ source: Source, at offset: Int) -> Hover? {
    let outline = TextOutline(source.bytes)
    let node = outline.node(at: offset)
    guard outline.nodes[node].kind == .key else { return nil }
    let kind = EditedFileKind(path: source.name)
    let walk = SchemaWalk(folder.schemas[kind.schema.rawValue], outline)
    let (name, range) = (outline.nodes[node].name, outline.nodes[node].nameRange)
    if range.contains(offset) || range.upperBound == offset {
      guard let text = text(ofKey: node, walk, kind) else { return nil }
      return Hover("**\(name)**\(text)", at: range)
    }
    let value = outline.nodes[node].value
    guard value.contains(offset) || value.upperBound == offset else { return nil }
    switch (kind, name) {
    case (.recipe, "uses"):
      guard let action = folder.catalog.action(outline.scalar(node)) else { return nil }
      return Hover(action.markdown(level: 3), at: value)
    case (.recipe, "connection"), (.configuration, "plugin"):
      let connections = folder.environment(source.name).connections ?? [:]
      guard let plugin = folder.catalog.plugin(connections[outline.scalar(node)] ?? outline.scalar(node)) else {
        return nil
      }
      return Hover("**\(plugin.name)**\n\n\(plugin.summary)", at: value)
    case (.recipe, "call"), (.test, "recipe"):
      guard let recipe = recipe(at: outline.scalar(node), besides: source) else { return nil }
      let inputs = recipe.inputs.map { "\n- `\($0.name)`: \($0.type.brief). \($0.summary)" }.joined()
      return Hover("**\(outline.scalar(node))**\n\n\(recipe.summary)\n\(inputs)", at: value)
    default: return nil
    }
  }

  private func text(ofKey node: Int, _ walk: SchemaWalk, _ kind: EditedFileKind) -> String? {
    let outline = walk.outline
    let (name, parent) = (outline.nodes[node].name, outline.nodes[node].parent)
    let owner = outline.nodes[parent].parent
    if outline.nodes[parent].name == "with", let id = outline.scalar("uses", of: owner),
      let field = folder.catalog.action(id)?.input.fields.first(where: { $0.name == name || $0.aliases.contains(name) })
    {
      return field.page
    }
    if kind == .configuration, outline.nodes[owner].name == "connections",
      let plugin = folder.catalog.plugin(outline.scalar("plugin", of: parent) ?? outline.nodes[parent].name),
      let field = plugin.configuration.fields.first(where: { $0.name == name })
    {
      return field.page
    }
    guard let schema = walk.declarations(of: node).last(where: { !walk.meaning($0).isEmpty }) else { return nil }
    let type = walk.typeName(schema)
    let usual = schema["default"].map { "\n\nDefault: `\($0.plainText)`" } ?? ""
    return (type.isEmpty ? "" : ": `\(type)`") + "\n\n\(walk.meaning(schema))\(usual)"
  }

  // MARK: Expressions

  private func hover(in observer: CheckObserver, _ source: Source, at offset: Int) -> Hover? {
    let declared = observer.declarations.first { declaration in
      declaration.location.source === source && declaration.location.range.contains(offset)
    }
    if let declared { return Hover("**\(declared.name)**: \(declared.type.shown)", at: declared.location.range) }
    guard let (text, part, range) = part(in: observer, source, at: offset) else { return nil }
    let lines: [String]
    switch part.kind {
    case .function:
      lines = page(of: text.names.functions.declarations.filter { $0.receiver == nil && $0.name == part.name })
    case .method(let type):
      let forms = text.names.functions.declarations.filter { $0.receiver != nil && $0.name == part.name }
      // Of the forms those first that take what stands before the dot.
      let fitting = text.names.forms(of: part.name, on: type)
      lines = page(of: fitting.isEmpty ? forms : fitting)
    case .macro:
      let forms = ExpressionScope.macros(of: .list(.dyn)) + ExpressionScope.macros(of: .optional(.dyn))
      lines = forms.filter { $0.name == part.name }.map { "```cel\n\($0.form)\n```" } + ["Gives \(part.type.shown)"]
    case .field(let type):
      let field = type.members.first { $0.name == part.name }
      let summary = field?.summary ?? ""
      // What `has` asks about has a type of its own.
      let shown = (field?.type ?? part.type).shown
      lines = ["**\(part.name)**: \(shown)", summary, field?.isOptional == true ? "May be absent." : ""]
    case .variable(let isLocal):
      let meaning = isLocal ? "" : EditorService.meanings[part.name] ?? ""
      lines = ["**\(part.name)**: \(part.type.shown)", meaning]
    case .literal, .other: return nil
    }
    let shown = lines.filter { !$0.isEmpty }
    return shown.isEmpty ? nil : Hover(shown.joined(separator: "\n\n"), at: range)
  }

  /// The forms of one function, what it is for, and an example.
  private func page(of forms: [FunctionDeclaration]) -> [String] {
    guard let first = forms.first else { return [] }
    let signatures = forms.map(\.signature).joined(separator: "\n")
    let example = forms.lazy.map(\.example).first { !$0.isEmpty }
    return ["```cel\n\(signatures)\n```", first.summary] + (example.map { ["For example: `\($0)`"] } ?? [])
  }

  /// What the names are that the language gives.
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

  /// The smallest part of an expression whose name is at an offset of a file.
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
    var shown = forms.map { (text: $0.signature, summary: $0.summary) }
    if shown.isEmpty {
      let macros = ExpressionScope.macros(of: .list(.dyn)) + ExpressionScope.macros(of: .optional(.dyn))
      shown = macros.filter { $0.name == last }.map { (text: $0.form, summary: "") }
    }
    guard !shown.isEmpty else { return nil }
    let active = forms.firstIndex { $0.parameters.count > call.argument || $0.isVariadic } ?? 0
    return SignatureHelp(forms: shown, active: active, argument: call.argument)
  }
}

extension Diagnostic {
  /// The diagnostic with its place in the text itself, where it is told of a copy in which secrets are hidden.
  ///
  /// The lines are the same; behind a secret the column is only near.
  fileprivate func placed(in source: Source) -> Diagnostic {
    guard let location, location.source !== source else { return self }
    let outline = TextOutline(source.bytes)
    let line = location.source.position(at: location.range.lowerBound).line - 1
    guard outline.lineStarts.indices.contains(line) else { return self }
    let (start, end) = (outline.lineStarts[line], outline.lineEnd(at: outline.lineStarts[line]))
    let column = location.range.lowerBound - location.source.line(at: location.range.lowerBound).start
    let first = min(start + max(0, column), end)
    var placed = self
    placed.location = Location(source, first..<min(first + location.range.count, max(first, end)))
    placed.fixes = []
    return placed
  }
}

extension ValueType {
  /// The type in code; an object with its fields, one below the other.
  fileprivate var shown: String {
    guard case .object(let object) = self, !object.fields.isEmpty else { return "`\(self)`" }
    let fields = object.fields.prefix(40).map { field in
      "- `\(field.name)`: `\(field.type.brief)`\(field.isOptional ? ", may be absent" : "")"
        + (field.summary.isEmpty ? "" : ". \(field.summary)")
    }
    return "an object\n\n" + fields.joined(separator: "\n") + (object.fields.count > 40 ? "\n- …" : "")
  }
}

extension FieldSchema {
  /// The field's type, default and sentence.
  fileprivate var page: String {
    var facts = isRequired ? ["required"] : []
    if let fallback, !type.isSecret { facts.append("default `\(JSON.shown(fallback))`") }
    let end = facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))"
    return ": `\(type.name)`\(end)\n\n\(summary)\(deprecation.map { "\n\nDeprecated: \($0)" } ?? "")"
  }
}
