import ActionKit
package import Basics
import Expressions
import Recipes

// Hovers (the documentation of keys and actions, the types of parts of expressions) and help for the function whose
// arguments are being written.

extension EditorService {
  /// The errors, warnings and hints of a file, each with its fixes.
  package func diagnostics(of source: Source) -> [Diagnostic] {
    let checked = folder.check(source, in: folder.environment(source.name))
    let found = checked.diagnostics + (checked.recipe?.hints ?? [])
    return found.of(source.name) + faultsElsewhere(found, source)
  }

  /// The errors and warnings of a file, and of the files that it reads, as `errand check` finds them.
  package func faults(of source: Source) -> [Diagnostic] {
    folder.check(source, in: folder.environment(source.name)).diagnostics
  }

  /// An error for each other file that has errors and is named in this one; if none is named here, only for the first.
  private func faultsElsewhere(_ found: [Diagnostic], _ source: Source) -> [Diagnostic] {
    let links = links(in: source)
    var told: Set<String> = []
    let faults = found.compactMap { fault -> Diagnostic? in
      guard fault.severity == .error, let place = fault.location, place.source.name != source.name,
        told.insert(place.source.name).inserted
      else { return nil }
      let link = links.first { $0.path == Recipe.path(place.source.name, besides: "") }
      let line = place.source.position(at: place.range.lowerBound).line
      return Diagnostic(
        "'\(place.source.name.path(from: source.name))' has an error in line \(line): \(fault.message)",
        at: Diagnostic.Location(source, link?.range ?? 0..<0),
        notes: [Diagnostic.Note("the error", at: place)])
    }
    let named = faults.filter { $0.location?.range.isEmpty == false }
    return named.isEmpty ? Array(faults.prefix(1)) : named
  }

  /// The hover at an offset.
  package func hover(in source: Source, at offset: Int) -> Hover? {
    let whole = recovered(source)
    let observer = observed(whole)
    return hover(in: observer, whole, at: offset) ?? hoverOnKey(source, at: offset)
  }

  // MARK: Keys and values

  private func hoverOnKey(_ source: Source, at offset: Int) -> Hover? {
    let outline = TextOutline(source.bytes)
    let node = outline.node(at: offset)
    guard node != 0 else { return nil }
    let kind = EditedFileKind(path: source.name)
    let walk = SchemaWalk(folder.schemas[kind.schema.rawValue], outline)
    let (name, range) = (outline.nodes[node].name, outline.nodes[node].nameRange)
    if outline.nodes[node].kind == .key, range.contains(offset) || range.upperBound == offset {
      guard let text = text(ofKey: node, walk, kind, source) else { return nil }
      return Hover("**\(name)**\(text)", at: range)
    }
    let value = outline.nodes[node].value
    guard value.contains(offset) || value.upperBound == offset else { return nil }
    switch (kind, name) {
    case (.recipe, "uses"):
      guard let action = folder.catalog.action(outline.scalar(node)) else { return nil }
      return Hover(action.overview, at: value)
    case (.recipe, "connection"), (.configuration, "plugin"):
      let connections = folder.environment(source.name).connections ?? [:]
      guard let plugin = folder.catalog.plugin(connections[outline.scalar(node)] ?? outline.scalar(node)) else {
        return nil
      }
      return Hover("**\(plugin.name)**\n\n\(plugin.summary)", at: value)
    case (.recipe, "call"), (.test, "recipe"):
      guard let recipe = recipe(at: outline.scalar(node), besides: source) else { return nil }
      let inputs = recipe.inputs.map(\.line).joined(separator: "\n")
      let parts = ["**\(outline.scalar(node))**", recipe.summary, inputs.isEmpty ? "" : "Inputs:\n\n\(inputs)"]
      return Hover(parts.filter { !$0.isEmpty }.joined(separator: "\n\n"), at: value)
    default: return meaning(ofWordAt: node, walk).map { Hover("**\(outline.scalar(node))**\n\n\($0)", at: value) }
    }
  }

