import Glibc

/// The number of attempts, and the delays between them.
///
/// Only the runtime retries; no layer below it does. `Retry-After` replaces the computed delay.
public struct RetrySchedule: Hashable, Sendable {
  /// The delays between attempts.
  public enum Delays: Hashable, Sendable {
    /// Each delay is `factor` times the previous one, up to `limit`.
    case growing(initial: TimeSpan, factor: Double, limit: TimeSpan)
    /// The delays in order; the last one repeats.
    case listed([TimeSpan])
  }

  /// The randomness of delays, so that many runs don't retry at the same moment.
  public enum Jitter: String, CaseIterable, Hashable, Sendable {
    /// A random delay from zero up to the computed one.
    case full
    /// The computed delay exactly.
    case none
  }

  /// The maximum number of attempts, including the first one.
  public var maxAttempts: Int
  /// The delays between them.
  public var delays: Delays
  /// The randomness of the delays.
  public var jitter: Jitter
  /// The kinds of errors to retry.
  public var kinds: Set<ErrorKind>

  /// Creates a schedule.
  public init(
    maxAttempts: Int, delays: Delays, jitter: Jitter = .full, on kinds: Set<ErrorKind> = RetrySchedule.passingKinds
  ) {
    self.maxAttempts = maxAttempts
    self.delays = delays
    self.jitter = jitter
    self.kinds = kinds
  }

  /// Creates a schedule with exactly these delays, and so with one attempt more than there are delays.
  public init(after delays: [TimeSpan], on kinds: Set<ErrorKind> = RetrySchedule.passingKinds) {
    self.init(maxAttempts: delays.count + 1, delays: .listed(delays), jitter: .none, on: kinds)
  }

  /// The kinds of transient errors.
  public static let passingKinds: Set<ErrorKind> = [.timeout, .network, .rateLimited, .server]

  /// Three attempts, with delays of at most one and two seconds.
  public static let standard = RetrySchedule(
    maxAttempts: 3, delays: .growing(initial: .seconds(1), factor: 2, limit: .seconds(100)))

  /// The delay after an attempt; the first attempt is 1.
  ///
  /// - Parameter chance: A random number between 0 and 1 for the jitter.
  public func delay(afterAttempt attempt: Int, chance: Double) -> TimeSpan {
    let earlier = max(attempt, 1) - 1
    let full: TimeSpan
    switch delays {
    case .listed(let delays): full = delays.indices.contains(earlier) ? delays[earlier] : delays.last ?? .zero
    case .growing(let initial, let factor, let limit):
      let grown = Double(initial.nanoseconds) * pow(factor, Double(earlier))
      // A value that isn't below the limit, NaN included, becomes the limit; a value below it fits an Int.
      full = grown < Double(limit.nanoseconds) ? TimeSpan(nanoseconds: Int(max(grown, 0))) : limit
    }
    switch jitter {
    case .none: return full
    case .full: return chance > 0 && chance < 1 ? TimeSpan(nanoseconds: Int(Double(full.nanoseconds) * chance)) : .zero
    }
  }
}
