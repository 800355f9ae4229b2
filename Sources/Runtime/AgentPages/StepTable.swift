// The steps of a run over the time it took, as a table with bars.
//
// The steps are in the order of the recipe, the steps of branches and cases below their names, with the ones that haven't
// begun, as far as the recipe can be read; otherwise in the order of their start. A run may have hundreds of thousands of steps, so a page has one level of them: `in` in the address is the path of a
// loop, to list its items, or of an item, to list its steps; without it, the steps of the recipe are listed. The loop's
// row counts the results of its items. No page has more than `mostRows` rows.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

struct StepTable {
  let run: RunRecord
  let request: PageRequest
  /// The path of a loop or of an item; empty for the recipe.
  let place: StepPath
  private let level: ListSteps.Answer
  /// The rows: the steps in the order of the recipe, or else by their start.
  private let outline: [OutlinedStep]
  private let first: Int
  private let only: StepStatus?

  static let mostRows = 100
  /// The most bytes of an error in a row.
  private static let longestError = 120

  init(_ run: RunRecord, _ request: PageRequest) async throws(Problem) {
    self.run = run
    self.request = request
    let place = request.given("in") ?? ""
    let first = request.first
    let only = request.given("only").flatMap(StepStatus.init(rawValue:))
    level = try await request.ask(
      ListSteps.with {
        $0.run = run.id
        $0.parent = place
        $0.status = only.map { [Word($0)] } ?? []
        $0.from = first
        $0.limit = StepTable.mostRows
        $0.outlined = true
      })
    (self.place, self.first, self.only) = (place, first, only)
    outline =
      level.outline.isEmpty
      ? level.steps.map { step in
        let rest = step.path.utf8.dropFirst(place.utf8.count).split(separator: ASCII.slash)
        let name = rest.last.map { String(decoding: $0, as: UTF8.self) } ?? step.path
        return OutlinedStep(path: step.path, title: name, depth: max(0, rest.count - 1), status: step.status)
      } : level.outline
  }

  // MARK: Markup

  var markup: Markup {
    var parts: [Markup] = []
    if !place.isEmpty {
      let up = place.hasSuffix("]") ? String(place.prefix { $0 != "[" }) : ""
      parts.append(
        .element(
          "p", [:], "In ", Part.code(place), Markup(only.map { ", only \(Part.words($0.rawValue))" } ?? ""), ": ",
          Part.link(up.isEmpty ? "all steps" : "all items", to: address(in: up)),
          place.hasSuffix("]") || only != nil ? "" : ". Items that failed are first."))
    }
    guard !outline.isEmpty else {
      let sentence: Markup = place.isEmpty ? "No step has begun." : "There is none."
      return Markup(parts) + .element("p", ["class": "none"], sentence)
    }
    let (began, ended) = span
    parts.append(
      Part.table(
        "Steps", ["Step", "Status", "Took", "From \(request.clock.time(began)) to \(request.clock.time(ended))"],
        rows(began, ended), kind: "steps"))
    parts.append(pager)
    return Markup(parts)
  }

  private func address(in place: StepPath, only: StepStatus? = nil, from: Int = 0) -> String {
    pagePath(
      "runs", run.id,
      query: [("in", place), ("only", only?.rawValue ?? ""), ("from", from > 0 ? "\(from)" : "")]) + "#steps"
  }

  private var pager: Markup {
    Part.pager(first, outline.count, of: level.count, by: StepTable.mostRows) {
      address(in: place, only: only, from: $0)
    }
  }

  /// The time that the bars are drawn over.
  private var span: (Timestamp, Timestamp) {
    let now = run.endedAt ?? request.clock.now
    if let record = run.steps[place] { return (record.startedAt, record.endedAt ?? now) }
    return (run.createdAt, now)
  }

  private func rows(_ began: Timestamp, _ ended: Timestamp) -> [[Markup]] {
    let records = Dictionary(level.steps.map { ($0.path, $0) }) { $1 }
    return outline.map { place in
      let depth = ["class": place.depth > 0 ? "d\(min(3, place.depth))" : nil] as KeyValuePairs<StaticString, String?>
      if place.isHeading {
        return [.element("div", depth, .element("em", ["class": "quiet"], Markup(place.title))), "", "", ""]
      }
      var what: [Markup] = []
      if let name = place.name ?? level.names[place.path] { what += [Markup(name.shortened(to: 120)), " "] }
      what.append(Part.code(place.title))
      guard let step = records[place.path] else {
        let words = place.status.map { Part.status($0.rawValue) } ?? .element("span", ["class": "quiet"], "not begun")
        return [.element("div", depth, .element("span", ["class": "quiet"], Markup(what))), words, "", ""]
      }
      let link = Markup.element("a", ["href": pagePath("runs", run.id, "steps", step.path)], Markup(what))
      return row(of: step, link, depth, began, ended)
    }
  }

