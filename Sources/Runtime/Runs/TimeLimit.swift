import Basics

/// Runs an operation within a time limit, cancels it when the limit passes, and says whether it did.
///
/// The result of a cancelled operation is given as well, because only that says what it did outside.
func withTimeLimit<Output: Sendable, Failure: Error>(
  _ limit: TimeSpan?, time: any TimeSource, _ operation: @escaping @Sendable () async throws(Failure) -> Output
) async -> (result: Result<Output, Failure>, isTimeout: Bool) {
  @Sendable func result() async -> Result<Output, Failure> {
    do throws(Failure) { return .success(try await operation()) } catch { return .failure(error) }
  }
  guard let limit else { return (await result(), false) }
  return await withTaskGroup(of: Result<Output, Failure>?.self) { group in
    group.addTask { await result() }
    group.addTask {
      try? await time.sleep(for: max(limit, .milliseconds(1)))
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

extension TimeSpan {
  /// The length to the hundredth of a second, as a message shows what was left of a time limit.
  var rounded: TimeSpan {
    guard self > .milliseconds(500), self < .seconds(3600) else { return self }
    return .milliseconds((nanoseconds + 5_000_000) / 10_000_000 * 10)
  }
}
