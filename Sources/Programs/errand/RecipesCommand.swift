import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Operations

/// `errand recipes`: lists the recipes that an agent serves, or shows one.
struct RecipesCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    return parsed.command.last == "show" ? try await show(session) : try await list(session)
  }

  // MARK: All

  private func list(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let answer = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.refuseUnlessServed("serves recipes", otherwise: "errand check")
      return try await requests.ask(ListRecipes())
    }
    if asJSON {
      try await show(answer, to: ListRecipes.self)
      return .done
    }
    guard !answer.recipes.isEmpty else {
      console.say("no recipe is served\(session.access.remote.map { " at \($0.url)" } ?? "")")
      return .done
    }
    let rows = answer.recipes.map { [$0.name.safe, $0.summary?.safe ?? "", $0.file.safe, $0.note] }
    console.out(console.table(["RECIPE", "SUMMARY", "FILE", "NOTE"], rows, cutFirst: ["SUMMARY", "FILE", "NOTE"]))
    return .done
  }

  // MARK: One

  private func show(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let name = parsed["recipe"].text ?? ""
    let answer = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.refuseUnlessServed("finds recipes by their names", otherwise: "errand check FILE")
      return try await requests.ask(ShowRecipe.with { $0.recipe = name })
    }
    if asJSON {
      try await show(answer, to: ShowRecipe.self)
      return .done
    }
    let recipe = answer.recipe
    console.out("\(heading(recipe.name.safe))  \(recipe.file.safe)")
    if let summary = recipe.summary { console.out(summary.safe) }
    if !recipe.note.isEmpty { console.out(recipe.note) }
    if !recipe.schedules.isEmpty {
      console.out("schedules: \(recipe.schedules.map(\.safe).joined(separator: ", "))")
    }
    let inputs = recipe.inputRows
    if !inputs.isEmpty {
      console.out("\n" + console.table(["INPUT", "TYPE", "DEFAULT", "SUMMARY"], inputs, cutFirst: ["SUMMARY"]))
    }
    let actions = recipe.actions.sorted { $0.key.precedesByScalars($1.key) }.map { [$0.key.safe, $0.value.safe] }
    if !actions.isEmpty { console.out("\n" + console.table(["ACTION", "EFFECT"], actions)) }
    if !recipe.steps.isEmpty {
      console.out("\n\(heading("steps"))")
      for step in recipe.steps {
        let words = ([step.title] + step.words).map(\.safe).filter { !$0.isEmpty }.joined(separator: "  ")
        console.out(String(repeating: "  ", count: step.depth + 1) + words)
      }
    }
    if let text = recipe.text {
      console.out("\n\(heading("text"))\n  \(text.trimmed.safeLines(indent: "  "))")
    }
    for finding in recipe.findings {
      let place = finding.file.map { "\($0.safe):\(finding.line ?? 1):\(finding.column ?? 1): " } ?? ""
      console.error("\(place)\(finding.severity.safe): \(finding.message.safe)")
    }
    if let refusal = recipe.refusal { console.say("A run of it would be refused: \(refusal.safe)") }
    return .done
  }

  private func heading(_ text: String) -> String { Style.bold.applied(to: text, console.colourOut) }
}

extension RecipeRecord {
  /// Why it isn't served as its file is, or can't run.
  fileprivate var note: String {
    if isFaulty { return "has errors and isn't served; see: errand check \(file.shellQuoted)" }
    if isOutOfDate { return "has errors; its last valid version is served; see: errand check \(file.shellQuoted)" }
    if missing.isEmpty { return "" }
    return "errand.yaml lacks the connection\(missing.count == 1 ? "" : "s") \(joined(missing.map { "'\($0.safe)'" }))"
  }

  /// The rows of its inputs, from their JSON Schema.
  fileprivate var inputRows: [[String]] {
    let required = (inputs?["required"]?.list ?? []).compactMap(\.string)
    return (inputs?["properties"]?.map?.members ?? []).map { member in
      let name = member.key.plain
      let fallback =
        member.value["default"]?.plain ?? (required.contains(where: name.hasSameScalars) ? "required" : "")
      return [name, RecipeRecord.typeWords(member.value), fallback, member.value["description"]?.string?.safe ?? ""]
    }
  }

  /// The type that a JSON Schema allows, in a few words.
  private static func typeWords(_ schema: Value) -> String {
    if let choices = schema["enum"]?.list { return choices.map(\.plain).joined(separator: " or ") }
    if let wrapped = schema["anyOf"]?.list?.first { return typeWords(wrapped) }
    let type = schema["type"]?.string?.safe ?? "any"
    return schema["items"].map { "\(type) of \(typeWords($0))" } ?? type
  }
}
