// The forms for the inputs of a recipe and for the fields of a question: a field for each, by its type. A form that was
// refused is shown again with the texts that were typed, and each fault beside its field.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

struct StartForm {
  let recipe: RecipeRecord
  private let given: Given?
  private let fields: InputFields

  /// - Parameter secrets: The names of secrets to choose from.
  init(_ recipe: RecipeRecord, given: Given?, secrets: [String] = []) {
    self.recipe = recipe
    self.given = given
    fields = InputFields(schema: recipe.inputs, given: given, secrets: secrets)
  }

  /// The texts that a person typed, and their faults.
  struct Given {
    var texts: [String: String] = [:]
    var faults: [FormFault] = []
    /// That the form was refused, in a sentence; nil if it wasn't.
    var objection: String?
    /// The run whose inputs the form was filled in with.
    var like: String?
    /// The texts as the agent reads them: lists are JSON.
    fileprivate(set) var sent: [String: String] = [:]
  }

  /// The faults of a form that was refused, for the top of its page.
  var faults: Markup { given?.objection.map(fields.faults) ?? .nothing }

  var markup: Markup {
    var parts: [Markup] = [.element("h2", [:], "Start"), Part.key]
    if let like = given?.like {
      parts.append(Part.hidden("like", like))
      parts.append(
        .element(
          "p", ["class": "quiet"], "With the inputs of ", Pages.link(toRun: like, of: recipe.name),
          "; secrets are left empty."))
    }
    parts += fields.markup
    let command = "errand runs start \(recipe.name)"
    parts.append(
      .element(
        "div", ["class": fields.isLong ? "actions near" : "actions"],
        .element(
          "button",
          [
            "class": "main", "formaction": pagePath("recipes", recipe.name, "plan"),
            "title": "errand plan \(recipe.file.shellQuoted)",
          ], "Plan"),
        .element("button", ["title": command], "Run")))
    let arguments = fields.all.filter { fields.isRequired($0.name) }
      .map { " -i \($0.name)=\(StartForm.isSecret($0.schema) ? "@secret:NAME" : "…")" }.joined()
    parts.append(
      .element(
        "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
        .element("p", [:], Part.code("errand plan \(recipe.file.shellQuoted)" + arguments)),
        .element("p", [:], Part.code(command + arguments))))
    return .element(
      "form",
      ["class": "card", "method": "post", "action": pagePath("recipes", recipe.name, "start")],
      Markup(parts))
  }
}

/// The fields of a form, one for each property of a JSON Schema, with their texts.
struct InputFields {
  let schema: Value?
  let given: StartForm.Given?
  /// The word for one of them, which the names of the form's fields begin with: `input` or `field`.
  var word = "input"
  /// The names of secrets to choose from.
  var secrets: [String] = []

  /// A form with more inputs has headings, and buttons that stay in sight.
  private static let mostWithoutHeadings = 8

  var all: [(name: String, schema: Value)] {
    (schema?["properties"]?.map?.members ?? []).compactMap { member in member.name.map { ($0, member.value) } }
  }

  var isLong: Bool { all.count > InputFields.mostWithoutHeadings }

  func isRequired(_ name: String) -> Bool {
    schema?["required"]?.list?.contains { $0.string?.hasSameScalars(as: name) ?? false } ?? false
  }

  var markup: [Markup] {
    let inputs = all
    var parts: [Markup] = []
    if inputs.isEmpty { parts.append(.element("p", ["class": "quiet"], "It takes no \(word)s.")) }
    let groups = [
      ("Needed", inputs.filter { isRequired($0.name) }), ("Optional", inputs.filter { !isRequired($0.name) }),
    ]
    for (heading, some) in groups where !some.isEmpty {
      if isLong { parts.append(.element("h3", [:], Markup(heading))) }
      for input in some { parts += field(input.name, input.schema, isRequired: isRequired(input.name)) }
    }
    if !secrets.isEmpty, inputs.contains(where: { StartForm.isSecret($0.schema) }) {
      let options = secrets.map { Markup.element("option", ["value": "@secret:\($0)"]) }
      parts.append(.element("datalist", ["id": InputFields.secretNames], Markup(options)))
    }
    return parts
  }

  /// The id of the list of secrets' names.
  private static let secretNames = "secret-names"

  /// The faults of the typed texts, with a link to each field that the form has.
  func faults(_ objection: String) -> Markup {
    let known = Set(all.map { id($0.name) })
    return Part.faults(
      objection,
      (given?.faults ?? []).map { fault in
        guard let field = fault.field, field.hasPrefix("\(word)-") else { return fault }
        let name = String(field.dropFirst(word.utf8.count + 1))
        return FormFault(
          fault.isOfMissing ? "\(word) '\(name)' is needed" : fault.message, at: known.contains(field) ? field : nil)
      })
  }

