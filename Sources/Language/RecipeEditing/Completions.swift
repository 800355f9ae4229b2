import ActionKit
package import Basics
import Calendars
import Expressions
import Recipes

// Completion of keys, and of values that aren't expressions. The schema provides the keys and their possible values.
// The folder provides the rest: connections, other recipes, a recipe's inputs and steps.

extension EditorService {
  /// The completions at an offset, the most likely first.
  package func completions(in source: Source, at offset: Int) -> [Completion] {
    let offset = min(max(offset, 0), source.bytes.count)
    let found = unsorted(in: source, at: offset)
    // Those that begin with what is written come first, since editors may show only the first ones. Equally likely
    // completions keep the order of their declaration.
    func isBegun(_ completion: Completion) -> Bool {
      let start = min(completion.edit.range.lowerBound, offset)
      let written = String(decoding: source.bytes[start..<offset], as: UTF8.self)
      return completion.label.lowercased().hasPrefix(written.lowercased())
    }
    let places = found.enumerated().map { (isBegun($0.element) ? 0 : 1, $0.element.rank, $0.offset) }
    return zip(places, found).sorted { $0.0 < $1.0 }.enumerated()
      .map { rank, entry in
        var completion = entry.1
        completion.rank = rank
        return completion
      }
  }

  private func unsorted(in source: Source, at offset: Int) -> [Completion] {
    let outline = TextOutline(source.bytes)
    let walk = SchemaWalk(folder.schemas[EditedFileKind(path: source.name).schema.rawValue], outline)
    let cursor = walk.cursor(at: offset)
    if cursor.place == .nothing { return [] }
    let rest: Int
    var found: [Completion]
    if let expression = openExpression(walk, cursor) {
      rest = source.bytes[offset...].prefix(while: \.isPartOfName).count
      found = completions(in: expression, source, at: offset, outline)
    } else {
      let place = CompletedPlace(service: self, walk: walk, cursor: cursor, source: source, offset: offset)
      rest = outline.restOfWord(cursor, offset)
      found = cursor.place == .key ? place.keys : place.values
    }
    for index in found.indices where found[index].rest == nil { found[index].rest = rest }
    return found
  }
}

extension TextOutline {
  /// The number of bytes after the cursor that belong to the same value: on its line, without the closing quote.
  fileprivate func restOfWord(_ cursor: TextCursor, _ offset: Int) -> Int {
    if cursor.place == .key { return cursor.own == nil ? bytes[offset...].prefix(while: \.isPartOfName).count : 0 }
    let value = nodes[cursor.node].value
    guard value.lowerBound == cursor.written.lowerBound, !nodes[cursor.node].isBlockText else { return 0 }
    var end = min(value.upperBound, lineEnd(at: offset))
    if end > offset, offset > value.lowerBound, value.count > 1, let first = value.first.map({ bytes[$0] }),
      first == ASCII.quote || first == ASCII.apostrophe, bytes[end - 1] == first
    {
      end -= 1
    }
    return max(0, end - offset)
  }
}

/// A place where a key or a value is completed.
private struct CompletedPlace {
  let service: EditorService
  let walk: SchemaWalk
  let cursor: TextCursor
  let source: Source
  let offset: Int

  private var outline: TextOutline { walk.outline }
  private var folder: EditorFolder { service.folder }
  private var kind: EditedFileKind { EditedFileKind(path: source.name) }

  // MARK: Keys

