// The buttons of the page that edits a file.
import ActionKit
import Agent
import Basics
import HTTPServer
import Operations
import RecipeEditing
import RunState

/// A form of the page, and its answer.
struct EditAction {
  private let request: PageRequest
  private let form: HTTPQuery
  private var page: EditPage

  /// A button: the tabs, and the others.
  private enum Button: String {
    case check, plan, test, difference, versions
    case save, fixAll
    /// The requests of a script while a person types.
    case complete, hover
  }

  init(_ request: PageRequest, _ form: HTTPQuery, path: String) {
    (self.request, self.form) = (request, form)
    page = EditPage(request, path: path, text: form["text"] ?? "", base: form["base"])
    page.message = form["message"] ?? ""
    page.inputs = form["inputs"] ?? ""
  }

  private var path: String { page.path }
  private var text: String { page.text }

  mutating func response() async -> HTTPServerResponse {
    if request.hides(text) { return page.hidingResponse() }
    if let edits = form["fix"] {
      await fix(edits)
    } else if let version = form["version"] {
      await show(version)
    } else if let version = form["restore"] {
      await restore(version)
    } else if let digest = form["over"] {
      await save(over: digest)
    } else {
      switch form["do"].flatMap({ Button(rawValue: $0) }) {
      case .complete: return await completion()
      case .hover: return await hover()
      case .plan: await plan()
      case .test: await test()
      case .difference: await difference()
      case .versions: await versions()
      case .save: await save(over: page.base)
      case .fixAll: await fixAll()
      // A script asks for the check after each key, and needs nothing more.
      case .check, nil: await check()
      }
    }
    if !request.wantsParts {
      if page.file == nil { await read() }
      if page.check == nil { await check() }
    }
    // The text of another version may hold one as well.
    return request.hides(page.text) ? page.hidingResponse() : page.response()
  }

  // MARK: Reading

  /// Learns what is known of the file, or why it can't be read.
  private mutating func read() async {
    guard page.base != nil else { return }
    switch await request.attempt(ReadFile.with { $0.path = path }) {
    case .success(let answer): page.file = answer.view
    case .failure(let refusal): refuse(refusal)
    }
  }

  private mutating func check(fixAll: Bool = false) async {
    let asked = EditorCheck.with {
      $0.path = path
      $0.text = text
      $0.fixAll = fixAll
    }
    switch await request.attempt(asked) {
    case .success(let answer): page.check = answer.view
    case .failure(let refusal): refuse(refusal)
    }
  }

  private var panels: EditPanels { EditPanels(request, path: path, text: text) }

  /// Says why something wasn't done, beside the form.
  private mutating func refuse(_ refusal: RequestRefusedError, _ before: String = "") {
    guard page.outcome == nil else { return }
    let problem = Problem(refusal, withData: request.seesData)
    page.status = problem.kind.status
    page.isRefused = true
    let faults = problem.faults.prefix(20).map { Markup.element("li", [:], Markup($0.message)) }
    page.outcome = Part.notice(
      .element("p", ["role": "alert", "class": "lines-kept"], Markup(before + problem.detail))
        + (faults.isEmpty ? .nothing : .element("ul", [:], Markup(Array(faults)))), kind: "fault")
  }

  // MARK: Typing

  private var place: PlaceAnswer {
    filled(PlaceAnswer()) {
      $0.line = max(0, form["line"].flatMap { Int($0) } ?? 0)
      $0.column = max(0, form["column"].flatMap { Int($0) } ?? 0)
    }
  }

  private func completion() async -> HTTPServerResponse {
    let asked = EditorComplete.with {
      $0.path = path
      $0.text = text
      $0.at = place
    }
    switch await request.attempt(asked) {
    case .success(let answer):
      let json = (try? answer.view.encoded()).flatMap { try? JSON.text($0) }
      return json.map { .json($0) } ?? HTTPServerResponse(status: 204)
    // The check says what is wrong with the text.
    case .failure: return HTTPServerResponse(status: 204)
    }
  }

  private func hover() async -> HTTPServerResponse {
    let asked = EditorHover.with {
      $0.path = path
      $0.text = text
      $0.at = place
    }
    switch await request.attempt(asked) {
    case .success(let answer):
      guard let words = answer.view.text else { return HTTPServerResponse(status: 204) }
      func written(_ place: PlaceAnswer?) -> String? { place.map { "\($0.line),\($0.column)" } }
      return EditPage.fragment(
        .element(
          "div", ["class": "words", "data-from": written(answer.view.from), "data-to": written(answer.view.to)],
          Part.markdown(words)))
    case .failure: return HTTPServerResponse(status: 204)
    }
  }

  // MARK: Fixes

  /// Applies the edits of a button to the text.
  private mutating func fix(_ json: String) async {
    guard let edits = TextEdits(json), let changed = edits.applied(to: text) else {
      return refuse(RequestRefusedError(.request, "the fix doesn't fit this text; check it again"))
    }
    page.text = changed
    await check()
  }

  private mutating func fixAll() async {
    await check(fixAll: true)
    guard let mending = page.check?.mending else { return }
    let edits = TextEdits(mending)
    if request.wantsParts {
      page.edits = edits.json
      return
    }
    if let changed = edits.applied(to: text) { page.text = changed }
    await check()
  }

  // MARK: Tabs

