// The steps of a run over the time it took:
//
//     STEP    START  0s                          6h 30m  TOOK    STATUS
//     book    +0.0s  █                                   0.3s    succeeded, 2 tries
//     night   +0.3s  ░░░░░░░░░░░░░░░░░░░                 4h 10m  succeeded, waited
//     backup  +4h 10m                   ▒▒▒▒▒▒▒▒▒▒       2h 20m  running, 3 rounds
//
// `█` is work, `▒` are attempts and rounds before the last, `░` is a wait; anything shorter than a cell has one. On a
// narrow terminal the starts go first, then texts are cut, and then the bars go; errors are broken into lines.
import Agent
import Basics
import CommandLineParser
import RunState

struct Timeline {
  var began: Timestamp
  /// The run's end, or now.
  var ended: Timestamp
  var steps: [StepRecord]
  var clock: WallClock

  /// The width for output that isn't a terminal.
  static let usualWidth = 100
  private static let leastBar = 8
  private static let mostBar = 60

  private struct Row {
    var cells: (step: String, start: String, took: String, status: String)
    var bar: (from: Double, change: Double, to: Double, isWait: Bool)
    var style: Style?
    var error: String?
  }

  /// - Parameter width: The columns of the terminal; nil without a limit.
  func lines(width: Int?, colour: Bool) -> [String] {
    let failures = steps.failuresOfItems
    let repeated = Set(steps.filter(\.path.isRound).map { String($0.path.dropLast("/#round".count)) })
    let rows = steps.map { row($0, failures[$0.path] ?? 0, isRepeated: repeated.contains($0.path)) }
    func widest(_ heading: String, _ text: (Row) -> String) -> Int {
      rows.reduce(heading.displayWidth) { max($0, text($1).displayWidth) }
    }
    var step = widest("STEP") { $0.cells.step }
    var start = widest("START") { $0.cells.start }
    var took = widest("TOOK") { $0.cells.took }
    var status = widest("STATUS") { $0.cells.status }
    let room = width.map { max(4, $0) } ?? max(Timeline.usualWidth, step + start + took + status + 8 + 24)
    func rest() -> Int { room - step - took - status - (start > 0 ? start + 2 : 0) - 6 }
    if rest() < Timeline.leastBar { start = 0 }
    // Then long texts are cut, down to a third of the width.
    if rest() < Timeline.leastBar { status = max(min(status, room / 3), status + rest() - Timeline.leastBar) }
    if rest() < Timeline.leastBar { step = max(min(step, room / 3), step + rest() - Timeline.leastBar) }
    let bar = rest() < Timeline.leastBar ? 0 : min(rest(), Timeline.mostBar)
    if bar == 0 {
      if room < 32 { took = 0 }
      status = max(1, room - step - (took > 0 ? took + 2 : 0) - 2)
    }
    func line(_ parts: [(text: String, width: Int)]) -> String {
      var text = ""
      for (index, part) in parts.enumerated() where part.width > 0 {
        text += (index == 0 ? "" : "  ") + part.text.fitted(to: part.width)
      }
      while text.hasSuffix(" ") { text.removeLast() }
      return text.clipped(to: room)
    }
    let heading = line([
      ("STEP", step), ("START", start), (axis(bar), bar), ("TOOK", took), ("STATUS", status),
    ])
    var lines = [Style.bold.applied(to: heading, colour)]
    for row in rows {
      let drawn = drawing(of: row, bar)
      let text = line([
        (row.cells.step, step), (row.cells.start, start), (drawn, bar), (row.cells.took, took),
        (row.cells.status, status),
      ])
      lines.append(row.style?.applied(to: text, colour) ?? text)
      if let error = row.error {
        lines += (width == nil ? [error] : error.wrapped(to: max(8, room - 4))).map { "    \($0)" }
      }
    }
    return lines
  }

  /// Marks steps whose input or output can be shown.
  static let valueMark = "⇄"

  // MARK: Rows

  /// - Parameter failures: How many items of the step failed.
  private func row(_ step: StepRecord, _ failures: Int, isRepeated: Bool) -> Row {
    let from = max(.zero, step.startedAt.span(since: began) ?? .zero)
    let to = (step.endedAt ?? ended).span(since: began) ?? from
    let change = step.attempts > 1 ? step.lastAttempt?.startedAt.span(since: began) ?? from : from
    let style: Style? =
      switch step.status {
      case .failed, .timedOut, .uncertain: .red
      case .skipped, .cancelled: .dim
      case .pending, .queued, .running, .retrying, .waiting: .yellow
      case .succeeded: failures > 0 ? .yellow : nil
      }
    let isWait = step.wait.map { $0.kind != .poll && $0.kind != .limit } ?? false
    return Row(
      cells: (
        step.path.safe + (step.hasValues ? " \(Timeline.valueMark)" : ""), "+\(from.spoken)",
        step.status == .skipped ? "" : max(.zero, to - from).spoken,
        status(of: step, isRepeated: isRepeated) + (failures > 0 ? ", \(failures) failed" : "")
      ), bar: (part(from), step.wait?.kind == .poll ? part(to) : part(max(from, change)), part(max(from, to)), isWait),
      style: style, error: step.error.map { "\($0.kind.rawValue): \($0.message.safe)" })
  }

