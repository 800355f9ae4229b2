import Basics
import CCrash
import Glibc

/// The mark that an agent leaves in its folder when it brings itself down: it trapped, aborted or touched memory that is
/// not its own.
///
/// The mark is a file that the signal's handler makes, and the process then dies as it would have. A signal that another
/// process sent leaves none, nor does `kill -9`, a power cut, the kernel's want of memory, or a stack that is used up.
///
/// Whatever the process does, it says on standard error where it was (`CCrash`).
package enum CrashMark {
  /// Has this process say where it was when it crashes, under this name.
  package static func arm(as program: String) {
    // Read by the handler as long as the process lives.
    ccrash_arm(strdup(program))
  }

  private static func path(in folder: String) -> String { "\(folder)/agent.crashed" }

  /// Has this process leave the mark in a folder from now on.
  package static func arm(in folder: String) {
    ccrash_mark(strdup(path(in: folder)))
  }

  package static func isThere(in folder: String) -> Bool { access(path(in: folder), F_OK) == 0 }

  package static func remove(in folder: String) { unlink(path(in: folder)) }
}
