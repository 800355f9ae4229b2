import Threads

/// Runs what blocks on a thread of its own, and waits for it.
///
/// It is not cancelled: what it does is short, or has to be finished.
package func onThread<Outcome: Sendable>(_ work: @escaping @Sendable () -> Outcome) async -> Outcome {
  await withCheckedContinuation { continuation in
    // Late is better than never.
    if !startThread({ continuation.resume(returning: work()) }) { continuation.resume(returning: work()) }
  }
}
