package import Basics
import Glibc
import RunState
import Synchronization
import Threads

/// A connection to the agent of a folder.
package final class AgentClient: Sendable {
  /// The lines from the agent, until it or the client closes the connection; errors are `AgentError`.
  package let replies: AsyncThrowingStream<Value, any Error>
  /// The agent's process.
  package let pid: Int
  private let loop: LineLoop
  private let id: LineLoop.ID
  private let end: End

  private init(
    _ replies: AsyncThrowingStream<Value, any Error>, pid: Int, _ loop: LineLoop, _ id: LineLoop.ID, _ end: End
  ) {
    self.replies = replies
    self.pid = pid
    self.loop = loop
    self.id = id
    self.end = end
  }

  /// Whether the agent has stopped sending; it then no longer listens either.
  private final class End: Sendable {
    private let state = Mutex(false)
    var isThere: Bool { state.withLock { $0 } }
    func come() { state.withLock { $0 = true } }
  }

  deinit { loop.endSoon() }

  /// Connects to a folder's agent; nil if no process listens there, and `held` if the agent has another version or
  /// configuration.
  ///
  /// - Parameter person: The person that decisions are recorded for; the account's name if nil.
  package static func connect(
    _ folder: String, identity: AgentIdentity, person: String? = nil, clock: any TimeSource
  ) async throws(AgentError) -> AgentClient? {
    let opened: Result<Int32?, AgentError> = await withCheckedContinuation { continuation in
      // Ends with the call, which waits only while the agent has as many clients as it accepts at once.
      let isRunning = startThread {
        continuation.resume(returning: Result { () throws(AgentError) in try open(folder) })
      }
      if !isRunning {
        continuation.resume(returning: .failure(AgentError(.unavailable, "the system has no thread left")))
      }
    }
    guard let socket = try opened.get() else { return nil }
    let (replies, continuation) = AsyncThrowingStream<Value, any Error>.makeStream()
    let end = End()
    let lines = Mutex(AgentProtocol.Assembler())
    let answers = Mutex(AnswerAssembler())
    let loop = try LineLoop(limits: LineLoop.Limits(), clock: clock, listener: nil) { event in
      switch event {
      case .line(_, let line):
        guard let text = lines.withLock({ $0.receive(line) }) else { return }
        if let value = try? JSON.parse(text, limits: AgentProtocol.limits) {
          if let answer = answers.withLock({ $0.receive(value) }) { continuation.yield(answer) }
        } else {
          continuation.finish(throwing: AgentError(.broken, "the agent of '\(folder)' sent a line that isn't JSON"))
        }
      case .tooLong:
        continuation.finish(throwing: AgentError(.broken, "the agent of '\(folder)' sent a line that is too long"))
      case .inputEnded, .closed:
        end.come()
        continuation.finish()
      case .opened: break
      }
    }
    let id = loop.add(socket)
    do {
      guard loop.send(id, AgentProtocol.answer(AgentProtocol.hello(identity, person: person))) else {
        throw AgentError(.broken, "the agent of '\(folder)' is gone")
      }
      let pid = try await hello(replies, folder)
      return AgentClient(replies, pid: pid, loop, id, end)
    } catch {
      await loop.stop()
      throw error as? AgentError ?? AgentError(.broken, "\(error)")
    }
  }

  private static func open(_ folder: String) throws(AgentError) -> Int32? {
    // Requests may name secrets, and answers are trusted: only the user's own agent is asked, in the user's folder.
    guard access(folder, F_OK) == 0 else { return nil }
    _ = try FolderLock.trusted(folder)
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw AgentError(.unavailable, "cannot make a socket: \(systemErrorText(errno))") }
    do throws(FileError) { try SocketAddress.with(folder) { Glibc.connect(descriptor, $0, $1) } } catch {
      Glibc.close(descriptor)
      // A killed agent left the socket behind, and no process listens on it.
      if error.code == ENOENT || error.code == ECONNREFUSED { return nil }
      throw AgentError(.unavailable, error.description)
    }
    let peer = UnixPeer(of: descriptor)
    guard peer?.account == geteuid() else {
      Glibc.close(descriptor)
      let whose = FolderLock.name(of: peer?.account ?? .max)
      throw AgentError(
        .unavailable,
        "the process \(peer?.process ?? 0) that listens in '\(folder)' is the user \(whose)'s, and this is \(FolderLock.name(of: geteuid())); end that process"
      )
    }
    return descriptor
  }

  private static func hello(
    _ replies: AsyncThrowingStream<Value, any Error>, _ folder: String
  ) async throws -> Int {
    for try await reply in replies {
      if let pid = reply["pid"]?.int { return pid }
      let message = reply["error"]?["message"]?.string ?? "the agent of '\(folder)' did not say who it is"
      throw AgentError(reply["error"]?["kind"]?.string == "held" ? .held : .broken, message)
    }
    throw AgentError(.broken, "the agent of '\(folder)' ended before it said who it is")
  }

  /// Queues a request, a map.
  package func send(_ request: Value) throws(AgentError) {
    let line: [UInt8]
    do throws(JSONError) { line = try AgentProtocol.line(request) } catch {
      throw AgentError(.broken, "the request can't be written as JSON: \(error.message)")
    }
    if end.isThere || !loop.send(id, line) { throw AgentError(.broken, "the agent (process \(pid)) is gone") }
  }

  /// Ends the requests, sends what is queued, and ends the replies.
  package func close() async { await loop.stop() }
}
