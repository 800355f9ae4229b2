/// The effect of an action on the outside world, which determines whether an attempt with an unknown outcome may be
/// repeated.
///
/// Every action declares it; there is no default, because a wrong guess doubles a user's data.
public enum Effect: Hashable, Sendable {
  /// Computes from its input alone; may always be repeated.
  case pure
  /// Reads the outside world and changes nothing; may always be repeated.
  case read
  /// Reads, and uses something up (a one-hour URL, a paid call).
  ///
  /// A plan doesn't run it. It is repeated at most `repeats` times after unknown outcomes.
  case consume(repeats: Int)
  /// Writes; a repetition with the same input within the window changes nothing more.
  ///
  /// It may be repeated within the window; afterwards it is a plain write.
  case idempotentWrite(within: RepeatWindow)
  /// Writes; a repetition writes a second time.
  ///
  /// It is repeated only with a key that the service honours, or after `reconcile` has found that nothing was done.
  case write
}

/// How long a repetition of a write with the same input changes nothing more.
public enum RepeatWindow: Hashable, Sendable {
  /// However late the repetition is.
  case forever
  /// Until the first midnight after the write began, in the service's time zone (an IANA name).
  case sameDay(zone: String)
  /// For that time after the write began.
  case span(TimeSpan)
}

extension Effect {
  /// The effect's word in pages, messages and `--json`.
  public var name: String {
    switch self {
    case .pure: "pure"
    case .read: "read"
    case .consume: "consume"
    case .idempotentWrite: "idempotentWrite"
    case .write: "write"
    }
  }

  /// Whether the action changes something outside, so that a plan shows it instead of doing it.
  public var isWrite: Bool {
    switch self {
    case .pure, .read, .consume: false
    case .idempotentWrite, .write: true
    }
  }

  /// Whether a plan may run the action, because it changes nothing.
  public var runsInPlan: Bool { self == .pure || self == .read }

  /// The retry schedule, which the action or the step can override; nil for no retries.
  public var standardRetry: RetrySchedule? {
    switch self {
    case .read, .idempotentWrite: .standard
    case .pure, .consume, .write: nil
    }
  }

  /// The rules for recipe authors, in one or two sentences.
  public var sentence: String {
    switch self {
    case .pure: "Computes only."
    case .read: "Reads only; run again freely."
    case .consume(...0): "Reads, and uses something up: after an unknown outcome it is not run again."
    case .consume(let repeats):
      "Reads, and uses something up: after unknown outcomes it is run again \(atMost(repeats))."
    case .idempotentWrite(.forever): "Writes; running it again with the same input changes nothing more."
    case .idempotentWrite(.sameDay(let zone)):
      "Writes; running it again with the same input on the same day (\(zone)) changes nothing more."
    case .idempotentWrite(.span(let span)):
      "Writes; running it again with the same input within \(span.written) changes nothing more."
    case .write: "Writes; running it again would write a second time."
    }
  }
}

/// A number with its noun: `1 time`, `2 times`.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// How often at most: `at most once`, `at most 3 times`.
func atMost(_ count: Int) -> String { count == 1 ? "at most once" : "at most \(count) times" }