  /// The status with its attempts and waits.
  private func status(of step: StepRecord, isRepeated: Bool) -> String {
    var words = [step.status.rawValue]
    if let wait = step.wait {
      let isOver = step.status != .waiting
      switch wait.kind {
      case .until: words.append(isOver ? "waited" : "until \(wait.wakeAt.map(clock.date) ?? "some day")")
      case .event: words.append("\(isOver ? "waited for" : "for") event \(wait.event?.safe ?? "?")")
      case .approval, .ask:
        let by = step.decision.map { "by \($0.by.safe)\($0.way)" }
        words.append(by ?? (isOver ? "not \(wait.kind == .ask ? "answered" : "decided")" : "for \(wait.kind.wanted)"))
      case .limit: if step.status == .queued { words.append((wait.limit ?? "").safe) }
      case .poll:
        let rounds = wait.rounds ?? 1
        words.append(rounds == 1 ? "1 round" : "\(rounds) rounds")
      }
    } else if let next = step.lastAttempt?.retryAt, step.status == .retrying {
      words.append("again \(clock.fromNow(next))")
    }
    if step.attempts > 1, step.wait?.kind != .poll {
      words.append("\(step.attempts) \(isRepeated ? "rounds" : "tries")")
    }
    return words.joined(separator: ", ")
  }

  /// How far into the run an instant is, from 0 to 1.
  private func part(_ span: TimeSpan) -> Double {
    let whole = max(1, ended.span(since: began)?.nanoseconds ?? 1)
    return min(1, max(0, Double(span.nanoseconds) / Double(whole)))
  }

  // MARK: Bars

  private func axis(_ width: Int) -> String {
    let end = max(.zero, ended.span(since: began) ?? .zero).spoken
    let blanks = width - 2 - end.displayWidth
    return blanks > 0 ? "0s" + String(repeating: " ", count: blanks) + end : ""
  }

  private func drawing(of row: Row, _ width: Int) -> String {
    guard width > 0 else { return "" }
    let first = min(width - 1, Int(row.bar.from * Double(width)))
    let last = max(first + 1, min(width, Int((row.bar.to * Double(width)).rounded(.up))))
    // The last attempt has a cell, however short it was.
    let change = min(last - 1, max(first, Int(row.bar.change * Double(width))))
    let (before, after) = row.bar.isWait ? ("░", "░") : ("▒", "█")
    return String(repeating: " ", count: first) + String(repeating: before, count: change - first)
      + String(repeating: after, count: last - change)
  }
}

extension StepRecord {
  /// Whether it had an input, or has an output.
  var hasValues: Bool { isAction || output != nil }
}

extension String {
  /// The text cut to a number of columns, with `…` for the rest.
  func clipped(to columns: Int) -> String {
    if displayWidth <= columns { return self }
    var text = ""
    var width = 0
    for character in self {
      let next = String(character).displayWidth
      if width + next > columns - 1 { break }
      text.append(character)
      width += next
    }
    return columns > 0 ? text + "…" : ""
  }

  /// The text in exactly so many columns, cut or padded with blanks.
  func fitted(to columns: Int) -> String {
    let text = clipped(to: columns)
    return text + String(repeating: " ", count: max(0, columns - text.displayWidth))
  }
}

extension Sequence<StepRecord> {
  /// How many items of each loop failed, by the loops' paths.
  var failuresOfItems: [StepPath: Int] {
    var counts: [StepPath: Int] = [:]
    for step in self where [.failed, .timedOut].contains(step.status) && step.path.hasSuffix("]") {
      guard let bracket = step.path.utf8.lastIndex(of: ASCII.openBracket) else { continue }
      counts[String(step.path[..<bracket]), default: 0] += 1
    }
    return counts
  }
}

extension RunRecord {
  /// The failures beside the error that the run ended with, in sentences: items of loops that continued, and steps of
  /// `onFailure` and `finally`.
  var failuresAside: [String] {
    var sentences: [String] = []
    // A run may have very many steps; if all succeeded, only their status is read.
    var hasFailed = false
    stepsInOrder.forEachInPlace { hasFailed = hasFailed || [.failed, .timedOut].contains($0.pointee.status) }
    guard hasFailed else { return [] }
    let failures = stepsInOrder.failuresOfItems
    for step in stepsInOrder {
      if step.status == .succeeded, let count = failures[step.path] {
        let first = stepsInOrder.first {
          $0.path.hasPrefix("\(step.path)[") && $0.path.hasSuffix("]") && $0.error != nil
        }
        let why = first.flatMap { first in first.error.map { "; \(first.path): \($0.message)" } } ?? ""
        sentences.append("\(count) item\(count == 1 ? "" : "s") of '\(step.path)' failed\(why)")
      }
      guard step.path.isInHandler, let failure = step.error, failure != error,
        [.failed, .timedOut].contains(step.status)
      else { continue }
      // A block fails with its step, which is reported already.
      if failure.step.map({ $0 == step.path }) ?? true {
        sentences.append("the step '\(step.path)' failed: \(failure.message)")
      }
    }
    return sentences
  }
}
