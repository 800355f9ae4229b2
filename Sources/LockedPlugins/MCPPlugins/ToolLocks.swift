// How the tools of a server become the actions of a lock.
//
// A tool `get_current_time` is the action `getCurrentTime`: its name in lowerCamelCase, with a number behind it if another
// has it. The fields of its inputSchema are those of `with`, the fields of its outputSchema those of the output; without
// one, the output is the text, the content and whatever is structured.
//
// Its effect is what the person said who added the plugin, else `errand/effect` in the tool's `_meta`, else what its hints
// say, if they are trusted, and else `write`. Of `_meta` there count, beside that:
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
// A tool that only serves another as one of the first three isn't an action, unless it has an `errand/effect` of its own.
//
// An entry's `call` has `tool`, the tool's own name; `nulls`, the arguments that are sent as null when they are left out,
// because they must be given and may be null; `key`; `hints`, as the server gives them, to be shown; `plain`, where there
// is no outputSchema; and `reconcile`, `baseline` and `preview`, each with the tool and the arguments that it takes.

import ActionKit
import Basics
import ModelContext
import PluginLocks

/// Makes a lock of what a server offers.
struct ToolLocks {
  let name: String
  var source: MCPSource
  let session: ServerSession
  private var file: String { "plugins/\(name).lock.json" }

  func lock() throws(PluginLockError) -> PluginLock {
    let tools = session.tools.sorted { $0.name.precedesByScalars($1.name) }
    var byName: [String: Tool] = [:]
    for tool in tools where byName.updateValue(tool, forKey: tool.name) != nil {
      throw PluginLockError("'\(session.serverName)' has two tools that are named '\(tool.name.safe)'")
    }
    var resolved = self
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
          "'\(session.serverName)' has no tool '\(named)', whose effect is given; it has "
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
      read.append(try action(name, of: tool, among: byName, &encoder))
    }
    let actions = read.map { ($0.name, $0.entry(&encoder)) }
    var connection = ValueMap([("server", .string(session.serverName.shortened(to: 200)))])
    if !session.serverVersion.isEmpty { connection["version"] = .string(session.serverVersion.shortened(to: 200)) }
    connection["protocol"] = .string(session.version.rawValue)
    var written = source.value
    written.setLeftOut(session.leftOut.map { ($0, "it has no 'inputSchema'") })
    return try PluginLock(
      name: name, kind: MCPKind.name,
      summary: session.summary.flatMap(SchemaReader.sentence)
        ?? "Calls the tools of the MCP server \(session.serverName).",
      source: written, connection: connection, types: encoder.types, actions: actions, file: file)
  }

  /// What a tool can be to another.
  enum Helper: String, CaseIterable {
    case reconcile, baseline, preview
    var key: String { "errand/\(rawValue)" }
    /// What it can be given beside the tool's own arguments.
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
    _ name: String, of tool: Tool, among tools: [String: Tool], _ encoder: inout LockEncoder
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

    let inputSchema = Self.untitled(tool.inputSchema)
    var reader = SchemaReader(inputSchema, for: .given)
    var input = reader.fields(inputSchema) ?? []
    for (name, type) in reader.named { encoder.name(type, name) }
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
    if let schema = tool.outputSchema.map(Self.untitled) {
      var reader = SchemaReader(schema, for: .got)
      output = reader.fields(schema).map { ObjectSchema(fields: $0) }
      for (name, type) in reader.named { encoder.name(type, name) }
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

  /// A schema without titles, which the SDK makes of the names and which say nothing more; as deep as JSON is read.
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

  /// A tool's name as that of an action: letters and digits of ASCII, words joined by capital letters.
  static func actionName(_ tool: String) -> String {
    func isLetter(_ byte: UInt8) -> Bool { ASCII.lowercase.contains(byte) || ASCII.uppercase.contains(byte) }
    let words = tool.utf8.split { !isLetter($0) && !ASCII.digits.contains($0) }.map {
      String(decoding: Array($0), as: UTF8.self)
    }
    var name = ""
    for word in words {
      if name.isEmpty {
        // What begins with a digit can't be a name.
        guard let start = word.utf8.firstIndex(where: isLetter) else { continue }
        let rest = String(word[start...])
        name = rest.uppercased() == rest ? rest.lowercased() : (rest.first?.lowercased() ?? "") + rest.dropFirst()
      } else {
        name += (word.first?.uppercased() ?? "") + word.dropFirst()
      }
    }
    return name.isEmpty ? "tool" : String(name.prefix(100))
  }
}
