import Agent
import AgentRuntime
import Basics
import ChildProcesses
import CommandLineParser
import Recipes
import RunState

extension Dispatch {
  /// `errand graph`: draws the steps of a recipe with the data between them, or of a run with their outcomes.
  func drawGraph() async throws(RuntimeError) -> ExitCode {
    let subject = parsed["subject"].text ?? ""
    let drawing =
      isRecipeFile(subject)
      ? try drawing(ofRecipe: subject) : try await drawing(ofRun: subject)
    switch parsed["format"].text ?? "text" {
    case "mermaid": console.out(drawing.mermaid)
    case "dot": console.out(drawing.dot)
    case "svg": console.out(try await Graphviz.draw(drawing.dot))
    default: console.out(drawing.text(width: console.width, colour: console.colourOut))
    }
    return .done
  }

  /// Whether the subject of a drawing is a recipe, and not a run.
  func isRecipeFile(_ subject: String) -> Bool {
    Files.exists(subject) || subject.hasSuffix(".yaml") || subject.hasSuffix(".yml") || subject.contains("/")
  }

  private func drawing(ofRecipe path: String) throws(RuntimeError) -> GraphDrawing {
    let recipe = try workspace(besides: path).recipe(at: path, show: console.show)
    let title = recipe.summary.isEmpty ? recipe.name : "\(recipe.name): \(recipe.summary)"
    return GraphDrawing(graph: RecipeGraph(recipe), title: title)
  }

  private func drawing(ofRun subject: String) async throws(RuntimeError) -> GraphDrawing {
    let session = try await session()
    let facts = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.facts(about: try await requests.displayed(subject)).0
    }
    let run = facts.run
    let (recipe, fault) = session.workspace.recipe(run.origin.file, among: facts.texts, of: run.origin)
    guard let recipe else {
      throw RuntimeError(
        .invalid, "the recipe of run \(run.id) does not check with this version: \(fault ?? "the fault isn't known")")
    }
    let graph = RecipeGraph(recipe)
    let took = (run.endedAt ?? session.time.now()).span(since: run.createdAt) ?? .zero
    return GraphDrawing(
      graph: graph, states: NodeState.all(of: run, in: graph, at: session.time.now()),
      title: "\(run.recipe), run \(run.id): \(run.status.rawValue) \(run.endedAt == nil ? "for" : "in") \(took.spoken)")
  }
}

extension NodeState {
  /// The outcome of each step that leaves records, by the paths of a graph's nodes.
  static func all(of run: RunRecord, in graph: RecipeGraph, at now: Timestamp) -> [String: NodeState] {
    var records: [String: [StepRecord]] = [:]
    for record in run.stepsInOrder {
      records[record.path.ofEveryItem, default: []].append(record)
    }
    var states: [String: NodeState] = [:]
    for node in graph.nodes where !node.path.isEmpty {
      // A `let` or a guard leaves no record unless it was skipped or failed.
      if let found = records[node.path] {
        states[node.path] = NodeState(of: found, at: now)
      } else if run.status.isEnded, node.shape != .names, node.shape != .failure {
        states[node.path] = NodeState(kind: .passed, text: "not reached")
      }
    }
    return states
  }

  private init?(of records: [StepRecord], at now: Timestamp) {
    // A loop has a record of its own, and one for each item.
    let items = records.filter { $0.path.hasSuffix("]") }
    let whole = records.first { !$0.path.hasSuffix("]") && records.count == items.count + 1 }
    guard let began = records.map(\.startedAt).min() else { return nil }
    let isOpen = records.contains { !$0.status.isEnded }
    let ended = isOpen ? now : records.compactMap(\.endedAt).max() ?? began
    let took = (ended.span(since: began) ?? .zero).spoken
    let counted = whole == nil ? records : items
    if counted.count == 1 || items.isEmpty && records.count == 1, let only = whole ?? counted.first {
      let tries = only.attempts > 1 ? " after \(only.attempts) tries" : ""
      text = only.status == .skipped ? "skipped" : "\(only.status.rawValue)\(tries), \(took)"
    } else {
      let counts = StepStatus.allCases.compactMap { status in
        let count = counted.count { $0.status == status }
        return count > 0 ? "\(count) \(status.rawValue)" : nil
      }
      text = counts.isEmpty ? "no items, \(took)" : "\(counts.joined(separator: ", ")), \(took)"
    }
    let failures: [StepStatus] = [.failed, .timedOut, .cancelled, .uncertain]
    kind =
      isOpen && !records.contains { $0.status == .uncertain }
      ? .open
      : records.contains { failures.contains($0.status) }
        ? .failed : records.allSatisfy { $0.status == .skipped } ? .passed : .done
  }
}

extension String {
  /// The path of a record without the numbers of items, tries and rounds.
  var ofEveryItem: String {
    split(separator: "/").filter { !$0.hasPrefix("#round") }.map { part in
      let element = part.prefix { $0 != "[" && $0 != "~" && $0 != "!" }
      return part.hasSuffix("!") ? "\(element)!" : "\(element)"
    }.joined(separator: "/")
  }
}

/// The Graphviz program that draws.
enum Graphviz {
  private static let mostBytes = 256 << 20

  /// Draws a graph as SVG.
  static func draw(_ dot: String) async throws(RuntimeError) -> String {
    let path = String(environment: "PATH") ?? "/usr/bin:/bin"
    guard let program = ChildProcess.file(of: "dot", in: path, from: "/") else {
      throw RuntimeError(
        .unavailable,
        "drawing SVG needs Graphviz's 'dot', which isn't installed: apt install graphviz, or use --format dot or mermaid"
      )
    }
    let process = ChildProcess(
      path: program, arguments: ["dot", "-Tsvg"], environment: Workspace.environmentVariables, folder: "/",
      input: Array(dot.utf8), maxOutputBytes: mostBytes, grace: .seconds(1))
    let end = await process.run()
    switch end.reason {
    case .exit(0): return String(decoding: end.output, as: UTF8.self).trimmed
    case .notStarted(let code): throw RuntimeError(.unavailable, "'\(program)' cannot be started (error \(code))")
    default:
      let words = String(decoding: end.errors.prefix(500), as: UTF8.self).trimmed.safe
      throw RuntimeError(.failed, "'\(program)' could not draw the graph: \(words)")
    }
  }
}
