// How the tools of a server become the actions of a lock.
//
// Parts of a tool that can't be read are left out and reported: a tool whose name is taken, an invalid outputSchema.
//
// A tool `get_current_time` is the action `getCurrentTime`: its name in lowerCamelCase, with a number behind it if
// another has it. The fields of its inputSchema become the fields of `with`, and the fields of its outputSchema the
// output's. Without an outputSchema, or if that has no known fields, the output is the text, the content and the
// structured content. If an inputSchema allows other arguments, beside named fields or in their place, the action has
// one more field, `arguments`: a map whose members are arguments.
//
// The effect comes from the person who added the plugin, else from `errand/effect` in the tool's `_meta`, else from its
// hints, if they are trusted; else it is `write`. Other members of `_meta` that count:
//
//     errand/reconcile   the tool that looks whether a write was done
//     errand/baseline    the tool that looks what is there before a write, for that
//     errand/preview     the tool that says what a write would change
//     errand/key         the argument that gets the step's idempotency key
//     errand/timeout     how long all attempts together may take: `30s`
//     errand/secrets     the arguments that are secrets
//
// Any other `errand/…` is refused, because it is misspelt.
//
// A tool that serves another only by one of the first three isn't an action, unless it has its own `errand/effect`.
//
// An entry's `call` has `tool`, the tool's own name; `nulls`, the arguments that are sent as null when they are left
// out, because they must be given and may be null; `whole`, the field whose members are arguments; `key`; `hints`, the
// server's own hints, to be shown; `plain`, if there is no outputSchema; and `reconcile`, `baseline` and `preview`,
// each with the tool and its arguments.

import ActionKit
import Basics
import ModelContext
import PluginLocks

/// Makes a lock of a server's tools.
struct ToolLocks {
  let name: String
  var source: MCPSource
  let session: ServerSession
  private var leftOut: [(part: String, reason: String)] = []
  private var file: String { "plugins/\(name).lock.json" }

  init(name: String, source: MCPSource, session: ServerSession) {
    self.name = name
    self.source = source
    self.session = session
  }

  func lock() throws(PluginLockError) -> PluginLock {
    var tools: [Tool] = []
    var byName: [String: Tool] = [:]
    var resolved = self
    for tool in session.tools.sorted(by: { $0.name.precedesByScalars($1.name) }) {
      if byName[tool.name] == nil {
        byName[tool.name] = tool
        tools.append(tool)
      } else {
        resolved.leftOut.append((tool.name, "another tool has its name"))
      }
    }
    resolved.source.effects = try effects(of: tools)
    return try resolved.lock(of: tools, byName)
  }

