import Basics
import Glibc

/// Where the handler leaves the mark.
///
/// Set before the handler is installed, and never freed.
nonisolated(unsafe) private var markPath: UnsafeMutablePointer<CChar>?

/// The mark that an agent leaves in its folder when it brings itself down: it trapped, aborted or touched memory that is
/// not its own.
///
/// The mark is a file that the signal's handler makes, and the process then dies as it would have. A signal that another
/// process sent leaves none, nor does `kill -9`, a power cut, the kernel's want of memory, or a stack that is used up.
package enum CrashMark {
  private static func path(in folder: String) -> String { "\(folder)/agent.crashed" }

  /// Has this process leave the mark in a folder from now on.
  package static func arm(in folder: String) {
    guard markPath == nil else { return }
    markPath = strdup(path(in: folder))
    var action = sigaction()
    action.__sigaction_handler.sa_sigaction = { number, info, _ in
      guard let info, let markPath else { return }
      // The kernel's own signals have codes above zero; `abort` sends one to its own process.
      let isOwn =
        info.pointee.si_code > 0
        || info.pointee.si_code == Int32(SI_TKILL) && info.pointee._sifields._kill.si_pid == getpid()
      if isOwn {
        close(open(markPath, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600))
      } else {
        // What was sent does not come again by itself, as a fault does.
        raise(number)
      }
    }
    // After the handler the signal strikes as if there were none.
    action.sa_flags = SA_SIGINFO | Int32(bitPattern: UInt32(truncatingIfNeeded: SA_RESETHAND))
    for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { sigaction(number, &action, nil) }
  }

  package static func isThere(in folder: String) -> Bool { access(path(in: folder), F_OK) == 0 }

  package static func remove(in folder: String) { unlink(path(in: folder)) }
}
