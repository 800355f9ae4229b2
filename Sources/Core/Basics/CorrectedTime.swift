import Synchronization

/// The clock of a machine, corrected by another clock that several machines share, such as a database's.
///
/// From the first answer of the other clock on, it follows elapsed time and never reads the machine's clock again. A
/// user who sets that clock therefore can't make something due at once that is due in an hour. A jump of the other
/// clock counts only once a second answer confirms it. A deviation that is too small to measure, or to matter, is not
/// corrected, so that this clock doesn't jump with every answer.
package final class CorrectedTime: TimeSource {
  /// The machine's own clock.
  package let base: any TimeSource
  private struct Content {
    /// The time it showed at an instant of elapsed time; nil before the other clock answered.
    var anchor: (instant: Timestamp, elapsed: TimeSpan)?
    /// By how much the other clock was ahead when it answered last, if it had jumped then.
    var jump: TimeSpan?
  }

  private let content = Mutex(Content())

  /// The most that a clock may be off.
  private static let most = TimeSpan.milliseconds(500)
  /// The largest deviation of the other clock that one answer is enough to correct.
  private static let leastJump = TimeSpan.seconds(2)
  /// The largest difference between two corrected clocks.
  package static let mostApart = TimeSpan.seconds(1)

  package init(_ base: any TimeSource) { self.base = base }

  package func now() -> Timestamp {
    guard let anchor = content.withLock({ $0.anchor }) else { return base.now() }
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
    let isOff = offset.magnitude > most
    content.withLock { content in
      if content.anchor != nil, offset.magnitude > CorrectedTime.leastJump + doubt {
        let isSure = content.jump.map { (offset - $0).magnitude <= CorrectedTime.leastJump + doubt } == true
        content.jump = offset
        if !isSure { return }
      }
      content.jump = nil
      if isOff || content.anchor == nil { content.anchor = (isOff ? there : now, elapsed) }
    }
  }
}
