import Agent
import Basics
import RunState
import Runs
import Synchronization

/// Shows the progress of a run: in place on a terminal, one line a step elsewhere, or as JSON lines or GitHub commands.
final class ProgressDisplay: Sendable {
  enum Format: String, CaseIterable, Sendable { case text, json, github }

  /// A step that is being done.
  private struct Running {
    var path: String
    var title: String
    var depth: Int
    var began: TimeSpan
    /// How far it is, in words.
    var note = ""
    /// How far it is, in numbers.
    var meter: ProgressMeter?

    /// Whether items of the loop have failed.
    var hasFailures = false
    /// The lines that its programs printed last.
    var printed: [String] = []

    mutating func advance(to amount: ProgressAmount, at now: TimeSpan) {
      if meter == nil { meter = ProgressMeter(amount, at: now) } else { meter?.advance(to: amount, at: now) }
    }
  }

  private struct Shown {
    var running: [Running] = []
    /// How many lines of the terminal show running steps.
    var liveLines = 0
    var frame = 0
    var isOver = false
    /// The condition that the suspended run waits for.
    var wait: (until: Timestamp?, reason: String?)?
    /// The id of the run, once it has begun.
    var run: String?
    /// The last address of a decision's page that was shown.
    var url: String?
  }

  private let console: Console
  private let format: Format
  private let time: any TimeSource
  private let zone: LocalZone
  /// Whether the run's state is discarded when this process ends.
  private let isApart: Bool
  private let width: @Sendable () -> Int
  private let draw: @Sendable (_ text: String, _ over: Int) -> Void
  private let displayed = Mutex(Shown())

  /// The most lines that are shown below a running step.
  private static let mostPrinted = 3

  private static let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

  /// - Parameters:
  ///   - width: Gives the columns of the terminal, in place of standard error's.
  ///   - draw: Draws text over the last lines of the terminal, in place of standard error.
  init(
    _ console: Console, format: Format, time: any TimeSource, zone: LocalZone, isApart: Bool = false,
    width: (@Sendable () -> Int)? = nil,
    draw: @escaping @Sendable (_ text: String, _ over: Int) -> Void = { Console.redraw($0, over: $1) }
  ) {
    self.console = console
    self.format = format
    self.time = time
    self.zone = zone
    self.isApart = isApart
    self.width = width ?? { console.widthOfErrors }
    self.draw = draw
  }

  /// Whether standard error has the progress as lines of JSON.
  var isJSON: Bool { format == .json }

  /// Draws the spinner until the run is over or the task is cancelled.
  func animate() async {
    guard console.isLive, format == .text else { return }
    while !Task.isCancelled, !displayed.withLock({ $0.isOver }) {
      tick()
      try? await time.sleep(for: .milliseconds(100))
    }
  }

  /// Draws the next picture.
  func tick() {
    displayed.withLock { displayed in
      displayed.frame += 1
      // A countdown is redrawn once a second only.
      if displayed.wait == nil || displayed.frame % 10 == 0 { redraw(&displayed, above: []) }
    }
  }

  func show(_ progress: Progress) {
    switch format {
    case .json:
      guard case .printed(let printed) = progress else { return console.error(json: progress.value) }
      // Commands may print much; everything else is reported even with --quiet.
      if console.isQuiet { return }
      for line in printed.lines { console.error(json: Progress.printed(line).value) }
    case .github, .text: displayed.withLock { show(progress, &$0) }
    }
  }

  /// Shows that the run waits: a line that counts down on a terminal, one line elsewhere.
  ///
  /// - Parameter url: The page of the decision that it waits for; shown once.
  func wait(until instant: Timestamp?, for reason: String?, at url: String? = nil) {
    if format == .json {
      var map = ValueMap()
      map["waits"] = .string(reason ?? "")
      map["until"] = instant.map { .string("\($0)") }
      map["url"] = url.map { .string($0) }
      return console.error(json: .map(map))
    }
    displayed.withLock { displayed in
      displayed.running = []
      let isNew = displayed.wait == nil || displayed.wait?.until != instant || displayed.wait?.reason != reason
      displayed.wait = (instant, reason)
      var above = isNew && !console.isLive ? ["  … \(waitText(&displayed))"] : []
      if let url, displayed.url != url { above.append("      \(url.safe)") }
      displayed.url = url
      redraw(&displayed, above: above)
    }
  }

