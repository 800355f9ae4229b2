// The files of the folder, and the page that edits one of them.
//
// The page needs no script. It has the whole text in a field, and each of its buttons sends all of it; every answer,
// a refusal too, has the text that was sent, so that nothing typed is lost. `edit.js` puts the component into the place
// of the field. It sends the same form with the field `Errand-Part`, and is answered with only those elements of the
// page that differ, which it replaces by their ids.
//
// A save is answered with the page and not with a redirection, because the outcome has more to say than whether it
// succeeded. The same form sent again is the same save, by its key.
import ActionKit
import Agent
import Basics
import HTTPServer
import Operations
import RunState

extension Pages {
  /// Answers everything below `/edit`.
  static func edit(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse? {
    // A path has its slashes as they are, or encoded.
    let path = request.parts.dropFirst().joined(separator: "/")
    guard request.http.method == "POST" else {
      switch path {
      case "": return try await editedFiles(request)
      case "new": return try await newFile(request)
      default: return try await editedFile(request, path)
      }
    }
    guard !path.isEmpty else { return nil }
    if let fault = request.http.formFault { throw Problem(.refusal(.request), fault) }
    let form = request.http.form
    var action = EditAction(request, form, path: path == "new" ? (form["path"] ?? "").trimmed : path)
    return await action.response()
  }

  private static func editedFile(_ request: PageRequest, _ path: String) async throws(Problem) -> HTTPServerResponse {
    let file = try await request.ask(ReadFile.with { $0.path = path }).view
    var page = EditPage(request, path: path, text: file.text, base: file.digest)
    page.file = file
    if request.hides(file.text) { return page.hidingResponse() }
    page.check = try await request.check(path, file.text)
    return page.response()
  }

  // MARK: New files

  /// A file that isn't there yet, or the choice of its beginning.
  private static func newFile(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let asked = NewFile.with {
      ($0.from, $0.uses, $0.test) = (request.given("from"), request.given("uses"), request.given("test"))
      $0.name = request.given("name")
    }
    let isChosen = ["from", "uses", "test", "name"].contains { request.http.query[$0] != nil }
    guard isChosen else { return try await choice(request) }
    do throws(Problem) {
      let file = try await request.ask(asked).view
      var page = EditPage(request, path: file.path, text: file.text, base: nil)
      page.check = try await request.check(file.path, file.text)
      return page.response()
    } catch {
      let kinds: [RequestRefusedError.Kind] = [.request, .conflict, .notFound, .configuration]
      guard kinds.contains(where: { error.kind == .refusal($0) }) else { throw error }
      return try await choice(request, error)
    }
  }

  private static func choice(
    _ request: PageRequest, _ refusal: Problem? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let notice = refusal.map { Part.notice(.element("p", ["role": "alert"], Markup($0.detail)), kind: "fault") }
    var response = request.frame(
      refusal == nil ? "New file" : "Error: New file", "/recipes",
      Part.crumbs(("Recipes", "/recipes"), ("Files", "/edit")), .element("h1", [:], "New file"), notice ?? .nothing,
      try await newForms(request, level: "h2"))
    if let refusal { response.status = refusal.kind.status }
    return response
  }

  /// The forms that begin a file; nothing is written by them.
  private static func newForms(_ request: PageRequest, level: StaticString) async throws(Problem) -> Markup {
    let all = try await request.ask(ListTemplates()).view.items
    func form(_ title: String, _ field: StaticString, _ label: String, _ kinds: [String], hint: String) -> Markup {
      let found = all.filter { kinds.contains($0.kind) }
      if found.isEmpty { return .nothing }
      let options = found.prefix(mostOptions).map { item -> Markup in
        .element(
          "option", ["value": item.kind == "empty" ? "" : item.name],
          Markup(item.summary.isEmpty ? item.name : "\(item.name): \(item.summary.shortened(to: 80))"))
      }
      let id = "new-\(field)"
      let name: Markup =
        kinds == ["test"]
        ? .nothing
        : .element("label", ["for": "\(id)-name"], "Name", .element("span", ["class": "quiet"], " (optional)"))
          + .element(
            "input",
            [
              "id": "\(id)-name", "name": "name", "value": request.given("name"), "autocomplete": "off",
              "maxlength": "64",
            ])
      return .element(level, [:], Markup(title))
        + .element(
          "form", ["class": "card", "method": "get", "action": "/edit/new"],
          .element("label", ["for": id], Markup(label)),
          .element("p", ["class": "hint", "id": "\(id)-hint"], Markup(hint)),
          .element("select", ["id": id, "name": "\(field)", "aria-describedby": "\(id)-hint"], Markup(Array(options))),
          name, .element("div", ["class": "actions"], .element("button", [:], Markup("Begin \(title.lowercasedASCII)")))
        )
    }
    return form("A recipe", "from", "Template", ["empty", "template"], hint: "A copy to change, or an empty recipe.")
      + form(
        "A recipe with an action", "uses", "Action", ["action"], hint: "It gets one step, with the action's fields.")
      + form("A test", "test", "Recipe", ["test"], hint: "It runs the recipe against made-up services.")
  }

  /// The most entries of a choice.
  private static let mostOptions = 400

  // MARK: The list

  private static func editedFiles(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let list = try await request.ask(ListFiles()).view
    let (all, first) = (list.items, request.first)
    let rows = all.dropFirst(first).prefix(PageRequest.mostRows).map { file -> Markup in
      let kind =
        switch file.kind {
        case "errand": "the configuration"
        case "test": "a test"
        default: file.recipe.map { "the recipe \($0)" } ?? "a recipe that isn't served"
        }
      return .element(
        "span", ["class": "grow"], Part.link(file.path, to: pagePath("edit", file.path)),
        .element("span", ["class": "quiet"], Markup(kind)))
        + (file.faults > 0 ? Part.status("error", counted(file.faults, "error")) : .nothing)
        + .element("span", ["class": "end"], "changed ", Part.ago(file.changedAt, request.clock))
    }
    return request.frame(
      "Files", "/recipes", Part.crumbs(("Recipes", "/recipes")), .element("h1", [:], "Files"),
      EditPage.machine(list.machine),
      Part.rows(rows, orElse: "There is no recipe yet."),
      Part.pager(first, rows.count, of: all.count, by: PageRequest.mostRows) { request.page(from: $0, "edit") },
      Part.heading("New"),
      list.newFolder.map { .element("p", [:], "New recipes are saved in the folder ", Part.code($0), ".") } ?? .nothing,
      try await newForms(request, level: "h3"))
  }
}

extension PageRequest {
  func check(_ path: String, _ text: String) async throws(Problem) -> EditorCheckAnswer {
    try await ask(
      EditorCheck.with {
        $0.path = path
        $0.text = text
      }
    ).view
  }

