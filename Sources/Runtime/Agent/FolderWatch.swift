/// Reports when something in a few folders may have changed, so that callers need not poll.
///
/// Linux's inotify reports files that are written, renamed and removed. An editor writes in several steps, so a change
/// is reported once the folders have been quiet for 200 ms, after two seconds at the latest. Network file systems don't
/// report changes by other machines, and a folder may be missing for a while, so a report comes at least once a minute.
/// A report says only that a look may be worthwhile; the receiver looks.
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

  /// Starts to watch; nil if the system lacks the resources.
  ///
  /// - Parameters:
  ///   - reportsStart: Whether to report once the folders are watched, to cover earlier changes.
  ///   - onChange: Called on a thread of the watch's own.
  package init?(_ folders: [String], reportsStart: Bool = false, onChange: @escaping @Sendable () -> Void) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    (wakeReader, wakeWriter) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let reader = ends[0]
    // Ends when `stop`, or the end of the watch, closes the other end of the pipe.
    let isRunning = startThread { FolderWatch.watch(folders, until: reader, reportsStart, onChange) }
    if !isRunning {
      for end in ends { close(end) }
      return nil
    }
  }

  deinit { stop() }

  /// Stops the reports.
  package func stop() {
    let isFirst = isStopped.withLock { isStopped in
      defer { isStopped = true }
      return !isStopped
    }
    if isFirst { close(wakeWriter) }
  }

  private static func watch(_ folders: [String], until reader: Int32, _ reportsStart: Bool, _ onChange: () -> Void) {
    let inotify = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    defer {
      close(reader)
      if inotify >= 0 { close(inotify) }
    }
    let mask = UInt32(
      IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF)
    var reportsAtOnce = reportsStart
    while true {
      // Repeated, because a folder may have been created or replaced; a folder that is watched already stays watched.
      if inotify >= 0 { for folder in folders { _ = inotify_add_watch(inotify, folder, mask) } }
      if reportsAtOnce {
        reportsAtOnce = false
        onChange()
      }
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

  /// Waits for a change, for a number of milliseconds.
  private static func wait(_ inotify: Int32, _ reader: Int32, _ limit: Int32) -> Outcome {
    // `poll` ignores a negative descriptor.
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
