import Synchronization

/// The clock of a machine, put right by another one that several machines share, such as a database's.
///
/// From the first answer of the other clock on, it goes by the time that passes, and never by the machine's clock, which
/// somebody may set: nothing that is due in an hour may be due at once for that. What is off by less than can be told, or
/// than it matters, is left as it is, so that it doesn't jump with every answer.
package final class CorrectedTime: TimeSource {
  /// The machine's own clock.
  package let base: any TimeSource
  /// What it showed at an instant of the time that passes; nil before the other clock answered.
  private let anchor = Mutex<(instant: Timestamp, elapsed: TimeSpan)?>(nil)

  /// The most that a clock may be off.
  private static let most = TimeSpan.milliseconds(500)

  package init(_ base: any TimeSource) { self.base = base }

  package func now() -> Timestamp {
    guard let anchor = anchor.withLock({ $0 }) else { return base.now() }
    return anchor.instant.advanced(by: base.elapsed() - anchor.elapsed) ?? anchor.instant
  }

  package func elapsed() -> TimeSpan { base.elapsed() }

  package func sleep(for span: TimeSpan) async throws { try await base.sleep(for: span) }

  /// Notes what the other clock showed.
  ///
  /// - Parameter took: How long its answer, which has come just now, was awaited.
  package func note(_ there: Timestamp, took: TimeSpan) {
    let doubt = TimeSpan(nanoseconds: took.nanoseconds / 2)
    let (now, elapsed) = (now(), base.elapsed())
    guard let there = there.advanced(by: doubt), let offset = there.span(since: now) else { return }
    let most = CorrectedTime.most + doubt
    let isOff = offset > most || offset < TimeSpan.zero - most
    anchor.withLock { anchor in
      if isOff || anchor == nil { anchor = (isOff ? there : now, elapsed) }
    }
  }
}
