// The log of a run: all lines, or the lines of an attempt, the last ones first; or the lines that hold a text.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

extension Pages {
  static func logs(_ request: PageRequest, _ name: String) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    return try await LogPage(request, run).response()
  }

  /// The most lines of a log on the page of a run or a step.
  private static let mostLines = 200

  /// The last lines that a run or a step printed.
  ///
  /// - Parameter room: The most bytes of it.
  static func latestLines(
    of run: RunRecord, _ step: StepPath?, _ request: PageRequest, within room: Int = 30_000
  ) async throws(Problem) -> Markup {
    let piece = try await request.ask(
      ReadLogs.with {
        $0.run = run.id
        $0.step = step
        $0.before = .max
        $0.lines = mostLines
      })
    guard !piece.lines.isEmpty else { return .nothing }
    var lines = LogLines(piece, request.clock)
    let list = lines.end(mostBytes: min(room, 30_000))
    let isAll = lines.first.map { $0 == piece.numbers.first } == true && piece.earlier == nil
    return Part.heading(isAll ? "Printed" : "Printed: the latest \(lines.count) lines") + list
      + .element(
        "p", [:],
        Part.link(
          isAll ? "Find, follow or download" : "All lines",
          to: pagePath("runs", run.id, "logs", query: [("step", step ?? "")])))
  }
}

/// Lines of a log as markup, as many as a page may have.
struct LogLines {
  private let piece: PrintedPiece
  private let clock: WallClock
  /// The line that is pointed out.
  private let wanted: Int?
  /// The numbers of the first and the last line that are shown.
  private(set) var first: Int?
  private(set) var last: Int?
  /// How many are shown.
  private(set) var count = 0

  /// The most characters of a line.
  private static let longest = 2000

  init(_ piece: PrintedPiece, _ clock: WallClock, wanted: Int? = nil) {
    self.piece = piece
    self.clock = clock
    self.wanted = wanted
  }

  /// The last of the lines, in a box that is scrolled to its end.
  mutating func end(mostBytes: Int) -> Markup {
    box(rows(piece.lines.indices.reversed(), mostBytes).reversed(), isEnd: true)
  }

  /// The first of the lines.
  mutating func beginning(mostBytes: Int) -> Markup { box(rows(Array(piece.lines.indices), mostBytes), isEnd: false) }

  private func box(_ rows: [Markup], isEnd: Bool) -> Markup {
    .element(
      "div", ["class": isEnd ? "log end" : "log", "tabindex": "0", "role": "region", "aria-label": "Printed"],
      .element("ol", [:], Markup(rows)))
  }

  private mutating func rows(_ indices: [Int], _ mostBytes: Int) -> [Markup] {
    let matches = Set(piece.matches)
    var rows: [Markup] = []
    var size = 0
    for index in indices {
      let row = row(index, matches)
      size += row.text.utf8.count
      if size > mostBytes, !rows.isEmpty { break }
      rows.append(row)
      let number = piece.numbers[index]
      first = min(first ?? number, number)
      last = max(last ?? number, number)
    }
    count = rows.count
    return rows
  }

  private func row(_ index: Int, _ matches: Set<Int>) -> Markup {
    let (line, number) = (piece.lines[index], piece.numbers[index])
    let before = index > 0 ? piece.lines[index - 1] : nil
    var head = clock.time(line.at)
    // Most lines are of the same attempt as the one before.
    if before?.step != line.step || before?.attempt != line.attempt, !line.step.isEmpty {
      head += "  \(line.step)" + (line.attempt > 1 ? ", attempt \(line.attempt)" : "")
    }
    var kinds: [String] = []
    if line.stream == .errors { kinds.append("errors") }
    if line.stream == .note { kinds.append("note") }
    if number == wanted || matches.contains(number) { kinds.append("hit") }
    return .element(
      "li",
      [
        "id": "L\(number)", "value": "\(number)", "class": kinds.isEmpty ? nil : kinds.joined(separator: " "),
        "title": line.stream == .errors ? "standard error" : nil,
      ], .element("span", ["class": "at"], Markup(head)), LogLines.text(line.text))
  }

  /// The text of a line in its colours.
  static func text(_ text: String) -> Markup {
    var parts: [Markup] = []
    var left = longest
    for part in text.printedParts {
      let shown = part.text.count > left ? String(part.text.prefix(left)) : part.text
      left -= shown.count
      parts.append(
        part.style == PrintedStyle()
          ? Markup(shown) : .element("span", ["class": part.style.classes], Markup(shown)))
      if left <= 0 {
        parts.append(.element("em", ["class": "quiet"], " … The rest of the line is in the download."))
        break
      }
    }
    return Markup(parts)
  }
}