  private func waitText(_ displayed: inout Shown) -> String {
    guard let wait = displayed.wait else { return "" }
    guard let instant = wait.until else { return wait.reason?.safe ?? "waiting for something to happen" }
    let left = max(.zero, instant.span(since: time.now()) ?? .zero)
    return "waiting until \(zone.clock(at: time.now()).date(instant)) (\(left.spoken))"
  }

  private func show(_ progress: Progress, _ displayed: inout Shown) {
    if displayed.wait != nil { displayed.wait = nil }
    let colour = console.colourError
    switch progress {
    case .runBegan(let run, let recipe, let isResumed):
      displayed.run = run
      let verb = isResumed ? "resumed" : "run"
      redraw(
        &displayed,
        above: ["\(Style.bold.applied(to: recipe, colour))  \(Style.dim.applied(to: "\(verb) \(run)", colour))"]
      )
    case .stepBegan(let path, let title, let depth):
      guard isShown(path) else { return }
      displayed.running.append(Running(path: path, title: title, depth: depth, began: time.elapsed()))
      redraw(&displayed, above: [])
    case .loopAdvanced(let path, let done, let failed, let caught, let count):
      guard let index = running(path, &displayed) else { return }
      displayed.running[index].note =
        "\(done - failed)/\(count)\(failed > 0 ? ", \(failed) failed" : "")\(caught > 0 ? ", \(caught) caught" : "")"
      displayed.running[index].hasFailures = failed > 0
      // The spinner draws it; a loop may advance thousands of times a second.
      guard console.isLive else { return }
      displayed.running[index].advance(to: ProgressAmount(completed: done, total: count), at: time.elapsed())
    case .reported("", let text, _): redraw(&displayed, above: ["  (\(text.safe))"])
    case .reported(let path, let text, let amount):
      guard let index = running(path, &displayed) else { return }
      displayed.running[index].note = amount.map { $0.isBytes ? $0.completed.asBytes : text.safe } ?? text.safe
      if let amount {
        displayed.running[index].advance(to: amount, at: time.elapsed())
      } else {
        displayed.running[index].meter = nil
      }
    case .printed(let printed):
      let name = printed.step.safe
      guard console.isLive, format == .text else {
        return redraw(&displayed, above: [printed.lines.map { "  \(name) | \($0.displayed)" }.joined(separator: "\n")])
      }
      // Items of a loop print below it.
      let index = displayed.running.lastIndex { printed.belongs(to: $0.path) } ?? displayed.running.indices.last
      guard let index else { return }
      // The spinner draws it; a command may print thousands of lines a second.
      let last = printed.lines.suffix(ProgressDisplay.mostPrinted).map { "\(name) | \($0.displayed)" }
      displayed.running[index].printed = (displayed.running[index].printed + last).suffix(ProgressDisplay.mostPrinted)
    case .attemptFailed(let path, let attempt, let error, let delay):
      let message = error.message.safe
      let end = delay.map { "\(message.hasSuffix(".") ? message.dropLast() : message[...]); retrying in \($0.spoken)" }
      let line =
        "  \(Style.yellow.applied(to: "↻", colour)) \(path): attempt \(attempt) failed: \(end ?? message)"
      redraw(&displayed, above: [line])
    case .stepWaits(let path, let title, let depth, let wait):
      displayed.url = wait.url
      displayed.running.removeAll { $0.path == path }
      let name = isShown(path) ? title : path
      var words = wait.spoken(zone.clock(at: time.now()))
      if wait.kind == .ask {
        words += "\nanswer with: \(wait.commands(ofStepAt: path, in: displayed.run ?? "RUN").joined())"
      }
      redraw(
        &displayed,
        above: [
          "\(indent(depth, path))\(Style.blue.applied(to: "…", colour)) \(name.safe): "
            + words.safeLines(indent: indent(depth, path) + "  ")
        ])
    case .stepEnded(let path, let title, let depth, let status, let took, let error, let isReplayed):
      let running = displayed.running.first { $0.path == path }
      let note = running?.note ?? ""
      displayed.running.removeAll { $0.path == path }
      // A step without a name that did nothing, such as a guard that held, isn't shown.
      let isNameless = path.split(separator: "/").last?.first == "#"
      if status == .skipped, isNameless, !console.isVerbose { return }
      // Among items, only failures are shown one by one.
      guard isShown(path) || error != nil else { return }
      let words = isReplayed ? "done before" : status == .skipped ? "skipped" : took.spoken
      let name = isShown(path) ? title : path
      let isPartly = status == .succeeded && running?.hasFailures == true
      let mark = isPartly ? Style.yellow.applied(to: "✓", colour) : mark(status, colour)
      let left = "\(indent(depth, path))\(mark) \(name.safe)"
      let padding = String(repeating: " ", count: max(2, 44 - name.displayWidth - 2 * depth))
      var lines = [
        left + padding
          + (isPartly
            ? "\(Style.yellow.applied(to: note, colour))  \(Style.dim.applied(to: words, colour))"
            : Style.dim.applied(to: [note, words].filter { !$0.isEmpty }.joined(separator: "  "), colour))
      ]
      // The report has only the first failure of a run, so an error in a handler is shown here.
      if let error, path.isInHandler {
        lines.append("\(indent(depth, path))  " + error.message.safeLines(indent: indent(depth, path) + "  "))
      }
      if ![.succeeded, .skipped].contains(status) {
        lines += (running?.printed ?? []).map { Style.dim.applied(to: "\(indent(depth, path))  \($0)", colour) }
      }
      if let error, format == .github { lines.append(githubCommand(error)) }
      redraw(&displayed, above: lines)
    case .runEnded:
      displayed.isOver = true
      displayed.running = []
      redraw(&displayed, above: [])
    }
  }