  var keys: [Completion] {
    let node = cursor.node
    // A key isn't inserted before other text on its line.
    let rest = source.bytes[offset..<outline.lineEnd(at: offset)].drop(while: \.isPartOfName)
    let next = rest.first { $0 != ASCII.space }
    if cursor.own == nil, !cursor.isFlow, let next, next != ASCII.hash { return [] }
    // A word that is being written as the first key of an item isn't the item's value.
    let isNew = outline.nodes[node].kind == .item && cursor.own == nil && outline.nodes[node].children.isEmpty
    let forms =
      isNew ? walk.declarations(of: node).flatMap { walk.expanded($0, nil) } : walk.forms(of: node)
    let present = outline.nodes[node].children.compactMap { child -> String? in
      child == cursor.own || outline.nodes[child].kind != .key ? nil : outline.nodes[child].name
    }
    var found = known(node).filter { !present.contains($0.label) }
    let items = forms.compactMap { $0["items"] }
    // In a list without a dash at the cursor, the keys of the list's items.
    if !items.isEmpty, !cursor.isFlow, cursor.own == nil, present.isEmpty {
      let inItems = items.flatMap { walk.expanded($0, nil) }
      found += members(of: inItems, in: inItems, besides: [], dash: true)
      found += walk.words(inItems).map { word in
        Completion(
          .value, word.word, detail: "alone", documentation: word.meaning, edit: edit("- \(word.word)"), rank: 1)
      }
      if outline.nodes[node].children.contains(where: { outline.nodes[$0].kind == .item }) { return found }
    }
    if outline.nodes[node].kind == .item, present.isEmpty {
      found += values.map { value in
        var value = value
        if value.detail.isEmpty { value.detail = "alone" }
        return value
      }
    }
    if !found.contains(where: { $0.kind == .key || $0.kind == .secret }) || !items.isEmpty {
      found += members(of: forms, in: walk.forms(of: node), besides: present)
    }
    return found
  }

  /// The keys that can be added to a mapping with some forms, besides the keys that it has.
  private func members(
    of forms: [Value], in all: [Value], besides present: [String], dash: Bool = false
  ) -> [Completion] {
    walk.members(of: forms).compactMap { member in
      if present.contains(member.name) { return nil }
      let obstacle = walk.obstacle(to: member.name, in: all, besides: present)
      // A key that depends on a single other key isn't offered in an empty mapping.
      if obstacle == false || obstacle == true && present.isEmpty && walk.companions(of: member.name, in: all) < 2 {
        return nil
      }
      // At the top level of a recipe, the keys are listed in reading order.
      let isFirst = (cursor.node != 0 || kind != .recipe) && walk.isRequired(member.name, in: all)
      return key(member.name, member.schema, dash: dash, rank: obstacle == true ? 3 : isFirst ? 0 : 1)
    }
  }

  /// The keys that the schema doesn't know, or describes less well.
  private func known(_ node: Int) -> [Completion] {
    let name = outline.nodes[node].name
    let parent = outline.nodes[node].parent
    switch (kind, name) {
    case (.recipe, "with"):
      if let id = outline.scalar("uses", of: parent), let action = folder.catalog.action(id) {
        return fields(action.input)
      }
      if let path = outline.scalar("call", of: parent), let recipe = service.recipe(at: path, besides: source) {
        return inputs(of: recipe)
      }
      return []
    case (.recipe, "inputs") where outline.nodes[parent].kind == .item:
      guard let inputs = outline.child("inputs", of: 0) else { return [] }
      return outline.keys(in: inputs).map { Completion(.key, $0, detail: "input", edit: edit(insertion($0, ""))) }
    case (.recipe, "next"):
      guard let carry = outline.child("carry", of: parent) else { return [] }
      return outline.keys(in: carry).map { Completion(.key, $0, detail: "carried", edit: edit(insertion($0, ""))) }
    case (.recipe, "cases"):
      guard case .choice(let words)? = outline.child("switch", of: parent).flatMap({ service.type(of: $0, in: source) })
      else { return [] }
      return words.map { Completion(.key, $0, detail: "case", edit: edit(insertion($0, "list"))) }
    case (.test, "inputs"), (.test, "run"): return tested.map(inputs) ?? []
    case (.test, "secrets"):
      return service.secretNames(besides: source).map {
        Completion(.secret, $0, detail: "secret", edit: edit(insertion($0, "")))
      }
    case (.test, "steps"):
      return (tested?.steps ?? []).map {
        Completion(.key, $0, detail: "step", edit: edit(insertion($0, "")))
      }
    case (.test, "outputs"):
      return (tested?.outputs ?? []).map { Completion(.key, $0, detail: "output", edit: edit(insertion($0, ""))) }
    case (.test, "sandboxes"),
      (.test, _) where ["sandbox", "fault"].contains(name) && outline.nodes[parent].kind == .item:
      return folder.catalog.plugins.map {
        Completion(.key, $0.name, documentation: $0.summary, edit: edit(insertion($0.name, "mapping")))
      }
    case (.configuration, "connections"):
      return folder.catalog.plugins.map {
        Completion(.key, $0.name, documentation: $0.summary, edit: edit(insertion($0.name, "mapping")))
      }
    case (.configuration, _) where outline.nodes[parent].name == "connections":
      guard let plugin = folder.catalog.plugin(outline.scalar("plugin", of: node) ?? name) else { return [] }
      return fields(plugin.configuration)
        + ["plugin", "limits"].compactMap { word in
          walk.members(of: walk.forms(of: node)).first { $0.name == word }.map { key(word, $0.schema, rank: 2) }
        }
    default: return []
    }
  }

