import Basics
import CCurl
import Glibc
import Synchronization
import Threads

/// One thread that runs all transfers of a client on one libcurl multi handle.
///
/// Other threads only queue work and wake it: a transfer to start, a transfer to cancel, the order to stop. The multi
/// handle and everything about a running transfer belong to the thread alone. A transfer may be cancelled before it is
/// queued, while it is queued, while it runs, and after it ended; its `phase`, guarded by the queue's lock, says which
/// of them has already given the answer, so that the continuation is resumed exactly once.
///
/// The thread keeps this object alive, and nothing but `stop` ends it. A transfer under way keeps its client alive, so
/// that there is none left when the client stops the loop.
final class CurlLoop: Sendable {
  typealias Continuation = CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>

  private struct Queue: ~Copyable {
    var toStart: [CurlTransfer] = []
    var toCancel: [CurlTransfer] = []
    /// Whether the thread sleeps, or is about to, and has to be woken.
    var isAsleep = false
    var isStopped = false
    var hasThread = false
    /// Set while the thread runs; other threads may only wake it.
    var multi: MultiHandle?

    mutating func wake() {
      guard isAsleep else { return }
      isAsleep = false
      multi?.wake()
    }
  }

  private let queue = Mutex(Queue())
  private let configuration: HTTPClientConfiguration

  init(_ configuration: HTTPClientConfiguration) { self.configuration = configuration }

  // MARK: For every thread

  func start(_ transfer: CurlTransfer, _ continuation: Continuation) {
    let failure: HTTPError? = queue.withLock { queue in
      guard transfer.phase != .cancelled else { return transfer.failure.cancelled(sent: .nothing, elapsed: .zero) }
      if !queue.hasThread {
        guard let multi = MultiHandle(maxConnectionsPerHost: configuration.maxConnectionsPerHost),
          spawn(multi)
        else { return transfer.failure.other("cannot start a thread", sent: .nothing, elapsed: .zero) }
        queue.hasThread = true
        queue.multi = multi
      }
      transfer.phase = .waiting
      transfer.continuation = continuation
      queue.toStart.append(transfer)
      queue.wake()
      return nil
    }
    if let failure { continuation.resume(returning: .failure(failure)) }
  }

  func cancel(_ transfer: CurlTransfer) {
    queue.withLock { queue in
      switch transfer.phase {
      case .new: transfer.phase = .cancelled
      case .waiting:
        queue.toCancel.append(transfer)
        queue.wake()
      case .cancelled, .ended: break
      }
    }
  }

  func stop() {
    queue.withLock { queue in
      queue.isStopped = true
      // Under the lock, so that the handle is still there.
      queue.wake()
    }
  }

  private func spawn(_ multi: MultiHandle) -> Bool {
    // Signals are for the program's own threads.
    startThread(blocksSignals: true) { self.run(multi) }
  }

  // MARK: For the thread

  private func run(_ multi: MultiHandle) {
    let handles = EasyHandles()
    while let mustSleep = turn(multi, handles) { if mustSleep { multi.sleep() } }
  }

  /// One turn; true if the thread has to sleep then, nil if it was stopped.
  ///
  /// Nothing holds the transfers that ended after it: what receives their bodies may hold the client, which would never
  /// stop this thread then.
  @inline(never)
  private func turn(_ multi: MultiHandle, _ handles: EasyHandles) -> Bool? {
    var starting: [CurlTransfer] = []
    var cancelling: [CurlTransfer] = []
    let isStopped = queue.withLock { queue in
      swap(&starting, &queue.toStart)
      swap(&cancelling, &queue.toCancel)
      queue.isAsleep = false
      if queue.isStopped { queue.multi = nil }
      return queue.isStopped
    }
    // After the lock no thread wakes it any more, so the handle may go.
    if isStopped { return nil }
    var ended: [Ended] = []
    for transfer in starting {
      if let error = begin(transfer, multi, handles) { ended.append((transfer, .failure(error))) }
    }
    for transfer in cancelling {
      guard let easy = transfer.easy else { continue }
      ended.append((transfer, transfer.cancelled()))
      release(transfer, easy, multi, handles)
    }
    multi.perform { easy, code in
      guard let transfer = CurlTransfer.of(easy), let easy = transfer.easy else { return }
      ended.append((transfer, transfer.result(code)))
      release(transfer, easy, multi, handles)
    }
    answer(ended)
    return queue.withLock { queue in
      queue.isAsleep = queue.toStart.isEmpty && queue.toCancel.isEmpty && !queue.isStopped
      return queue.isAsleep
    }
  }

  private func begin(_ transfer: CurlTransfer, _ multi: MultiHandle, _ handles: EasyHandles) -> HTTPError? {
    guard let easy = handles.dequeue() else {
      return transfer.failure.other("out of memory", sent: .nothing, elapsed: .zero)
    }
    guard let error = transfer.prepare(easy, configuration) ?? multi.add(easy, transfer) else { return nil }
    transfer.detach()
    handles.giveBack(easy)
    return error
  }

  private func release(
    _ transfer: CurlTransfer, _ easy: EasyHandle, _ multi: MultiHandle, _ handles: EasyHandles
  ) {
    multi.remove(easy)
    transfer.detach()
    handles.giveBack(easy)
  }

  private typealias Ended = (transfer: CurlTransfer, result: Result<HTTPResponse, HTTPError>)

  /// Gives all answers of one iteration, with the lock taken once.
  private func answer(_ ended: [Ended]) {
    guard !ended.isEmpty else { return }
    let continuations = queue.withLock { _ in
      ended.map { transfer, _ in
        transfer.phase = .ended
        defer { transfer.continuation = nil }
        return transfer.continuation
      }
    }
    for (continuation, end) in zip(continuations, ended) { continuation?.resume(returning: end.result) }
  }
}
