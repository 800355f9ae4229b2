// The actions that recipes can use, and one of them: its effect, its fields and a step that calls it.
import ActionKit
import Agent
import Basics
import HTTPServer
import Operations
import RunState

extension Pages {
  /// The most actions on one page.
  private static let mostActions = 150

  static func actions(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let plugins = try await request.catalog().plugins
    // With many actions, each plugin has a page of its own.
    let isLong = plugins.reduce(0) { $0 + $1.actions.count } > mostActions
    let names = plugins.enumerated().map { index, plugin -> Markup in
      let path = isLong ? pagePath("actions", query: [("plugin", plugin.name)]) : "#plugin-\(plugin.name)"
      return (index == 0 ? "" : ", ") + Part.link(plugin.name, to: path)
    }
    let given = request.given("plugin") ?? plugins.first?.name ?? ""
    let (size, first) = (isLong ? PageRequest.mostRows : mostActions, isLong ? request.first : 0)
    let lists = plugins.filter { !isLong || $0.name.hasSameScalars(as: given) }.map { plugin -> Markup in
      let rows = plugin.actions.dropFirst(first).prefix(size).map { action -> Markup in
        .element(
          "span", ["class": "grow"],
          .element("a", ["href": pagePath("actions", action.id)], Part.code(action.id)),
          .element("span", ["class": "quiet"], Part.prose(action.summary)))
          + .element("span", ["class": "end"], Markup(action.effectInWords))
      }
      return .element(
        "h2", ["id": "plugin-\(plugin.name)"], Markup(plugin.name),
        .element("span", ["class": "count"], "\(plugin.actions.count)"))
        + .element("p", ["class": "quiet"], Part.prose(plugin.summary))
        + Part.rows(rows, orElse: "It has no actions.")
        + Part.pager(first, rows.count, of: plugin.actions.count, by: size) { request.page(from: $0, "actions") }
    }
    return request.frame(
      "Actions", "/recipes", Part.crumbs(("Recipes", "/recipes")), .element("h1", [:], "Actions"),
      .element("p", [:], "A step calls an action with ", Part.code("uses"), ". The actions come from plugins: "),
      .element("p", [:], Markup(names)), Markup(lists), Part.command("errand actions"))
  }

  static func action(_ request: PageRequest, _ id: String) async throws(Problem) -> HTTPServerResponse {
    let catalog = try await request.catalog()
    guard let action = catalog.action(id) else {
      let guess = catalog.nearestAction(to: id).map { "; did you mean '\($0)'?" } ?? ""
      throw Problem(.noSuchPath, "there is no action '\(id.shortened)'\(guess)")
    }
    // A former name still finds it.
    guard action.id.hasSameScalars(as: id) else { return redirect(pagePath("actions", action.id)) }
    var content: [Markup] = [
      Part.crumbs(
        ("Recipes", "/recipes"), ("Actions", "/actions"), (action.plugin, "/actions#plugin-\(action.plugin)")),
      .element("h1", [:], Part.code(action.id)), .element("p", ["class": "lead"], Part.prose(action.summary)),
      Part.facts(action.facts.map { ($0.name, Markup?.some(Part.prose($0.sentence))) }),
      Part.heading("Input"), Part.fields("Input", action.input, isGiven: true),
      Part.heading("Output"), Part.fields("Output", action.output, isGiven: false),
    ]
    for example in action.examples {
      content.append(Part.heading("Example: \(example.title)"))
      content.append(.element("pre", ["tabindex": "0"], Markup(action.step(with: example.input))))
    }
    if action.examples.isEmpty {
      content.append(Part.heading("A step"))
      content.append(.element("pre", ["tabindex": "0"], Markup(action.step(with: action.neededInput))))
    }
    content.append(Part.command("errand actions \(action.id)"))
    return request.frame(action.id, "/recipes", Markup(content))
  }
}

extension PageRequest {
  /// The actions that recipes can use.
  func catalog() async throws(Problem) -> ActionCatalog {
    do throws(RequestRefusedError) { return try await agent.catalog(for: caller) } catch {
      throw Problem(error, withData: seesData)
    }
  }
}

extension ActionDescriptor {
  fileprivate var effectInWords: String { takesEffect ? "the step's" : Part.words(effect.name) }

  /// The fields that a step has to give, in YAML, each with its type in place of a value.
  fileprivate var neededInput: String {
    input.fields.filter(\.isRequired).map { "\($0.name): # \($0.type.name)" }.joined(separator: "\n")
  }
}

extension Part {
  /// The fields of an action's input or output, nested ones included.
  fileprivate static func fields(_ name: String, _ schema: ObjectSchema, isGiven: Bool) -> Markup {
    let rows = schema.rows(isGiven: isGiven).map { row -> [Markup] in
      var meaning = [prose(row.sentences)]
      if let text = row.deprecation {
        meaning += [" ", .element("strong", [:], "Deprecated:"), " ", prose(text)]
      }
      return [code(row.path), Markup(row.type), prose(row.presence), Markup(meaning)]
    }
    if rows.isEmpty { return .element("p", ["class": "none"], "No fields.") }
    return table(name, ["Field", "Type", "Presence", "Meaning"], rows, kind: "listed")
      + (schema.hasVolatile ? .element("p", ["class": "quiet"], Markup(ObjectSchema.noteOnVolatile)) : .nothing)
  }
}
