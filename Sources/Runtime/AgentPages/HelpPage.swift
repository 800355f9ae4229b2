// The page that explains the words and keys of the other pages, and lists the actions and functions of recipes.
import ActionKit
import Agent
import Basics
import Expressions
import HTTPServer
import RecipeEditing
import RunState

extension Pages {
  static func help(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    func key(_ keys: String...) -> Markup {
      Markup(keys.enumerated().map { index, key in (index == 0 ? "" : " ") + Markup.element("kbd", [:], Markup(key)) })
    }
    let keys: [[Markup]] = [
      [key("g", "n"), "Now"], [key("g", "r"), "Runs"], [key("g", "a"), "Questions"], [key("g", "e"), "Recipes"],
      [key("g", "s"), "Schedules"], [key("g", "t"), "State"],
      [key("j"), "the next row"], [key("k"), "the row before"], [key("/"), "the first field"], [key("?"), "this page"],
    ]
    var words: [[Markup]] = statuses.map { status, meaning in [Part.status(status.rawValue), Markup(meaning)] }
    words.append([Part.status("cancelling"), "Its end has been asked for; what is in flight finishes first."])
    let plugins = try await request.catalog().plugins
    return request.frame(
      "Help", "", .element("h1", [:], "Help"),
      .element(
        "p", [:],
        "A recipe says what to do, in steps. A run carries out a recipe once. A schedule starts runs at its times, which are its slots."
      ), Part.heading("What the status of a run means"), Part.table("Status", ["Status", "Meaning"], words),
      Part.heading("Keys"),
      .element("p", [:], "They need JavaScript, and do nothing while you type. Everything works without them."),
      Part.table("Keys", ["Keys", "Go to"], keys), Part.heading("Actions"),
      .element(
        "p", [:], "A step calls an action with ", Part.code("uses"), ", and gives its fields in ", Part.code("with"),
        "; fields in bold are required. Each has a page with the types and limits of its fields."),
      helpOnActions(plugins), Part.heading("Functions"),
      .element(
        "p", [:], "Expressions are written ", Part.code("${{ … }}"), ". ",
        Part.link("The functions with examples", to: "/help/functions"), ", by what they are about:"),
      .element(
        "ul", [:],
        Markup(
          FunctionLibrary.standard.sections.enumerated().map { index, section in
            .element(
              "li", [:], .element("a", ["href": "/help/functions#part-\(index + 1)"], Part.prose(section.title)),
              Markup(": \(section.declarations.names.joined(separator: ", "))"))
          })))
  }

  /// The most actions that the page lists with their fields; with more, each plugin has a link.
  private static let mostActionsInHelp = 150

  private static func helpOnActions(_ plugins: [PluginDescriptor]) -> Markup {
    if plugins.reduce(0, { $0 + $1.actions.count }) > mostActionsInHelp {
      let rows = plugins.map { plugin -> [Markup] in
        [
          Part.link(plugin.name, to: pagePath("actions", query: [("plugin", plugin.name)])),
          Markup(counted(plugin.actions.count, "action")), Part.prose(plugin.summary),
        ]
      }
      return Part.table("Actions", ["Plugin", "Actions", "For"], rows, kind: "listed")
    }
    let rows = plugins.flatMap(\.actions).map { action -> [Markup] in
      let fields = action.input.fields.enumerated().map { index, field -> Markup in
        let name = Part.code(field.name)
        return (index == 0 ? "" : ", ") + (field.isRequired ? .element("strong", [:], name) : name)
      }
      return [
        .element("a", ["href": pagePath("actions", action.id)], Part.code(action.id)), Part.prose(action.summary),
        Markup(fields),
      ]
    }
    return Part.table("Actions", ["Action", "For", "Fields"], rows, kind: "listed")
  }

  /// The functions of expressions, each with its form, its sentence and an example.
  static func functions(_ request: PageRequest) -> HTTPServerResponse {
    let headings = ["Form", "Result", "Example"]
    let sections = FunctionLibrary.standard.sections.enumerated().map { index, section -> Markup in
      .element("h2", ["id": "part-\(index + 1)"], Part.prose(section.title))
        + Part.table(
          "Functions: \(section.title.replacing("`", with: ""))", headings,
          section.declarations.map { function in
            [
              Part.code(function.signature), Part.prose(function.summary),
              function.example.isEmpty ? .nothing : Part.code(function.example),
            ]
          }, kind: "listed")
    }
    return request.frame(
      "Functions", "", Part.crumbs(("Help", "/help")), .element("h1", [:], "Functions"),
      .element(
        "p", [:],
        "An expression has no side effects, always ends, and reads only the values that it is given. Try one: ",
        Part.code("errand eval EXPRESSION")), Part.heading("Loops and bindings"),
      Part.table(
        "Loops and bindings", ["Form", "Result"], Macro.all.map { [Part.code($0.form), Part.prose($0.summary)] }),
      Markup(sections))
  }

  private static let statuses: [(RunStatus, String)] = [
    (.queued, "It has not begun: others of its group run, or the agent is about to begin."),
    (.running, "A step is being done."), (.waiting, "It waits for a time, an event or a person."),
    (.paused, "A person or a rule stopped it; it continues when it is resumed."),
    (.uncertain, "The program or the connection ended during a write. A person has to check whether it was done."),
    (.succeeded, "Every step was done."), (.failed, "A step failed; the run can be retried."),
    (.timedOut, "It took longer than its time limit."), (.cancelled, "A person or another run cancelled it."),
    (.rejected, "A person rejected it."), (.skipped, "It didn't begin, because its group was full."),
  ]
}

extension [FunctionDeclaration] {
  /// Their names, each once.
  fileprivate var names: [String] {
    var names: [String] = []
    for function in self where names.last != function.name && !names.contains(function.name) {
      names.append(function.name)
    }
    return names
  }
}
