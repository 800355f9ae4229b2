/// The recipes of an agent as tools of assistants, by the Model Context Protocol (`ModelContextMessage`).
///
/// A recipe that is offered is a tool of its name (`ToolNames`): its inputs are the arguments, and its outputs are in
/// the result's structured content. Beside these there are tools that only look (`LookingTool`). Deciding on approvals
/// is no tool: a model must not stand for a person.
///
/// A recipe that does no more than read runs at once. Any other is planned first, and runs only when a person has confirmed
/// that plan (`RecipeCall`).
import Agent
import Operations
package import Basics
package import ModelContext
package import Recipes
import RunState
import Synchronization

package struct ToolService: Sendable {
  let settings: ToolSettings
  let time: any TimeSource
  /// The program's version.
  let version: String
  let confirmations = Confirmations()
  private let remarks = Remarks()

  package init(_ settings: ToolSettings, version: String, time: any TimeSource) {
    self.settings = settings
    self.version = version
    self.time = time
  }

  /// The most bytes of a page of the list of tools, if it has more than one.
  private static let mostOfPage = 512 << 10

  /// How long a client may keep a list of tools, in milliseconds.
  private static let freshness = 5000

  private static let instructions =
    "The tools run recipes of errand. A tool that writes shows its plan to the user first, and runs only once the user has confirmed it. errand_runs, errand_run and errand_why tell what runs did and why they wait or failed."

  /// Whether a request only looks.
  package static func isLooking(_ method: String, _ params: ValueMap) -> Bool {
    method != "tools/call" || LookingTool(rawValue: params["name"]?.string ?? "") != nil
  }

  /// The result of a request; its texts are shortened only after their secrets are masked.
  package func answer(
    _ method: String, _ params: ValueMap, of client: ToolClient, from caller: ToolCaller
  ) async throws(ModelContextError) -> ValueMap {
    let hide = caller.hide
    let result = await OutsideText.redacted(by: { text, _ in hide(.string(text)).string ?? text }) {
      () async -> Result<ValueMap, ModelContextError> in
      do throws(ModelContextError) {
        return .success(try await found(method, params, of: client, from: caller))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func found(
    _ method: String, _ params: ValueMap, of client: ToolClient, from caller: ToolCaller
  ) async throws(ModelContextError) -> ValueMap {
    var result: ValueMap
    var isKept = false
    switch method {
    case "initialize" where !RequestEnvelope.isIn(params): return initialized(params)
    case "ping" where !client.version.isStateless: return ValueMap()
    case "server/discover":
      result = ValueMap([
        ("supportedVersions", .list(ProtocolVersion.stateless.map { .string($0.rawValue) })),
        ("capabilities", ToolService.capabilities), ("instructions", .string(ToolService.instructions)),
      ])
      isKept = true
    case "tools/list":
      let tools = try await tools(for: client, caller)
      result = try page(of: tools, after: params["cursor"])
      isKept = true
    case "tools/call": result = try await call(params, of: client, from: caller)
    default: throw ModelContextError(.methodNotFound, "there is no method '\(method.excerpt(60))' here")
    }
    guard client.version.isStateless else { return result }
    if result["resultType"] == nil { result["resultType"] = .string(InputRequired.complete) }
    if isKept {
      result["ttlMs"] = .int(ToolService.freshness)
      result["cacheScope"] = .string("private")
    }
    result["_meta"] = .object([RequestEnvelope.Key.serverInfo: server])
    return result
  }

  private var server: Value {
    .object(["name": .string("errand"), "title": .string("Errand"), "version": .string(version)])
  }

  private static let capabilities = Value.object(["tools": .map(ValueMap())])

  /// The version that is spoken after a handshake: the client's, or the newest one with a handshake.
  package static func negotiated(_ params: ValueMap) -> ProtocolVersion {
    let wanted = params["protocolVersion"]?.string.flatMap(ProtocolVersion.init(rawValue:))
    return wanted.flatMap { $0.isStateless ? nil : $0 } ?? .latestHandshake
  }

  private func initialized(_ params: ValueMap) -> ValueMap {
    ValueMap([
      ("protocolVersion", .string(ToolService.negotiated(params).rawValue)),
      ("capabilities", ToolService.capabilities), ("serverInfo", server),
      ("instructions", .string(ToolService.instructions)),
    ])
  }

  // MARK: Tools

  /// The recipes that the caller may run, in the order of their names.
  private func recipes(for caller: ToolCaller) async throws(RequestRefusedError) -> [ToolRecord] {
    try await caller.ask(ListTools.with { $0.patterns = settings.recipes }).tools.filter { caller.sees($0.name) }
  }

  private func tools(for client: ToolClient, _ caller: ToolCaller) async throws(ModelContextError) -> [Value] {
    let recipes: [ToolRecord]
    do throws(RequestRefusedError) { recipes = try await self.recipes(for: caller) } catch {
      throw ModelContextError(.internalError, error.overHTTP ?? error.message)
    }
    await remark(on: recipes, to: caller)
    let takesToken = settings.confirmation == .token
    let offered = recipes.filter { $0.objection == nil }
    let names = ToolNames(of: recipes.map(\.name))
    let tools =
      LookingTool.allCases.map(\.tool)
      + offered.compactMap { recipe in
        let takesToken = takesToken && !recipe.isReadOnly && !recipe.takesInputOfTokenName
        return names.tool(of: recipe.name).map {
          recipe.tool($0, takesToken: takesToken, canBeConfirmed: takesToken || client.asksItsUser)
        }
      }
    return tools.map { tool in
      var tool = tool
      if !client.version.knowsStructuredContent { tool.outputSchema = nil }
      return AnswerLimit.describedBriefly(caller.hide(tool.value))
    }
  }

  /// As many tools as come at once, which is nearly always all of them.
  private func page(of tools: [Value], after cursor: Value?) throws(ModelContextError) -> ValueMap {
    var rest = tools[...]
    if let cursor, !cursor.isNull {
      guard let name = cursor.string, let index = tools.firstIndex(where: { $0["name"]?.string == name }) else {
        throw ModelContextError(.invalidParams, "'cursor' isn't one that a list of tools gave; leave it out")
      }
      rest = tools[(index + 1)...]
    }
    var (page, bytes) = ([Value](), 0)
    while let tool = rest.first {
      bytes += JSON.displayed(tool).utf8.count
      if !page.isEmpty, bytes > ToolService.mostOfPage { break }
      page.append(tool)
      rest = rest.dropFirst()
    }
    var result = ValueMap([("tools", .list(page))])
    if !rest.isEmpty { result["nextCursor"] = page.last?["name"] }
    return result
  }

  /// Says which recipes are no tools though they are to be, and why, to the people who look after this process; where
  /// that can't be known yet, the first list of tools says it.
  package func remark(to caller: ToolCaller) async {
    if let recipes = try? await recipes(for: caller) { await remark(on: recipes, to: caller) }
  }

  /// Says once each why recipes may be missing among the tools, to the people who look after this process.
  private func remark(on tools: [ToolRecord], to caller: ToolCaller) async {
    let recipes = tools + (await caller.doubtfulRecipes(besides: tools, settings))
    var lines = settings.recipes.filter { pattern in
      !recipes.contains { ToolSettings(recipes: [pattern]).names($0.name) }
    }.map { "'\($0)' under 'server.mcp.recipes' in errand.yaml matches no recipe" }
    if recipes.isEmpty {
      lines.append(
        "no recipe is a tool; write 'mcp: true' in one, or name it under 'server.mcp.recipes' in errand.yaml")
    }
    lines += recipes.compactMap { recipe in recipe.objection.map { "the recipe '\(recipe.name)' is no tool: \($0)" } }
    for line in lines where remarks.isNew(line) { caller.note(line) }
  }

  private func call(
    _ params: ValueMap, of client: ToolClient, from caller: ToolCaller
  ) async throws(ModelContextError) -> ValueMap {
    guard let name = params["name"]?.string else {
      throw ModelContextError(.invalidParams, "'name' must be the name of a tool")
    }
    var arguments: ValueMap
    switch params["arguments"]?.content {
    case nil, .null: arguments = ValueMap()
    case .map(let map): arguments = map
    default: throw ModelContextError(.invalidParams, "'arguments' must be an object")
    }
    var result = ToolResult("")
    var invalid: String?
    var (start, required) = (0, Set<String>())
    var rest: (Int) -> String = { _ in "" }
    do throws(RequestRefusedError) {
      if let tool = LookingTool(rawValue: name) {
        arguments = arguments.withInts(of: tool.tool.inputSchema)
        (result, start) = try await tool.result(of: arguments, from: caller) {
          () async throws(RequestRefusedError) in
          try await recipes(for: caller).filter { $0.objection == nil }.map(\.name)
        }
        required = tool.tool.outputSchema.map(ToolService.required) ?? []
        rest = { "Call \(tool.rawValue) with the same arguments and \"from\": \($0) for the rest." }
      } else {
        let recipes = try await self.recipes(for: caller)
        let names = ToolNames(of: recipes.map(\.name))
        var found = ToolService.recipe(names.recipe(of: name) ?? name, among: recipes)
        if found == nil {
          let doubtful = await caller.doubtfulRecipes(besides: recipes, settings)
          found = ToolService.recipe(ToolNames(of: doubtful.map(\.name)).recipe(of: name) ?? name, among: doubtful)
        }
        guard let recipe = found else {
          throw RequestRefusedError(
            .notFound, ToolService.unknown(name, among: recipes.compactMap { names.tool(of: $0.name) }))
        }
        required = ToolService.required(RecipeCall.schema(outputs: .null))
        arguments = arguments.withInts(of: recipe.inputs)
        let call = RecipeCall(
          service: self, recipe: recipe, arguments: arguments, params: params, client: client, caller: caller)
        switch try await call.outcome() {
        case .result(let done): result = done
        case .question(let question): return question.members
        case .invalid(let message): invalid = message
        }
      }
    } catch {
      if error.kind == .notFound, LookingTool(rawValue: name) == nil {
        throw ModelContextError(.invalidParams, error.message)
      }
      // The model reads why, and may do better.
      result = ToolResult(error.overHTTP ?? error.message, isError: true)
    }
    if let invalid { throw ModelContextError(.invalidParams, invalid) }
    if let run = result.structured?["run"]?.string, LookingTool(rawValue: name) == nil {
      rest = { _ in "Call \(LookingTool.run.rawValue) with \"run\": \"\(run)\" for all of it." }
    }
    if !client.version.knowsStructuredContent { result.structured = nil }
    // Nothing is shortened before its secrets are taken out.
    result = ToolResult(reading: caller.hide(.map(result.members)).map ?? ValueMap())
    return AnswerLimit.fitted(result, from: start, required: required, rest: rest).members
  }

  private static func required(_ schema: Value) -> Set<String> {
    Set((schema["required"]?.list ?? []).compactMap(\.string))
  }

  private static func recipe(_ name: String, among recipes: [ToolRecord]) -> ToolRecord? {
    recipes.first { $0.name.hasSameScalars(as: name) }
  }

  private static func unknown(_ name: String, among names: [String]) -> String {
    let all = names + LookingTool.allCases.map(\.rawValue)
    let guess = name.nearest(among: all).map { "did you mean '\($0)'?" }
    return "there is no tool '\(name.excerpt(60))'; \(guess ?? "tools/list lists them")"
  }
}

/// The remarks so far, each once.
private final class Remarks: Sendable {
  private let lines = Mutex<Set<String>>([])

  func isNew(_ line: String) -> Bool { lines.withLock { $0.insert(line).inserted } }
}

extension ValueMap {
  /// The arguments with an int wherever the schema wants an integer and the client gave it as `3.0`, which JSON Schema
  /// takes for one.
  fileprivate func withInts(of schema: Value) -> ValueMap { Value.map(self).withInts(of: schema).map ?? self }
}

extension Value {
  fileprivate func withInts(of schema: Value) -> Value {
    switch content {
    case .double(let number):
      let types = schema["type"]?.list ?? [schema["type"] ?? .null]
      guard types.contains(.string("integer")), !types.contains(.string("number")) else { return self }
      return Int(exactly: number).map { .int($0) } ?? self
    case .list(let items): return .list(items.map { $0.withInts(of: schema["items"] ?? .null) })
    case .map(let map):
      var changed = map
      for member in map.members {
        let schema = schema["properties"]?[member.name ?? ""] ?? schema["additionalProperties"] ?? .null
        changed[member.key] = member.value.withInts(of: schema)
      }
      return .map(changed)
    default: return self
    }
  }
}

extension ToolRecord {
  /// Whether the argument that confirms a plan would be one of the recipe's own inputs.
  var takesInputOfTokenName: Bool { inputs["properties"]?[RecipeCall.token] != nil }

  /// Why the recipe is no tool, though it is to be one; nil if it is.
  var objection: String? {
    if !faults.isEmpty {
      let more = faults.count > 1 ? ", and \(counted(faults.count - 1, "more error"))" : ""
      return faults[0] + more
    }
    return secrets.first.map { "its input '\($0)' is a secret, which an assistant can't give" }
  }

  /// The description of the recipe for clients.
  ///
  /// - Parameters:
  ///   - tool: The recipe's name as a tool.
  ///   - takesToken: Whether a run may be confirmed by an argument.
  ///   - canBeConfirmed: Whether the client has any way to confirm a plan.
  fileprivate func tool(_ tool: String, takesToken: Bool, canBeConfirmed: Bool) -> Tool {
    var schema = inputs.map ?? ValueMap()
    if takesToken, var properties = schema["properties"]?.map {
      properties[RecipeCall.token] = .object([
        "type": .string("string"),
        "description": .string("The token of the plan that the answer before showed; without it, only a plan is made."),
      ])
      schema["properties"] = .map(properties)
    }
    var words = summary.isEmpty ? "Runs the recipe '\(name)'." : summary
    if !isReadOnly {
      words += words.hasSuffix(".") ? "" : "."
      words +=
        canBeConfirmed
        ? " It is planned first, and runs once the plan is confirmed."
        : " It may write, and this program can't ask its user to confirm that, so it can't run it."
    }
    return Tool(
      name: tool, title: tool.hasSameScalars(as: name) ? nil : name, description: words, inputSchema: .map(schema),
      outputSchema: RecipeCall.schema(outputs: outputs),
      annotations: .init(
        isReadOnly: isReadOnly, isDestructive: writes, isIdempotent: isIdempotent, isOpenWorld: isOpenWorld))
  }
}
