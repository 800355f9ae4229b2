// A question as pages show it: to people who have logged in, and to people with a link that carries the right.
//
// The buttons stay in sight at the bottom edge, however long the question is: it scrolls in a box of its own, which shows
// some rows at a time and can be filtered. All of it is one form, so that the buttons have room to stick to; the filter
// belongs to another one, which is fetched and changes nothing.
import Agent
import Basics
import HTTPServer
import Recipes
import RunState

/// The parts of a question's page.
struct QuestionPart {
  let run: RunRecord
  let step: StepRecord
  let clock: WallClock
  /// The query of the page, which says which rows are shown.
  let query: HTTPQuery

  /// The most bytes of a question in the title of its page.
  private static let longestTitle = 160
  /// How many rows are shown at once.
  private static let mostRows = 200
  /// From how many rows on they can be filtered.
  private static let leastFiltered = 10

  private var prompt: String { step.wait?.prompt ?? "" }
  private var question: QuestionRecord? { step.wait?.question }
  private var isAnswer: Bool { step.wait?.kind == .ask }

  var title: String { prompt.firstLine.shortened(to: QuestionPart.longestTitle) }

  // MARK: The question

  /// The part that the title can't hold, as a table if each line is a change.
  var rest: Markup {
    let all = prompt.split(separator: "\n").map { String($0) }
    // A title that is cut off is shown whole.
    let lines = prompt.firstLine.utf8.count > QuestionPart.longestTitle ? all : Array(all.dropFirst())
    if lines.isEmpty { return .nothing }
    let areChanges = lines.allSatisfy { QuestionPart.change($0) != nil }
    let wanted = query["find"]?.trimmed ?? ""
    let found =
      wanted.isEmpty ? lines : lines.filter { $0.lowercasedASCII.contains(wanted.lowercasedASCII) }
    let first = min(max(0, query["from"].flatMap { Int($0) } ?? 0), max(0, found.count - 1))
    let shown = Array(found.dropFirst(first).prefix(QuestionPart.mostRows))
    let rows: Markup =
      areChanges
      ? Part.table("What would change", ["What", "Before", "After"], shown.compactMap(QuestionPart.change))
      : .element(
        "p", ["class": "lines-kept card", "tabindex": "0", "role": "region", "aria-label": "The whole question"],
        Markup(shown.joined(separator: "\n")))
    let count = counted(lines.count, areChanges ? "change" : "line")
    let matching = found.count < lines.count ? "\(found.count) of \(lines.count) match" : nil
    let isLong = lines.count >= QuestionPart.leastFiltered
    return Markup([
      lines.count > 1 ? .element("h2", [:], Markup(count)) : .nothing,
      isLong ? filter(wanted) : .nothing,
      .element(
        "div", ["id": "rows"], found.isEmpty ? .element("p", ["class": "none"], "Nothing matches.") : rows,
        matching.map { .element("p", ["class": "quiet", "role": "status"], Markup($0)) } ?? .nothing,
        pages(first, of: found.count, wanted)),
    ])
  }

  /// The field to filter by, of the form that `form` puts beside its own.
  private func filter(_ wanted: String) -> Markup {
    .element(
      "div", ["class": "actions"], .element("label", ["class": "inline", "for": "find-text"], "Filter"),
      .element(
        "input",
        [
          "id": "find-text", "name": "find", "type": "search", "form": "find", "value": wanted.isEmpty ? nil : wanted,
          "autocomplete": "off",
        ]), .element("button", ["form": "find"], "Show"))
  }

  /// Links to the rows before and after the shown ones.
  private func pages(_ first: Int, of count: Int, _ wanted: String) -> Markup {
    guard count > QuestionPart.mostRows else { return .nothing }
    let last = min(first + QuestionPart.mostRows, count)
    func link(_ words: Markup, _ start: Int) -> Markup {
      .element("a", ["class": "button", "href": "?find=\(PercentEncoding.encode(wanted))&from=\(start)"], words)
    }
    return .element(
      "div", ["class": "actions"], "\(first + 1) to \(last) of \(count)",
      first > 0 ? link("Earlier", max(0, first - QuestionPart.mostRows)) : .nothing,
      last < count ? link("Later", last) : .nothing)
  }

  /// The cells of a line `what: before → after`, as recipes write changes; nil if it is none.
  private static func change(_ line: String) -> [Markup]? {
    guard let arrow = line.utf8Parts(around: " → "), let colon = arrow.before.utf8Parts(around: ": ") else {
      return nil
    }
    return [
      Markup(colon.before),
      .element("span", ["class": colon.after == "none" ? "quiet" : "before"], Markup(colon.after)),
      .element("span", ["class": "after"], Markup(arrow.after)),
    ]
  }

  // MARK: The consequences