  /// The id of the element of a field.
  private func id(_ name: String) -> String { "\(word)-\(name)" }

  /// The messages about a field.
  private func faults(of name: String) -> [String] {
    (given?.faults ?? []).filter { $0.field?.hasSameScalars(as: id(name)) ?? false }.map { fault in
      fault.isOfMissing ? "This is needed." : fault.message
    }
  }

  private func field(_ name: String, _ schema: Value, isRequired: Bool) -> [Markup] {
    let id = id(name)
    let faults = faults(of: name)
    let summary = "\(schema["description"]?.string ?? "") \(StartForm.hint(schema) ?? "")".trimmed
    let fallback = StartForm.fallback(schema)
    let note =
      isRequired
      ? ""
      : fallback.map { StartForm.mayBeEmpty(schema) ? " (optional)" : " (optional; \($0.shortened(to: 40)) if empty)" }
        ?? " (optional)"
    var parts: [Markup] = [
      .element("label", ["for": id], Markup(name), .element("span", ["class": "quiet"], Markup(note)))
    ]
    if !summary.isEmpty { parts.append(.element("p", ["class": "hint", "id": "\(id)-hint"], Markup(summary))) }
    let described = [summary.isEmpty ? nil : "\(id)-hint", faults.isEmpty ? nil : "\(id)-wrong"].compactMap { $0 }
    parts.append(
      control(
        name, id, schema, isRequired: isRequired, isWrong: !faults.isEmpty,
        described: described.isEmpty ? nil : described.joined(separator: " ")))
    if !faults.isEmpty {
      parts.append(
        .element("p", ["class": "wrong", "id": "\(id)-wrong"], Markup(faults.joined(separator: "; "))))
    }
    // A form that is kept while there is no login says which of its texts may be secret.
    if StartForm.isSecret(schema) { parts.append(Part.hidden(KeptForm.secret, "\(word).\(name)")) }
    return parts
  }

  private func control(
    _ name: String, _ id: String, _ schema: Value, isRequired: Bool, isWrong: Bool, described: String?
  ) -> Markup {
    let required = isRequired ? "" : nil
    let invalid = isWrong ? "true" : nil
    // A text that may be a secret after all isn't shown again.
    let value =
      given.map { given in
        let text = given.texts[name] ?? ""
        return StartForm.isSecret(schema) && !text.hasPrefix(KeptForm.mark) ? "" : text
      } ?? schema["default"].flatMap { StartForm.text($0, schema) }
    let kind = schema["type"]?.string
    let choices = schema["enum"]?.list?.compactMap(\.string) ?? (kind == "boolean" ? ["true", "false"] : nil)
    if let choices {
      let isChosen = isRequired ? value != nil : StartForm.fallback(schema) != nil
      let none = isChosen ? [] : [Markup.element("option", ["value": ""], "")]
      let options = choices.map { choice -> Markup in
        .element("option", ["value": choice, "selected": choice == value ? "" : nil], Markup(choice))
      }
      return .element(
        "select",
        [
          "id": id, "name": "\(word).\(name)", "required": required, "aria-invalid": invalid,
          "aria-describedby": described,
        ], Markup(none + options))
    }
    // A field of one line loses the ends of lines.
    let isText = kind == "string" && schema["format"] == nil && !StartForm.isSecret(schema)
    if StartForm.isJSON(schema)
      || isText && value?.unicodeScalars.contains(where: "\n\r".unicodeScalars.contains) == true
    {
      return .element(
        "textarea",
        [
          "id": id, "name": "\(word).\(name)", "required": required, "spellcheck": "false",
          "aria-invalid": invalid,
          "aria-describedby": described,
        ], Markup(field: value ?? ""))
    }
    let isSecret = StartForm.isSecret(schema)
    // The check is of the whole text, which is what a browser does anyway.
    let form = schema["pattern"]?.string.map {
      $0.utf8Parts(around: "^(?:")?.after.utf8Parts(around: ")$")?.before ?? $0
    }
    let pattern = isSecret ? nil : form.flatMap(BrowserPattern.text)
    let type =
      switch (kind, schema["format"]?.string) {
      // It takes the name of a secret, which people have to see while they type it.
      case _ where isSecret: "text"
      case ("integer", _), ("number", _): "number"
      case (_, "date"): "date"
      default: "text"
      }
    return .element(
      "input",
      [
        "id": id, "name": "\(word).\(name)", "type": type, "value": value, "required": required,
        "min": schema["minimum"].map { JSON.displayed($0) }, "max": schema["maximum"].map { JSON.displayed($0) },
        "minlength": schema["minLength"].map { JSON.displayed($0) },
        "maxlength": schema["maxLength"].map { JSON.displayed($0) },
        "pattern": pattern,
        "title": pattern.map { _ in schema["description"]?.string ?? "Must be of the form \(form ?? "")" },
        "list": isSecret && !secrets.isEmpty ? InputFields.secretNames : nil,
        "spellcheck": isSecret ? "false" : nil,
        "step": kind == "number" ? "any" : nil, "autocomplete": "off", "aria-invalid": invalid,
        "aria-describedby": described,
      ])
  }
}