extension PrintedStyle {
  /// The classes of the style sheet; nil if the text looks as usual.
  fileprivate var classes: String? {
    let (front, back) = isInverse ? (ground, colour ?? PrintedStyle.grey) : (colour, ground)
    let names = [
      front.map { "c\($0)" }, back.map { "k\($0)" }, isBold ? "bold" : nil, isFaint ? "quiet" : nil,
      isItalic ? "italic" : nil, isUnderlined ? "underlined" : nil,
    ].compactMap { $0 }
    return names.isEmpty ? nil : names.joined(separator: " ")
  }
}

/// The page of a log.
private struct LogPage {
  let request: PageRequest
  let run: RunRecord
  let step: StepPath?
  let attempt: Int?
  let find: String?
  /// The number of the line that is looked for.
  let line: Int?
  let from: Int?
  let isFollowing: Bool

  /// The most lines, and bytes of markup, of a page.
  private static let mostLines = 400
  private static let mostBytes = 70_000

  init(_ request: PageRequest, _ run: RunRecord) {
    self.request = request
    self.run = run
    step = request.given("step")
    attempt = request.given("attempt").flatMap { Int($0) }
    find = request.given("find")
    line = request.given("line").flatMap { Int($0) }.map { max(1, $0) }
    from = request.given("from").flatMap { Int($0) }.map { max(0, $0) }
    isFollowing = request.given("follow") != nil && !run.status.isEnded
  }

  /// The address of this page with other members of the query.
  private func address(_ query: HTTPQueryItems = [], isFiltered: Bool = true) -> String {
    let filter: HTTPQueryItems = isFiltered ? [("step", step ?? ""), ("attempt", attempt.map { "\($0)" } ?? "")] : []
    return pagePath("runs", run.id, "logs", query: filter + query)
  }

  func response() async throws(Problem) -> HTTPServerResponse {
    let isByStep = request.given("by") == "step"
    let content = isByStep ? try await attempts() : try await lines()
    return request.frame(
      "Printed by \(run.recipe)", "/runs",
      live: isFollowing && !isByStep ? .init(seconds: 2, announcement: content.announcement, isOfRunAlone: true) : nil,
      Part.crumbs(("Runs", "/runs"), (run.recipe, pagePath("runs", run.id))),
      .element(
        "h1", [:], "Printed", step.map { " by " + Part.code($0) } ?? .nothing,
        Markup(attempt.map { ", attempt \($0)" } ?? "")),
      tools(isByStep: isByStep), content.markup)
  }

  private func tools(isByStep: Bool) -> Markup {
    func link(_ label: String, _ path: String, isCurrent: Bool = false) -> Markup {
      .element("a", ["class": "button", "href": path, "aria-current": isCurrent ? "page" : nil], Markup(label))
    }
    var links = [
      link("All lines", address(isFiltered: false), isCurrent: step == nil && !isByStep),
      link("By step", address([("by", "step")], isFiltered: false), isCurrent: isByStep),
    ]
    if isFollowing {
      links.append(link("Stop following", address()))
    } else if !run.status.isEnded {
      links.append(link("Follow", address([("follow", "true")])))
    }
    links.append(
      link(
        "Download",
        pagePath(
          "runs", run.id, "logs.txt", query: [("step", step ?? ""), ("attempt", attempt.map { "\($0)" } ?? "")])))
    func field(_ name: String, _ label: String, _ value: String?, _ mode: String? = nil) -> Markup {
      .element(
        "label", [:], Markup(label),
        .element(
          "input",
          ["name": name, "value": value, "autocomplete": "off", "inputmode": mode, "maxlength": "200"]))
    }
    return .element("div", ["class": "actions"], Markup(links))
      + .element(
        "form", ["class": "filter", "method": "get", "action": pagePath("runs", run.id, "logs")],
        step.map { Part.hidden("step", $0) } ?? .nothing, attempt.map { Part.hidden("attempt", "\($0)") } ?? .nothing,
        field("find", "Find", find), field("line", "Go to line", line.map { "\($0)" }, "numeric"),
        .element("button", [:], "Show"))
  }

  // MARK: Lines

