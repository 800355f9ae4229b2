package import Basics
import CProcess
import Glibc
import Synchronization

// One program as a process: started in a process group of its own, fed and read through pipes, and ended with the whole
// group. Three calls block, each on a thread of its own: `start`, then `follow` beside `awaitExit`.
//
// The process stays a zombie until `follow` has killed what it left running in its group: until it is reaped no other
// group can have its number. All descriptors but the three are closed for it, its signals are as the system has them,
// and its environment holds what it was given and nothing else.

/// A process that is started, fed, read and ended.
package final class ChildProcess: Sendable {
  /// How a process ended, and what it wrote.
  package struct End: Sendable {
    package enum Reason: Sendable {
      case notStarted(Int32)
      case exit(Int)
      case signal(Int)
      case tooMuchOutput
      /// The calling task was cancelled: it was asked to end, and killed if it did not.
      case cancelled
      /// Its time was over, and it was ended likewise.
      case late
    }

    package var reason: Reason
    package var output: [UInt8] = []
    package var errors: [UInt8] = []
  }

  private struct State {
    var pid: pid_t = 0
    var hasExited = false
    var isToEnd = false
    /// The ends of the pipes that are ours: to its input, from its outputs, and by which `follow` is woken.
    var input: Int32 = -1
    var output: Int32 = -1
    var errors: Int32 = -1
    var alarm: Int32 = -1
    var alarmBell: Int32 = -1
  }

  private let path: String
  private let arguments: [String]
  private let environment: [String: String]
  private let folder: String
  private let input: [UInt8]
  private let maxOutputBytes: Int
  private let grace: TimeSpan
  private let state = Mutex(State())

  /// - Parameters:
  ///   - path: The program's file.
  ///   - arguments: The first is the program's own name.
  ///   - environment: All that it has.
  ///   - input: What it reads, and then the end.
  ///   - maxOutputBytes: The most that it may write to each of its outputs.
  ///   - grace: How long it has to end when it is asked to, before it is killed.
  package init(
    path: String, arguments: [String], environment: [String: String], folder: String, input: [UInt8] = [],
    maxOutputBytes: Int, grace: TimeSpan
  ) {
    self.path = path
    self.arguments = arguments
    self.environment = environment
    self.folder = folder
    self.input = input
    self.maxOutputBytes = maxOutputBytes
    self.grace = grace
  }

  /// The file of a program: a path, which counts from a folder, or a name that is looked for in folders separated by
  /// colons; nil if it is not there, or not executable.
  package static func file(of name: String, in path: String, from folder: String) -> String? {
    if name.isEmpty || name.utf8.contains(0) { return nil }
    if name.utf8.contains(0x2F) {
      let file = name.hasPrefix("/") ? name : "\(folder)/\(name)"
      return isProgram(file) ? file : nil
    }
    for folder in path.utf8.split(separator: 0x3A) {
      let file = "\(String(decoding: Array(folder), as: UTF8.self))/\(name)"
      if isProgram(file) { return file }
    }
    return nil
  }

  private static func isProgram(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
  }

  /// Runs it to its end; it is ended before when the task is cancelled, or when its time is over.
  package func run(for limit: TimeSpan? = nil) async -> End {
    await withTaskCancellationHandler {
      let code = await onThread { self.start() }
      guard code == 0 else { return End(reason: .notStarted(code)) }
      async let exit: Void = onThread { self.awaitExit() }
      let end = await onThread { self.follow(for: limit) }
      await exit
      return end
    } onCancel: {
      end()
    }
  }

  /// Starts it; gives 0, or why it could not.
  private func start() -> Int32 {
    var pipes: [[Int32]] = []
    for _ in 0..<4 {
      var ends: [Int32] = [-1, -1]
      let code = cprocess_pipe(&ends)
      if code != 0 {
        for end in pipes.joined() { close(end) }
        return code
      }
      pipes.append(ends)
    }
    let (code, pid) = spawned(input: pipes[0][0], output: pipes[1][1], errors: pipes[2][1])
    for end in [pipes[0][0], pipes[1][1], pipes[2][1]] { close(end) }
    guard code == 0 else {
      for end in [pipes[0][1], pipes[1][0], pipes[2][0], pipes[3][0], pipes[3][1]] { close(end) }
      return code
    }
    for end in [pipes[0][1], pipes[1][0], pipes[2][0], pipes[3][0]] {
      _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
    }
    state.withLock { state in
      state.pid = pid
      state.input = pipes[0][1]
      state.output = pipes[1][0]
      state.errors = pipes[2][0]
      state.alarm = pipes[3][0]
      state.alarmBell = pipes[3][1]
    }
    return 0
  }

  private func spawned(input: Int32, output: Int32, errors: Int32) -> (code: Int32, pid: pid_t) {
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    words.append(nil)
    var variables: [UnsafeMutablePointer<CChar>?] = environment.sorted { $0.key.precedesByScalars($1.key) }.map {
      strdup("\($0.key)=\($0.value)")
    }
    variables.append(nil)
    defer { for text in words + variables { free(text) } }
    var pid: pid_t = 0
    var code = cprocess_spawn(&pid, path, &words, &variables, folder, input, output, errors)
    // Another process that is just being started has, until it has become its program, what was open here for writing
    // when it was forked: also a program that was stored a moment ago.
    for _ in 0..<50 where code == ETXTBSY {
      usleep(2000)
      code = cprocess_spawn(&pid, path, &words, &variables, folder, input, output, errors)
    }
    return (code, pid)
  }

  /// Asks it to end; whoever follows it sees to that.
  private func end() {
    state.withLock { state in
      state.isToEnd = true
      ring(state.alarmBell)
    }
  }

  /// Blocks until the process itself has ended, and wakes whoever follows it.
  private func awaitExit() {
    let pid = state.withLock { $0.pid }
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    state.withLock { state in
      state.hasExited = true
      ring(state.alarmBell)
    }
  }

  /// Wakes whoever follows; a full pipe has woken it already.
  private func ring(_ bell: Int32) {
    if bell < 0 { return }
    var byte: UInt8 = 1
    _ = write(bell, &byte, 1)
  }

  // MARK: Following

  /// Feeds and reads it until it has ended, or ends it.
  private func follow(for limit: TimeSpan?) -> End {
    // Writing to a process that reads no more is an error here, and no signal; the thread ends with this.
    var pipeSignal = sigset_t()
    sigemptyset(&pipeSignal)
    sigaddset(&pipeSignal, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipeSignal, nil)

    var own = state.withLock { $0 }
    var end = End(reason: .exit(0))
    var written = 0
    /// Why it is asked to end.
    var reason: End.Reason?
    var isTooMuch = false
    var killAt: TimeSpan?
    let time = SystemTime()
    let deadline = limit.map { time.elapsed() + $0 }
    while true {
      let (hasExited, isToEnd) = state.withLock { ($0.hasExited, $0.isToEnd) }
      if hasExited { break }
      let now = time.elapsed()
      if reason == nil, isToEnd || deadline.map({ $0 <= now }) ?? false {
        reason = isToEnd ? .cancelled : .late
        kill(-own.pid, SIGTERM)
        killAt = now + grace
      }
      if let due = killAt, due <= now {
        kill(-own.pid, SIGKILL)
        killAt = nil
      }
      if own.input >= 0, written == input.count { shut(&own.input) }
      var watched = [
        pollfd(fd: own.input, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: own.output, events: Int16(POLLIN), revents: 0),
        pollfd(fd: own.errors, events: Int16(POLLIN), revents: 0),
        pollfd(fd: own.alarm, events: Int16(POLLIN), revents: 0),
      ]
      let next = killAt ?? (reason == nil ? deadline : nil)
      let patience = next.map { max(0, min(($0 - now).nanoseconds / 1_000_000 + 1, 60_000)) } ?? -1
      if poll(&watched, 4, Int32(patience)) <= 0 { continue }
      if watched[0].revents != 0 { feed(&own.input, &written) }
      if watched[1].revents != 0 { read(&own.output, into: &end.output, &isTooMuch) }
      if watched[2].revents != 0 { read(&own.errors, into: &end.errors, &isTooMuch) }
      if watched[3].revents != 0 {
        var bytes: [UInt8] = [0, 0, 0, 0]
        _ = Glibc.read(own.alarm, &bytes, bytes.count)
      }
      if isTooMuch { kill(-own.pid, SIGKILL) }
    }
    // What it wrote last; what it left running writes no more.
    kill(-own.pid, SIGKILL)
    read(&own.output, into: &end.output, &isTooMuch)
    read(&own.errors, into: &end.errors, &isTooMuch)
    let status = reaped(own.pid)
    state.withLock { $0.alarmBell = -1 }
    for end in [own.input, own.output, own.errors, own.alarm, own.alarmBell] where end >= 0 { close(end) }
    if isTooMuch {
      end.reason = .tooMuchOutput
    } else if let reason {
      end.reason = reason
    } else {
      // The macros of the system: the low seven bits are the signal, and the next eight the exit code.
      end.reason = status & 0x7F == 0 ? .exit(Int(status >> 8 & 0xFF)) : .signal(Int(status & 0x7F))
    }
    return end
  }

  private func reaped(_ pid: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return status
  }

  private func shut(_ end: inout Int32) {
    close(end)
    end = -1
  }

  private func feed(_ end: inout Int32, _ written: inout Int) {
    let count = input.withUnsafeBytes { write(end, $0.baseAddress.map { $0 + written }, $0.count - written) }
    if count > 0 {
      written += count
    } else if errno != EAGAIN, errno != EINTR {
      // It reads no more, which is its own affair.
      shut(&end)
    }
  }

  /// Reads what is there; closes the pipe at its end.
  private func read(_ end: inout Int32, into bytes: inout [UInt8], _ isTooMuch: inout Bool) {
    guard end >= 0 else { return }
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while !isTooMuch {
      let count = Glibc.read(end, &chunk, chunk.count)
      if count > 0 {
        bytes += chunk[..<count]
        if bytes.count > maxOutputBytes { isTooMuch = true }
      } else if count == 0 {
        return shut(&end)
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        return shut(&end)
      }
    }
  }
}
