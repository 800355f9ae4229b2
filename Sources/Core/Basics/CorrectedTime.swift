import Synchronization

/// The clock of a machine, put right by another one that several machines share, such as a database's.
///
/// A clock that is off by less than can be told, or than it matters, is left as it is, so that it doesn't jump with every
/// answer.
package final class CorrectedTime: TimeSource {
  /// The machine's own clock.
  package let base: any TimeSource
  private let correction = Mutex(TimeSpan.zero)

  /// The most that a clock may be off.
  private static let most = TimeSpan.milliseconds(500)

  package init(_ base: any TimeSource) { self.base = base }

  package func now() -> Timestamp {
    let instant = base.now()
    return instant.advanced(by: correction.withLock { $0 }) ?? instant
  }

  package func elapsed() -> TimeSpan { base.elapsed() }

  package func sleep(for span: TimeSpan) async throws { try await base.sleep(for: span) }

  /// Notes what the other clock showed.
  ///
  /// - Parameter took: How long its answer, which has come just now, was awaited.
  package func note(_ there: Timestamp, took: TimeSpan) {
    let doubt = TimeSpan(nanoseconds: took.nanoseconds / 2)
    guard let offset = there.span(since: base.now()).map({ $0 + doubt }) else { return }
    let most = CorrectedTime.most + doubt
    func isBeyond(_ span: TimeSpan) -> Bool { span > most || span < TimeSpan.zero - most }
    correction.withLock { correction in
      if isBeyond(offset - correction) { correction = isBeyond(offset) ? offset : .zero }
    }
  }
}
