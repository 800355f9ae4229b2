// The page of a file that is edited, and its parts.
import Agent
import Basics
import HTTPServer
import Operations
import RecipeEditing
import RunState

struct EditPage {
  /// The field of a script that wants only the changed parts.
  static let partsField = "Errand-Part"

  /// The choice of the part beside the text.
  enum Tab: String, CaseIterable {
    case check, plan, test, difference, versions
    /// Both texts of a file that changed while it was edited; it has no button.
    case conflict

    var label: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
  }

  let request: PageRequest
  var path: String
  /// The text as it was typed.
  var text: String
  /// The digest of the text that was edited; nil for a file that isn't there yet.
  var base: String?
  /// The message of the commit, and the inputs of a plan, as they were typed.
  var (message, inputs) = ("", "")
  /// The file as it is; nil if it isn't there, or wasn't asked for.
  var file: FileTextAnswer?
  var check: EditorCheckAnswer?
  var tab = Tab.check
  /// The content of the tab; nil for the check.
  var panel: Markup?
  /// The outcome of the request.
  var outcome: Markup?
  /// The edits that a script makes in the text.
  var edits: String?
  var status = 200
  var isRefused = false

  init(_ request: PageRequest, path: String, text: String, base: String?) {
    self.request = request
    (self.path, self.text, self.base) = (path, text, base)
  }

  private var isNew: Bool { base == nil }
  private var kind: String { file?.kind ?? (path.hasSuffix(".test.yaml") ? "test" : "recipe") }

  // MARK: Answers

  /// The page, or the parts of it that a script replaces.
  func response() -> HTTPServerResponse {
    guard !request.wantsParts else {
      var parts = [notices, count, result]
      if file != nil { parts += [standing, hidden] }
      if let edits { parts.append(.element("div", ["id": "edits", "data-edits": edits])) }
      return EditPage.fragment(Markup(parts))
    }
    let title = "Edit \(isNew ? "a new file" : path)"
    var frame = PageFrame(
      title: isRefused ? "Error: \(title)" : title, section: "/recipes", visitor: request.caller.name,
      isSandbox: request.isSandbox, content: content)
    frame.isEditor = true
    return frame.response(status: status)
  }

  /// Markup for a script.
  ///
  /// A browser reports each status that isn't good on its console, so a refusal is in the markup.
  static func fragment(_ markup: Markup) -> HTTPServerResponse {
    .text(markup.text, type: "text/html; charset=utf-8")
  }

  /// The page of a text that holds a secret: pages show none, so the text in a form would be another one.
  func hidingResponse() -> HTTPServerResponse {
    let sentence: Markup =
      "The text holds the value of a secret, which pages don't show. So it can't be edited here, and nothing was saved. Take the value out: in the browser's own page before this one, or in the file on the agent's machine. A recipe names a secret as "
    let notice = Part.notice(
      .element("p", ["role": "alert"], sentence, Part.code("secrets.NAME"), "."), kind: "fault")
    if request.wantsParts {
      return EditPage.fragment(
        .element("div", ["id": "notices", "data-refused": "true"], notice)
          + .element("div", ["id": "result", "data-tab": Tab.check.rawValue], Part.heading("Check")))
    }
    var response = request.frame(
      "Error: Edit \(path)", "/recipes", crumbs, .element("h1", [:], "Edit ", Part.code(path)), notice,
      Part.recipe(text, []))
    response.status = 422
    return response
  }

  private var crumbs: Markup { Part.crumbs(("Recipes", "/recipes"), ("Files", "/edit")) }

  private var content: Markup {
    let action = isNew ? "/edit/new" : pagePath("edit", path)
    let tabs = tabs.map { tab -> Markup in
      .element(
        "button",
        ["form": "edit", "name": "do", "value": tab.rawValue, "aria-pressed": tab == self.tab ? "true" : "false"],
        Markup(tab.label))
    }
    return crumbs + .element("h1", [:], "Edit ", isNew ? "a new file" : Part.code(path)) + standing + notices
      + .element(
        "div", ["class": "editor"],
        .element(
          "form", ["id": "edit", "method": "post", "action": action, "data-line": request.given("line")], hidden, place,
          .element("label", ["for": "text", "id": "text-label"], Markup("Text of \(isNew ? "the file" : path)")),
          // The first end of line in the element isn't part of its content (HTML, "textarea").
          .element(
            "textarea",
            [
              "id": "text", "name": "text", "class": "whole", "spellcheck": "false", "autocomplete": "off",
              "aria-describedby": "count",
            ], Markup(field: "\n" + text)),
          count, messageField,
          .element(
            "div", ["class": "actions near"],
            .element("button", ["name": "do", "value": "save", "class": "main"], "Save")),
          keys),
        .element(
          "div", ["class": "beside-text"],
          .element("div", ["class": "actions tabs", "role": "group", "aria-label": "About this text"], Markup(tabs)),
          result))
      + .element("p", ["id": "said", "class": "hidden", "role": "status", "aria-live": "polite"])
  }

