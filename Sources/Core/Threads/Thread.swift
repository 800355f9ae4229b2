import Glibc

/// Runs a body on a thread of its own, which ends with it; false if the system has no thread left.
///
/// - Parameter blocksSignals: Whether signals go to the program's other threads.
package func startThread(blocksSignals: Bool = false, _ body: @escaping @Sendable () -> Void) -> Bool {
  final class Start: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  // A thread takes over the signals that its maker blocks.
  var before = sigset_t()
  if blocksSignals {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
  }
  defer { if blocksSignals { pthread_sigmask(SIG_SETMASK, &before, nil) } }
  let start = Unmanaged.passRetained(Start(body))
  var thread = pthread_t()
  let result = pthread_create(
    &thread, nil,
    { argument in
      if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body() }
      return nil
    }, start.toOpaque())
  if result != 0 {
    start.release()
    return false
  }
  pthread_detach(thread)
  return true
}
