import Glibc

/// How often and after which delays a failed attempt is made again.
///
/// The runs do it, and nothing below them does. `Retry-After` replaces the computed delay.
public struct RetrySchedule: Hashable, Sendable {
  /// The delays between attempts.
  public enum Delays: Hashable, Sendable {
    /// Each delay is `factor` times the one before, and never more than `limit`.
    case growing(initial: TimeSpan, factor: Double, limit: TimeSpan)
    /// These, one after another; the last one holds for all that follow.
    case listed([TimeSpan])
  }

  /// How delays are spread, so that many runs do not come back at the same moment.
  public enum Jitter: String, CaseIterable, Hashable, Sendable {
    /// Anything from nothing up to the computed delay.
    case full
    /// The computed delay exactly.
    case none
  }

  /// How many attempts there are at most, the first one included.
  public var maxAttempts: Int
  /// The delays between them.
  public var delays: Delays
  /// How the delays are spread.
  public var jitter: Jitter
  /// The kinds of errors that are tried again.
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

  /// A schedule with one attempt more than there are delays, exactly so long.
  public init(after delays: [TimeSpan], on kinds: Set<ErrorKind> = RetrySchedule.passingKinds) {
    self.init(maxAttempts: delays.count + 1, delays: .listed(delays), jitter: .none, on: kinds)
  }

  /// The kinds of errors that pass by themselves.
  public static let passingKinds: Set<ErrorKind> = [.timeout, .network, .rateLimited, .server]

  /// Three attempts, a second and two seconds apart at most.
  public static let standard = RetrySchedule(
    maxAttempts: 3, delays: .growing(initial: .seconds(1), factor: 2, limit: .seconds(100)))

  /// The delay after that attempt, the first being 1.
  ///
  /// - Parameter chance: A random number from 0 up to 1, which spreads the delay.
  public func delay(afterAttempt attempt: Int, chance: Double) -> TimeSpan {
    let earlier = max(attempt, 1) - 1
    let full: TimeSpan
    switch delays {
    case .listed(let delays): full = delays.indices.contains(earlier) ? delays[earlier] : delays.last ?? .zero
    case .growing(let initial, let factor, let limit):
      let grown = Double(initial.nanoseconds) * pow(factor, Double(earlier))
      // What is not below the limit, NaN included, is the limit; what is below it fits an Int.
      full = grown < Double(limit.nanoseconds) ? TimeSpan(nanoseconds: Int(max(grown, 0))) : limit
    }
    switch jitter {
    case .none: return full
    case .full: return chance > 0 && chance < 1 ? TimeSpan(nanoseconds: Int(Double(full.nanoseconds) * chance)) : .zero
    }
  }
}
