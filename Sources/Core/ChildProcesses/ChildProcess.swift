package import Basics
import CProcess
import Glibc
import Synchronization

// One program as a process: started by a keeper of its own (CProcess), fed and read through pipes, and ended together
// with all processes that it started. Two calls block, each on a thread of its own: `start`, and then `follow`.
//
// It reads its whole input and then the end, or it converses: it reads the bytes that `say` gives while it runs, and
// its output is passed on but not collected. The end of its input, `finish`, asks it to end. A process that hasn't
// ended `grace` later is ended as late.
//
// Every descendant of the command is ended with it, in any group or session, even if this program is killed; a lock
// named by `keepLocked` is held until then. Processes that aren't descendants are not ended, such as those that another
// program starts on request (a service manager, a container engine, at). A process that became another user (sudo) can
// be ended only by root; it is named in `End.left`. Without /proc, only the command's process group is ended.
//
// The command's environment holds the variables that it was given and no others, it has only the three standard
// descriptors, and its signals are at the system's defaults.

/// A process that is started, fed, read and ended.
package final class ChildProcess: Sendable {
  /// How a process ended, and its output.
  package struct End: Sendable {
    package enum Reason: Sendable {
      case notStarted(Int32)
      case exit(Int)
      case signal(Int)
      case tooMuchOutput
      /// Its keeper was killed, so that what it left running is not known.
      case lost
      /// The calling task was cancelled: it was asked to end, and killed if it did not.
      case cancelled
      /// Its time was over, and it was ended likewise.
      case late
    }

    package var reason: Reason
    package var output: [UInt8] = []
    package var errors: [UInt8] = []
    /// The processes that it left running and that could not be ended, by number and name: `4711 sudo`.
    package var left: [String] = []
  }

  private struct State {
    var keeper: pid_t = 0
    var isToEnd = false
    /// The bytes that it is to read next, in a conversation, and whether they are the last.
    var told: [UInt8] = []
    var isInputOver = false
    /// Our ends of the pipes: to its input, from its outputs, to and from its keeper, and the pipe that wakes `follow`.
    var input: Int32 = -1
    var output: Int32 = -1
    var errors: Int32 = -1
    var control: Int32 = -1
    var report: Int32 = -1
    var alarm: Int32 = -1
    var alarmBell: Int32 = -1
  }

  private let path: String
  private let arguments: [String]
  private let environment: [String: String]
  private let folder: String
  private let place: FilePlace?
  private let input: [UInt8]
  private let isConversing: Bool
  private let maxOutputBytes: Int
  private let grace: TimeSpan
  private let isGentle: Bool
  private let onRead: (@Sendable (_ bytes: [UInt8], _ isErrors: Bool) -> Void)?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - path: The program's file.
  ///   - arguments: The first is the program's own name.
  ///   - environment: The whole environment.
  ///   - place: The working folder, if it is open already; `folder` is its path.
  ///   - input: The input; its end follows.
  ///   - isConversing: Whether its input stays open until `finish`; its output isn't collected then.
  ///   - maxOutputBytes: The most that it may write to each of its outputs, if that is collected.
  ///   - grace: The time that it has to end after it is asked to; then it is killed.
  ///   - isGentle: Whether it has that time too when it prints too much, and when this program is gone: a program that
  ///     is killed leaves its locks behind.
  ///   - onRead: Receives its output as it is read, on a thread that may block; meanwhile nothing more is read. In a
  ///     conversation, empty bytes mark the end of an output.
  package init(
    path: String, arguments: [String], environment: [String: String], folder: String, place: FilePlace? = nil,
    input: [UInt8] = [], isConversing: Bool = false, maxOutputBytes: Int = .max, grace: TimeSpan,
    isGentle: Bool = false, onRead: (@Sendable (_ bytes: [UInt8], _ isErrors: Bool) -> Void)? = nil
  ) {
    self.path = path
    self.arguments = arguments
    self.environment = environment
    self.folder = folder
    self.place = place
    self.input = input
    self.isConversing = isConversing
    self.maxOutputBytes = maxOutputBytes
    self.grace = grace
    self.isGentle = isGentle
    self.onRead = onRead
  }

  /// The file of a program: a path, which counts from a folder, or a name that is looked for in folders separated by
  /// colons; nil if it is not there, or not executable.
  package static func file(of name: String, in path: String, from folder: String) -> String? {
    if name.isEmpty || name.utf8.contains(0) { return nil }
    if name.utf8.contains(ASCII.slash) {
      let file = name.hasPrefix("/") ? name : "\(folder)/\(name)"
      return isProgram(file) ? file : nil
    }
    for folder in path.utf8.split(separator: ASCII.colon) {
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
      guard code == 0 else { return End(reason: code == Self.unreported ? .lost : .notStarted(code)) }
      return await onThread { self.follow(for: limit) }
    } onCancel: {
      end()
    }
  }

  /// Stands for a keeper that was killed before it told whether the command was started.
  private static let unreported: Int32 = -1

  /// Starts it; gives 0, or why it could not.
  private func start() -> Int32 {
    var pipes: [[Int32]] = []
    defer { for end in pipes.joined() where end >= 0 { close(end) } }
    // To the command, from it twice, to its keeper, from that, and the alarm.
    for _ in 0..<6 {
      var ends: [Int32] = [-1, -1]
      let code = cprocess_pipe(&ends)
      if code != 0 { return code }
      pipes.append(ends)
    }
    var keeper: pid_t = 0
    var code = kept(pipes, &keeper)
    guard code == 0 else { return code }
    // The ends of the command and its keeper; ours are closed by the follower.
    for (pipe, end) in [(0, 0), (1, 1), (2, 1), (3, 0), (4, 1)] {
      close(pipes[pipe][end])
      pipes[pipe][end] = -1
    }
    code = Self.unreported
    if let record = record(from: pipes[4][0]), Int(record.kind) == CProcessStarted { code = record.value }
    guard code == 0 else {
      _ = reaped(keeper)
      return code
    }
    let ours = (pipes[0][1], pipes[1][0], pipes[2][0], pipes[3][1], pipes[4][0], pipes[5][0], pipes[5][1])
    for end in [ours.0, ours.1, ours.2, ours.3, ours.4, ours.5] {
      _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
    }
    state.withLock { state in
      state.keeper = keeper
      (state.input, state.output, state.errors, state.control, state.report, state.alarm, state.alarmBell) = ours
    }
    pipes = []
    return 0
  }

  private func kept(_ pipes: [[Int32]], _ keeper: inout pid_t) -> Int32 {
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    words.append(nil)
    var variables: [UnsafeMutablePointer<CChar>?] = environment.sorted { $0.key.precedesByScalars($1.key) }.map {
      strdup("\($0.key)=\($0.value)")
    }
    variables.append(nil)
    let program = strdup(path)
    defer {
      for text in words + variables { free(text) }
      free(program)
    }
    let opened: FilePlace
    if let place {
      opened = place
    } else {
      do throws(FileError) { opened = try FilePlace("\(folder)/.") } catch { return error.code ?? EIO }
    }
    guard let program else { return ENOMEM }
    return Self.locks.withLock { locks in
      words.withUnsafeBufferPointer { words in
        variables.withUnsafeBufferPointer { variables in
          guard let words = words.baseAddress, let variables = variables.baseAddress else { return EINVAL }
          var command = CProcessCommand(
            path: program, words: words, environment: variables, folder: opened.number, input: pipes[0][0],
            output: pipes[1][1], errors: pipes[2][1],
            patience: isGentle ? Int32(clamping: grace.nanoseconds / 1_000_000) : 0)
          return cprocess_start(
            &keeper, &command, pipes[3][0], pipes[4][1], Array(locks), Int32(locks.count))
        }
      }
    }
  }

  // MARK: Locks

  /// The descriptors of locks that stay held, if this program is killed, until nothing is left of its commands.
  private static let locks = Mutex<Set<Int32>>([])

  /// Keeps a lock held for as long as there are commands that this program started.
  package static func keepLocked(_ descriptor: Int32) {
    locks.withLock { locks in
      if locks.count < Int(CPROCESS_KEPT) { locks.insert(descriptor) }
    }
  }

  /// Ends `keepLocked`, before the descriptor is closed.
  package static func letGo(_ descriptor: Int32) { _ = locks.withLock { $0.remove(descriptor) } }

  /// Keeps other processes of the same user, which commands are, from reading this one's environment and memory.
  package static func hideFromOthers() { cprocess_hide() }

  /// Lets this process have as many files open as the system allows it; commands keep the limit that it began with.
  package static func raiseFileLimit() { cprocess_raise_files() }

  // MARK: Conversing

  /// Gives it more bytes to read, after all that it was given before; a process that has ended reads none.
  package func say(_ bytes: [UInt8]) {
    state.withLock { state in
      state.told += bytes
      ring(state.alarmBell)
    }
  }

  /// Ends its input behind what was said, which asks it to end.
  package func finish() {
    state.withLock { state in
      state.isInputOver = true
      ring(state.alarmBell)
    }
  }

  /// Asks it to end; its follower ends it.
  private func end() {
    state.withLock { state in
      state.isToEnd = true
      ring(state.alarmBell)
    }
  }

  /// The keeper's next record; nil if there are no more, or none yet.
  private func record(from report: Int32, isOver: inout Bool) -> CProcessRecord? {
    var record = CProcessRecord()
    while true {
      let count = Glibc.read(report, &record, MemoryLayout<CProcessRecord>.size)
      if count == MemoryLayout<CProcessRecord>.size { return record }
      if count < 0, errno == EINTR { continue }
      isOver = count >= 0 || errno != EAGAIN
      return nil
    }
  }

  private func record(from report: Int32) -> CProcessRecord? {
    var isOver = false
    return record(from: report, isOver: &isOver)
  }

  private func order(_ byte: Int, _ control: Int32) {
    var byte = UInt8(truncatingIfNeeded: byte)
    _ = write(control, &byte, 1)
  }

  /// Wakes the follower; a full pipe has woken it already.
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
    var input = self.input
    var written = 0
    var isInputOver = !isConversing
    /// Why it is asked to end.
    var reason: End.Reason?
    var isTooMuch = false
    var isKilled = false
    var killAt: TimeSpan?
    let time = SystemTime()
    var deadline = limit.map { time.elapsed() + $0 }
    var status: Int32?
    var command: pid_t = 0
    var isOver = false
    while !isOver {
      let isToEnd = state.withLock { $0.isToEnd }
      let now = time.elapsed()
      if reason == nil, isToEnd || deadline.map({ $0 <= now }) ?? false {
        reason = isToEnd ? .cancelled : .late
        order(CProcessEnd, own.control)
        killAt = now + grace
      }
      if let due = killAt, due <= now {
        order(CProcessKill, own.control)
        killAt = nil
      }
      if isConversing {
        let (told, isOver) = state.withLock { state in
          defer { state.told = [] }
          return (state.told, state.isInputOver)
        }
        if written == input.count || own.input < 0 { (input, written) = (told, 0) } else { input += told }
        if isOver, !isInputOver { deadline = min(deadline ?? now + grace, now + grace) }
        isInputOver = isOver
      }
      if own.input >= 0, isInputOver, written == input.count { shut(&own.input) }
      var watched = [
        pollfd(fd: written < input.count ? own.input : -1, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: own.output, events: Int16(POLLIN), revents: 0),
        pollfd(fd: own.errors, events: Int16(POLLIN), revents: 0),
        pollfd(fd: own.alarm, events: Int16(POLLIN), revents: 0),
        pollfd(fd: own.report, events: Int16(POLLIN), revents: 0),
      ]
      let next = killAt ?? (reason == nil ? deadline : nil)
      let patience = next.map { max(0, min(($0 - now).nanoseconds / 1_000_000 + 1, 60_000)) } ?? -1
      if poll(&watched, nfds_t(watched.count), Int32(patience)) <= 0 { continue }
      if watched[0].revents != 0 { feed(&own.input, input, &written) }
      if watched[1].revents != 0 { read(&own.output, into: &end.output, isErrors: false, &isTooMuch) }
      if watched[2].revents != 0 { read(&own.errors, into: &end.errors, isErrors: true, &isTooMuch) }
      if watched[3].revents != 0 {
        var bytes = [UInt8](repeating: 0, count: 64)
        _ = Glibc.read(own.alarm, &bytes, bytes.count)
      }
      while watched[4].revents != 0, let record = record(from: own.report, isOver: &isOver) {
        switch Int(record.kind) {
        case CProcessNumber: command = record.value
        case CProcessLeft:
          let name = withUnsafeBytes(of: record.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
          end.left.append("\(record.value) \(name)")
        case CProcessExited: status = record.value
        default: break
        }
      }
      if isTooMuch, !isKilled {
        isKilled = true
        order(isGentle ? CProcessEnd : CProcessKill, own.control)
        if isGentle { killAt = now + grace }
      }
    }
    // Its last output; the processes that it left running write no more.
    read(&own.output, into: &end.output, isErrors: false, &isTooMuch)
    read(&own.errors, into: &end.errors, isErrors: true, &isTooMuch)
    _ = reaped(own.keeper)
    // The command itself went with its keeper, and the group that it leads has no other's number while it is there.
    if status == nil, command > 0 { kill(-command, SIGKILL) }
    state.withLock { $0.alarmBell = -1 }
    for end in [own.input, own.output, own.errors, own.control, own.report, own.alarm, own.alarmBell] where end >= 0 {
      close(end)
    }
    if isTooMuch {
      end.reason = .tooMuchOutput
    } else if let reason {
      end.reason = reason
    } else if let status {
      // The macros of the system: the low seven bits are the signal, and the next eight the exit code.
      end.reason = status & 0x7F == 0 ? .exit(Int(status >> 8 & 0xFF)) : .signal(Int(status & 0x7F))
    } else {
      end.reason = .lost
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

  private func feed(_ end: inout Int32, _ input: [UInt8], _ written: inout Int) {
    let count = input.withUnsafeBytes { write(end, $0.baseAddress.map { $0 + written }, $0.count - written) }
    if count > 0 {
      written += count
    } else if errno != EAGAIN, errno != EINTR {
      // It reads no more, which is its own affair.
      shut(&end)
    }
  }

  /// Reads what is there; closes the pipe at its end.
  private func read(
    _ end: inout Int32, into bytes: inout [UInt8], isErrors: Bool, _ isTooMuch: inout Bool
  ) {
    guard end >= 0 else { return }
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while !isTooMuch {
      let count = Glibc.read(end, &chunk, chunk.count)
      if count > 0 {
        if !isConversing { bytes += chunk[..<count] }
        onRead?(Array(chunk[..<count]), isErrors)
        if bytes.count > maxOutputBytes { isTooMuch = true }
      } else if count == 0 {
        shut(&end)
        if isConversing { onRead?([], isErrors) }
        return
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        return shut(&end)
      }
    }
  }
}
