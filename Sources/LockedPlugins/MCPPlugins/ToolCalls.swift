// A call of a tool, and the contract of the tools that serve it: `errand/baseline`, `errand/reconcile`, `errand/preview`.
//
// Each of these tools gets the call's own arguments that its inputSchema declares. It also gets the following, if it
// declares them and the tool has no argument of the same name:
//
//     key          the step's idempotency key, the same in every attempt
//     baseline     for `errand/reconcile`: what the baseline tool answered before the first attempt; {} without one
//     started_at   for `errand/reconcile`: when the attempt began whose outcome isn't known, as RFC 3339
//
// The baseline tool answers any object. The reconcile tool answers
//
//     {"outcome": "done", "output": …}     what the tool would have answered: its structuredContent, or its text
//     {"outcome": "notDone"}               the tool may be called again
//     {"outcome": "unknown", "look": "…"}  a person has to look, at what the sentence says
//
// and the preview tool {"changes": [{"subject": "…", "before": "…", "after": "…"}]}: `before` is absent if the subject
// doesn't exist yet, `after` if it will be removed. `output` may also be the action's own output, for a tool without
// outputSchema: {"text": "…", "content": […]}. Answers are structuredContent, or JSON as the only text; if the SDK puts
// an answer into {"result": …}, its content counts.

import ActionKit
import Basics
import ModelContext
import PluginLocks

/// The calls of an action of a lock on its server.
struct ToolCalls: Sendable {
  let action: LockedAction
  private let call: Value

  init(_ action: LockedAction) {
    self.action = action
    call = action.call
  }

  private var tool: String { call["tool"]?.string ?? "" }
  /// Whether the tool has no outputSchema.
  private var isPlain: Bool { call["plain"]?.bool == true }
  private var isWrite: Bool {
    switch action.effect {
    case .pure, .read: false
    case .consume, .idempotentWrite, .write: true
    }
  }

  var calls: ActionDescriptor.Calls {
    var calls = ActionDescriptor.Calls { input, service, context in
      try await run(input, on: Self.cast(service), in: context)
    }
    if call["reconcile"] != nil {
      calls.takingBaseline = { input, service, context in
        let service = try Self.cast(service)
        guard call["baseline"] != nil else {
          // From here on the attempt is recorded, and an interruption leaves its outcome unknown. The server is started
          // now, so that a failed start isn't such an interruption.
          try await service.meet()
          return .map(ValueMap())
        }
        let answer = try await ask("baseline", input, [:], on: service, in: context)
        return answer.map == nil ? .object(["value": answer]) : answer
      }
      calls.reconciling = { input, baseline, startedAt, service, context in
        try await reconcile(input, baseline, startedAt, on: Self.cast(service), in: context)
      }
    }
    if call["preview"] != nil {
      // Another tool makes it.
      calls.previewIsSeparate = true
      calls.previewing = { input, service, context in
        try await preview(input, on: Self.cast(service), in: context)
      }
    }
    return calls
  }

  private static func cast(_ service: any Sendable) throws(ActionError) -> MCPService {
    guard let service = service as? MCPService else {
      throw ActionError(
        .internal, "a tool works on a server of MCP, and was handed \(type(of: service))",
        effect: ActionError.Effect.none)
    }
    return service
  }

  // MARK: Calling

  private func arguments(_ input: Value, _ context: ActionContext) -> ValueMap {
    var arguments = ValueMap()
    let whole = call["whole"]?.string
    if let whole, let given = input[whole]?.map {
      for member in given.members { arguments[member.key] = member.value }
    }
    for member in input.map?.members ?? []
    where !member.value.isNull && whole.map({ member.name?.hasSameScalars(as: $0) == true }) != true {
      arguments[member.key] = member.value
    }
    for name in (call["nulls"]?.list ?? []).compactMap(\.string) where arguments[name] == nil {
      arguments[name] = .null
    }
    if let key = call["key"]?.string { arguments[key] = .string(context.idempotencyKey) }
    return arguments
  }

  private func run(
    _ input: Value, on service: MCPService, in context: ActionContext
  ) async throws(ActionError) -> Value {
    let answer = try await service.call(tool, arguments(input, context), isWrite: isWrite, in: context)
    if answer.isError {
      // The tool reports a failure, but may have changed something. A write that can be reconciled is, so its outcome
      // is unknown; another counts as done.
      throw failure(
        answer, of: tool, effect: isWrite ? call["reconcile"] == nil ? .done : .unknown : ActionError.Effect.none)
    }
    let text = answer.texts.joined(separator: "\n")
    do throws(ValueError) {
      return try output(structured: answer.structured, text: text, content: answer.content)
    } catch {
      let value = answer.structured ?? (try? JSON.parse(Array(text.utf8)))
      // The server's tools were compared with the lock before the call.
      let advice =
        value.map { action.output.isLoosenedByText(error, in: $0) } ?? false
        ? "to read dates and times as texts, run 'errand plugin update \(service.lock.name) --dates text'"
        : "the server breaks its own 'outputSchema', and neither an update nor --dates loosens this field; correct the "
          + "server, or report it to its author"
      throw .unusable(
        "the answer of the tool '\(tool)' doesn't match \(service.lock.file): \(error.description.excerpt(300)); "
          + advice, isWrite: isWrite)
    }
  }

