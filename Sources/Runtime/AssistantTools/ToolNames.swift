import Basics
import ModelContext

/// The names that assistants know recipes by.
///
/// Model APIs refuse a whole list of tools because of one name with a dot, or one that is too long. So a recipe gets
/// another name if its own isn't valid for a tool, or if a looking tool has it: the beginning of its name and a part of
/// its digest. This name doesn't depend on the other recipes.
struct ToolNames {
  private var tools: [String: String] = [:]
  private var recipes: [String: String] = [:]

  init(of recipes: [String]) {
    let own = Set(LookingTool.allCases.map(\.rawValue))
    for name in recipes where Tool.isName(name) && !own.contains(name) { add(name, of: name) }
    for name in recipes where tools[name] == nil {
      let text = String(decoding: name.utf8.map { Tool.isPart($0) ? $0 : ASCII.underscore }, as: UTF8.self)
      let digest = SHA256.digest(of: Array(name.utf8)) ?? [UInt8].random(32).hexadecimal
      for length in stride(from: 8, through: digest.utf8.count, by: 8) {
        let tool = "\(text.prefix(max(0, Tool.longestName - 1 - length)))_\(digest.prefix(length))"
        guard tool.utf8.count <= Tool.longestName, self.recipes[tool] == nil, !own.contains(tool) else { continue }
        add(tool, of: name)
        break
      }
    }
  }

  private mutating func add(_ tool: String, of recipe: String) {
    tools[recipe] = tool
    recipes[tool] = recipe
  }

  /// The recipe's name as a tool.
  func tool(of recipe: String) -> String? { tools[recipe] }

  /// The recipe that a call names, by its tool or by its own name.
  func recipe(of tool: String) -> String? { recipes[tool] ?? (tools[tool] == nil ? nil : tool) }
}
