import Synchronization

/// All tasks of this program that sleep on the machine's clock.
///
/// `Task.sleep` keeps about a kilobyte of a sleep that was cancelled until its end would have come, and most sleeps are
/// time limits that are cancelled: an agent that makes ten requests a second with a limit of an hour would hold 36 MB for
/// them. So sleepers are held here, where one that is cancelled is gone, and only looks are slept for: a look is made at
/// the first end there is, whether its sleeper is still there by then or not, and a new one only if an end comes before
/// all looks that are on their way. There are no more of those than different lengths of sleep.
final class Sleepers: Sendable {
  /// When looks are made, the next one last.
  private typealias Looks = [TimeSpan]

  private let queue = SleepQueue<Looks>([])

  static let all = Sleepers()

  /// How many sleep, and how many looks are on their way.
  var counts: (sleepers: Int, looks: Int) { queue.state.withLock { ($0.sleepers.count, $0.clock.count) } }

  func sleep(until end: TimeSpan) async throws { try await queue.sleep(until: { _ in end }, then: plan) }

  /// Plans a look for the first sleeper's end.
  @Sendable private func plan(_ state: inout SleepQueue<Looks>.State) {
    guard let first = state.sleepers.first, state.clock.last.map({ first.end < $0 }) ?? true else { return }
    let end = first.end
    state.clock.append(end)
    // Nothing cancels it: it ends at its instant. Detached, so that it holds nothing of the task it is made in.
    Task.detached { [self] in
      let left = end - SystemTime().elapsed()
      try? await Task.sleep(for: .nanoseconds(max(0, left.nanoseconds)))
      look(end)
    }
  }

  private func look(_ instant: TimeSpan) {
    let now = SystemTime().elapsed()
    queue.state.withLock { state in
      state.clock.removeAll { $0 == instant }
      state.wake(at: now)
      plan(&state)
    }
  }
}