  /// The meaning of a word that is a key's value, or an item of its list.
  private func meaning(ofWordAt node: Int, _ walk: SchemaWalk) -> String? {
    let outline = walk.outline
    let word = outline.scalar(node)
    let parent = outline.nodes[node].parent
    if outline.nodes[parent].name == "with", outline.nodes[node].name == "effect",
      let action = outline.scalar("uses", of: outline.nodes[parent].parent).flatMap(folder.catalog.action),
      action.takesEffect
    {
      return StepEffect(rawValue: word)?.effect.sentence
    }
    for form in walk.forms(of: node) {
      guard let index = form["enum"]?.list?.firstIndex(where: { $0.plainText == word }),
        let meanings = form["enumDescriptions"]?.list, meanings.indices.contains(index)
      else { continue }
      return meanings[index].string
    }
    return nil
  }

  private func text(
    ofKey node: Int, _ walk: SchemaWalk, _ kind: EditedFileKind, _ source: Source
  ) -> String? {
    let outline = walk.outline
    let (name, parent) = (outline.nodes[node].name, outline.nodes[node].parent)
    let owner = outline.nodes[parent].parent
    if outline.nodes[parent].name == "with", let id = outline.scalar("uses", of: owner),
      let field = folder.catalog.action(id)?.input.fields.first(where: { $0.name == name || $0.aliases.contains(name) })
    {
      return field.page
    }
    if let input = recipe(givenInputsBy: parent, outline, kind, source)?.input(name) { return input.page }
    if kind == .configuration, outline.nodes[owner].name == "connections",
      let plugin = folder.catalog.plugin(outline.scalar("plugin", of: parent) ?? outline.nodes[parent].name),
      let field = plugin.configuration.fields.first(where: { $0.name == name })
    {
      return field.page
    }
    if kind == .recipe, outline.nodes[parent].name == "outputs", let type = type(ofOutput: node, outline, source) {
      return type.page(": ")
    }
    guard let schema = walk.declarations(of: node).last(where: { !walk.meaning($0).isEmpty }) else { return nil }
    let type = walk.typeName(schema)
    // A form that several keys share may declare the default.
    let fallback = schema["default"] ?? walk.expanded(schema, nil).first?["default"]
    let usual = fallback.map { "\n\nDefault: `\($0.plainText)`" } ?? ""
    return (type.isEmpty ? "" : ": `\(type)`") + "\n\n\(walk.meaning(schema))\(usual)"
  }

  /// The recipe whose inputs a mapping sets: `with` of a call, `inputs` of an entry, `inputs` and `run` of a test.
  private func recipe(
    givenInputsBy node: Int, _ outline: TextOutline, _ kind: EditedFileKind, _ source: Source
  ) -> OtherRecipe? {
    switch (kind, outline.nodes[node].name) {
    case (.recipe, "with"):
      return outline.scalar("call", of: outline.nodes[node].parent).flatMap { recipe(at: $0, besides: source) }
    case (.recipe, "inputs") where outline.names(to: node) == ["on", "-", "inputs"]: return recipe(in: source)
    case (.test, "inputs"), (.test, "run"): return tested(by: outline, source)
    default: return nil
    }
  }

  /// The type of an output of a recipe or a block.
  private func type(ofOutput node: Int, _ outline: TextOutline, _ source: Source) -> ValueType? {
    let whole = recovered(source)
    if outline.names(to: node).count == 2,
      let outputs = folder.check(whole, in: folder.environment(source.name)).recipe?.outputType,
      let field = outputs.members.first(where: { $0.name.hasSameScalars(as: outline.nodes[node].name) })
    {
      return field.type
    }
    // In a recipe with errors, and in a block, only the type of a single expression is known.
    let text = outline.scalar(node)
    return text.hasPrefix("${{") && text.hasSuffix("}}") ? type(of: node, in: source) : nil
  }
}
