// The recipes that assistants may run as tools: the inputs and outputs of a call, and its effects.
//
// The input schema is made from the recipe's inputs. A recipe that takes a secret is no tool: an assistant must not
// know any secret, nor choose the one that a service gets. The output schema is made from the types that the checker
// found, and has to be true of every value that a run records: a value that may be absent isn't required, and a double
// may be NaN or infinite.
package import ActionKit
package import Basics
package import Recipes
package import RunState

/// A recipe as a tool.
package struct ToolRecord: Record {
  package var name: String
  package var summary: String
  /// The JSON Schema of the inputs.
  package var inputs: Value
  /// The JSON Schema of the outputs.
  package var outputs: Value
  /// The inputs that are secrets, which no assistant can give.
  package var secrets: [String]
  /// The errors in the recipe of a tool, each with its place.
  ///
  /// If there are any, only the name is known besides.
  package var faults: [String] = []
  /// Whether all that a run does is to compute and to read.
  package var isReadOnly: Bool
  /// Whether a run may write.
  package var writes: Bool
  /// Whether a second run with the same inputs changes nothing more.
  package var isIdempotent: Bool
  /// Whether a run reaches what is outside: services, programs and files, but not stored values.
  package var isOpenWorld: Bool

  package init(_ recipe: Recipe, in catalog: ActionCatalog, plugins: [String: String]) {
    name = recipe.name
    summary = recipe.summary
    secrets = recipe.inputs.filter(\.isSecret).map(\.name)
    inputs = .map(recipe.inputSchema.jsonSchema(allowsExpressions: false))
    outputs = .map(recipe.outputType.jsonSchema)
    var effects: Set<Effect> = []
    isOpenWorld = false
    for step in recipe.all.flatMap(\.allSteps) {
      guard case .action(let call) = step.kind else { continue }
      effects.insert(call.action.effect)
      let plugin = catalog.plugin(plugins[call.connection] ?? call.connection)
      if call.action.effect != .pure, plugin?.isLocal != true { isOpenWorld = true }
    }
    isReadOnly = effects.allSatisfy(\.runsInPlan)
    writes = effects.contains(where: \.isWrite)
    isIdempotent = effects.allSatisfy { effect in
      if case .idempotentWrite(.forever) = effect { true } else { effect.runsInPlan }
    }
  }

  /// A recipe with faults.
  init(_ name: String, faults: [String]) {
    self.name = name
    self.faults = faults
    (summary, inputs, outputs, secrets) = ("", .map(ValueMap()), .map(ValueMap()), [])
    (isReadOnly, writes, isIdempotent, isOpenWorld) = (false, true, false, true)
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    summary = try member("summary", record?.summary, default: "")
    inputs = try member("inputs", record.map { PlainJSON(value: $0.inputs) }).value
    outputs = try member("outputs", record.map { PlainJSON(value: $0.outputs) }).value
    secrets = try member("secrets", record?.secrets, default: [])
    faults = try member("faults", record?.faults, default: [])
    isReadOnly = try member("isReadOnly", record?.isReadOnly, default: false)
    writes = try member("writes", record?.writes, default: true)
    isIdempotent = try member("isIdempotent", record?.isIdempotent, default: false)
    isOpenWorld = try member("isOpenWorld", record?.isOpenWorld, default: true)
  }
}

extension ValueType {
  /// The JSON Schema of every value of the type, as JSON has it.
  package var jsonSchema: ValueMap { schema(32) }