  private mutating func plan() async {
    page.tab = .plan
    let (texts, fault) = EditPanels.inputs(page.inputs)
    guard fault == nil else {
      page.panel = panels.plan(.failure(RequestRefusedError(.inputs, fault ?? "")), inputs: page.inputs)
      page.status = 422
      return
    }
    let asked = EditorPlan.with {
      $0.path = path
      $0.text = text
      $0.texts = texts
    }
    let answer = await request.attempt(asked).map(\.plan)
    if case .failure(let refusal) = answer { page.status = Problem(refusal).kind.status }
    page.panel = panels.plan(answer, inputs: page.inputs)
  }

  private mutating func test() async {
    page.tab = .test
    let asked = EditorTest.with {
      $0.path = path
      $0.text = text
    }
    let answer = await request.attempt(asked).map(\.view)
    if case .failure(let refusal) = answer { page.status = Problem(refusal).kind.status }
    page.panel = panels.test(answer)
  }

  private mutating func difference() async {
    page.tab = .difference
    await read()
    guard let file = page.file else { return }
    page.panel = panels.difference(to: file)
  }

  private mutating func versions() async {
    page.tab = .versions
    switch await request.attempt(ListVersions.with { $0.path = path }) {
    case .success(let answer): page.panel = panels.versions(answer.view)
    case .failure(let refusal): refuse(refusal)
    }
  }

  private mutating func show(_ version: String) async {
    page.tab = .versions
    let asked = ReadVersion.with {
      $0.path = path
      $0.version = version
    }
    switch await request.attempt(asked) {
    case .success(let answer): page.panel = panels.version(answer.view)
    case .failure(let refusal):
      refuse(refusal)
      await versions()
    }
  }

  // MARK: Saving

  /// The key of this save: the same form sent twice is one, and one with another text is another.
  private func key(_ parts: String?...) -> String? {
    guard let key = form["key"], !key.isEmpty else { return nil }
    let list: [Value] = [.string(key), .string(path)] + parts.map { $0.map { .string($0) } ?? .null }
    return SHA256.digest(of: Array(JSON.displayed(.list(list)).utf8)).map { "form-\($0)" }
  }

  private mutating func save(over base: String?) async {
    let message = page.message.trimmed
    let asked = SaveFile.with {
      $0.path = path
      $0.text = text
      $0.base = base
      $0.message = message.isEmpty ? nil : message
      $0.key = key("save", base, message, text)
    }
    await settle(await request.attempt(asked).map(\.view), "It wasn't saved: ")
  }

  private mutating func restore(_ version: String) async {
    let asked = RestoreFile.with {
      $0.path = path
      $0.version = version
      $0.base = page.base
      $0.key = key("restore", page.base, version)
    }
    let answer = await request.attempt(asked).map(\.view)
    await settle(answer, "It wasn't restored: ")
    guard case .success = answer, let file = page.file else { return }
    // A script puts it into the place of the whole text.
    page.edits = TextEdits(replacing: text, with: file.text).json
    page.text = file.text.withPlainLineEnds
    page.check = nil
    await check()
  }

  /// Shows the outcome of a save.
  private mutating func settle(_ answer: Result<SavedAnswer, RequestRefusedError>, _ refused: String) async {
    switch answer {
    case .success(let saved):
      page.base = saved.digest
      page.outcome = panels.saved(saved)
      page.message = ""
      // A fault of this is left out: the file is saved.
      if case .success(let answer) = await request.attempt(ReadFile.with { $0.path = path }) { page.file = answer.view }
      await check()
    case .failure(let refusal):
      refuse(refusal, refused)
      if let current = refusal.current {
        page.tab = .conflict
        page.panel = panels.conflict(current)
      }
      if page.panel == nil { await check() }
    }
  }
}

/// Replacements in a text, as a button of the form has them.
struct TextEdits {
  private var edits: [EditAnswer]

  init(_ edits: [EditAnswer]) { self.edits = edits }

  /// The one that makes a text of another one.
  init(replacing old: String, with new: String) {
    let bytes = Array(old.utf8)
    edits = [EditAnswer(Diagnostic.Edit(0..<bytes.count, new.withPlainLineEnds), TextPositions(bytes))]
  }

  /// Reads what `json` wrote, out of a form; nil if it is something else.
  init?(_ json: String) {
    guard let list = (try? JSON.parse(json))?.list else { return nil }
    edits = []
    for edit in list {
      let places = (edit.list ?? []).prefix(4).compactMap(\.int)
      guard places.count == 4, edit.list?.count == 5, let text = edit.list?.last?.string else { return nil }
      edits.append(
        filled(EditAnswer()) {
          $0.from = PlaceAnswer(TextPosition(line: places[0], character: places[1]))
          $0.to = PlaceAnswer(TextPosition(line: places[2], character: places[3]))
          $0.text = text
        })
    }
  }

  /// The edits in an attribute: `[[line, column, line, column, text], …]`.
  var json: String {
    JSON.displayed(
      .list(
        edits.map {
          .list([.int($0.from.line), .int($0.from.column), .int($0.to.line), .int($0.to.column), .string($0.text)])
        }))
  }

  /// The text with the edits; nil if two of them are about the same part.
  func applied(to text: String) -> String? {
    var bytes = Array(text.utf8)
    let positions = TextPositions(bytes)
    var ranges: [(from: Int, to: Int, text: String)] = edits.map {
      (positions.offset(of: $0.from.position), positions.offset(of: $0.to.position), $0.text)
    }
    ranges.sort { ($0.from, $0.to) > ($1.from, $1.to) }
    var before = bytes.count
    for range in ranges {
      guard range.from <= range.to, range.to <= before else { return nil }
      // From the end on, so that the places before stay valid.
      bytes.replaceSubrange(range.from..<range.to, with: range.text.utf8)
      before = range.from
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