  private func lines() async throws(Problem) -> (markup: Markup, announcement: String) {
    let start = from ?? (find != nil ? 0 : line.map { max(0, $0 - 11) })
    let piece = try await request.ask(
      ReadLogs.with {
        $0.run = run.id
        $0.step = step
        $0.attempt = attempt
        $0.lines = LogPage.mostLines
        if let start {
          $0.from = start
          $0.find = find
        } else {
          $0.before = request.given("before").flatMap { Int($0) } ?? .max
        }
      })
    var shown = LogLines(piece, request.clock, wanted: line)
    let isForwards = start != nil
    let list =
      isForwards ? shown.beginning(mostBytes: LogPage.mostBytes) : shown.end(mostBytes: LogPage.mostBytes)
    guard let first = shown.first, let last = shown.last else {
      let words: Markup =
        find.map { "No line\(from.map { " after line \($0)" } ?? "") shows '\($0)'." }
        ?? (start != nil ? "There are no lines after that." : "Nothing was printed.")
      return (.element("p", ["class": "none"], words), "no lines")
    }
    // A page may have fewer lines than were read.
    let isCut = isForwards && last != piece.numbers.last
    let next = isCut ? last : piece.next
    let isLast = !isCut && piece.isLast
    let hasEarlier = first != piece.numbers.first || piece.earlier != nil
    var links: [Markup] = []
    func link(_ label: String, _ kind: String, _ query: HTTPQueryItems) {
      links.append(.element("a", ["class": "button", "rel": kind, "href": address(query)], Markup(label)))
    }
    let needle = find.map { [("find", $0)] } ?? []
    if find == nil {
      if hasEarlier { link("Earlier", "prev", [("before", "\(first - 1)")]) }
    } else if (from ?? 0) > 0 {
      link("From the beginning", "prev", needle)
    }
    if !isLast { link(find == nil ? "Later" : "More", "next", needle + [("from", "\(next)")]) }
    if find == nil, !isLast { link("End", "last", []) }
    links.append(
      .element("span", ["class": "quiet"], first == last ? "Line \(first)" : "Lines \(first) to \(last)"))
    return (list + .element("div", ["class": "actions"], Markup(links)), counted(last, "line"))
  }

  // MARK: Attempts

  /// The most attempts that are listed.
  private static let mostAttempts = 200

  /// The attempts of the steps; the lines of the first one that failed are shown.
  private func attempts() async throws(Problem) -> (markup: Markup, announcement: String) {
    let steps = run.stepsInOrder.filter { $0.isAction && $0.lastAttempt != nil }
    let failed = steps.first { [.failed, .timedOut, .uncertain].contains($0.status) }
    var content: [Markup] = []
    if let failed {
      let number = failed.lastAttempt?.number ?? 1
      let piece = try await request.ask(
        ReadLogs.with {
          $0.run = run.id
          $0.step = failed.path
          $0.attempt = number
          $0.before = .max
          $0.lines = LogPage.mostLines
        })
      var lines = LogLines(piece, request.clock)
      content.append(
        .element(
          "details", ["class": "card", "open": ""],
          .element(
            "summary", [:], Part.code(failed.path), ", attempt \(number) ", Part.status(failed.status.rawValue)),
          piece.lines.isEmpty
            ? .element("p", ["class": "none"], "It printed nothing.") : lines.end(mostBytes: LogPage.mostBytes / 2),
          .element("p", [:], Part.link("All its lines", to: attemptPath(failed.path, number)))))
    }
    var rows: [Markup] = []
    for step in steps where rows.count < LogPage.mostAttempts {
      for attempt in step.earlierAttempts + (step.lastAttempt.map { [$0] } ?? []) {
        let isLast = attempt.number == step.lastAttempt?.number
        rows.append(
          Part.status(isLast ? step.status.rawValue : "failed")
            + .element(
              "div", ["class": "grow"],
              .element("a", ["href": attemptPath(step.path, attempt.number)], Part.code(step.path)),
              .element("span", ["class": "quiet"], "attempt \(attempt.number)"))
            + .element("span", ["class": "end"], Part.time(attempt.startedAt, request.clock)))
      }
    }
    content.append(Part.rows(rows, orElse: "No step with an action has begun."))
    if rows.count >= LogPage.mostAttempts {
      content.append(
        .element("p", ["class": "quiet"], "Only the first are listed; each step's page leads to its lines."))
    }
    return (Markup(content), counted(rows.count, "attempt"))
  }

  private func attemptPath(_ step: StepPath, _ attempt: Int) -> String {
    pagePath("runs", run.id, "logs", query: [("step", step), ("attempt", "\(attempt)")])
  }
}
