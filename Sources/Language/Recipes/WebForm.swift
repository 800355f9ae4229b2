package import Basics
import ActionKit
import Expressions

/// The settings of an entry's `form`: a page that starts a run with the values that a person fills in.
///
/// A form that is sent is a delivery, like a webhook's; `event.data` has the values of the fields.
package struct WebForm: Sendable {
  /// Who may send a form.
  package enum Access: String, CaseIterable, Sendable { case `public`, link, login }

  /// How often a form may be sent.
  package struct Limit: Sendable, Equatable {
    /// How many times an address may send it in a span.
    package var requests = 10
    package var span = TimeSpan.seconds(600)
    /// How many times all together may send it in 24 hours.
    package var perDay = 500

    package init() {}
  }

  /// Where it is found, below `/forms/`.
  package var path: String
  package var title: String
  package var text: String?
  package var access: Access
  package var fields: [Recipe.Input]
  package var match: RecipeExpression?
  package var limit: Limit
  /// The text after it was sent.
  package var done: ValueTemplate?
  /// The form of `event`.
  package var form: EventForm
  /// The place of `open`, if everyone may send it as often as the default limit allows.
  var openToAll: Diagnostic.Location?

  fileprivate static let mostFields = 40
  /// Where every address of a form begins.
  package static let root = "/forms/"

  /// The path of the address.
  package var address: String { WebForm.root + path }

  /// The schema of the values that are filled in.
  package var schema: Value {
    .map(ObjectSchema(fields: fields.map(\.declaration)).jsonSchema(allowsExpressions: false))
  }

  /// The values of the fields, or the faults by field.
  ///
  /// - Parameter texts: The texts by field, as the command line takes them.
  package func values(
    from texts: [String: String]
  ) -> (values: ValueMap, faults: [(name: String, fault: Diagnostic)]) {
    let given = texts.sorted { $0.key.precedesByScalars($1.key) }.map {
      (name: $0.key, input: GivenInput.text($0.value))
    }
    let read = Recipe.Input.read(given, for: fields, of: "the form") { $0.isMissing }
    return (Recipe.withDefaults(read.values, for: fields), read.faults)
  }

  /// The text after it was sent.
  package func thanks(for event: Value) -> String {
    let text = try? done?.evaluate(in: [event], limits: EvaluationLimits(steps: 20_000, bytes: 1 << 16)).string
    return text ?? "Thank you. Your form was received."
  }
}

extension Trigger {
  /// The form that starts runs, if one does.
  package var form: WebForm? { if case .form(let form) = kind { form } else { nil } }

  /// The part of its address after the root, if deliveries or forms start it.
  package var path: String? { webhook?.path ?? form?.path }

  /// The path of its address, if deliveries or forms start it.
  package var address: String? { webhook?.address ?? form?.address }
}

extension TriggerReader {
  /// Reads `form`; faulty parts get a placeholder, so that `inputs` are read as intended.
  ///
  /// - Parameter entry: The name of the entry's schedule.
  func form(_ value: Value, of entry: String) -> Trigger.Kind {
    let fields = Fields(
      value, of: "'form'", .form, findings, others: .form, form: "form: { open: login }")
    var form = WebForm(
      path: fields?["path"].flatMap(addressPath) ?? entry, title: fields?.text("title") ?? title,
      text: fields?.text("text"), access: .login, fields: inputs.filter { !$0.isSecret }, limit: WebForm.Limit(),
      form: EventForm())
    if let value = fields?["fields"] {
      form.fields = self.fields(value)
    }
    // A field with a default is there whether it was filled in or not.
    let sent = form.fields.map { field in
      var sent = field.declaration
      sent.fallback = nil
      return sent
    }
    form.form = EventForm(data: .object(ObjectSchema(fields: sent)))
    guard let fields else { return .form(form) }
    if let open = fields.require("open", "who may send the form: public, link or login") {
      form.access = findings.choice(open, of: "'open'") ?? .login
      if form.access == .public, fields["limit"] == nil { form.openToAll = findings.location(of: open) }
    }
    if let value = fields["limit"], let limit = Fields(value, of: "'limit'", .formLimit, findings) {
      form.limit.requests = limit.int("requests") ?? form.limit.requests
      form.limit.perDay = limit.int("perDay") ?? form.limit.perDay
      form.limit.span = limit.duration("per") ?? form.limit.span
      if let place = limit["per"], form.limit.span > .seconds(86_400) {
        findings.error("'per' is at most 1d, but is \(form.limit.span.written)", at: place)
      }
    }
    var scope = Scope()
    scope.explainEvents()
    scope.declare("event", form.form.type)
    form.match = fields["match"].flatMap { compiler.condition($0, of: "'match'", in: scope) }
    form.done = fields["done"].flatMap { compiler.text($0, of: "'done'", in: scope) }
    return .form(form)
  }

  private func fields(_ value: Value) -> [Recipe.Input] {
    guard let map = value.map, (1...WebForm.mostFields).contains(map.members.count) else {
      findings.error(
        "'fields' takes a mapping of 1 to \(WebForm.mostFields) names to {type, …}, but found \(value.written)",
        at: value)
      return []
    }
    let reader = InputReader(findings: findings, compiler: compiler, word: .field)
    return map.members.map { reader.input(findings.name($0.key, of: "the field") ?? $0.key.plainText, $0.value) }
  }

  /// The inputs of a form without `fields`: each takes the text of its field, unless the entry says otherwise.
  func inputs(_ given: Value?, from form: WebForm, at place: Value) -> Value? {
    var members = given?.map ?? ValueMap()
    if given != nil, given?.map == nil { return given }
    for field in form.fields where members[field.name] == nil {
      // It is written nowhere, so that it has no place.
      members[field.name] = .string("${{ event.data.\(field.name) }}")
    }
    return Value(.map(members), at: given?.place ?? place.place)
  }
}

extension Recipe {
  /// Warns of forms that let everyone start a recipe that writes, where nobody is asked and the entry sets no limit.
  var warningsOfOpenForms: [Diagnostic] {
    let places = triggers.compactMap { $0.form?.openToAll }
    if places.isEmpty { return [] }
    let steps = all.flatMap(\.allSteps)
    let asks = steps.contains {
      switch $0.kind {
      case .approval, .ask: true
      default: false
      }
    }
    let write = steps.lazy.compactMap { step -> String? in
      if case .action(let call) = step.kind, call.action.effect.isWrite { call.action.id } else { nil }
    }.first
    guard !asks, let write else { return [] }
    return places.map { place in
      Diagnostic(
        "everyone who reaches the form can start this recipe, which writes ('\(write)'): add an 'approve' step, or say "
          + "how often with limit: { requests: 10, per: 10m, perDay: 500 }", at: place, severity: .warning)
    }
  }
}
