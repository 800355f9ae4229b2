// The parts beside the text of an edited file: one for each tab, and the outcome of a save.
import Agent
import Basics
import HTTPServer
import Operations
import RecipeEditing
import Recipes
import RunState

struct EditPanels {
  private let request: PageRequest
  private let path: String
  /// The text as it was typed.
  private let text: String

  init(_ request: PageRequest, path: String, text: String) {
    (self.request, self.path, self.text) = (request, path, text)
  }

  /// The most faults, and the most of other lists.
  private static let (mostFaults, mostRows) = (100, 50)
  /// The most characters of a message.
  private static let longest = 2_000

  private func words(_ text: String) -> Markup { Markup(text.shortened(to: EditPanels.longest)) }

  private func problem(_ refusal: RequestRefusedError) -> Markup {
    let problem = Problem(refusal, withData: request.seesData)
    let lines = problem.faults.prefix(EditPanels.mostRows).map { Markup.element("li", [:], words($0.message)) }
    return Part.notice(
      .element("p", ["role": "alert", "class": "lines-kept"], words(problem.detail))
        + (lines.isEmpty ? .nothing : .element("ul", [:], Markup(Array(lines)))), kind: "fault")
  }

  /// A button of the form, which is elsewhere on the page.
  private func button(_ name: StaticString, _ value: String, _ label: String, kind: String? = nil) -> Markup {
    .element("button", ["form": "edit", "name": "\(name)", "value": value, "class": kind], Markup(label))
  }

  // MARK: Check

  /// - Parameter isNumbered: Whether the text is shown with its lines; a field has no numbers.
  func check(_ check: EditorCheckAnswer, isNumbered: Bool) -> Markup {
    var parts: [Markup] = [Part.heading("Check", count: check.faults.count + check.elsewhere.count)]
    if check.faults.isEmpty {
      parts.append(.element("p", ["class": "none"], "No faults."))
    } else {
      parts.append(.element("ol", ["class": "faults"], Markup(check.faults.prefix(EditPanels.mostFaults).map(fault))))
      if check.faults.count > EditPanels.mostFaults {
        parts.append(.element("p", ["class": "quiet"], "and \(check.faults.count - EditPanels.mostFaults) more"))
      }
      if check.faults.contains(where: { !$0.fixes.isEmpty }) {
        parts.append(
          .element("div", ["class": "actions"], button("do", "fixAll", "Fix all that leave no doubt")))
      }
    }
    if !check.elsewhere.isEmpty {
      let rows = check.elsewhere.prefix(EditPanels.mostRows).map { fault -> Markup in
        let line = fault.from.line &+ 1
        return .element(
          "li", [:], Part.link("\(fault.path), line \(line)", to: Part.editPath(fault.path, line: line)),
          .element("div", ["class": "finding"], words(fault.message)))
      }
      parts.append(.element("h3", [:], "Errors that this text would make in other files"))
      parts.append(.element("ul", ["class": "faults"], Markup(Array(rows))))
    }
    if !check.fires.isEmpty {
      let rows = check.fires.prefix(EditPanels.mostRows).map { entry -> Markup in
        let times = entry.next.prefix(3).map { Markup.element("li", [:], Markup($0)) }
        return .element(
          "li", [:], place(entry.line, column: 0), ": ", words(entry.words),
          times.isEmpty ? .nothing : .element("ul", [:], Markup(Array(times))))
      }
      parts.append(.element("h3", [:], "Next times"))
      parts.append(.element("ul", ["class": "times"], Markup(Array(rows))))
    }
    if isNumbered, !check.faults.isEmpty { parts.append(numbered(check.faults)) }
    return Markup(parts)
  }

  /// A link to a place, which a script follows in the text.
  private func place(_ line: Int, column: Int) -> Markup {
    let number = line &+ 1
    return .element(
      "a", ["href": "#line-\(number)", "data-place": "\(line),\(column)"], Markup("line \(number)"))
  }

  private func fault(_ fault: EditorFaultAnswer) -> Markup {
    let (from, to) = (fault.from, fault.to)
    let kind = fault.severity == "error" ? "finding" : "finding mild"
    let fixes = fault.fixes.prefix(4).map { fix in
      button("fix", TextEdits(fix.edits).json, "Fix line \(from.line &+ 1): \(fix.title.shortened(to: 120))")
    }
    let notes = fault.notes.prefix(4).map { note -> Markup in
      guard let from = note.from else { return .element("p", ["class": "quiet"], words(note.message)) }
      let place =
        note.path.map { $0.hasSameScalars(as: path) } ?? true
        ? place(from.line, column: from.column)
        : Part.link(
          "\(note.path ?? ""), line \(from.line &+ 1)", to: Part.editPath(note.path ?? "", line: from.line &+ 1))
      return .element("p", ["class": "quiet"], place, ": ", words(note.message))
    }
    return .element(
      "li",
      [
        "data-from": "\(from.line),\(from.column)", "data-to": "\(to.line),\(to.column)",
        "data-severity": fault.severity,
      ],
      place(from.line, column: from.column),
      .element(
        "div", ["class": kind], .element("span", ["class": "lines-kept"], words("\(fault.severity): \(fault.message)"))),
      Markup(notes), fixes.isEmpty ? .nothing : .element("div", ["class": "actions"], Markup(Array(fixes))))
  }