  /// The effects that a person gave, by the names of tools.
  private func effects(of tools: [Tool]) throws(PluginLockError) -> [String: Effect] {
    var effects: [String: Effect] = [:]
    for (named, effect) in source.effects.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      let tool =
        tools.first { $0.name.hasSameScalars(as: named) }
        ?? tools.first { Self.actionName($0.name).hasSameScalars(as: named) }
      guard let tool else {
        if source.earlier.contains(named) { continue }
        throw PluginLockError(
          "'\(name)' has no tool '\(named)', whose effect is given; it has "
            + (tools.isEmpty ? "none" : tools.prefix(50).map(\.name.safe).joined(separator: ", ")))
      }
      guard effects.updateValue(effect, forKey: tool.name) == nil else { throw MCPSource.givenTwice(tool.name) }
    }
    return effects
  }

  private func lock(of tools: [Tool], _ byName: [String: Tool]) throws(PluginLockError) -> PluginLock {
    let helpers = Set(tools.flatMap { tool in Helper.allCases.compactMap { tool.meta[$0.key]?.string } })
    var encoder = LockEncoder()
    var read: [LockedAction] = []
    var unread = session.leftOut + leftOut
    for tool in tools {
      for helper in Helper.allCases where tool.meta[helper.key]?.string == tool.name {
        throw PluginLockError("the tool '\(tool.name.safe)' has itself as '\(helper.key)'; such a tool only reads")
      }
    }
    let offered = tools.filter { !helpers.contains($0.name) || $0.meta["errand/effect"] != nil }
    // A name that recipes use stays with its tool when others are added.
    var taken = Set(offered.compactMap { source.names[$0.name] })
    for tool in offered {
      let name = source.names[tool.name] ?? Self.actionName(tool.name).free(among: &taken)
      read.append(try action(name, of: tool, among: byName, &encoder, &unread))
    }
    let actions = read.map { ($0.name, $0.entry(&encoder)) }
    var connection = ValueMap([("server", .string(session.serverName.shortened(to: 200)))])
    if !session.serverVersion.isEmpty { connection["version"] = .string(session.serverVersion.shortened(to: 200)) }
    connection["protocol"] = .string(session.version.rawValue)
    var written = source.value
    written.setLeftOut(unread)
    return try PluginLock(
      name: name, kind: MCPKind.name,
      summary: session.summary.flatMap(SchemaReader.sentence)
        ?? "Calls the tools of the MCP server \(session.serverName).",
      source: written, connection: connection, types: encoder.types, actions: actions, file: file)
  }

  /// The role of a tool that serves another tool.
  enum Helper: String, CaseIterable {
    case reconcile, baseline, preview
    var key: String { "errand/\(rawValue)" }
    /// The arguments that the helper can get beside the tool's own.
    var given: [String] { self == .reconcile ? ["key", "baseline", "started_at"] : ["key"] }
  }

  private static let metaKeys =
    Helper.allCases.map(\.key) + ["errand/effect", "errand/key", "errand/timeout", "errand/secrets"]

  /// The shortest limit of an argument that holds every idempotency key: a run's id and the path of a step.
  private static let leastKeyLength = 200

  /// Why an argument can't hold an idempotency key; nil if it can.
  private static func objection(toKeyIn field: FieldSchema, _ schema: Value?) -> String? {
    guard case .string = field.type, schema?["format"] == nil, schema?["pattern"] == nil, schema?["const"] == nil else {
      return "isn't any string"
    }
    for limit in field.limits {
      switch limit {
      case .minLength(...36), .notNull: continue
      case .maxLength(leastKeyLength...): continue
      case .maxLength(let most): return "has at most \(most) characters"
      default: return "isn't any string"
      }
    }
    return nil
  }

  private func action(
    _ name: String, of tool: Tool, among tools: [String: Tool], _ encoder: inout LockEncoder,
    _ unread: inout [(part: String, reason: String)]
  ) throws(PluginLockError) -> LockedAction {
    func fault(_ what: String) -> PluginLockError { PluginLockError("the tool '\(tool.name.safe)' \(what)") }
    var call = ValueMap([("tool", .string(tool.name))])
    for key in tool.meta.members.compactMap(\.name)
    where key.utf8.starts(with: "errand/".utf8) && !Self.metaKeys.contains(where: key.hasSameScalars) {
      let guess = key.nearest(among: Self.metaKeys).map { "did you mean '\($0)'?" }
      throw fault(
        "has '\(key.safe)' in its '_meta', which doesn't exist; \(guess ?? "there are \(Self.metaKeys.joined(separator: ", "))")"
      )
    }

    let inputSchema = Self.untitled(tool.inputSchema).withWordsBesideReferences
    var reader = SchemaReader(inputSchema, for: .given)
    var input = reader.fields(Self.named(inputSchema)) ?? []
    let whole = Self.whole(inputSchema, beside: input, &reader)
    if let whole {
      input.append(whole)
      call["whole"] = .string(whole.name)
    }
    if source.readsDatesAsText { input = input.map(\.withDatesAsText) }
    func keepNames(of types: [(name: String, type: FieldType)]) {
      for (name, type) in types { encoder.name(source.readsDatesAsText ? type.withDatesAsText : type, name) }
    }
    keepNames(of: reader.named)
    unread += Self.leftOut(by: &reader, "the inputSchema of the tool '\(tool.name.safe)'")
    let required = Set((tool.inputSchema["required"]?.list ?? []).compactMap(\.string))
    let nulls = input.filter { $0.isOptional && required.contains($0.name) }.map(\.name)
    if let key = try text("errand/key", of: tool) {
      guard let field = input.first(where: { $0.name.hasSameScalars(as: key) }) else {
        throw fault("has no argument '\(key.safe)', which its 'errand/key' names")
      }
      if let objection = Self.objection(toKeyIn: field, tool.inputSchema["properties"]?[key]) {
        throw fault(
          "has the argument '\(key.safe)', which its 'errand/key' names and which \(objection); an idempotency key is a "
            + "string of up to \(Self.leastKeyLength) characters")
      }
      input.removeAll { $0.name.hasSameScalars(as: key) }
      call["key"] = .string(key)
    }
    for secret in try texts("errand/secrets", of: tool) {
      guard let index = input.firstIndex(where: { $0.name.hasSameScalars(as: secret) }) else {
        throw fault(
          call["key"]?.string == secret
            ? "has '\(secret.safe)' in both 'errand/key' and 'errand/secrets'; an idempotency key isn't a secret"
            : "has no argument '\(secret.safe)', which its 'errand/secrets' names")
      }
      input[index].type = .secret(input[index].type)
    }
    if !nulls.isEmpty { call["nulls"] = .list(nulls.map(Value.string)) }

    var output: ObjectSchema?
    if let schema = tool.outputSchema.map({ Self.untitled($0).withWordsBesideReferences }), !schema.isNull {
      var reader = SchemaReader(schema, for: .got)
      output = reader.fields(schema).map { ObjectSchema(fields: $0) }
      if source.readsDatesAsText { output = output?.withDatesAsText }
      keepNames(of: reader.named)
      unread += Self.leftOut(by: &reader, "the outputSchema of the tool '\(tool.name.safe)'")
    }
    if output == nil { call["plain"] = .bool(true) }

    for helper in Helper.allCases {
      guard let named = try text(helper.key, of: tool) else { continue }
      guard let other = tools[named] else {
        throw fault("has '\(helper.key)': '\(named.safe)', but there is no tool of that name")
      }
      // A plan would do the write that it shows.
      if other.meta["errand/effect"] != nil || source.effects[named] != nil {
        guard try effect(of: other).0.runsInPlan else {
          throw fault("has '\(helper.key)': '\(named.safe)', which isn't 'read' or 'pure'; such a tool only reads")
        }
      }
      let arguments = (other.inputSchema["properties"]?.map?.members ?? []).compactMap(\.name).sorted {
        $0.precedesByScalars($1)
      }
      let given = helper.given + (tool.inputSchema["properties"]?.map?.members ?? []).compactMap(\.name)
      let needed = (other.inputSchema["required"]?.list ?? []).compactMap(\.string)
      if let lacking = needed.first(where: { name in !given.contains { $0.hasSameScalars(as: name) } }) {
        throw fault(
          "has '\(helper.key)': '\(named.safe)', which needs the argument '\(lacking.safe)'; it can be given the tool's own "
            + "arguments and \(helper.given.joined(separator: ", "))")
      }
      call[helper.rawValue] = .object(["tool": .string(named), "arguments": .list(arguments.map(Value.string))])
    }
    if call["baseline"] != nil, call["reconcile"] == nil {
      throw fault("has 'errand/baseline' without 'errand/reconcile'")
    }
    if let hints = tool.annotations.flatMap({ _ in tool.value["annotations"]?.map }), !hints.isEmpty {
      call["hints"] = .map(hints)
    }
    let timeout = try text("errand/timeout", of: tool).map { text throws(PluginLockError) in
      guard let span = TimeSpan(text), span > .zero else {
        throw fault("has 'errand/timeout': '\(text.safe)'; write it like 30s")
      }
      return span
    }
    let (effect, effectSource) = try effect(of: tool)
    return LockedAction(
      name: name,
      summary: (tool.description ?? tool.title).flatMap(SchemaReader.sentence) ?? "Calls \(tool.name.safe).",
      effect: effect, from: effectSource, input: ObjectSchema(fields: input), output: output ?? Self.plain,
      baseline: call["reconcile"] == nil ? nil : ObjectSchema(fields: []), acceptsKey: call["key"] != nil,
      timeout: timeout, call: .map(call))
  }

  /// The parts of a schema that a reader took as anything, each with its place.
  private static func leftOut(
    by reader: inout SchemaReader, _ whole: String
  ) -> [(part: String, reason: String)] {
    var parts: [(part: String, reason: String)] = []
    for unread in reader.takeUnread() {
      let place = [unread.reference, unread.path.isEmpty ? nil : unread.path].compactMap(\.self).joined(separator: " ")
      let part = place.isEmpty ? whole : "'\(place.safe.shortened(to: 100))' of \(whole)"
      parts.append((part, unread.reason))
    }
    for reference in reader.missing {
      parts.append(
        (
          "'\(reference.safe.shortened(to: 100))' of \(whole)",
          "it leads to nothing in the schema, and is taken as anything"
        ))
    }
    return parts
  }

  /// A schema with only its named fields, if it has some; `whole` is for the rest.
  private static func named(_ schema: Value) -> Value {
    guard var map = schema.map, map["properties"]?.map?.isEmpty == false else { return schema }
    for word in ["additionalProperties", "patternProperties", "anyOf", "oneOf", "then", "else", "dependentSchemas"] {
      map[word] = nil
    }
    map["dependencies"] = nil
    return .map(map)
  }

  /// The field for the arguments that a schema allows beside named ones, or in their place; nil if it allows none.
  private static func whole(
    _ schema: Value, beside fields: [FieldSchema], _ reader: inout SchemaReader
  ) -> FieldSchema? {
    let others = schema["additionalProperties"]
    let hasPatterns = schema["patternProperties"]?.map?.isEmpty == false
    let hasAlternatives = reader.alternativesAddProperties(to: schema)
    if !fields.isEmpty {
      let isOpen = schema.map.map(SchemaReader.isOpen) ?? false
      guard hasPatterns || isOpen || hasAlternatives else { return nil }
    } else {
      // A schema that has only a type allows no arguments, even if it doesn't say so.
      let said: Set = [
        "type", "title", "description", "$schema", "$id", "$defs", "definitions", "properties", "required",
      ]
      let says = (schema.map?.members ?? []).compactMap(\.name).filter { !said.contains($0) }
      let isClosed = others == nil || others?.bool == false
      let hasProperties = schema["properties"].map { !$0.isNull && $0.map?.isEmpty != true } ?? false
      let isEmpty = !hasProperties && (schema["required"]?.list ?? []).isEmpty
      let isObject = schema["type"].map { $0.isNull || $0.string == "object" } ?? true
      if isObject, isEmpty, isClosed, says.allSatisfy({ $0 == "additionalProperties" }) { return nil }
    }
    let isMap = !hasPatterns && !hasAlternatives && others?.map?.isEmpty == false
    let element: FieldType = isMap ? reader.type(of: others ?? .null) : .dyn
    let needs =
      ["anyOf", "oneOf", "allOf", "$ref"].contains { schema[$0] != nil } || (schema["minProperties"]?.int ?? 0) > 0
      || !(schema["required"]?.list ?? []).isEmpty
    var name = "arguments"
    while fields.contains(where: { $0.name.hasSameScalars(as: name) }) {
      name = "more\(name.prefix(1).uppercased())\(name.dropFirst())"
    }
    return FieldSchema(
      name, .map(element),
      fields.isEmpty ? "The tool's arguments, by their names." : "More arguments of the tool, by their names.",
      isOptional: !(fields.isEmpty && needs))
  }

  /// The output of a tool without outputSchema.
  static let plain = ObjectSchema(fields: [
    FieldSchema("text", .string, "The texts that the tool answered, one below the other."),
    FieldSchema("content", .list(.dyn), "All that the tool answered, as MCP has it: texts, images, links."),
    FieldSchema("structured", .dyn, "The value that the tool answered beside that.", isOptional: true),
  ])

  private func effect(of tool: Tool) throws(PluginLockError) -> (Effect, LockedAction.EffectSource) {
    if let effect = source.effects[tool.name] { return (effect, .person) }
    if let text = try text("errand/effect", of: tool) {
      guard let effect = Effect(written: text) else {
        throw PluginLockError(
          "the tool '\(tool.name.safe)' has 'errand/effect': '\(text.safe)'; it can be pure, read, consume, "
            + "idempotentWrite, idempotentWrite:1d or write")
      }
      return (effect, .program)
    }
    if source.trustsHints, let hints = tool.annotations {
      if hints.isReadOnly == true { return (.read, .hint) }
      if hints.isIdempotent == true { return (.idempotentWrite(within: .forever), .hint) }
    }
    return (.write, .standard)
  }

  private func text(_ key: String, of tool: Tool) throws(PluginLockError) -> String? {
    guard let value = tool.meta[key], !value.isNull else { return nil }
    guard let text = value.string else {
      throw PluginLockError("the tool '\(tool.name.safe)' has '\(key)' that is \(value.kindName) and not a string")
    }
    return text
  }

  private func texts(_ key: String, of tool: Tool) throws(PluginLockError) -> [String] {
    guard let value = tool.meta[key], !value.isNull else { return [] }
    guard let list = value.list, case let texts = list.compactMap(\.string), texts.count == list.count else {
      throw PluginLockError("the tool '\(tool.name.safe)' has '\(key)' that isn't a list of strings")
    }
    return texts
  }

  /// A schema without titles, which the SDK only derives from the names; as deep as JSON is read.
  private static func untitled(_ schema: Value) -> Value {
    switch schema.content {
    case .list(let items): return .list(items.map(untitled))
    case .map(let map):
      var kept = ValueMap()
      for member in map.members {
        if member.name == "title", member.value.string != nil { continue }
        let isValue = member.name.map(["default", "const", "enum", "examples"].contains) ?? false
        kept[member.key] = isValue ? member.value : untitled(member.value)
      }
      return .map(kept)
    default: return schema
    }
  }

  /// The action's name for a tool.
  static func actionName(_ tool: String) -> String {
    let name = ActionName.of(tool)
    return name.isEmpty ? "tool" : name
  }
}