  private func fields(_ schema: ObjectSchema) -> [Completion] {
    schema.fields.filter { $0.deprecation == nil }.map { field in
      var detail = field.type.name
      if let fallback = field.fallback, !field.type.isSecret {
        detail += ", default \(JSON.displayed(fallback, .compact))"
      }
      if field.isRequired { detail += ", required" }
      return Completion(
        .key, field.name, detail: detail, documentation: field.summary,
        edit: edit(insertion(field.name, shape(of: field.type))), rank: field.isRequired ? 0 : 1)
    }
  }

  private func shape(of type: FieldType) -> String {
    switch type {
    case .optional(let of), .secret(let of): shape(of: of)
    case .object: "mapping"
    default: ""
    }
  }

  private func inputs(of recipe: OtherRecipe) -> [Completion] {
    recipe.inputs.map { input in
      Completion(
        .key, input.name, detail: input.type.shortened, documentation: input.summary,
        edit: edit(insertion(input.name, "")), rank: input.isRequired ? 0 : 1)
    }
  }

  private func key(_ name: String, _ schema: Value, dash: Bool = false, rank: Int) -> Completion {
    let type = walk.typeName(schema)
    let text = (dash ? "- " : "") + insertion(name, type, column: cursor.column + (dash ? 2 : 0))
    return Completion(
      .key, name, detail: type, documentation: walk.meaning(schema), edit: edit(text), rank: rank)
  }

  /// A key with the text before its value.
  private func insertion(_ name: String, _ type: String, column: Int? = nil) -> String {
    if cursor.own != nil { return name }
    let margin = String(repeating: " ", count: (column ?? cursor.column) + 2 + lead.utf8.count)
    switch type {
    case "mapping" where !cursor.isFlow: return "\(name):\n\(margin)"
    case "list" where !cursor.isFlow: return "\(name):\n\(margin)- "
    default: return "\(name): "
    }
  }

  private func edit(_ text: String) -> Diagnostic.Edit {
    if let own = cursor.own { return Diagnostic.Edit(outline.nodes[own].nameRange, text) }
    return Diagnostic.Edit(cursor.written, lead + text)
  }

  /// A space between the inserted text and the colon or dash directly before it; empty if there is one already.
  private var lead: String {
    let start = cursor.written.lowerBound
    guard start > 0 else { return "" }
    let isDash = !cursor.isFlow && source.bytes[start - 1] == ASCII.minus && outline.nodes[cursor.node].kind == .item
    return isDash || source.bytes[start - 1] == ASCII.colon ? " " : ""
  }

  // MARK: Values

