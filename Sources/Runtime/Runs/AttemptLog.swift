import ActionKit
import Basics
import RunState
import Synchronization

/// The reports of one attempt while it runs: its requests, never with bodies, for the record; its progress, for the
/// run's followers; the output of its programs.
///
/// Steps share services, so the attempt is found through the task that makes the request.
final class AttemptLog: TransferFollower {
  private struct Content {
    var requests: [ServiceRequest] = []
    /// Made for the first report: most attempts make none.
    var reports: ReportThrottle?
    /// The call's place in the limits of its connection.
    var permit: CallPermit?
    /// Takes what programs print; made for the first piece.
    var printer: StepPrinter?
  }

  private let stepRedactor: StepRedactor
  private let run: RunContext
  private let step: StepPath
  private let content = Mutex(Content())

  /// An attempt that makes thousands of requests keeps the first ones.
  private static let limit = 100

  init(_ run: RunContext, _ step: StepPath, _ redactor: StepRedactor) {
    self.run = run
    self.step = step
    stepRedactor = redactor
  }

  /// Makes a part of an attempt, whose requests and transfers are told to its log.
  static func recording<Output>(
    _ log: AttemptLog, _ body: () async throws(ActionError) -> Output
  ) async throws(ActionError) -> Output {
    // `withValue` doesn't support typed errors.
    let result: Result<Output, ActionError> = await Transfers.$follower.withValue(log) {
      do throws(ActionError) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// The log of the attempt that the current task makes.
  static var current: AttemptLog? { Transfers.follower as? AttemptLog }

  /// Removes secrets.
  var redactor: Redactor { stepRedactor.current }

  /// The call's place in the limits of its connection, if it has any.
  var permit: CallPermit? {
    get { content.withLock { $0.permit } }
    set { content.withLock { $0.permit = newValue } }
  }

  var maySend: Bool { run.journal.maySend }

  /// Tells the followers that a request waits for the limits of the connection.
  func tellQueued(_ reason: String) { run.report(.reported(path: step, text: "queued: \(reason)")) }

  // MARK: Requests

  /// The callback for a service to report its requests.
  static func record(_ request: ServiceRequest) {
    guard let log = current else { return }
    log.content.withLock { if $0.requests.count < limit { $0.requests.append(request) } }
  }

  /// The requests as the state keeps them.
  func requests() -> [Value] {
    content.withLock { $0.requests }.map { request in
      var map = ValueMap()
      map["method"] = .string(request.method)
      map["url"] = .string(redactor.redact(request.redactedURL))
      map["status"] = request.status.map { .int($0) }
      map["bytes"] = .int(request.bytes)
      map["took"] = .string("\(request.duration)")
      return .map(map)
    }
  }

  // MARK: Progress

  /// Tells the followers how far the attempt is, as often as they want to know.
  func report(_ progress: ActionContext.Progress) { take(progress, isTransfer: false) }

  func transferred(_ direction: Transfers.Direction, _ bytes: Int, of total: Int?) {
    guard (total ?? bytes) >= Transfers.least else { return }
    let word =
      switch direction {
      case .download: "downloading"
      case .upload: "uploading"
      case .reading: "reading"
      }
    take(ActionContext.Progress(word, completed: bytes, of: total, unit: .bytes), isTransfer: true)
  }

  private func take(_ progress: ActionContext.Progress, isTransfer: Bool) {
    let now = run.time.elapsed()
    let passed = content.withLock { content in
      let reports = content.reports ?? ReportThrottle()
      content.reports = reports
      return reports.take(progress, isTransfer: isTransfer, at: now)
    }
    if let passed { tell(passed) }
  }

  /// Passes on the last report, if it was held back, and the last output of the programs.
  func finish() {
    let (last, printer) = content.withLock { ($0.reports?.takeLast(), $0.printer) }
    if let last { tell(last) }
    printer?.finish()
  }

  /// The receiver of the output of the attempt's programs.
  func printer(_ make: () -> StepPrinter) -> StepPrinter {
    content.withLock { content in
      let made = content.printer ?? make()
      content.printer = made
      return made
    }
  }

  private func tell(_ progress: ActionContext.Progress) {
    let amount = progress.completed.map {
      ProgressAmount(completed: $0, total: progress.total, isBytes: progress.unit == .bytes)
    }
    run.report(.reported(path: step, text: redactor.redact(progress.message), amount: amount))
  }
}

/// Lets some reports a second pass, and keeps the last one.
///
/// A report with a new message, which mostly begins another part of the work, passes at once, unless there are many.
final class ReportThrottle {
  private var lastAt: TimeSpan?
  /// The start of the current second, and the number of reports that passed since then.
  private var second: (start: TimeSpan, count: Int) = (.zero, 0)
  private var message = ""
  private var heldBack: ActionContext.Progress?
  /// Whether the action counts itself, so that its transfers aren't reported.
  private var isCounted = false

  static let interval = TimeSpan.milliseconds(100)
  static let mostPerSecond = 20

  /// The report, if it passes.
  func take(_ report: ActionContext.Progress, isTransfer: Bool, at now: TimeSpan) -> ActionContext.Progress? {
    if isTransfer, isCounted { return nil }
    if report.completed != nil, !isTransfer { isCounted = true }
    if now - second.start >= .seconds(1) { second = (now, 0) }
    let isDue = lastAt.map { now - $0 >= ReportThrottle.interval } ?? true
    guard isDue || report.message != message && second.count < ReportThrottle.mostPerSecond else {
      heldBack = report
      return nil
    }
    lastAt = now
    message = report.message
    second.count += 1
    heldBack = nil
    return report
  }

  /// The last report, if it was held back.
  func takeLast() -> ActionContext.Progress? {
    defer { heldBack = nil }
    return heldBack
  }
}
