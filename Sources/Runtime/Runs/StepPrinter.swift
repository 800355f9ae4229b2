import ActionKit
import Basics
import RunState
import Synchronization

/// Passes on the output of one attempt's programs: line by line, without secrets, to the run's followers and its log.
///
/// It is made with the first bytes, because most attempts print nothing.
final class StepPrinter: Sendable {
  private struct Content {
    var output: RedactedLines
    var errors: RedactedLines
    /// How many bytes of text the attempt has in the log; nil when it may fill no more.
    var size: Int? = 0
  }

  private let run: RunContext
  private let step: StepPath
  private let attempt: Int
  private let content: Mutex<Content>

  /// - Parameter secrets: The texts that are made with secrets, beside the secrets themselves.
  init(_ run: RunContext, step: StepPath, attempt: Int, secrets: [String]) {
    self.run = run
    self.step = step
    self.attempt = attempt
    // Includes secrets that were learned after the run began.
    let lines = RedactedLines(run.journal.store.secrets.finder.adding(secrets))
    content = Mutex(Content(output: lines, errors: lines))
  }

  func add(_ bytes: [UInt8], on stream: PrintedStream) {
    // Under the lock, so that all see the lines in one order.
    content.withLock { content in
      switch stream {
      case .output: pass(content.output.add(bytes), .output, &content)
      case .errors: pass(content.errors.add(bytes), .errors, &content)
      }
    }
  }

  /// Passes on the last, unended line, because nothing more comes.
  func finish() {
    content.withLock { content in
      pass(content.output.finish(), .output, &content)
      pass(content.errors.finish(), .errors, &content)
    }
  }

  private func pass(_ texts: [String], _ stream: PrintedLine.Stream, _ content: inout Content) {
    if texts.isEmpty { return }
    let now = run.time.now()
    func line(_ text: String) -> PrintedLine {
      PrintedLine(step: step, attempt: attempt, stream: stream, at: now, text: text)
    }
    // At once, because a program may print hundreds of thousands of lines a second.
    run.report(.printed(line(texts.joined(separator: "\n"))))
    if content.size == nil { return }
    let kept = PrintedLine.fitting(texts.map(line), ofAttemptAfter: &content.size)
    run.journal.store.keepPrinted(PrintedLine.joined(kept), ofRun: run.id) { [self] error in
      run.report(.printed(note("what commands print isn't kept: \(error.message)", at: now)))
    }
  }

  private func note(_ text: String, at instant: Timestamp) -> PrintedLine {
    PrintedLine(step: step, attempt: attempt, stream: .note, at: instant, text: text)
  }
}