  private func row(
    of step: StepRecord, _ link: Markup, _ depth: KeyValuePairs<StaticString, String?>, _ began: Timestamp,
    _ ended: Timestamp
  ) -> [Markup] {
    var what = [link]
    if level.filled.contains(where: step.path.hasSameScalars) {
      what.append(.element("span", ["class": "small"], " ", Part.link("its steps", to: address(in: step.path))))
    }
    if request.seesData, let error = step.error {
      what.append(
        .element("div", ["class": "quiet small"], Markup(error.message.shortened(to: StepTable.longestError))))
    }
    let tally = (level.tallies[step.path] ?? [:]).sorted { $0.key.precedesByScalars($1.key) }
    if !tally.isEmpty {
      let all = tally.reduce(0) { $0 + $1.value }
      what.append(
        .element(
          "div", ["class": "fold small"], Part.link(counted(all, "item"), to: address(in: step.path)),
          Markup(
            tally.map { status, count in
              .element(
                "a",
                [
                  "class": "status s-\(status)",
                  "href": address(in: step.path, only: StepStatus(rawValue: status)),
                ], "\(count) \(Part.words(status))")
            })))
    }
    var status = [Part.status(step.status.rawValue)]
    for words in note(of: step) { status.append(.element("div", ["class": "quiet small"], words)) }
    let end = step.endedAt ?? (step.status.isEnded ? step.startedAt : ended)
    var took: Markup = ""
    if !step.status.isEnded {
      took = "began " + Part.ago(step.startedAt, request.clock)
    } else if step.status != .skipped {
      took = Markup(max(.zero, end.span(since: step.startedAt) ?? .zero).inShort)
    }
    return [
      .element("div", depth, Markup(what)), Markup(status),
      .element("span", ["class": "quiet"], took), bar(of: step, end, began, ended),
    ]
  }

  /// Details that the step's status leaves out.
  private func note(of step: StepRecord) -> [Markup] {
    var notes: [Markup] = []
    if let wait = step.wait {
      let isOver = step.status != .waiting
      switch wait.kind {
      case .until where !isOver: notes.append("until " + Part.time(wait.wakeAt, request.clock))
      case .event where !isOver: notes.append("for an event" + timeLimit(wait))
      case .approval, .ask:
        if let decision = step.decision {
          notes.append("\(decision.words) on " + Part.time(decision.at, request.clock))
        } else {
          notes.append(
            isOver
              ? "not \(wait.kind == .ask ? "answered" : "decided")"
              : Markup("for \(wait.kind.wanted)") + timeLimit(wait))
        }
      case .poll: notes.append(Markup(counted(wait.rounds ?? 1, "round")))
      case .until, .event, .limit: break
      }
    } else if step.status == .retrying, let next = step.lastAttempt?.retryAt {
      notes.append("again " + Part.ago(next, request.clock))
    }
    if step.attempts > 1, step.wait?.kind != .poll {
      let isRepeated = run.steps.status(of: "\(step.path)/#round") != nil
      notes.append("\(step.attempts) \(isRepeated ? "rounds" : "tries")")
    }
    return notes
  }

  /// When a wait for something that may not come is over.
  private func timeLimit(_ wait: WaitRecord) -> Markup {
    wait.wakeAt.map { ", times out " + Part.time($0, request.clock) } ?? .nothing
  }

  private func bar(of step: StepRecord, _ end: Timestamp, _ began: Timestamp, _ ended: Timestamp) -> Markup {
    let whole = max(1, ended.span(since: began)?.nanoseconds ?? 1)
    func share(_ instant: Timestamp) -> Int {
      let passed = max(0, instant.span(since: began)?.nanoseconds ?? 0)
      return Int(min(1000, Double(passed) / Double(whole) * 1000))
    }
    let isWait = step.wait.map { $0.kind != .poll } ?? false
    let colour =
      switch step.status {
      case .failed, .timedOut, .uncertain: "f-bad"
      case .succeeded: isWait ? "f-wait" : "f-good"
      case .running, .retrying: "f-busy"
      case .waiting: "f-wait"
      case .pending, .queued, .skipped, .cancelled: "f-off"
      }
    func piece(_ from: Int, _ to: Int, _ kind: String) -> Markup {
      .element(
        "rect", ["class": kind, "x": "\(min(from, 994))", "y": "0", "width": "\(max(6, to - from))", "height": "10"])
    }
    // The time before the last attempt is paler.
    let (from, to) = (share(step.startedAt), share(end))
    let change = step.attempts > 1 ? step.lastAttempt.map { share($0.startedAt) } ?? from : from
    let pieces =
      change > from ? piece(from, change, "\(colour) f-again") + piece(change, to, colour) : piece(from, to, colour)
    return .element(
      "div", ["class": "bar", "aria-hidden": "true"],
      .element("svg", ["viewBox": "0 0 1000 10", "preserveAspectRatio": "none"], pieces))
  }
}
