import Synchronization

/// The clock of a machine, put right by another one that several machines share, such as a database's.
///
/// From the first answer of the other clock on, it goes by the time that passes, and never by the machine's clock, which
/// somebody may set: nothing that is due in an hour may be due at once for that. The same goes for the other clock: when it
/// jumps, that is heeded only once another answer says the same. What is off by less than can be told, or than it matters,
/// is left as it is, so that it doesn't jump with every answer.
package final class CorrectedTime: TimeSource {
  /// The machine's own clock.
  package let base: any TimeSource
  private struct Content {
    /// What it showed at an instant of the time that passes; nil before the other clock answered.
    var anchor: (instant: Timestamp, elapsed: TimeSpan)?
    /// By how much the other clock was ahead when it answered last, if it had jumped then.
    var jump: TimeSpan?
  }

  private let content = Mutex(Content())

  /// The most that a clock may be off.
  private static let most = TimeSpan.milliseconds(500)
  /// What the other clock may be off after an answer for it to be put right at once.
  private static let leastJump = TimeSpan.seconds(2)
  /// The most by which two clocks that were put right may be apart.
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
