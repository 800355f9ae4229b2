// The recipes that are served, and one of them: how it is started, what it may do, and its text.
import Agent
import Basics
import HTTPServer
import RunState

extension Pages {
  static func recipes(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let recipes = try await request.ask(.recipes) {
      if case .recipes(let recipes) = $0 { recipes } else { nil }
    }
    let rows = recipes.filter { request.caller.sees(recipe: $0.name) }.map { recipe -> Markup in
      .element(
        "span", ["class": "grow"], Part.link(recipe.name, to: pagePath("recipes", recipe.name)),
        .element("span", ["class": "quiet"], Markup(recipe.summary ?? "")))
        + .element("span", ["class": "end"], Part.code(recipe.file))
    }
    return request.frame(
      "Recipes", "/recipes", .element("h1", [:], "Recipes"),
      Part.rows(rows, orElse: "No recipe is served. Errand serves the recipes in the folder 'recipes'."))
  }

  static func recipe(_ request: PageRequest, _ name: String) async throws(Problem) -> HTTPServerResponse {
    try await recipe(request, name, form: nil)
  }

  /// - Parameter form: What was given before and is wrong, with what is wrong.
  static func recipe(
    _ request: PageRequest, _ name: String, form: StartForm.Given?
  ) async throws(Problem) -> HTTPServerResponse {
    let recipe = try await request.ask(.recipe(name: name)) {
      if case .recipe(let recipe) = $0 { recipe } else { nil }
    }
    var content: [Markup] = [Part.crumbs(("Recipes", "/recipes")), .element("h1", [:], Markup(recipe.name))]
    if let summary = recipe.summary { content.append(.element("p", ["class": "lead"], Markup(summary))) }
    content.append(
      Part.facts([
        (
          recipe.schedules.count == 1 ? "Schedule" : "Schedules",
          recipe.schedules.isEmpty
            ? nil : Markup(recipe.schedules.map { Part.link($0, to: pagePath("schedules", $0)) + " " })
        ),
        ("Runs", Part.link("of this recipe", to: pagePath("runs", query: [("recipe", recipe.name)]))),
        ("File", Part.code(recipe.file)),
      ]))
    if request.may(.start) { content.append(StartForm(recipe, given: form).markup) }
    if !recipe.actions.isEmpty {
      let rows = recipe.actions.sorted { $0.key.precedesByScalars($1.key) }.map { action, effect in
        [Part.code(action), Markup(effect)]
      }
      content.append(Part.heading("What it may do") + Part.table("Actions", ["Action", "Effect"], rows))
    }
    if let text = recipe.text { content.append(Part.heading("Text") + Part.recipe(text)) }
    return request.frame(recipe.name, "/recipes", Markup(content))
  }
}

extension Part {
  /// The text of a recipe with its lines numbered.
  fileprivate static func recipe(_ text: String) -> Markup {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last == "" { lines.removeLast() }
    return .element("ol", ["class": "text", "tabindex": "0"], Markup(lines.map { .element("li", [:], line($0)) }))
  }

  /// A line of YAML, in which keys and comments look different from the rest.
  private static func line(_ line: Substring) -> Markup {
    let bytes = line.utf8
    let start = bytes.firstIndex { $0 != ASCII.space && $0 != UInt8(ascii: "-") } ?? bytes.endIndex
    if start < bytes.endIndex, bytes[start] == UInt8(ascii: "#") {
      return .element("span", ["class": "rem"], Markup(String(line)))
    }
    let end = bytes[start...].firstIndex { byte in
      !(ASCII.lowercase.contains(byte | 0x20) || ASCII.digits.contains(byte) || "_-.".utf8.contains(byte))
    }
    guard let end, end > start, bytes[end] == ASCII.colon else { return Markup(String(line)) }
    return Markup(String(line[..<start])) + .element("span", ["class": "key"], Markup(String(line[start..<end])))
      + Markup(String(line[end...]))
  }
}
