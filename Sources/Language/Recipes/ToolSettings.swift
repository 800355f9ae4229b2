import Basics

/// The permissions of assistants that speak the Model Context Protocol: `server.mcp` in `errand.yaml`.
package struct ToolSettings: Sendable, Equatable {
  /// How a run that writes is confirmed.
  package enum Confirmation: String, CaseIterable, Sendable, DescribedWord {
    case person, token

    var meaning: String {
      switch self {
      case .person: "The assistant's program asks its user; programs that can't ask may not write."
      case .token: "Where the program can't ask, the assistant itself confirms with a token from the plan."
      }
    }
  }

  /// The names of recipes that are tools although they don't say `mcp: true`; `*` stands for any part of a name.
  package var recipes: [String] = []
  package var confirmation = Confirmation.person

  package init(recipes: [String] = []) { self.recipes = recipes }

  /// Whether these settings make a recipe a tool.
  package func names(_ recipe: String) -> Bool { recipes.contains { FilePattern.part($0, matches: recipe) } }

  /// Reads `{recipes, confirm}`.
  static func read(_ value: Value, _ findings: Findings) -> ToolSettings {
    var settings = ToolSettings()
    guard let fields = Fields(value, of: "'mcp'", .mcp, findings) else { return settings }
    for name in fields.texts("recipes") ?? [] {
      if Recipe.isName(name.replacing("*", with: "x")) {
        settings.recipes.append(name)
      } else if let value = fields["recipes"] {
        findings.error(
          "'\(name)' isn't the name of a recipe; names have letters, digits, - and _, and * stands for any part of one",
          at: value)
      }
    }
    settings.confirmation = fields.choice("confirm") ?? settings.confirmation
    return settings
  }
}
