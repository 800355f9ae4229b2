import Basics
import CCrash
import Glibc

/// The mark that an agent leaves in its folder when it crashes: it trapped, aborted or accessed invalid memory.
///
/// The mark is a file that the signal handler creates before the process dies as usual. A signal from another process
/// leaves no mark, nor does `kill -9`, a power cut, the kernel's out-of-memory killer, or a stack overflow.
///
/// In any case the process prints its backtrace to standard error (`CCrash`).
package enum CrashMark {
  /// Makes this process print its backtrace when it crashes, under this name.
  package static func arm(as program: String) {
    // The handler reads it as long as the process lives.
    ccrash_arm(strdup(program))
  }

  private static func path(in folder: String) -> String { "\(folder)/agent.crashed" }

  /// Makes this process leave the mark in a folder when it crashes.
  package static func arm(in folder: String) {
    ccrash_mark(strdup(path(in: folder)))
  }

  package static func isThere(in folder: String) -> Bool { access(path(in: folder), F_OK) == 0 }

  package static func remove(in folder: String) { unlink(path(in: folder)) }
}
