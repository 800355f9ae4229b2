import Synchronization

/// Everyone in this program who sleeps on the machine's clock.
///
/// `Task.sleep` keeps about a kilobyte of a sleep that was cancelled until its end would have come, and most sleeps are
/// time limits that are cancelled: an agent that makes ten requests a second with a limit of an hour would hold 36 MB for
/// them. So sleepers are held here, where one that is cancelled is gone, and only looks are slept for: a look is made at
/// the first end there is, whether its sleeper is still there by then or not, and a new one only if an end comes before
/// all looks that are on their way. There are no more of those than different lengths of sleep.
final class Sleepers: Sendable {
  fileprivate struct Sleeper {
    var end: TimeSpan
    var id: Int
    var continuation: CheckedContinuation<Void, any Error>
  }

  fileprivate struct State {
    /// In the order of their ends, and of their coming where these are equal.
    var sleepers: [Sleeper] = []
    var lastID = 0
    /// Who was cancelled before falling asleep.
    var cancelled: Set<Int> = []
    /// When somebody looks, the next one last.
    var looks: [TimeSpan] = []
  }

  private let state = Mutex(State())

  static let all = Sleepers()

  /// How many sleep, and how many looks are on their way.
  var counts: (sleepers: Int, looks: Int) { state.withLock { ($0.sleepers.count, $0.looks.count) } }

  func sleep(until end: TimeSpan) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    defer { state.withLock { _ = $0.cancelled.remove(id) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isAwake = state.withLock { state in
          if state.cancelled.contains(id) { return true }
          let sleeper = Sleeper(end: end, id: id, continuation: continuation)
          state.sleepers.insert(sleeper, at: state.place(of: end, id))
          plan(&state)
          return false
        }
        if isAwake { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        let place = state.place(of: end, id)
        guard place < state.sleepers.count, state.sleepers[place].id == id else {
          state.cancelled.insert(id)
          return nil
        }
        return state.sleepers.remove(at: place)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Sees to it that somebody looks when the first one is to wake.
  private func plan(_ state: inout State) {
    guard let first = state.sleepers.first, state.looks.last.map({ first.end < $0 }) ?? true else { return }
    let end = first.end
    state.looks.append(end)
    // Nobody cancels it: it ends at its instant. Apart, so that it holds nothing of the task it is made in.
    Task.detached { [self] in
      let left = end - SystemTime().elapsed()
      try? await Task.sleep(for: .nanoseconds(max(0, left.nanoseconds)))
      look(end)
    }
  }

  private func look(_ instant: TimeSpan) {
    let now = SystemTime().elapsed()
    let woken = state.withLock { state in
      state.looks.removeAll { $0 == instant }
      let woken = state.sleepers.prefix { $0.end <= now }
      state.sleepers.removeFirst(woken.count)
      plan(&state)
      return woken
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }
}

extension Sleepers.State {
  /// Where a sleeper is, or belongs.
  fileprivate func place(of end: TimeSpan, _ id: Int) -> Int {
    var (low, high) = (0, sleepers.count)
    while low < high {
      let middle = low + (high - low) / 2
      if (sleepers[middle].end, sleepers[middle].id) < (end, id) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