extension FormFault {
  /// Whether a value is missing: `input 'n' (int) is missing: …`, which repeats what the form shows beside the field.
  fileprivate var isOfMissing: Bool { message.utf8Parts(around: ") is missing") != nil }
}

extension StartForm {
  /// Whether an input's text is JSON.
  fileprivate static func isJSON(_ schema: Value) -> Bool {
    ["array", "object", nil].contains(schema["type"]?.string) && schema["enum"] == nil
  }

  /// Whether an input is a list of plain texts, numbers or Booleans, which is written with one entry a line.
  fileprivate static func isPlainList(_ schema: Value) -> Bool {
    ["string", "integer", "number", "boolean"].contains(schema["items"]?["type"]?.string)
  }

  /// How a value that isn't one word is written.
  fileprivate static func hint(_ schema: Value) -> String? {
    if isSecret(schema) { return "Give the name of a secret, as @secret:NAME; never its value." }
    if isPlainList(schema) { return "Write one entry a line." }
    guard isJSON(schema) else { return nil }
    let example =
      switch schema["type"]?.string {
      case "array": "[…, …]"
      case "object": "{\"name\": …}"
      default: "\"text\" or 1"
      }
    return "Write JSON, such as \(example)."
  }

  /// A value as it is written into the field of its input; nil if there is none.
  static func text(_ value: Value, _ schema: Value) -> String? {
    let value = value.asPlainJSON
    if value.isNull { return nil }
    if isPlainList(schema), let entries = value.list?.map({ $0.string ?? JSON.displayed($0) }), !entries.isEmpty {
      let text = entries.joined(separator: "\n")
      // A list that would be read differently from lines, such as one with spaces around an entry, is shown as JSON.
      if lines(text) == entries { return text }
    }
    return isJSON(schema) ? JSON.displayed(value) : value.string ?? JSON.displayed(value)
  }

  /// The entries of a list that is written with one a line; nil if it is JSON.
  fileprivate static func lines(_ text: String) -> [String]? {
    if text.trimmed.hasPrefix("[") { return nil }
    return text.split { $0 == "\n" || $0 == "\r\n" }.map { String($0).trimmed }.filter { !$0.isEmpty }
  }

  /// The text of an input's default, if it has one.
  fileprivate static func fallback(_ schema: Value) -> String? {
    guard let value = schema["default"], !value.isNull else { return nil }
    return value.asPlainJSON.string ?? JSON.displayed(value)
  }

  /// Whether any input of a recipe is given by the name of a secret.
  static func takesSecret(_ recipe: RecipeRecord) -> Bool {
    InputFields(schema: recipe.inputs, given: nil).all.contains { isSecret($0.schema) }
  }

  /// Whether an input is given by the name of a secret.
  fileprivate static func isSecret(_ schema: Value) -> Bool { schema["writeOnly"]?.bool == true }

  /// Whether an empty text is a value of an input, and not only the lack of one.
  fileprivate static func mayBeEmpty(_ schema: Value) -> Bool {
    schema["type"]?.string == "string" && schema["enum"] == nil && schema["format"] == nil && schema["pattern"] == nil
      && !isSecret(schema)
  }
}

extension StartForm.Given {
  /// Reads the texts of a form.
  ///
  /// An empty field isn't given, unless it is a text whose default the person removed. The agent reads the texts, and
  /// finds all faults of them together.
  ///
  /// - Parameter word: What the form gives: `input` or `field`.
  init(_ form: HTTPQuery, for schema: Value?, word: String = "input") {
    let inputs = schema?["properties"]?.map
    for item in form.items where item.name.hasPrefix("\(word).") {
      let name = String(item.name.dropFirst(word.utf8.count + 1))
      if texts[name] != nil {
        faults.append(FormFault("the \(word) '\(name.shortened)' was sent twice", at: "\(word)-\(name)"))
        continue
      }
      let schema = inputs?[name]
      if item.value.isEmpty {
        guard let schema, StartForm.mayBeEmpty(schema), StartForm.fallback(schema) != nil else { continue }
      }
      // An input that was renamed since the page was shown is sent as well: no typed text is left out silently.
      (texts[name], sent[name]) = (item.value, item.value)
      if let schema, StartForm.isPlainList(schema), let lines = StartForm.lines(item.value) {
        let isText = schema["items"]?["type"]?.string == "string"
        sent[name] = JSON.displayed(.list(lines.map { isText ? .string($0) : (try? JSON.parse($0)) ?? .string($0) }))
      }
    }
  }

