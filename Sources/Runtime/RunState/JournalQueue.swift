/// Brings requests to the journal's writer, one batch after another.
///
/// Waking a thread takes about as long as a fast disk takes for a sync. So a request that comes alone is served by its
/// caller, unless the disk is slow: then the caller's thread has better things to do. Requests that come while a batch
/// is being written wait for a thread, which starts with the first of them and serves all that wait as the next batch.
///
/// Requests are served in the order they come: a caller serves its own request only if no other waits, and the thread
/// takes the waiting requests only when it may write.
import Basics
import Synchronization
import Threads

final class JournalQueue: Sendable {
  private let writer: Mutex<JournalWriter>
  private let requests = WorkQueue<JournalWriter.Request>()
  /// Whether the last batch was one request, and the disk fast.
  private let isCalm = Atomic(true)
  /// Whether callers may serve their own requests.
  private let callersServe: Bool

  init(_ writer: consuming sending JournalWriter, workers: Workers) {
    self.writer = Mutex(writer)
    if case .hand = workers { callersServe = false } else { callersServe = true }
    // Ends when the queue is closed.
    workers.attend(requests, by: { [self] in serveWaiting() }, or: { [self] in _ = serveBatch() })
  }

  /// Serves a request now or soon; false once the queue is closed.
  func put(_ request: JournalWriter.Request) -> Bool {
    if callersServe, isCalm.load(ordering: .relaxed) {
      let isServed: Bool? = writer.withLockIfAvailable { writer in
        if requests.count > 0 { return false }
        writer.serve([request])
        note(1, writer.syncTime)
        return true
      }
      if isServed == true { return true }
    }
    if requests.put(request) { return true }
    if requests.isFinished { return false }
    // The system has no thread left, so nothing can wait for one: the caller waits for its turn.
    writer.withLock { $0.serve([request]) }
    return true
  }

  func close() { requests.close() }

  /// Serves what waits until the queue is closed.
  ///
  /// Callers that were acknowledged often return at once with their next request, so it waits for as many as took part
  /// in the last batch or came meanwhile, but only for a part of the time of a sync: otherwise two halves would take
  /// turns and each wait for the sync of the other.
  private func serveWaiting() {
    var (expected, patience) = (1, Duration.zero)
    while requests.waitForItems(expecting: expected, patience: patience) {
      let (count, syncTime) = serveBatch()
      expected = count + requests.count
      patience = syncTime / 2
    }
  }

  /// Serves all that waits as one batch.
  private func serveBatch() -> (count: Int, syncTime: Duration) {
    writer.withLock { writer in
      let batch = requests.takeWaiting()
      if !batch.isEmpty { writer.serve(batch) }
      note(batch.count, writer.syncTime)
      return (batch.count, writer.syncTime)
    }
  }

  private func note(_ count: Int, _ syncTime: Duration) {
    isCalm.store(count <= 1 && syncTime < longestAwake, ordering: .relaxed)
  }
}
