import Agent
import Operations
import Basics
import RunState
import Testing

@testable import AssistantTools
@testable import Recipes

/// Recipes with faults that may be meant as tools.
@Suite struct DoubtfulRecipesTests {
  @Test(arguments: [
    ("mcp: yes\nsteps: []\n", true), ("recipe: a\nmcp: \"true\"\n", true), ("mcp:\n", true), ("MCP: true\n", true),
    ("mpc: true\n", true), ("mcpp: true\n", true), ("mcp : on # for the model\n", true), ("\tmcp: true\n", true),
    ("  mcp: true\n", true), ("\"mcp\": true\n", true), (#"{"recipe": "a", "mcp": true, "steps": []}"#, true),
    ("{\n  \"mcp\": true\n}\n", true), ("mcp: { plan: no }\n", true), ("", false), ("steps: [\n", false),
    ("mcp: false\nsteps: [\n", false), ("mcp: no\n", false), ("# mcp: true\nsteps: []\n", false),
    ("steps:\n  - uses: a.b\n    with: { text: about mcp }\n", false), ("steps:\n  - let:\n      map: 1\n", false),
  ])
  func `a text asks for a tool by its key, however it is written`(_ text: String, _ isMeant: Bool) {
    #expect(text.mayAskForTool == isMeant)
  }

  /// A file of an agent: the check's diagnostics, and the text; nil if it can't be read.
  private struct Broken: Sendable {
    var file: String
    var fault: String
    var text: String?
    /// Where the fault is, if not in the file itself.
    var elsewhere: String?

    func record(withText: Bool) -> RecipeRecord? {
      var finding = ValueMap([("severity", .string("error")), ("message", .string(fault))])
      if text != nil || elsewhere != nil {
        finding["file"] = .string(elsewhere ?? file)
        (finding["line"], finding["column"]) = (.int(2), .int(1))
      }
      var record = ValueMap([
        ("name", .string(String(file.dropLast(5)))), ("file", .string(file)), ("findings", .list([.map(finding)])),
        ("isInForce", .bool(false)),
      ])
      if withText { record["text"] = text.map { .string($0) } }
      return try? RecipeRecord(reading: .map(record))
    }
  }

  private static let tool = Value.object([
    "name": .string("good"), "inputs": .map(ValueMap()), "outputs": .map(ValueMap()),
  ])

  @Test(arguments: [
    (Broken(file: "a.yaml", fault: "no bool", text: "mcp: yes\n"), [] as [String], "a: a.yaml:2:1: no bool"),
    (Broken(file: "a.yaml", fault: "no bool", text: "recipe: b\nmcp: yes\n"), [], "b: a.yaml:2:1: no bool"),
    (Broken(file: "a.yaml", fault: "taken", text: "recipe: good\nmcp: true\n"), [], "a: a.yaml:2:1: taken"),
    (Broken(file: "a.yaml", fault: "taken", text: "recipe: good\n"), ["go*"], "a: a.yaml:2:1: taken"),
    (Broken(file: "a.yaml", fault: "cannot read 'a.yaml'"), [], "a: cannot read 'a.yaml'"),
    (Broken(file: "a.yaml", fault: "no action", text: "steps: []\n"), [], ""),
    (Broken(file: "a.yaml", fault: "no action", elsewhere: "b.yaml"), [], ""),
  ])
  private func `what may be meant is named with its fault`(
    _ broken: Broken, _ patterns: [String], _ expected: String
  ) async throws {
    let caller = ToolCaller(
      principal: "account",
      answer: { request, _ throws(RequestRefusedError) in
        switch request {
        case is ListRecipes:
          return ListRecipes.Answer([broken.record(withText: false)].compactMap(\.self))
        case is ShowRecipe:
          if let record = broken.record(withText: true) { return ShowRecipe.Answer(record) }
        default: break
        }
        throw RequestRefusedError(.notFound, "not this")
      },
      follow: { _ throws(RequestRefusedError) in throw RequestRefusedError(.state, "nothing is followed") },
      hide: { $0 })
    let good = try ToolRecord(reading: Self.tool)
    let found = await caller.doubtfulRecipes(besides: [good], ToolSettings(recipes: patterns))
    #expect(found.map { "\($0.name): \($0.faults.joined(separator: "; "))" }.joined(separator: "\n") == expected)
  }
}