  private var tabs: [Tab] {
    Tab.allCases.filter { tab in
      switch tab {
      case .check: true
      case .plan: kind == "recipe"
      case .test: kind != "errand"
      case .difference, .versions: !isNew
      case .conflict: false
      }
    }
  }

  // MARK: The form

  private var hidden: Markup {
    .element("div", ["id": "hidden"], base.map { Part.hidden("base", $0) } ?? .nothing, Part.key)
  }

  private var place: Markup {
    guard isNew else { return .nothing }
    return Part.field(
      "path", "File", path, hint: "Letters, digits, and the signs . _ - before .yaml, in the folder of recipes.")
  }

  private var messageField: Markup {
    guard let git = file?.git, git.obstacle == nil else { return .nothing }
    return Part.field(
      "message", "Message of the commit", message, hint: "Left empty: Edit \(path) in the browser", isRequired: false)
  }

  private var keys: Markup {
    let keys = [
      ("Ctrl-S", "saves"), ("Ctrl-Space", "completes the word"), ("Ctrl-I", "explains the word"),
      ("F8, Shift-F8", "go to the next fault and the one before"), ("Ctrl-.", "applies the fix of the fault"),
      ("Ctrl-], Ctrl-[", "indent and unindent"), ("Ctrl-/", "makes lines comments"), ("Ctrl-F", "finds"),
      ("Ctrl-Shift-[", "folds"), ("Tab", "leaves the text"),
    ]
    return .element(
      "details", ["class": "small keys"], .element("summary", [:], "Keys"),
      .element(
        "dl", [:],
        Markup(
          keys.map { key, words in
            .element("dt", [:], .element("kbd", [:], Markup(key))) + .element("dd", [:], Markup(words))
          })))
  }

  // MARK: The state of the file

  /// Whether the text is the file's, whose ends of lines may be other ones.
  private var isSaved: Bool { file.map { $0.text.withPlainLineEnds.hasSameScalars(as: text) } ?? false }

  /// The facts about the file.
  private var standing: Markup {
    var marks: [Markup] = []
    if let file, kind == "recipe" {
      if let served = file.served {
        let since = file.servedSince.map { "since \(request.clock.minute($0))" } ?? ""
        marks.append(
          served.hasSameScalars(as: file.digest)
            ? Part.status("succeeded", "served \(since)".trimmed) : Part.status("uncertain", "an older text is served"))
      } else {
        marks.append(Part.status("dropped", "not served"))
      }
    }
    marks.append(
      .element(
        "span", ["id": "saved", "class": "status \(isSaved ? "s-succeeded" : "s-waiting")"],
        isSaved ? "saved" : "not saved"))
    if let recipe = file?.recipe { marks.append(Part.link("Recipe \(recipe)", to: pagePath("recipes", recipe))) }
    if let branch = file?.git?.branch {
      marks.append(.element("span", ["class": "quiet"], "branch ", Part.code(branch)))
    }
    return .element(
      "div", ["id": "standing"], .element("p", ["class": "fold"], Markup(marks.map { $0 + " " })), warnings)
  }

  static func machine(_ name: String?) -> Markup {
    guard let name else { return .nothing }
    return Part.notice(.element("p", [:], "These are the files of the machine ", Part.code(name), "."), kind: "info")
  }

  /// The warnings before a save.
  private var warnings: Markup {
    guard let file else { return .nothing }
    var notices = [EditPage.machine(file.machine)]
    if !file.others.isEmpty {
      let names = file.others.prefix(10).joined(separator: ", ")
      let words = file.others.count == 1 ? "serves" : "serve"
      notices.append(Part.notice(.element("p", [:], Markup("\(names) \(words) another text of this recipe."))))
    }
    if let obstacle = file.git?.obstacle {
      notices.append(Part.notice(.element("p", [:], Markup("Git won't commit a save: \(obstacle)"))))
    } else if file.git?.isClean == false {
      let sentence: Markup = "The file has changes that aren't committed. They become part of the next save's commit."
      notices.append(Part.notice(.element("p", [:], sentence)))
    }
    return Markup(notices)
  }

  private var notices: Markup {
    .element("div", ["id": "notices", "data-refused": isRefused ? "true" : nil], outcome ?? .nothing)
  }

  // MARK: What was found

  private var count: Markup {
    guard let check else { return .element("p", ["id": "count", "class": "quiet"]) }
    let counts = [("error", "error"), ("warning", "warning"), ("hint", "hint")].compactMap { severity, word in
      let count = check.faults.count { $0.severity == severity }
      return count > 0 ? counted(count, word) : nil
    }
    let elsewhere = check.elsewhere.isEmpty ? [] : ["\(counted(check.elsewhere.count, "error")) in other files"]
    let all = counts + elsewhere
    return .element(
      "p", ["id": "count", "class": check.isSavable ? "quiet" : "wrong"],
      Markup(all.isEmpty ? "No faults" : all.joined(separator: ", ")))
  }

  private var result: Markup {
    .element(
      "div", ["id": "result", "data-tab": tab.rawValue],
      panel ?? check.map { EditPanels(request, path: path, text: text).check($0, isNumbered: !request.wantsParts) }
        ?? Part.heading("Check"))
  }
}