  /// The lines of the text with the faults below them, of a long one those around the first.
  private func numbered(_ faults: [EditorFaultAnswer]) -> Markup {
    let findings = faults.map { fault in
      var finding = FindingRecord(Diagnostic(fault.message))
      (finding.severity, finding.file, finding.line) = (fault.severity, path, fault.from.line &+ 1)
      return finding
    }
    let first = max(0, (findings.compactMap(\.line).min() ?? 1) - 10)
    return .element(
      "div", ["class": "numbered"], .element("h3", [:], "The text with its lines"),
      Part.recipe(text, findings, from: text.utf8.count < Part.mostBytes / 4 ? 0 : first))
  }

  // MARK: Plan

  /// The inputs of a plan, one a line, as the command line has them: `name=value`.
  static func inputs(_ text: String) -> (texts: [String: String], fault: String?) {
    var texts: [String: String] = [:]
    for line in text.split(separator: "\n") where !String(line).trimmed.isEmpty {
      let name = String(line.prefix { $0 != "=" })
      guard name.utf8.count < line.utf8.count, !name.trimmed.isEmpty else {
        return ([:], "'\(String(line).shortened)' isn't an input; write one a line, as name=value")
      }
      guard texts.updateValue(String(line.dropFirst(name.count + 1)), forKey: name.trimmed) == nil else {
        return ([:], "the input '\(name.trimmed.shortened)' is given twice")
      }
    }
    return (texts, nil)
  }

  func plan(_ answer: Result<PlanRecord, RequestRefusedError>, inputs: String) -> Markup {
    let shown =
      switch answer {
      case .success(let plan): Part.plan(plan, request)
      case .failure(let refusal): problem(refusal)
      }
    return Part.heading("Plan")
      + .element("p", ["class": "quiet"], "What a run of this text would read and change. Nothing is written.")
      + shown
      + .element(
        "div", ["class": "card"], .element("label", ["for": "inputs"], "Inputs"),
        .element(
          "p", ["class": "hint", "id": "inputs-hint"], "One a line, as name=value. A secret is name=@secret:NAME."),
        .element(
          "textarea",
          [
            "id": "inputs", "name": "inputs", "form": "edit", "rows": "3", "spellcheck": "false",
            "aria-describedby": "inputs-hint",
          ], Markup(field: "\n" + inputs)),
        .element("div", ["class": "actions"], button("do", "plan", "Plan with these inputs")))
  }

  // MARK: Test

  func test(_ answer: Result<EditorTestAnswer, RequestRefusedError>) -> Markup {
    var parts: [Markup] = [Part.heading("Test")]
    switch answer {
    case .failure(let refusal): parts.append(problem(refusal))
    case .success(let tested):
      if tested.files.isEmpty {
        parts.append(
          .element(
            "p", ["class": "none"], "The recipe has no test. ",
            Part.link("Begin a test of it", to: pagePath("edit", "new", query: [("test", path)])), "."))
        break
      }
      let outcome =
        "\(counted(tested.passed, "test")) passed, \(tested.failed) failed\(tested.timedOut ? "; the rest didn't end within 60 s" : "")"
      parts.append(
        Part.notice(
          .element("p", ["role": "status"], Markup(outcome)),
          kind: tested.failed > 0 || tested.timedOut ? "fault" : "good"))
      for file in tested.files.prefix(EditPanels.mostRows) {
        parts.append(.element("h3", [:], Part.link(file.path, to: Part.editPath(file.path))))
        parts += file.faults.prefix(EditPanels.mostRows).map { .element("pre", ["tabindex": "0"], words($0)) }
        let rows = file.cases.prefix(EditPanels.mostRows).map { test -> Markup in
          .element(
            "span", ["class": "grow"], Markup(test.name.shortened(to: 200)),
            Markup(
              test.failures.prefix(5).map { .element("span", ["class": "finding lines-kept"], words($0)) }))
            + (test.passed ? Part.status("succeeded", "passed") : Part.status("failed"))
            + .element("span", ["class": "end"], "\(test.milliseconds) ms")
        }
        if !rows.isEmpty { parts.append(Part.rows(Array(rows), orElse: "")) }
      }
    }
    return Part.fitting(parts)
  }

  // MARK: Difference

  func difference(to file: FileTextAnswer) -> Markup {
    let isServed = file.served != nil
    let other = isServed ? "what is served" : "the saved file"
    return Part.heading(isServed ? "Difference to what is served" : "Difference to the saved file")
      + changes(from: (file.servedText ?? file.text).withPlainLineEnds, none: "The text is \(other).")
  }

