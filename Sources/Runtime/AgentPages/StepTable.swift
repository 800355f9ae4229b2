// The steps of a run over the time it took, as a table with bars.
//
// A run may have hundreds of thousands of steps, so a page has one level of them: `in` in the address is the path of a
// loop, to list its items, or of an item, to list its steps; without it, the steps of the recipe are listed. The loop's
// row counts the results of its items. No page has more than `mostRows` rows.
import Agent
import Basics
import HTTPServer
import RunState

struct StepTable {
  let run: RunRecord
  let request: PageRequest
  /// The path of a loop or of an item; empty for the recipe.
  let place: StepPath
  private var rows: [StepRecord] = []
  /// The number of rows on all pages.
  private var count = 0
  private let first: Int
  private let only: StepStatus?
  /// The number of items with each status, by the loop's path.
  private var tallies: [StepPath: [StepStatus: Int]] = [:]
  /// The items that have steps.
  private var filled: Set<StepPath> = []

  static let mostRows = 100

  init(_ run: RunRecord, _ request: PageRequest) {
    self.run = run
    self.request = request
    place = request.given("in") ?? ""
    first = max(0, request.given("from").flatMap { Int($0) } ?? 0)
    only = request.given("only").flatMap(StepStatus.init(rawValue:))
    let isLoop = !place.isEmpty && !place.hasSuffix("]")
    for step in run.steps where !step.path.isRound {
      guard step.path.utf8.starts(with: place.utf8) else { continue }
      let rest = step.path.utf8.dropFirst(place.utf8.count)
      if isLoop {
        guard rest.first == ASCII.openBracket, let end = rest.firstIndex(of: ASCII.closeBracket) else { continue }
        if rest.index(after: end) == rest.endIndex {
          add(step)
        } else {
          filled.insert(String(Substring(step.path.utf8[..<rest.index(after: end)])))
        }
      } else if place.isEmpty || rest.first == ASCII.slash {
        guard let start = rest.firstIndex(of: ASCII.openBracket) else {
          add(step)
          continue
        }
        guard let end = rest.firstIndex(of: ASCII.closeBracket), rest.index(after: end) == rest.endIndex else {
          continue
        }
        tallies[String(Substring(step.path.utf8[..<start])), default: [:]][step.status, default: 0] += 1
      }
    }
  }

  private mutating func add(_ step: StepRecord) {
    if let only, step.status != only { return }
    if count >= first, rows.count < StepTable.mostRows { rows.append(step) }
    count += 1
  }

  // MARK: Markup

  var markup: Markup {
    var parts: [Markup] = []
    if !place.isEmpty {
      let up = place.hasSuffix("]") ? String(place.prefix { $0 != "[" }) : ""
      parts.append(
        .element(
          "p", [:], "In ", Part.code(place), Markup(only.map { ", only \(Part.words($0.rawValue))" } ?? ""), ": ",
          Part.link(up.isEmpty ? "all steps" : "all items", to: address(in: up))))
    }
    guard !rows.isEmpty else {
      let sentence: Markup = place.isEmpty ? "No step has begun." : "There is none."
      return Markup(parts) + .element("p", ["class": "none"], sentence)
    }
    let (began, ended) = span
    parts.append(
      Part.table(
        "Steps", ["Step", "Status", "Took", "From \(request.clock.time(began)) to \(request.clock.time(ended))"],
        rows.map { row(of: $0, began, ended) }, kind: "steps"))
    parts.append(pager)
    return Markup(parts)
  }

  private func address(in place: StepPath, only: StepStatus? = nil, from: Int = 0) -> String {
    pagePath(
      "runs", run.id,
      query: [("in", place), ("only", only?.rawValue ?? ""), ("from", from > 0 ? "\(from)" : "")]) + "#steps"
  }

  private var pager: Markup {
    guard count > rows.count || first > 0 else { return .nothing }
    let end = first + rows.count
    var parts: [Markup] = [
      .element(
        "span", ["class": "quiet"], rows.count == 1 ? "\(end) of \(count)" : "\(first + 1) to \(end) of \(count)")
    ]
    if first > 0 {
      let before = max(0, first - StepTable.mostRows)
      parts.append(
        .element(
          "a", ["class": "button", "rel": "prev", "href": address(in: place, only: only, from: before)], "Before"))
    }
    if end < count {
      parts.append(
        .element("a", ["class": "button", "rel": "next", "href": address(in: place, only: only, from: end)], "Next"))
    }
    return .element("div", ["class": "actions"], Markup(parts))
  }

  /// The time that the bars are drawn over.
  private var span: (Timestamp, Timestamp) {
    let now = run.endedAt ?? request.clock.now
    if let record = run.steps[place] { return (record.startedAt, record.endedAt ?? now) }
    return (run.createdAt, now)
  }

  private func row(of step: StepRecord, _ began: Timestamp, _ ended: Timestamp) -> [Markup] {
    let rest = step.path.utf8.dropFirst(place.utf8.count)
    let depth = min(3, rest.split(separator: ASCII.slash).count - 1)
    let name = rest.split(separator: ASCII.slash).last.map { String(decoding: $0, as: UTF8.self) } ?? step.path
    var what: [Markup] = [
      .element("a", ["href": pagePath("runs", run.id, "steps", step.path)], Part.code(name))
    ]
    if filled.contains(step.path) {
      what.append(.element("span", ["class": "small"], " ", Part.link("its steps", to: address(in: step.path))))
    }
    if request.seesData, let error = step.error {
      what.append(.element("div", ["class": "quiet small"], Markup(error.message.shortened(to: 240))))
    }
    let tally = (tallies[step.path] ?? [:]).sorted { $0.key.rawValue < $1.key.rawValue }
    if !tally.isEmpty {
      let all = tally.reduce(0) { $0 + $1.value }
      what.append(
        .element(
          "div", ["class": "fold small"], Part.link(counted(all, "item"), to: address(in: step.path)),
          Markup(
            tally.map { status, count in
              .element(
                "a", ["class": "status s-\(status.rawValue)", "href": address(in: step.path, only: status)],
                "\(count) \(Part.words(status.rawValue))")
            })))
    }
    var status = [Part.status(step.status.rawValue)]
    for words in note(of: step) { status.append(.element("div", ["class": "quiet small"], words)) }
    let end = step.endedAt ?? (step.status.isEnded ? step.startedAt : ended)
    let took = step.status == .skipped ? "" : max(.zero, end.span(since: step.startedAt) ?? .zero).spoken
    return [
      .element("div", ["class": depth > 0 ? "d\(depth)" : nil], Markup(what)), Markup(status),
      .element("span", ["class": "quiet"], Markup(took)), bar(of: step, end, began, ended),
    ]
  }

  /// Details that the step's status leaves out.
  private func note(of step: StepRecord) -> [Markup] {
    var notes: [Markup] = []
    if let wait = step.wait {
      let isOver = step.status != .waiting
      switch wait.kind {
      case .until where !isOver: notes.append("until " + Part.time(wait.wakeAt, request.clock))
      case .event where !isOver: notes.append("for an event")
      case .approval:
        if let decision = step.decision {
          notes.append("\(decision.words) on " + Part.time(decision.at, request.clock))
        } else {
          notes.append(isOver ? "not decided" : "for a decision")
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