  private func failure(_ answer: ToolResult, of tool: String, effect: ActionError.Effect) -> ActionError {
    let text = answer.texts.joined(separator: "\n").trimmed
    let line = text.split(separator: "\n").first.map(String.init) ?? ""
    return ActionError(
      .plugin, "the tool '\(tool)' failed" + (line.isEmpty ? "" : ": \(line.excerpt(300).safe)"),
      detail: text.hasSameScalars(as: line) && text.utf8.count <= 300 ? nil : text.excerpt(1900), retryable: true,
      effect: effect)
  }

  /// The tool's answer as the action's output.
  private func output(structured: Value?, text: String, content: [Value]) throws(ValueError) -> Value {
    if isPlain {
      var output = ValueMap([("text", .string(text)), ("content", .list(content))])
      if let structured { output["structured"] = structured }
      return .map(output)
    }
    guard let value = structured ?? (try? JSON.parse(Array(text.utf8))) else {
      throw ValueError("there is no structuredContent")
    }
    return try action.output.taking(value, as: "")
  }

  // MARK: Looking

  private func ask(
    _ helper: String, _ input: Value, _ more: [String: Value], on service: MCPService, in context: ActionContext
  ) async throws(ActionError) -> Value {
    let helper = call[helper]
    let tool = helper?["tool"]?.string ?? ""
    var all = arguments(input, context)
    for (name, value) in [("key", Value.string(context.idempotencyKey))] + more.map({ ($0.key, $0.value) })
    where all[name] == nil { all[name] = value }
    var arguments = ValueMap()
    for name in (helper?["arguments"]?.list ?? []).compactMap(\.string) { arguments[name] = all[name] }
    let answer = try await service.call(tool, arguments, isWrite: false, in: context)
    if answer.isError { throw failure(answer, of: tool, effect: .none) }
    var value = answer.structured ?? answer.texts.first.flatMap { try? JSON.parse(Array($0.utf8)) }
    if let map = value?.map, map.count == 1, let result = map["result"] { value = result }
    guard let value else {
      throw ActionError(
        .plugin, "the tool '\(tool)' answered neither structuredContent nor JSON", retryable: false,
        effect: ActionError.Effect.none)
    }
    return value
  }

  private func misfit(_ helper: String, _ answer: Value, _ wanted: String) -> ActionError {
    ActionError(
      .plugin,
      "the tool '\(call[helper]?["tool"]?.string ?? "")' must answer \(wanted), but answered "
        + JSON.displayed(answer).excerpt(200).safe, retryable: false, effect: ActionError.Effect.none)
  }

  private func reconcile(
    _ input: Value, _ baseline: Value, _ startedAt: Timestamp, on service: MCPService, in context: ActionContext
  ) async throws(ActionError) -> Reconciliation<Value> {
    let answer = try await ask(
      "reconcile", input, ["baseline": baseline, "started_at": .string("\(startedAt)")], on: service, in: context)
    switch answer["outcome"]?.string {
    case "done":
      do throws(ValueError) { return .done(try lookedUp(answer["output"])) } catch {
        throw misfit("reconcile", answer, "the \"output\" of '\(tool)' (\(error.description.excerpt(300)))")
      }
    case "notDone": return .notDone
    case "unknown":
      let look = answer["look"]?.string ?? ""
      return .unknown(look.isEmpty ? "the tool can't tell whether it was done" : look.excerpt(500).safe)
    default: throw misfit("reconcile", answer, #""outcome" that is "done", "notDone" or "unknown""#)
    }
  }

  /// The action's output, from the `output` of the reconcile tool.
  private func lookedUp(_ given: Value?) throws(ValueError) -> Value {
    switch given?.content {
    case nil, .null:
      if action.output.fields.contains(where: \.isRequired) { throw ValueError("it is missing") }
      return .map(ValueMap())
    case .string(let text):
      return try output(
        structured: nil, text: text, content: [.object(["type": .string("text"), "text": .string(text)])])
    case .map:
      // The output of such a tool, in the form that `--output` takes.
      if isPlain, let given, given["text"] != nil, given["content"] != nil {
        return try action.output.taking(given, as: "output")
      }
      return try output(structured: given, text: "", content: [])
    default: throw ValueError("it must be an object or a text")
    }
  }

  private func preview(
    _ input: Value, on service: MCPService, in context: ActionContext
  ) async throws(ActionError) -> [Change] {
    let answer = try await ask("preview", input, [:], on: service, in: context)
    guard let changes = (answer["changes"] ?? answer).list else {
      throw misfit("preview", answer, #"a list "changes""#)
    }
    return try changes.enumerated().map { index, change throws(ActionError) in
      func fault(_ wanted: String) -> ActionError { misfit("preview", change, "\(wanted) in 'changes[\(index)]'") }
      guard let subject = change["subject"]?.string, !subject.isEmpty else { throw fault(#"a "subject""#) }
      if let other = change.map?.members.first(where: { !Self.partsOfChanges.contains($0.name ?? "") }) {
        throw fault("\(Self.partsOfChanges.map { "\"\($0)\"" }.joined(separator: ", ")) and not \(other.key.written)")
      }
      func displayed(_ name: String) -> String? {
        change[name].flatMap { $0.isNull ? nil : $0.string ?? JSON.displayed($0) }
      }
      let (before, after) = (displayed("before"), displayed("after"))
      // Without both, the change would look like no change.
      if before == nil, after == nil { throw fault(#""before" or "after""#) }
      return Change(subject, from: before, to: after)
    }
  }

  private static let partsOfChanges = ["subject", "before", "after"]
}