  /// The lines that the text has and another one hasn't, and the other way round.
  private func changes(from old: String, none: String) -> Markup {
    let lines = LineDifference(from: Array(old.utf8), to: Array(text.utf8), mostCompared: 4_000).lines
    let hunks = LineDifference.hunks(of: lines, context: 3)
    if hunks.isEmpty { return .element("p", ["class": "none"], Markup(none)) }
    var (shown, left, number, next) = ([Markup](), Part.mostBytes / 2, 1, 0)
    func words(_ line: LineDifference.Line) -> String {
      String(decoding: line.bytes.last == ASCII.newline ? line.bytes.dropLast() : line.bytes, as: UTF8.self)
        .shortened(to: 400)
    }
    for hunk in hunks where left > 0 {
      number += lines[next..<hunk.lowerBound].count { $0.change != .removed }
      var rows: [Markup] = [.element("span", ["class": "quiet"], "line \(number)\n")]
      for line in lines[hunk] {
        switch line.change {
        case .kept: rows.append(Markup(field: "  \(words(line))\n"))
        case .removed: rows.append(.element("del", [:], Markup(field: "- \(words(line))\n")))
        case .added: rows.append(.element("ins", [:], Markup(field: "+ \(words(line))\n")))
        }
        if line.change != .removed { number += 1 }
        left -= line.bytes.count + 12
        if left < 0 { break }
      }
      next = hunk.upperBound
      shown.append(Markup(rows))
    }
    return .element("pre", ["class": "diff", "tabindex": "0", "aria-label": "Difference"], Markup(shown))
      + (left < 0 ? .element("p", ["class": "quiet"], "The rest is left out here.") : .nothing)
  }

  // MARK: Versions

  func versions(_ list: VersionListAnswer) -> Markup {
    let rows = list.items.prefix(EditPanels.mostRows).map { version -> Markup in
      let at = request.clock.minute(version.at)
      return .element(
        "span", ["class": "grow"], Part.time(version.at, request.clock), " by ", Markup(version.by.shortened(to: 80)),
        version.message.map { .element("span", ["class": "quiet"], Markup($0.shortened(to: 200))) } ?? .nothing)
        + .element(
          "button", ["form": "edit", "name": "version", "value": version.version],
          .element("span", [:], "Compare"), .element("span", ["class": "hidden"], Markup(" with the version of \(at)")))
    }
    let source =
      list.keptBy == "git" ? "The commits of this file." : "The last 20 texts of this file that were saved here."
    return Part.heading("Versions") + .element("p", ["class": "quiet"], Markup(source))
      + Part.rows(Array(rows), orElse: "There is no version yet.")
      + (list.items.count > EditPanels.mostRows
        ? .element("p", ["class": "quiet"], "and \(list.items.count - EditPanels.mostRows) older ones") : .nothing)
  }

  func version(_ version: VersionTextAnswer) -> Markup {
    let old = version.text.withPlainLineEnds
    let isSame = old.hasSameScalars(as: text)
    let warning: Markup =
      "The file gets the text of this version, and so does the page. The text that is saved now stays among the versions; one that isn't saved is lost."
    return Part.heading("Versions")
      + .element(
        "p", [:], "The version of ", Part.time(version.at, request.clock), " by ",
        Markup(version.by.shortened(to: 80)), ", compared with the text here:")
      + changes(from: old, none: "It is the text here.")
      + .element(
        "div", ["class": "actions"],
        isSame
          ? .nothing
          : .element(
            "details", ["class": "action"], .element("summary", [:], "Restore"), .element("p", [:], warning),
            .element(
              "div", ["class": "actions"], button("restore", version.version, "Restore this version", kind: "risky"))),
        button("do", "versions", "All versions"))
  }

  // MARK: Saving

  func saved(_ saved: SavedAnswer) -> Markup {
    var sentences = [saved.servedAt.map { "Saved, and served since \(request.clock.minute($0))." } ?? "Saved."]
    if let reason = saved.notServed { sentences.append("It isn't served: \(reason)") }
    if let commit = saved.commit { sentences.append("Commit \(commit.prefix(12)).") }
    for reason in [saved.notCommitted, saved.notKept].compactMap(\.self) { sentences.append(reason) }
    let isWhole = saved.notServed == nil && saved.notCommitted == nil && saved.notKept == nil
    return Part.notice(
      .element("p", ["role": "status", "class": "lines-kept"], words(sentences.joined(separator: " "))),
      kind: isWhole ? "good" : nil)
  }

  /// Both texts of a file that changed while it was edited, and the ways on.
  func conflict(_ current: RequestRefusedError.CurrentText) -> Markup {
    Part.heading("Another text was saved meanwhile")
      + .element(
        "p", [:], "Yours is in the field, as you typed it. Lines with ", .element("del", [:], "-"),
        " are only in the saved text, lines with ", .element("ins", [:], "+"), " only in yours.")
      + changes(from: current.text.withPlainLineEnds, none: "Both texts are the same.")
      + .element(
        "details", ["class": "small"], .element("summary", [:], "The saved text"),
        Part.recipe(current.text, []))
      + .element(
        "div", ["class": "actions"], button("over", current.digest, "Save yours over it", kind: "risky"),
        .element("a", ["class": "button", "href": pagePath("edit", path)], "Drop yours and edit the saved text"))
  }
}
