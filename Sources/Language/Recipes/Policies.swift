package import ActionKit
package import Basics

/// When and how often a failed step is tried again.
package struct RetryPolicy: Sendable {
  package var schedule = RetrySchedule.standard
  /// The kinds of errors that are tried again; nil for all that the action says may pass.
  package var kinds: Set<ErrorKind>?
  /// Sees `error`; a false leaves the error standing.
  package var condition: RecipeExpression?
  /// How many variables the condition sees before `error`.
  package var scopeSize = 0
}

/// How long a step may take: each attempt, and all of it with its retries and waits.
package struct TimeLimits: Sendable {
  package var attempt: TimeSpan?
  package var total: TimeSpan?

  /// The same for each attempt, however many there are.
  var ofEachAttempt: TimeLimits { TimeLimits(attempt: attempt ?? total) }
}

/// Doing an action again until its result is as wanted.
package struct Repetition: Sendable {
  package var until: RecipeExpression
  package var every: TimeSpan
  package var factor = 1.0
  package var maxEvery: TimeSpan?
  /// By how much each wait is longer or shorter, by chance.
  package var jitter = TimeSpan.zero
  package var timeout: TimeSpan?
}

/// What happens when a wait or an approval takes too long.
package enum OnTimeout: String, CaseIterable, Sendable { case fail, `continue` }