  var values: [Completion] {
    let node = cursor.node
    let start = cursor.written.lowerBound
    let isQuoted =
      start < offset && (source.bytes[start] == ASCII.quote || source.bytes[start] == ASCII.apostrophe)
    let range = (isQuoted ? start + 1 : start)..<offset
    // After the closing quote, nothing can be completed.
    if isQuoted, offset > start + 1, offset == outline.nodes[node].value.upperBound,
      source.bytes[offset - 1] == source.bytes[start]
    {
      return []
    }
    // An open bracket begins a mapping or a list, not a text.
    if start < offset, [ASCII.openBrace, ASCII.openBracket].contains(source.bytes[start]) { return [] }
    let lead = lead
    func value(
      _ text: String, _ kind: Completion.Kind = .value, detail: String = "", _ meaning: String = "", rank: Int = 1
    ) -> Completion {
      let written = isQuoted || !text.needsQuotes(isFlow: cursor.isFlow) ? text : JSON.quoted(text)
      return Completion(
        kind, text, detail: detail, documentation: meaning, edit: Diagnostic.Edit(range, lead + written), rank: rank)
    }
    var owner = node
    // For an item of a list, the list's key determines the values.
    while outline.nodes[owner].kind == .item, outline.nodes[owner].parent != 0 { owner = outline.nodes[owner].parent }
    let parent = outline.nodes[owner].parent
    let isAfterRecipe = ["afterRecipe", "afterRecipe recipe"].contains {
      outline.names(to: owner).joined(separator: " ").hasSuffix($0)
    }
    var found: [Completion] = []
    switch (kind, outline.nodes[owner].name) {
    case (.recipe, "uses"):
      // Actions that need no connection, or have one, come first.
      let connected = Set((folder.environment(source.name).connections ?? [:]).values)
      let ready = Set(folder.catalog.plugins.filter(\.worksUnconfigured).map(\.name)).union(connected)
      return folder.catalog.actionIDs.compactMap(folder.catalog.action).map { action in
        value(
          action.id, .action, detail: action.effect.name, "\(action.summary)\n\n\(action.effect.sentence)",
          rank: ready.contains(String(action.id.prefix { $0 != "." })) ? 0 : 1)
      }
    case (.recipe, "connection"):
      let plugin = outline.scalar("uses", of: parent).map { String($0.prefix { $0 != "." }) } ?? ""
      let known = folder.environment(source.name).connections ?? [:]
      return known.filter { plugin.isEmpty || $0.value == plugin }.keys.sorted().map {
        value($0, .connection, detail: "connection of '\(known[$0] ?? "")'")
      }
    case (.recipe, "call"), (.test, "recipe"):
      return files { !RecipeTestFile.isName($0) && $0 != source.name }.map { value($0, .file) }
    case (.recipe, _) where isAfterRecipe:
      return files { !RecipeTestFile.isName($0) && $0 != source.name }.map {
        value(String(($0.split(separator: "/").last ?? "").prefix { $0 != "." }), detail: "recipe")
      }
    case (.recipe, "recipe") where parent == 0:
      let file = source.name.split(separator: "/").last ?? ""
      found.append(value(String(file.prefix { $0 != "." }), detail: "the file's name", rank: 0))
    case (_, "zone"): return TimeZoneDatabase.system.names().map { value($0, detail: "time zone") }
    case (.test, "step") where outline.nodes[parent].name == "answer":
      found += (tested?.asks ?? []).map { value($0, detail: "question") }
    case (.test, "approve"), (.test, "reject"), (.test, "step"):
      found += (tested?.approvals ?? []).map { value($0, detail: "approval") }
    default: break
    }
    if !cursor.isNewItem, walk.takes("type", node) {
      found += types(value)
    }
    if kind == .recipe, outline.nodes[node].name == "default",
      ["inputs", "fields"].contains(outline.nodes[outline.nodes[parent].parent].name)
    {
      if outline.scalar("type", of: parent) == "bool" { found += ["true", "false"].map { value($0) } }
      let choices = outline.child("choices", of: parent).map { outline.nodes[$0].children.map(outline.scalar) } ?? []
      found += choices.map { value($0, detail: "choice") }
    }
    if kind == .recipe, parent == outline.child("inputs", of: 0) { found += types(value) }
    if let type = inputType(of: outline.nodes[owner].name, in: parent) {
      found += (type == .bool ? ["true", "false"] : type.choices).map {
        value($0, detail: type == .bool ? "" : "choice")
      }
    }
    var forms = walk.forms(of: node)
    if cursor.isNewItem { forms = forms.compactMap { $0["items"] }.flatMap { walk.expanded($0, nil) } }
    if !walk.takesExpression(node) {
      let usual = walk.declarations(of: node).lazy.compactMap { $0["default"] }.first?.plainText
      found += walk.words(forms).map {
        value($0.word, detail: $0.word == usual ? "default" : "", $0.meaning, rank: $0.word == usual ? 0 : 1)
      }
    }
    if walk.takes("duration", node) {
      found += ["30s", "5m", "1h", "1d"].map { value($0, detail: "a length of time") }
    }
    if kind == .recipe, outline.nodes[node].name == "cron" {
      found += CompletedPlace.crons.map { value($0.text, detail: $0.meaning) }
    }
    // The text so far may be the beginning of `${{`.
    if "${{".utf8.starts(with: source.bytes[range]), takesTemplates(node) {
      // In brackets, YAML would read unquoted braces as its own.
      let isBare = isQuoted || !cursor.isFlow
      let text = isBare ? "\(lead)${{  }}" : "\(lead)\"${{  }}\""
      let place = text.utf8.count - (isBare ? 3 : 4)
      found.append(
        Completion(
          .value, "${{ }}", detail: "expression", edit: Diagnostic.Edit(range, text), selection: place..<place, rank: 2)
      )
    }
    return found
  }

