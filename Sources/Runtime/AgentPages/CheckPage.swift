// A text that is checked as the file of a recipe would be, without being kept.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

extension Pages {
  /// The empty form.
  static func check(_ request: PageRequest) throws(Problem) -> HTTPServerResponse {
    try request.admit(to: CheckText.self)
    return checkPage(request, CheckText.with { $0.text = "" })
  }

  /// Checks the text of the form, and shows the findings with the form.
  static func check(_ request: PageRequest, _ form: HTTPQuery) async throws(Problem) -> HTTPServerResponse {
    let asked = CheckText.with {
      $0.text = form["text"] ?? ""
      if let file = form["file"], !file.trimmed.isEmpty { $0.file = file.trimmed }
    }
    do throws(Problem) {
      let findings = try await request.ask(asked).findings
      return checkPage(
        request, asked, found(findings, in: asked), lines(of: asked, findings))
    } catch {
      // A text that is too long is shown again all the same.
      guard error.kind == .refusal(.request) else { throw error }
      let fault = Part.faults("Nothing was checked.", [FormFault(error.detail, at: "text")])
      var response = checkPage(request, asked, fault, isRefused: true)
      response.status = error.kind.status
      return response
    }
  }

  /// The lines of the text, of a long one only around the first finding.
  private static func lines(of asked: CheckText, _ findings: [FindingRecord]) -> Markup {
    let own = findings.filter { asked.isPlace(of: $0) }
    let first = max(0, (own.compactMap(\.line).min() ?? 1) - 10)
    return Part.recipe(asked.text, own, from: asked.text.utf8.count < Part.mostBytes / 4 ? 0 : first)
  }

  /// - Parameters:
  ///   - asked: The text and the name of its file, as they were typed.
  ///   - notice: What is wrong with the text.
  ///   - lines: The text with the findings below its lines.
  private static func checkPage(
    _ request: PageRequest, _ asked: CheckText, _ notice: Markup = .nothing, _ lines: Markup? = nil,
    isRefused: Bool = false
  ) -> HTTPServerResponse {
    let form = Markup.element(
      "form", ["class": "card", "method": "post", "action": "/check"],
      Part.field(
        "file", "File name", asked.file,
        hint: "Names a recipe without a name of its own. Paths in the text start at the file's folder.",
        isRequired: false),
      .element("label", ["for": "text"], "Recipe"),
      .element(
        "p", ["class": "hint", "id": "text-hint"], "At most 256 KiB. The text can call the recipes that are served."),
      // The first end of line in the element isn't part of its content (HTML, "textarea").
      .element(
        "textarea",
        [
          "id": "text", "name": "text", "class": "whole", "spellcheck": "false", "required": "",
          "aria-describedby": "text-hint",
        ], Markup(field: "\n" + asked.text)),
      .element("div", ["class": "actions"], .element("button", ["class": "main"], "Check")),
      Part.command("errand check FILE"))
    return request.frame(
      "Check", "/recipes", isRefused: isRefused, Part.crumbs(("Recipes", "/recipes")),
      .element("h1", [:], "Check a recipe"),
      .element("p", ["class": "lead"], "Nothing is run, and the text isn't kept."), notice, form,
      lines.map { Part.heading("The text with its lines") + $0 } ?? .nothing)
  }

  private static func found(_ findings: [FindingRecord], in asked: CheckText) -> Markup {
    let errors = findings.count { $0.severity == "error" }
    let outcome: String
    if findings.isEmpty {
      outcome = "It has no errors."
    } else if errors == 0 {
      outcome = "It has no errors, and \(counted(findings.count, "finding")) to look at."
    } else {
      outcome = "It has \(counted(errors, "error"))."
    }
    let notice = Part.notice(.element("p", ["role": "status"], Markup(outcome)), kind: errors == 0 ? "good" : "fault")
    if findings.isEmpty { return notice }
    let rows = findings.map { finding -> [Markup] in
      [
        place(of: finding, in: asked), finding.severityMark,
        .element("span", ["class": "lines-kept"], Markup(finding.message)),
      ]
    }
    return notice + Part.table("Findings", ["Line", "Severity", "Problem and fix"], rows, kind: "listed")
  }

  private static func place(of finding: FindingRecord, in asked: CheckText) -> Markup {
    guard let line = finding.line else { return .nothing }
    if asked.isPlace(of: finding) { return Part.link("line \(line)", to: "#line-\(line)") }
    return Part.code("\(finding.file ?? ""):\(line)")
  }
}

extension CheckText {
  /// Whether a finding is about a line of the text, as opposed to one of a served file.
  fileprivate func isPlace(of finding: FindingRecord) -> Bool {
    finding.file.map { $0.hasSameScalars(as: file) } ?? false
  }
}

extension FindingRecord {
  fileprivate var severityMark: Markup {
    switch severity {
    case "error": Part.status("error")
    case "warning": Part.status("uncertain", "warning")
    default: Part.status("skipped", severity)
    }
  }
}