  /// Finds the shown step that is running; a step that began before this program followed the run is added.
  private func running(_ path: String, _ displayed: inout Shown) -> Int? {
    if let index = displayed.running.firstIndex(where: { $0.path == path }) { return index }
    guard console.isLive, isShown(path), let name = path.split(separator: "/").last else { return nil }
    let depth = path.utf8.count { $0 == ASCII.slash }
    displayed.running.append(Running(path: path, title: String(name), depth: depth, began: time.elapsed()))
    return displayed.running.count - 1
  }

  /// Whether it would show nothing: items of loops that succeed aren't shown, and there may be very many.
  func ignores(_ progress: Progress) -> Bool {
    switch progress {
    case _ where format == .json: false
    case .stepBegan(let path, _, _): !isShown(path)
    case .stepEnded(let path, _, _, _, _, let error, _): error == nil && !isShown(path)
    default: false
    }
  }

  /// Items of loops are counted, not shown.
  private func isShown(_ path: String) -> Bool { !path.utf8.contains(ASCII.openBracket) }

  private func indent(_ depth: Int, _ path: String) -> String {
    String(repeating: "  ", count: isShown(path) ? depth + 1 : 2)
  }

  private func mark(_ status: StepStatus, _ colour: Bool) -> String {
    switch status {
    case .succeeded: Style.green.applied(to: "✓", colour)
    case .skipped: Style.dim.applied(to: "–", colour)
    case .uncertain: Style.yellow.applied(to: "?", colour)
    default: Style.red.applied(to: "✗", colour)
    }
  }

  private func githubCommand(_ error: RunError) -> String {
    let place = error.file.map { "file=\($0),line=\(error.line ?? 1),col=\(error.column ?? 1)" } ?? ""
    return "::error \(place)::\(error.message.safe)"
  }

