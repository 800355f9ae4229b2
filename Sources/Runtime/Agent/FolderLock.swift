/// The lock of a state folder, whose holder is the folder's agent.
///
/// `agent.lock` is locked with `flock`, which the kernel releases when the process ends, for whatever reason, so a lock
/// is never stale. The processes that keep the agent's commands hold it as well: after a kill it is free when the
/// commands have ended. The file names the holder, for messages only: `{"pid":4711,"program":"errand 0.1"}`. It is
/// never removed, because two processes could then each hold a lock on two files of that name.
import Basics
import ChildProcesses
package import Glibc
import Synchronization

package final class FolderLock: Sendable {
  /// The holder of a folder.
  package struct Holder: Sendable, Equatable {
    package var pid: Int
    package var program: String
  }

  private let descriptor: Mutex<Int32?>

  private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

  deinit { release() }

  /// Releases the folder; a second call does nothing.
  package func release() {
    descriptor.withLock { descriptor in
      guard let held = descriptor else { return }
      descriptor = nil
      ChildProcess.letGo(held)
      // The content is removed first, so that the file never names a process that holds nothing.
      ftruncate(held, 0)
      // The processes that keep commands have it open as well.
      flock(held, LOCK_UN)
      close(held)
    }
  }

  /// Locks an existing folder; throws `held` if another process has the lock.
  package static func acquire(_ folder: String, program: String) throws(AgentError) -> FolderLock {
    let path = "\(folder)/agent.lock"
    let parent = try trusted(folder)
    let descriptor = openat(parent.number, "agent.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let code = errno
      throw AgentError(
        .unavailable,
        code == ELOOP
          ? "'\(path)' is a symbolic link, which a lock must not be; remove it"
          : "cannot open '\(path)': \(systemErrorText(code))")
    }
    var patience = 100
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      if code == EINTR { continue }
      // A killed agent holds it until its commands have ended, which takes some milliseconds.
      if code == EWOULDBLOCK, patience > 0, let pid = holder(of: folder)?.pid, kill(pid_t(clamping: pid), 0) != 0 {
        patience -= 1
        usleep(10_000)
        continue
      }
      defer { close(descriptor) }
      if code == EWOULDBLOCK { throw held(folder, by: holder(of: folder)) }
      throw AgentError(.unavailable, "cannot lock '\(path)': \(systemErrorText(code))")
    }
    // The folder may have been renamed since the file was opened; then this is another folder's lock.
    var (locked, named) = (stat(), stat())
    guard fstat(descriptor, &locked) == 0, lstat(path, &named) == 0, locked.st_ino == named.st_ino,
      locked.st_dev == named.st_dev
    else {
      close(descriptor)
      throw held(folder, by: nil)
    }
    let lock = FolderLock(descriptor)
    // A killed agent's command must have ended before another agent repeats it.
    ChildProcess.keepLocked(descriptor)
    let text = Array("{\"pid\":\(getpid()),\"program\":\(JSON.quoted(program))}\n".utf8)
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.count, 0) == text.count else {
      throw AgentError(.unavailable, "cannot write '\(path)': \(systemErrorText(errno))")
    }
    return lock
  }

  /// Why a folder can't hold a state: its owner, or who may write to it, with the command that fixes it; nil if it can,
  /// or doesn't exist.
  package static func objection(to folder: String) -> String? {
    guard Files.exists(folder) else { return nil }
    do throws(AgentError) { _ = try trusted(folder) } catch { return error.message }
    return nil
  }

  /// Opens a folder, after checking that no other user can create, replace or remove files in it.
  static func trusted(_ folder: String) throws(AgentError) -> Descriptor {
    let opened: Descriptor
    do throws(FileError) { opened = try Descriptor(.read, folder, O_RDONLY | O_DIRECTORY) } catch {
      throw AgentError(.unavailable, "cannot open '\(folder)': \(systemErrorText(error.code ?? EIO))")
    }
    var status = stat()
    guard fstat(opened.number, &status) == 0 else {
      throw AgentError(.unavailable, "cannot inspect '\(folder)': \(systemErrorText(errno))")
    }
    let word = "'\(folder.replacing("'", with: "'\\''"))'"
    guard status.st_uid == geteuid() else {
      throw AgentError(
        .unavailable,
        "the state folder '\(folder)' belongs to the user \(name(of: status.st_uid)), and this is \(name(of: geteuid())); "
          + "run as that user, or take it over with: chown -R \(name(of: geteuid())) \(word)")
    }
    guard status.st_mode & 0o022 == 0 else {
      throw AgentError(
        .unavailable, "other users may write to the state folder '\(folder)'; forbid it with: chmod go-w \(word)")
    }
    return opened
  }

  /// The name of an account, or its number.
  package static func name(of user: uid_t) -> String { ForeignHold.name(of: user) }

  /// Whether any process holds a folder at this moment.
  package static func isHeld(_ folder: String) -> Bool {
    let descriptor = open("\(folder)/agent.lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  /// The holder that the lock's file names; nil if it names none, as between taking the lock and writing to it.
  package static func holder(of folder: String) -> Holder? {
    guard let bytes = try? Files.read("\(folder)/agent.lock", limit: 4096), let value = try? JSON.parse(bytes),
      let pid = value["pid"]?.int, let program = value["program"]?.string
    else { return nil }
    return Holder(pid: pid, program: program)
  }

  static func held(_ folder: String, by holder: Holder?) -> AgentError {
    let who = holder.map { "process \($0.pid) (\($0.program))" } ?? "another process"
    return AgentError(
      .held, "the state in '\(folder)' is held by \(who); wait for it to end, or stop it, and try again")
  }
}
