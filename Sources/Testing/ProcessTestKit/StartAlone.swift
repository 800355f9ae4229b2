public import Foundation
import Glibc
import Synchronization

/// Held while a program is started, and while pipes are made.
private let launching = Mutex(())

extension Process {
  /// Starts the program, one at a time.
  ///
  /// Foundation learns of a program's end by a socket that the program holds open. A descriptor that another thread
  /// opens while a program is being started stays open in that program too; then the end of one is noticed only when
  /// the other ends, and two such programs, each awaited by the other's test, are awaited forever. Every test starts
  /// programs with this, and makes their pipes with `launchPipe()`.
  public func startAlone() throws {
    try launching.withLock { _ in try run() }
  }

  /// Waits for the program's end, and gives its exit code, or the negative number of the signal that killed it.
  ///
  /// It blocks the thread and costs nothing: Foundation's own waiting takes a whole processor on a thread without a run
  /// loop, and ends late if another program holds a descriptor of this one.
  @discardableResult
  public func awaitEnd() -> Int32 {
    var end = siginfo_t()
    while true {
      // The program stays for Foundation to reap.
      if waitid(P_PID, id_t(processIdentifier), &end, Int32(WEXITED | WNOWAIT)) == 0 { break }
      if errno == EINTR { continue }
      // Foundation was first.
      waitUntilExit()
      return terminationReason == .exit ? terminationStatus : -terminationStatus
    }
    let status = end._sifields._sigchld.si_status
    return end.si_code == Int32(CLD_EXITED) ? status : -status
  }
}

/// A pipe for `Process.startAlone()`, whose ends no program gets that is being started meanwhile.
public func launchPipe() -> Pipe {
  launching.withLock { _ in Pipe() }
}

/// Runs a program of the machine without a word of it; whether it is there and succeeds.
public func succeeds(_ command: [String]) -> Bool {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = command
  process.standardOutput = FileHandle.nullDevice
  process.standardError = FileHandle.nullDevice
  guard (try? process.startAlone()) != nil else { return false }
  return process.awaitEnd() == 0
}