  /// The consequences of either decision, and of none; nothing for a question of a version that didn't record it.
  var consequences: Markup {
    guard let question else { return .nothing }
    let next: Markup =
      question.next.isEmpty
      ? .nothing
      : "Then: " + Markup(question.next.enumerated().map { ($0 == 0 ? "" : ", ") + Part.code($1) }) + "."
    let condition: Markup = isAnswer ? "If you answer:" : "If you approve:"
    var parts = [consequence(condition, question.yes, question.next.isEmpty ? "The run continues." : next)]
    if !isAnswer {
      parts.append(
        consequence(
          "If you reject:", question.no,
          question.goesOnAfterNo ? "The run continues." : "The run ends; nothing more is done."))
    }
    if let until = step.wait?.wakeAt {
      parts.append(
        .element(
          "p", [:], .element("strong", [:], isAnswer ? "If nobody answers" : "If nobody decides"), " by ",
          Part.timeAndAgo(until, clock), ": ",
          question.goesOnAfterTimeout ? "the run continues." : "the run ends as timed out."))
    }
    return Markup(parts)
  }

  private func consequence(_ condition: Markup, _ words: String?, _ rest: Markup) -> Markup {
    .element("p", [:], .element("strong", [:], condition), " ", words.map { Markup($0) + " " } ?? .nothing, rest)
  }

  // MARK: Deciding

  /// The beginning of the names of the fields for the values that it asks for.
  static let word = "field"
  /// The sentence for a person whose page showed another question.
  static let isAnother = "Another question is asked now. Look at it before you send this again."

  /// The values that a person gave by the form of a question.
  static func given(_ sent: HTTPQuery, for step: StepRecord?) -> StartForm.Given {
    StartForm.Given(sent, for: step?.wait?.fields.flatMap(Recipe.Input.schema), word: word)
  }

  /// The whole of a question with its buttons.
  ///
  /// - Parameters:
  ///   - path: Where the form is sent; nil for the address of its page, which the page of a link must not hold.
  ///   - asksName: Whether the person has to say who they are.
  ///   - given: What was sent before, to be kept.
  ///   - objection: Why the form is shown again; nil if its faults say so.
  ///   - faults: The faults of the form as it was sent.
  func form(
    to path: String?, asksName: Bool = false, given: HTTPQuery = HTTPQuery(), objection: String? = nil,
    faults: [FormFault] = []
  ) -> Markup {
    var values = given.items.isEmpty && faults.isEmpty ? nil : QuestionPart.given(given, for: step)
    values?.faults += faults
    let isFaulty = values?.faults.isEmpty == false
    let fields = InputFields(
      schema: isAnswer ? step.wait?.fields.flatMap(Recipe.Input.schema) : nil, given: values, word: QuestionPart.word)
    let again = "This wasn't recorded. Look at the marked fields, and send it again."
    var parts = [
      Part.hidden("step", step.path), Part.hidden("question", step.questionDigest(in: run.id)),
      (objection ?? (isFaulty ? again : nil)).map(fields.faults) ?? .nothing, rest, consequences,
    ]
    if asksName {
      let fault = faults.first { $0.field == "name" }?.message
      parts.append(
        Part.field(
          "name", "Your name", given["name"] ?? "", hint: "Recorded with \(noun).", fault: fault, isRequired: true))
    }
    if isAnswer { parts += fields.markup }
    parts += [
      .element(
        "label", ["for": "comment"], "Comment ",
        .element("span", ["class": "quiet"], Markup("(recorded with \(noun))"))),
      // In a field of one line, Enter would approve.
      .element("textarea", ["id": "comment", "name": "comment", "rows": "2"], Markup(field: given["comment"] ?? "")),
      .element("div", ["class": "actions near"], Markup(buttons(isOfLink: path == nil))),
    ]
    return .element("form", ["id": "find", "method": "get"])
      + .element("form", ["class": "card", "method": "post", "action": path], Markup(parts))
  }

  /// - Parameter isOfLink: Whether the page is a link's, which must not show the run's id.
  private func buttons(isOfLink: Bool) -> [Markup] {
    let commands = isOfLink ? [] : step.commands(in: run.id)
    if isAnswer { return [.element("button", ["class": "main", "title": commands.first], "Answer")] }
    return [
      .element(
        "button", ["class": "main", "name": "choice", "value": "approve", "title": commands.first], "Approve"),
      .element("button", ["class": "risky", "name": "choice", "value": "reject", "title": commands.last], "Reject"),
    ]
  }

  private var noun: String { isAnswer ? "the answer" : "the decision" }

  // MARK: Afterwards

  /// How the question ended, in a sentence; nil if it is open.
  var end: String? {
    if let decision = step.decision {
      return "\(decision.by) \(decision.verb) this\(decision.way) on \(clock.date(decision.at))."
    }
    if step.asksPerson, !run.status.isEnded { return nil }
    let when = (step.endedAt ?? run.endedAt).map { " on \(clock.date($0))" } ?? ""
    switch step.status {
    case .timedOut: return "It timed out\(when)."
    case .cancelled: return "It was cancelled\(when)."
    case .succeeded: return "It ended without \(isAnswer ? "an answer" : "a decision")\(when)."
    default: return "It was withdrawn\(when)."
    }
  }

  /// The title for a person who has decided or answered.
  static func isRecorded(_ decision: DecisionRecord) -> String {
    "Your \(decision.fields == nil ? "decision" : "answer") is recorded"
  }

  /// The words for a person who has decided or answered.
  func recorded(_ decision: DecisionRecord, _ rest: Markup) -> Markup {
    .element("h1", [:], Markup("\(QuestionPart.isRecorded(decision))."))
      + .element("p", [:], "You \(decision.verb) on \(clock.date(decision.at)). ", rest)
  }
}