  /// Examples of cron expressions.
  private static let crons = [
    ("0 7 * * *", "each day at 7:00"), ("0 7 * * MON-FRI", "Monday to Friday at 7:00"),
    ("*/15 * * * *", "every 15 minutes"), ("0 9 1 * *", "on the 1st of each month at 9:00"),
  ].map { (text: $0.0, meaning: $0.1) }

  /// The types for `type` and for inputs.
  private static let types = [
    "string", "int", "double", "bool", "date", "timestamp", "duration", "bytes", "list(string)", "map(string, string)",
    "choice(a, b)", "dyn",
  ]

  /// The types that can be completed, either as the whole type or inside another type such as a list.
  private func types(
    _ value: (_ text: String, _ kind: Completion.Kind, _ detail: String, _ meaning: String, _ rank: Int) -> Completion
  ) -> [Completion] {
    let written = source.bytes[cursor.written.lowerBound..<offset]
    guard let open = written.lastIndex(where: { $0 == UInt8(ascii: "(") || $0 == ASCII.comma }) else {
      return CompletedPlace.types.map { value($0, .value, "type", "", 1) }
    }
    let start = source.bytes[(open + 1)..<offset].firstIndex { $0 != ASCII.space } ?? offset
    // The rest of the outer type is kept.
    return CompletedPlace.types.map {
      var type = Completion(.value, $0, detail: "type", edit: Diagnostic.Edit(start..<offset, $0), rank: 1)
      type.rest = source.bytes[offset...].prefix(while: \.isPartOfName).count
      return type
    }
  }

  /// The type of an input whose value is given here: an input of this recipe, of the called recipe, or of the tested
  /// recipe.
  private func inputType(of name: String, in node: Int) -> ValueType? {
    let (given, parent) = (outline.nodes[node].name, outline.nodes[node].parent)
    switch (kind, given) {
    case (.test, "inputs"), (.test, "run"): return tested?.input(name)?.type
    case (.recipe, "with"):
      return outline.scalar("call", of: parent).flatMap { service.recipe(at: $0, besides: source) }?.input(name)?.type
    case (.recipe, "inputs") where parent != 0: return service.recipe(in: source).input(name)?.type
    default: return nil
    }
  }

  /// Whether a node's value may contain expressions: in `with`, in names for values and where the schema allows it.
  private func takesTemplates(_ node: Int) -> Bool {
    let names = outline.names(to: node)
    if kind == .test || kind == .recipe && names.first == "inputs" { return false }
    return names.contains { ["with", "let", "outputs", "next", "carry", "inputs"].contains($0) } && names.count > 2
      || ["outputs", "fail", "prompt", "key"].contains(names.dropLast().last ?? "")
      || ["fail", "key", "wait"].contains(names.last ?? "")
      || names.first == "connections"
  }

  // MARK: Other files

  /// The recipe that a test tests.
  private var tested: OtherRecipe? { service.tested(by: outline, source) }

  /// The files of the folder that fit, as paths relative to this file's folder.
  private func files(_ fits: (String) -> Bool) -> [String] {
    folder.files().filter(fits).map { $0.path(from: source.name) }
  }
}

extension String {
  /// The path, relative to another file's folder.
  func path(from other: String) -> String {
    var own = split(separator: "/", omittingEmptySubsequences: false)[...]
    var base = other.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    while let first = own.first, own.count > 1, first == base.first {
      own.removeFirst()
      base.removeFirst()
    }
    return (base.map { _ in ".." } + own.map(String.init)).joined(separator: "/")
  }

  /// Whether YAML would read the unquoted text as something else.
  fileprivate func needsQuotes(isFlow: Bool) -> Bool {
    guard let first = utf8.first else { return true }
    if isFlow, utf8.contains(where: { ",[]{}".utf8.contains($0) }) { return true }
    return contains(": ") || contains(" #") || "!&*?|>%@`\"'{}[],#".utf8.contains(first) || hasSuffix(":")
  }
}
