import ActionKit
import Agent
import Operations
import Basics
import ModelContext
import RunState

/// A tool that only looks: at runs, at the text of a recipe, and at what recipes can use.
///
/// Each is one of the agent's requests, by which its arguments are declared and read, with the answer that the API gives.
/// It sees the runs of recipes that are tools for the caller; a run of another recipe doesn't exist for it.
enum LookingTool: String, CaseIterable {
  case runs = "errand_runs"
  case run = "errand_run"
  case why = "errand_why"
  case check = "errand_check"
  case actions = "errand_actions"

  private var verb: String {
    switch self {
    case .runs: "runs"
    case .run: "show"
    case .why: "explain"
    case .check: "check"
    case .actions: "actions"
    }
  }

  /// The parameters of the request that are arguments.
  private var names: [String] {
    switch self {
    case .runs: ["limit", "recipe", "status", "since", "until", "cursor", "needsPerson"]
    case .run, .why: ["run"]
    case .check: ["text", "file"]
    case .actions: []
    }
  }

  private var answer: any FieldSet.Type {
    switch self {
    case .runs: RunListAnswer.self
    case .run: RunAnswer.self
    case .why: ExplanationAnswer.self
    case .check: FindingListAnswer.self
    case .actions: ActionListAnswer.self
    }
  }

  private var declared: (any Operation.Type)? { OperationList.named(verb) }

  /// The arguments of `errand_actions`: all schemas together are more than a model should read.
  private static let (action, plugin) = ("action", "plugin")
  /// The argument of each: where to read on in a text that was cut.
  private static let start = "from"

  var tool: Tool {
    var (properties, required) = (ValueMap(), [Value]())
    for parameter in declared?.parameters ?? [] where names.contains(parameter.name) {
      var schema = parameter.type.jsonSchema
      schema["description"] = .string(parameter.summary)
      properties[parameter.name] = .map(schema)
      if parameter.isRequired { required.append(.string(parameter.name)) }
    }
    var description = declared?.summary ?? ""
    if case .actions = self {
      description =
        "Lists the actions that recipes can use, or those of one plugin, with their effects; for one action, its schemas as well."
      properties[LookingTool.plugin] = .object([
        "type": .string("string"), "description": .string("Only the actions of this plugin, such as http."),
      ])
      properties[LookingTool.action] = .object([
        "type": .string("string"), "description": .string("Only this action, such as http.get, with its schemas."),
      ])
    }
    properties[LookingTool.start] = .object([
      "type": .string("integer"), "minimum": .int(0),
      "description": .string("The byte of the answer's text to begin with, as an answer that was cut names it."),
    ])
    var schema = ValueMap([("type", .string("object")), ("properties", .map(properties))])
    if !required.isEmpty { schema["required"] = .list(required) }
    schema["additionalProperties"] = .bool(false)
    return Tool(
      name: rawValue, description: description, inputSchema: .map(schema),
      outputSchema: .map(answer.schema.jsonSchema(allowsExpressions: false)),
      annotations: .init(isReadOnly: true, isDestructive: false, isIdempotent: true, isOpenWorld: false))
  }

  /// - Parameter recipes: The names of the recipes that are tools for the caller; asked for only where runs are looked at.
  func result(
    of arguments: ValueMap, from caller: ToolCaller, among recipes: () async throws(RequestRefusedError) -> [String]
  ) async throws(RequestRefusedError) -> (result: ToolResult, start: Int) {
    var line = ValueMap()
    var named = Named()
    var start = 0
    for member in arguments.members {
      let name = member.name ?? ""
      if case .actions = self, [LookingTool.action, LookingTool.plugin].contains(name) {
        guard let text = member.value.string else {
          if member.value.isNull { continue }
          throw RequestRefusedError(.request, "'\(name)' must be a string, not \(member.value.kindName)")
        }
        if name == LookingTool.action { named.action = text } else { named.plugin = text }
      } else if name == LookingTool.start {
        if member.value.isNull { continue }
        guard let number = member.value.int, number >= 0 else {
          throw RequestRefusedError(.request, "'from' takes the number of a byte, from 0 on")
        }
        start = number
      } else if names.contains(name) {
        // A model may write out what it leaves out.
        if !member.value.isNull { line[name] = member.value }
      } else {
        throw RequestRefusedError(.request, "\(rawValue) takes no '\(name.excerpt(60))'")
      }
    }
    if case .runs = self {
      line["paged"] = .bool(true)
      guard (1...200).contains(line["limit"]?.int ?? 20) else {
        throw RequestRefusedError(.request, "'limit' takes a number from 1 to 200")
      }
    }
    let found = try await found(try request(line), for: caller, among: recipes)
    guard let answer = try await answer(found, named, caller), let value = try? answer.encoded() else {
      throw RequestRefusedError(.state, "the agent answered something else")
    }
    let plain = value.displayedAsJSON
    return (ToolResult(JSON.displayed(plain, .pretty), structured: plain), start)
  }