  /// - Parameter depth: How many levels are described; below them is anything.
  private func schema(_ depth: Int) -> ValueMap {
    if depth == 0 { return ValueMap() }
    func of(_ type: String) -> ValueMap { ValueMap([("type", .string(type))]) }
    switch self {
    case .null: return of("null")
    case .bool: return of("boolean")
    case .int: return of("integer")
    case .uint:
      var schema = of("integer")
      schema["minimum"] = .int(0)
      return schema
    case .double:
      // NaN and the infinities are written as their names.
      return ValueMap([
        ("type", .list([.string("number"), .string("string")])), ("pattern", .string("^(NaN|-?Infinity)$")),
      ])
    // A service may give a word that is newer than the plugin.
    case .string, .bytes, .type, .choice, .secret: return of("string")
    case .timestamp:
      var schema = of("string")
      schema["format"] = .string("date-time")
      return schema
    case .duration: return of("string")
    case .list(let element):
      var schema = of("array")
      schema["items"] = .map(element.schema(depth - 1))
      return schema
    case .map(_, let value):
      var schema = of("object")
      schema["additionalProperties"] = .map(value.schema(depth - 1))
      return schema
    case .object(let object):
      var schema = of("object")
      var (properties, required) = (ValueMap(), [Value]())
      for field in object.fields {
        var property = field.type.schema(depth - 1)
        // A null in a field that may be absent counts as absent.
        if field.isOptional || field.type.mayBeAbsent {
          property = property.isEmpty ? property : ValueType.orNull(property)
        } else {
          required.append(.string(field.name))
        }
        if !field.summary.isEmpty { property["description"] = .string(field.summary) }
        properties[field.name] = .map(property)
      }
      schema["properties"] = .map(properties)
      if !required.isEmpty { schema["required"] = .list(required) }
      return schema
    case .optional(let wrapped), .wrapper(let wrapped):
      let schema = wrapped.schema(depth - 1)
      return schema.isEmpty ? schema : ValueType.orNull(schema)
    case .opaque:
      guard let parts = mixedParts else { return ValueMap() }
      let schemas = parts.map { $0.schema(depth - 1) }
      return schemas.contains(where: \.isEmpty) ? ValueMap() : ValueMap([("anyOf", .list(schemas.map { .map($0) }))])
    case .dyn, .parameter: return ValueMap()
    }
  }

  /// Whether a field of the type may be left out because its value is null or absent.
  private var mayBeAbsent: Bool {
    switch self {
    case .null, .optional, .wrapper, .dyn, .parameter: true
    case .opaque: mixedParts?.contains(where: \.mayBeAbsent) ?? true
    default: false
    }
  }

  private static func orNull(_ schema: ValueMap) -> ValueMap {
    var schema = schema
    if schema["anyOf"] == nil, let type = schema["type"] {
      let types = type.list ?? [type]
      schema["type"] = .list(types.contains(.string("null")) ? types : types + [.string("null")])
      return schema
    }
    return ValueMap([("anyOf", .list([.map(schema), .object(["type": .string("null")])]))])
  }
}

extension ScheduleHost {
  /// Makes recipes available by name although no schedule is fired here; changes are read before each use.
  package func nameRecipes() async {
    namesRecipes = true
    _ = await look()
  }

  /// The recipes that are tools: recipes that say so, and recipes whose names match a pattern; broken ones with their
  /// errors.
  package func tools(_ patterns: [String]) async throws(RequestRefusedError) -> [ToolRecord] {
    try await findRecipes()
    let settings = ToolSettings(recipes: patterns)
    var found: [ToolRecord] = []
    for item in registry.items where item.isTool || settings.names(item.name) {
      if let known = knownTools[item.file], known.texts == item.texts {
        found.append(known.tool)
      } else if let recipe = registry.recipe(of: item.file, from: item.texts, in: item.language) {
        found.append(tool(of: item, recipe))
        // Others wait for this actor, and a hundred recipes take a while.
        await Task.yield()
      }
    }
    for file in registry.broken {
      // The error may be in a recipe that it calls.
      guard let source = try? registry.environment.read(file) else { continue }
      let broken = BrokenRecipe(source, else: ScheduleHost.stem(of: file))
      guard
        broken.isTool || settings.names(broken.name),
        !found.contains(where: { $0.name.hasSameScalars(as: broken.name) })
      else { continue }
      found.append(
        ToolRecord(broken.name, faults: findings(of: file).filter { $0.severity == "error" }.map(\.sentence)))
    }
    let files = Set(registry.items.map(\.file))
    knownTools = knownTools.filter { files.contains($0.key) }
    return found.sorted { $0.name.precedesByScalars($1.name) }
  }

  /// Makes the tool of a recipe, and keeps it.
  func tool(of item: RecipeRegistry.Item, _ recipe: Recipe) -> ToolRecord {
    let tool = ToolRecord(recipe, in: registry.environment.catalog, plugins: registry.environment.connections ?? [:])
    knownTools[item.file] = (item.texts, tool)
    return tool
  }
}

extension FindingRecord {
  /// The finding on one line, with its place.
  fileprivate var sentence: String {
    let place = file.map { "\($0):\(line ?? 1):\(column ?? 1): " } ?? ""
    return (place + message).safe
  }
}
