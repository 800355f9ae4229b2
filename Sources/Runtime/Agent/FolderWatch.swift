/// Tells when something in a few folders may have changed, so that nobody has to look all the time.
///
/// Linux's inotify tells of files that are written, renamed and removed. An editor writes in several steps, so it is
/// told once the folders have been quiet for 200 ms, after two seconds at the latest. Network file systems tell nothing
/// of what other machines do, and a folder may be missing for a while: therefore it is told once a minute in any case.
/// What is told is only that a look may be worth it; the look itself is the receiver's.
import Glibc
import RunState
import Synchronization
import Threads

package final class FolderWatch: Sendable {
  private let wakeReader: Int32
  private let wakeWriter: Int32
  private let isStopped = Mutex(false)

  private static let quiet: Int32 = 200
  private static let mostSteps = 10
  private static let rescan: Int32 = 60_000

  /// Begins to watch; nil if the system has nothing left for it.
  ///
  /// - Parameter onChange: Called on a thread of the watch's own.
  package init?(_ folders: [String], onChange: @escaping @Sendable () -> Void) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    (wakeReader, wakeWriter) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let reader = ends[0]
    // Ends when `stop`, or the end of the watch, closes the other end of the pipe.
    let isRunning = startThread { FolderWatch.watch(folders, until: reader, onChange) }
    if !isRunning {
      for end in ends { close(end) }
      return nil
    }
  }

  deinit { stop() }

  /// Tells nothing more.
  package func stop() {
    let isFirst = isStopped.withLock { isStopped in
      defer { isStopped = true }
      return !isStopped
    }
    if isFirst { close(wakeWriter) }
  }

  private static func watch(_ folders: [String], until reader: Int32, _ onChange: () -> Void) {
    let inotify = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    defer {
      close(reader)
      if inotify >= 0 { close(inotify) }
    }
    let mask = UInt32(
      IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF)
    while true {
      // Each time, because a folder may have come, or have been replaced by another; one that is watched stays so.
      if inotify >= 0 { for folder in folders { _ = inotify_add_watch(inotify, folder, mask) } }
      guard wait(inotify, reader, rescan) != .ended else { return }
      var steps = 0
      while steps < mostSteps {
        drain(inotify)
        switch wait(inotify, reader, quiet) {
        case .ended: return
        case .quiet: steps = mostSteps
        case .changed: steps += 1
        }
      }
      onChange()
    }
  }

  private enum Outcome { case changed, quiet, ended }

  /// Waits for a change, for some milliseconds.
  private static func wait(_ inotify: Int32, _ reader: Int32, _ limit: Int32) -> Outcome {
    // A descriptor below zero is left out.
    var polled = [
      pollfd(fd: reader, events: Int16(POLLIN), revents: 0), pollfd(fd: inotify, events: Int16(POLLIN), revents: 0),
    ]
    let count = poll(&polled, 2, limit)
    if polled[0].revents != 0 { return .ended }
    return count > 0 ? .changed : .quiet
  }

  private static func drain(_ inotify: Int32) {
    guard inotify >= 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    while read(inotify, &bytes, bytes.count) > 0 {}
  }
}
