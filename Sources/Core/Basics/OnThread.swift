import Glibc

private final class Job: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Runs what blocks on a thread of its own, and waits for it.
///
/// It is not cancelled: what it does is short, or has to be finished.
package func onThread<Outcome: Sendable>(_ work: @escaping @Sendable () -> Outcome) async -> Outcome {
  await withCheckedContinuation { continuation in
    let job = Unmanaged.passRetained(Job { continuation.resume(returning: work()) })
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, job.toOpaque())
    if code == 0 {
      pthread_detach(thread)
    } else {
      // Late is better than never.
      job.takeRetainedValue().run()
    }
  }
}
