import Agent
import Operations
import Basics
import Recipes
import RunState

// Finds recipes with faults that may be meant as tools.
//
// The agent lists every recipe with `mcp: true` as a tool, faulty or not. A recipe with `mcp: yes` or `mpc: true`, a
// text that isn't YAML or a file that can't be read isn't listed, though its author may well have meant it as a tool.
// So all faulty files are looked at once more, as lines of text: a key that is `mcp`, or that is nearest to it, marks a
// tool unless its value means no. A file whose text isn't known may be anything.

extension ToolCaller {
  /// The recipes with faults that may be meant as tools, besides the tools that the agent lists.
  ///
  /// One whose name another tool has is found by the name of its file.
  func doubtfulRecipes(besides tools: [ToolRecord], _ settings: ToolSettings) async -> [ToolRecord] {
    let listed = try? await ask(ListRecipes.with { $0.brief = true })
    var found: [ToolRecord] = []
    for recipe in listed?.recipes ?? [] where recipe.isFaulty {
      let faults = recipe.findings.filter { $0.severity == "error" }
      let text = await text(of: recipe)
      let known = BrokenRecipe(Source(name: recipe.file, text: text ?? ""), else: recipe.name)
      let isMeant =
        if let text {
          settings.names(known.name) || text.mayAskForTool
        } else {
          // If the fault is in a file that it calls, its own text was understood, and the agent has decided by it.
          faults.contains { $0.file == nil || $0.file == recipe.file }
        }
      let sentences = faults.map(\.sentence)
      let namesake = tools.first { $0.name.hasSameScalars(as: known.name) }
      guard isMeant, namesake?.faults != sentences else { continue }
      let name = namesake == nil ? known.name : recipe.name
      guard sees(name), let tool = ToolRecord(broken: name, sentences) else { continue }
      found.append(tool)
    }
    return found
  }

  /// The text of a recipe's file; nil if it isn't known.
  private func text(of recipe: RecipeRecord) async -> String? {
    let displayed = try? await ask(ShowRecipe.with { $0.recipe = recipe.name }).recipe
    guard let displayed, displayed.file == recipe.file, !displayed.isInForce else { return nil }
    return displayed.text
  }
}

extension String {
  /// Whether a text has a key that asks for a tool, or that may be meant to.
  var mayAskForTool: Bool {
    split(whereSeparator: \.isNewline).contains { line in
      // A line that isn't indented has keys of the recipe itself; one of JSON has all of them.
      let isOutermost = line.first != " "
      let parts = line.prefix { $0 != "#" }.split { "{,".contains($0) }
      return parts.contains { part in
        let sides = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { side in
          side.filter { !"\"' \t}]".contains($0) }.lowercased()
        }
        guard sides.count == 2 else { return false }
        let isKey = sides[0] == "mcp" || isOutermost && sides[0].nearest(among: ["mcp"]) != nil
        return isKey && !["false", "no", "off", "n"].contains(sides[1])
      }
    }
  }
}

extension ToolRecord {
  /// A recipe with faults.
  fileprivate init?(broken name: String, _ faults: [String]) {
    let record = Value.object([
      "name": .string(name), "inputs": .map(ValueMap()), "outputs": .map(ValueMap()),
      "faults": .list(faults.map { .string($0) }),
    ])
    guard let tool = try? ToolRecord(reading: record) else { return nil }
    self = tool
  }
}

extension FindingRecord {
  /// The finding on one line, with its place.
  fileprivate var sentence: String {
    let place = file.map { "\($0):\(line ?? 1):\(column ?? 1): " } ?? ""
    return (place + message).safe
  }
}
