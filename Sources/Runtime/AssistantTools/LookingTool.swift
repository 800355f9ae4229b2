import ActionKit
import Agent
import Basics
import ModelContext

/// A tool that only looks: at runs, at the text of a recipe, and at what recipes can use.
///
/// Each is one of the agent's requests, by which its arguments are declared and read, with the answer that the API gives.
enum LookingTool: String, CaseIterable {
  case runs = "errand.runs"
  case run = "errand.run"
  case why = "errand.why"
  case check = "errand.check"
  case actions = "errand.actions"

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

  private var declared: AgentVerb? { AgentVerb.all.first { $0.name == verb } }

  /// The one argument of `errand.actions`: all schemas together are more than a model should read.
  private static let action = "action"

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
      description = "Lists the actions that recipes can use, with their effects; for one action, its schemas as well."
      properties[LookingTool.action] = .object([
        "type": .string("string"), "description": .string("Only this action, such as http.get, with its schemas."),
      ])
    }
    var schema = ValueMap([("type", .string("object")), ("properties", .map(properties))])
    if !required.isEmpty { schema["required"] = .list(required) }
    schema["additionalProperties"] = .bool(false)
    return Tool(
      name: rawValue, description: description, inputSchema: .map(schema),
      outputSchema: .map(answer.schema.jsonSchema(allowsExpressions: false)),
      annotations: .init(isReadOnly: true, isDestructive: false, isIdempotent: true, isOpenWorld: false))
  }

  func result(of arguments: ValueMap, from caller: ToolCaller) async throws(RequestRefusedError) -> ToolResult {
    var line = ValueMap([("ask", .string(verb))])
    var action: String?
    for member in arguments.members {
      let name = member.name ?? ""
      if case .actions = self, name == LookingTool.action {
        action = member.value.string
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
    let reply = try await caller.ask(try AgentRequest(reading: .map(line))) { $0 }
    guard let answer = answer(reply, action, caller), let value = try? answer.encoded() else {
      throw RequestRefusedError(.state, "the agent answered something else")
    }
    let plain = value.shownAsJSON
    return ToolResult(JSON.shown(plain, .pretty), structured: plain)
  }

  private func answer(_ reply: AgentReply, _ action: String?, _ caller: ToolCaller) -> (any FieldSet)? {
    switch reply {
    case .runs(let list): return RunListAnswer(list, withData: caller.seesData)
    case .run(let record): return RunAnswer(record, withData: caller.seesData)
    case .explained(let run, let explanation): return ExplanationAnswer(explanation, ofRun: run)
    case .value(let value):
      if case .check = self { return FindingListAnswer(value) }
      var answer = ActionListAnswer()
      answer.items = (value.shownAsJSON.list ?? []).compactMap { entry -> Value? in
        if let action { return entry["id"]?.string?.hasSameScalars(as: action) == true ? entry : nil }
        guard var brief = entry.map else { return nil }
        (brief["input"], brief["output"]) = (nil, nil)
        return .map(brief)
      }
      return answer
    default: return nil
    }
  }
}

extension Value {
  /// The value as JSON has it, in which every value has a form.
  var shownAsJSON: Value { (try? JSON.parse(JSON.shown(self), limits: .init(depth: JSON.deepest))) ?? .null }
}
