import Basics

/// Runs an operation within a time limit, cancels it when the limit passes, and says whether it did.
///
/// The result of a cancelled operation is returned as well, because only the result tells its effects outside.
///
/// - Parameters:
///   - permit: The limit is paused while requests of this call wait for the limits of their connection.
///   - hard: A limit that is never paused.
func withTimeLimit<Output: Sendable, Failure: Error>(
  _ limit: TimeSpan?, hard: TimeSpan? = nil, of permit: CallPermit? = nil, time: any TimeSource,
  _ operation: @escaping @Sendable () async throws(Failure) -> Output
) async -> (result: Result<Output, Failure>, isTimeout: Bool) {
  @Sendable func result() async -> Result<Output, Failure> {
    do throws(Failure) { return .success(try await operation()) } catch { return .failure(error) }
  }
  guard let limit else { return (await result(), false) }
  return await withTaskGroup(of: Result<Output, Failure>?.self) { group in
    group.addTask { await result() }
    group.addTask {
      await sleep(for: limit, hard: hard, of: permit, time: time)
      return nil
    }
    var isTimeout = false
    while let next = await group.next() {
      group.cancelAll()
      if let result = next { return (result, isTimeout) }
      // A timer that ends because everything is cancelled from outside isn't a time-out.
      isTimeout = !Task.isCancelled
    }
    return (await result(), isTimeout)
  }
}

/// Sleeps until a time limit has passed.
private func sleep(for limit: TimeSpan, hard: TimeSpan?, of permit: CallPermit?, time: any TimeSource) async {
  let began = time.elapsed()
  let waitedBefore = permit?.waited.span ?? .zero
  var left = min(limit, hard ?? limit)
  while true {
    do { try await time.sleep(for: max(left, .milliseconds(1))) } catch { return }
    guard let permit else { return }
    let spent = time.elapsed() - began
    if let hard, spent >= hard { return }
    let (waited, isWaiting) = permit.waited
    left = limit - (spent - (waited - waitedBefore))
    if left <= .zero, !isWaiting { return }
    // A call that waits now still has that much time after its wait.
    if isWaiting { left = max(left, .milliseconds(100)) }
    if let hard { left = min(left, hard - spent) }
  }
}

extension TimeSpan {
  /// The length to the hundredth of a second, as a message shows what was left of a time limit.
  var rounded: TimeSpan {
    guard self > .milliseconds(500), self < .seconds(3600) else { return self }
    return .milliseconds((nanoseconds + 5_000_000) / 10_000_000 * 10)
  }
}