  /// The inputs of an earlier run as a person would have typed them; secrets that were given by name are left out.
  init(like run: RunRecord, for recipe: RecipeRecord) {
    let schemas = recipe.inputs?["properties"]
    var form = HTTPQuery()
    var hidden: [FormFault] = []
    for member in run.origin.inputs.map?.members ?? [] {
      guard let name = member.name else { continue }
      let schema = schemas?[name] ?? .null
      if StartForm.isSecret(schema) { continue }
      if member.value.isMasked {
        hidden.append(
          FormFault(
            "input '\(name)' holds a secret, so its value isn't shown again; give it once more", at: "input-\(name)"))
      } else if let text = StartForm.text(member.value, schema) {
        form.items.append(.init("input.\(name)", text))
      }
    }
    self.init(form, for: recipe.inputs)
    faults += hidden
    like = run.id
  }

  /// The inputs that the form has, and that weren't given, as none: otherwise the inputs of the earlier run would be used.
  fileprivate func none(of schema: Value?) -> ValueMap? {
    guard like != nil else { return nil }
    let names = (schema?["properties"]?.map?.members ?? []).compactMap(\.name)
    return ValueMap(names.filter { sent[$0] == nil }.map { ($0, Value.null) })
  }

  /// The inputs of a plan as a person would have typed them.
  init(inputsOf plan: PlanRecord, for recipe: RecipeRecord) {
    let schemas = recipe.inputs?["properties"]
    var form = HTTPQuery()
    var hidden: [FormFault] = []
    for member in plan.document["inputs"]?.map?.members ?? [] {
      guard let name = member.name else { continue }
      let schema = schemas?[name] ?? .null
      if member.value["$withSecret"] != nil {
        hidden.append(
          FormFault(
            "input '\(name)' holds a secret, so its value isn't shown again; give it once more", at: "input-\(name)"))
      } else if let secret = StartForm.isSecret(schema) ? member.value["secret"]?.string : nil {
        form.items.append(.init("input.\(name)", "@secret:\(secret)"))
      } else if let text = StartForm.text(member.value, schema) {
        form.items.append(.init("input.\(name)", text))
      }
    }
    self.init(form, for: recipe.inputs)
    faults += hidden
  }

  /// The key of a form with its texts: the same form sent twice is one request, and a changed one, such as after the
  /// browser's Back, is another.
  func key(of form: String?) -> String? {
    guard let form, !form.isEmpty else { return nil }
    let parts = texts.sorted { $0.key.precedesByScalars($1.key) }.flatMap { [$0.key, $0.value] }
    return "form-"
      + (SHA256.digest(of: Array(JSON.displayed(.list(([form] + parts).map { .string($0) })).utf8)) ?? form)
  }
}

extension Pages {
  /// Plans or starts a run, or shows the form again with its faults.
  static func start(
    _ request: PageRequest, _ name: String, _ form: HTTPQuery, isPlan: Bool = false
  ) async throws(Problem) -> HTTPServerResponse {
    let recipe = try await request.ask(ShowRecipe.with { $0.recipe = name }).recipe
    var given = StartForm.Given(form, for: recipe.inputs)
    given.like = form["like"].flatMap { $0.isEmpty ? nil : $0 }
    // Only a form that no browser sends has such faults.
    guard given.faults.isEmpty else { return try await refused(request, name, given, "Nothing was done.") }
    do throws(Problem) {
      if isPlan {
        let made = try await request.ask(
          PlanRun.with {
            $0.recipe = name
            $0.texts = given.sent
          })
        return redirect(pagePath("plans", made.plan.digest))
      }
      let accepted = try await request.ask(
        StartRun.with {
          $0.recipe = name
          $0.like = given.like
          $0.inputs = given.none(of: recipe.inputs)
          $0.texts = given.sent
          $0.key = given.key(of: form["key"])
        })
      return redirect(pagePath("runs", accepted.run))
    } catch {
      guard error.kind == .refusal(.inputs) || error.kind == .refusal(.configuration) else { throw error }
      given.faults += FormFault.all(of: error, word: "input")
    }
    return try await refused(request, name, given, "\(isPlan ? "Nothing was planned" : "No run was started").")
  }

  private static func refused(
    _ request: PageRequest, _ name: String, _ given: StartForm.Given, _ outcome: String
  ) async throws(Problem) -> HTTPServerResponse {
    var given = given
    given.objection = "\(outcome) Look at what is wrong, and send the form again."
    var response = try await Pages.recipe(request, name, form: given)
    response.status = 422
    return response
  }
}