  /// Clears the lines drawn in place, writes lines that remain, and redraws the running steps.
  private func redraw(_ displayed: inout Shown, above lines: [String]) {
    if console.isQuiet { return }
    guard console.isLive else {
      for line in lines { console.error(line) }
      return
    }
    let drawn = displayed.liveLines
    var text = ""
    for line in lines { text += line + "\n" }
    let running = displayed.running.suffix(8)
    let mostPrinted = running.count > 2 ? 1 : ProgressDisplay.mostPrinted
    var liveLines = 0
    // A wrapped line could not be overwritten.
    let width = self.width() - 1
    for step in running {
      text += line(of: step, width, displayed.frame) + "\n"
      let indent = String(repeating: "  ", count: step.depth + 3)
      let printed = step.printed.suffix(mostPrinted)
      for line in printed {
        text += Style.dim.applied(to: "\(indent)\(line)".clipped(to: width), console.colourError) + "\n"
      }
      liveLines += 1 + printed.count
    }
    displayed.liveLines = liveLines
    if displayed.wait != nil {
      let end = isApart ? "Ctrl-C ends the run" : "Ctrl-C leaves the run, 'errand runs follow' follows it again"
      let line = "\(waitText(&displayed)); \(end)".clipped(to: width - 4)
      text += "  " + Style.blue.applied(to: "…", console.colourError) + " " + line + "\n"
      displayed.liveLines += 1
    }
    if drawn > 0 || !text.isEmpty { draw(text, drawn) }
  }

  private func line(of step: Running, _ width: Int, _ frame: Int) -> String {
    let now = time.elapsed()
    let spinner = ProgressDisplay.spinner[frame % ProgressDisplay.spinner.count]
    let spent = (now - step.began).spoken
    let title = String(step.title.safe.prefix(40))
    // A bar needs more room than a word.
    let column = step.meter == nil ? 44 : 24
    let padding = String(repeating: " ", count: max(2, column - title.displayWidth - 2 * step.depth))
    let indent = String(String(repeating: "  ", count: step.depth + 1).prefix(max(0, width - 2)))
    let name = (title + padding).clipped(to: width - indent.count - 2)
    let room = width - indent.count - 2 - name.displayWidth
    let note = step.meter?.text(step.note, width: room - spent.count - 2, at: now) ?? step.note
    let words = [note, spent].filter { !$0.isEmpty }.joined(separator: "  ").clipped(to: room)
    return indent + Style.blue.applied(to: spinner, console.colourError) + " " + name
      + Style.dim.applied(to: words, console.colourError)
  }
}

extension WaitRecord {
  /// The condition that the run waits for, and until when.
  func spoken(_ clock: WallClock) -> String {
    let until = wakeAt.map { $0 > clock.now ? clock.dateFromNow($0) : clock.date($0) }
    return switch kind {
    case .until: "waiting until \(until ?? "something happens")"
    case .event: "waiting for the event '\(event ?? "")'\(until.map { ", at most until \($0)" } ?? "")"
    case .approval, .ask:
      "waiting for \(kind.wanted)\(until.map { ", at most until \($0)" } ?? ""): \(prompt ?? "")\(url.map { "\n\($0)" } ?? "")"
    case .limit: "queued: \(limit ?? "")\(until.map { "; continues about \($0)" } ?? "")"
    case .poll: "round \(rounds ?? 0) didn't match; again at \(until ?? "once")"
    }
  }
}

extension PrintedLine {
  /// The text for people: what a terminal would show of it in the end.
  var displayed: String {
    let parts = text.split(separator: "\r")
    return stream == .note ? "(\(text.safe))" : parts.last.map { String($0).safe } ?? ""
  }
}

extension StepPath {
  /// Whether the step is one of `onFailure` or `finally`.
  var isInHandler: Bool { split(separator: "/").contains { $0 == "#onFailure" || $0 == "#finally" } }
}