  /// Runs an operation whose refusal the page shows beside its form.
  func attempt<Asked: Operation>(_ operation: Asked) async -> Result<Asked.Answer, RequestRefusedError> {
    do throws(RequestRefusedError) { return .success(try await agent.perform(operation, for: caller)) } catch {
      return .failure(error)
    }
  }

  /// Whether a script asks for the changed parts of a page.
  var wantsParts: Bool { http.headers[EditPage.partsField] != nil }

  /// Whether a page would show something else in place of a part of a text.
  func hides(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return agent.store.secrets.displayed(bytes, isJSON: false) != bytes
  }
}

extension Part {
  /// The way to a line of a served file for a person who may edit it; nothing for others.
  ///
  /// - Parameters:
  ///   - file: The path as the agent serves it.
  ///   - line: From 1; nil for the beginning.
  static func edit(_ file: String, line: Int? = nil, _ label: String, _ request: PageRequest) -> Markup {
    request.agent.editablePath(of: file, for: request.caller).map { link(label, to: editPath($0, line: line)) }
      ?? .nothing
  }

  /// The address of a line of a file.
  ///
  /// - Parameter path: From the folder of errand.yaml on.
  static func editPath(_ path: String, line: Int? = nil) -> String {
    pagePath("edit", path, query: [("line", line.map { "\($0)" } ?? "")]) + (line.map { "#line-\($0)" } ?? "")
  }
}