  /// Which actions are listed.
  private struct Named {
    var action: String?
    var plugin: String?
  }

  private func request(_ members: ValueMap) throws(RequestRefusedError) -> any Operation {
    guard let declared else { preconditionFailure("A tool's request is one of the agent's.") }
    do throws(RequestRefusedError) { return try declared.init(inputs: members, isExact: false) } catch {
      let beginning = "the request '\(verb)' isn't valid: "
      let reason = error.message.hasPrefix(beginning) ? String(error.message.dropFirst(beginning.count)) : error.message
      throw RequestRefusedError(.request, "the arguments of \(rawValue) aren't valid: \(reason)")
    }
  }

  // MARK: Runs of tools

  /// The answer, in which only runs of tools exist.
  private func found(
    _ request: any Operation, for caller: ToolCaller, among recipes: () async throws(RequestRefusedError) -> [String]
  ) async throws(RequestRefusedError) -> any OperationAnswer {
    let run: String
    switch request {
    case let asked as ListRuns:
      let recipes = try await recipes()
      // A recipe that is no tool has no runs here.
      let isKnown = asked.recipe.map { recipe in recipes.contains(where: recipe.hasSameScalars) } ?? !recipes.isEmpty
      return isKnown ? try await caller.answer(request, recipes) : RunList()
    case let asked as ShowRun: run = asked.run
    case let asked as ExplainRun: run = asked.run
    default: return try await caller.answer(request, [])
    }
    if case .why = self, !caller.seesData {
      throw RequestRefusedError(.request, "the token lacks the scope 'data', which this needs")
    }
    let recipes = try await recipes()
    do throws(RequestRefusedError) {
      if !recipes.isEmpty { return try await caller.answer(request, recipes) }
    } catch  where error.kind != .notFound { throw error } catch {
      // The tools have a list of their own.
    }
    throw RequestRefusedError(
      .notFound, "'\(run.excerpt(60))' doesn't name one run of a tool; errand_runs lists the runs of tools")
  }

  // MARK: Answers

  private func answer(
    _ answer: any OperationAnswer, _ named: Named, _ caller: ToolCaller
  ) async throws(RequestRefusedError) -> (any FieldSet)? {
    switch answer {
    case var list as RunList:
      list.open = list.open.map(\.alone)
      return RunListAnswer(list, withData: caller.seesData)
    case let displayed as ShowRun.Answer:
      let record = try await displayed.record()
      var answer = RunAnswer(record.alone, withData: caller.seesData)
      if caller.seesData, case .blob(let blob)? = record.outputs {
        answer.outputs = try await caller.ask(ReadValue(blob, of: record.id)).value().asPlainJSON
      }
      return answer
    case let why as ExplainedThing: return ExplanationAnswer(why.explanation, ofRun: why.id)
    case let checked as CheckText.Answer: return FindingListAnswer(checked.findings)
    case let listed as ListActions.Answer:
      var answer = ActionListAnswer()
      var entries = Value.list(listed.actions).displayedAsJSON.list ?? []
      if let plugin = named.plugin {
        let plugins = entries.compactMap { $0["id"]?.string.map { String($0.prefix { $0 != "." }) } }
        entries = entries.filter { $0["id"]?.string?.hasPrefix("\(plugin).") == true }
        guard !entries.isEmpty else {
          let guess = plugin.nearest(among: plugins).map { "did you mean '\($0)'?" }
          throw RequestRefusedError(
            .notFound,
            "no plugin is named '\(plugin.excerpt(60))'; \(guess ?? "errand_actions without 'plugin' lists the actions of all")"
          )
        }
      }
      guard let action = named.action else {
        answer.items = entries.compactMap(\.map).map { entry in
          var shortened = entry
          (shortened["input"], shortened["output"]) = (nil, nil)
          return .map(shortened)
        }
        return answer
      }
      answer.items = entries.filter { $0["id"]?.string?.hasSameScalars(as: action) == true }
      guard answer.items.isEmpty else { return answer }
      let guess = action.nearest(among: entries.compactMap { $0["id"]?.string }).map { "did you mean '\($0)'?" }
      throw RequestRefusedError(
        .notFound,
        "no action is named '\(action.excerpt(60))'; \(guess ?? "errand_actions without 'action' lists them")")
    default: return nil
    }
  }
}

extension Value {
  /// The value as JSON has it, in which every value has a form.
  var displayedAsJSON: Value { (try? JSON.parse(JSON.displayed(self), limits: .init(depth: JSON.deepest))) ?? .null }
}
