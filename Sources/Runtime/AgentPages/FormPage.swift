// The page of a recipe's form, for people who may have no login. It shows the form and nothing else of the agent, and
// works without a script.
package import Basics
package import HTTPServer
package import Recipes

/// The texts that a person filled in, and their values.
package struct FilledForm: Sendable {
  fileprivate var given: StartForm.Given
  /// Nil if anything is wrong.
  package let values: ValueMap?

  package init(_ sent: HTTPQuery, for form: WebForm) {
    given = StartForm.Given(sent, for: form.schema, word: FormPage.word)
    let (read, faults) = form.values(from: given.sent)
    given.faults += faults.map { FormFault($0.fault.message, at: "\(FormPage.word)-\($0.name)") }
    values = given.faults.isEmpty ? read : nil
  }
}

/// A form of a recipe as a page.
package struct FormPage {
  let form: WebForm
  let isSandbox: Bool

  /// The beginning of the names of the fields.
  fileprivate static let word = "field"
  /// The field that people don't see; a program fills it in.
  package static let trap = "website"

  package init(_ form: WebForm, isSandbox: Bool) {
    self.form = form
    self.isSandbox = isSandbox
  }

  /// The form to fill in, perhaps with earlier texts.
  ///
  /// - Parameters:
  ///   - key: The key of this page.
  ///   - objection: Why it has to be sent again.
  package func asking(
    key: String, link: String?, filled: FilledForm? = nil, objection: String? = nil, status: Int = 200
  ) -> HTTPServerResponse {
    var parts: [Markup] = []
    if let text = form.text { parts.append(.element("p", ["class": "lines-kept"], Markup(text))) }
    let isFaulty = filled?.given.faults.isEmpty == false
    let message = objection ?? (isFaulty ? "This wasn't sent. Look at the marked fields, and send it again." : nil)
    let fields = InputFields(schema: form.schema, given: filled?.given, word: FormPage.word)
    if let message { parts.append(fields.faults(message)) }
    parts.append(
      .element(
        "form", ["class": "card", "method": "post", "action": form.address],
        Markup(
          [Part.hidden("key", key)] + (link.map { [Part.hidden("link", $0)] } ?? [])
            + (fields.all.isEmpty ? [] : fields.markup)),
        .element(
          "p", ["hidden": ""],
          .element("label", ["for": "website"], "Leave this empty"),
          .element("input", ["id": "website", "name": "website", "autocomplete": "off", "tabindex": "-1"])),
        .element(
          "div", ["class": fields.isLong ? "actions near" : "actions"], .element("button", ["class": "main"], "Send"))))
    return page(Markup(parts), status: status, isRefused: message != nil)
  }

  /// The page after the form was sent.
  package func done(_ text: String) -> HTTPServerResponse {
    page(
      .element("p", ["class": "notice good lines-kept", "role": "status"], Markup(text))
        + .element("p", ["class": "quiet"], "You can close this page."))
  }

  /// The page where there is no form to fill in.
  package func refusing(_ reason: String, status: Int) -> HTTPServerResponse {
    page(.element("p", ["class": "notice", "role": "status"], Markup(reason)), status: status)
  }

  private func page(_ content: Markup, status: Int = 200, isRefused: Bool = false) -> HTTPServerResponse {
    var frame = PageFrame(
      title: form.title, section: "", visitor: nil, isSandbox: isSandbox,
      content: .element("h1", [:], Markup(form.title)) + content)
    // A person who has no login finds nothing behind other links.
    (frame.isAlone, frame.isRefused) = (true, isRefused)
    var response = frame.response(status: status)
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    return response
  }
}
