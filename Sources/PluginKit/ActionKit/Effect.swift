/// What an action does to the world outside, and so what may be done after an attempt whose outcome is unknown.
///
/// Every action declares it; there is no default, because a wrong guess doubles a user's data.
public enum Effect: Hashable, Sendable {
  /// Computes from its input alone: is run again freely.
  case pure
  /// Looks at the outside world and leaves it as it was: is run again freely.
  case read
  /// Reads, and uses something up (a one-hour URL, a paid call): is not run for a plan, and is run again at most
  /// `repeats` times after unknown outcomes.
  case consume(repeats: Int)
  /// Writes so that repeating the same input within the window changes nothing more: is run again within it, and is
  /// a plain write afterwards.
  case idempotentWrite(within: RepeatWindow)
  /// Writes a second thing when it is repeated: is run again only with a key that the service honours, or after
  /// `reconcile` has found that nothing was done.
  case write
}

/// For how long repeating a write with the same input changes nothing more.
public enum RepeatWindow: Hashable, Sendable {
  /// However late the repetition is.
  case forever
  /// Until the day on which the write began ends in the service's time zone (an IANA name).
  case sameDay(zone: String)
  /// That long after the write began.
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

  /// Whether a plan may run the action, because nothing is different afterwards.
  public var runsInPlan: Bool { self == .pure || self == .read }

  /// How failures are tried again unless the action or the step says otherwise; nil for not at all.
  public var standardRetry: RetrySchedule? {
    switch self {
    case .read, .idempotentWrite: .standard
    case .pure, .consume, .write: nil
    }
  }

  /// What a recipe's author has to know, in one or two sentences.
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
      "Writes; running it again with the same input within \(span.spelled) changes nothing more."
    case .write: "Writes; running it again would do it a second time."
    }
  }
}

/// A number with its noun: `1 time`, `2 times`.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// How often at most: `at most once`, `at most 3 times`.
func atMost(_ count: Int) -> String { count == 1 ? "at most once" : "at most \(count) times" }
