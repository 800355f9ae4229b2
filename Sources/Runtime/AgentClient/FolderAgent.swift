package import Agent
import Basics
import Glibc
import HTTPTypes
import Operations
import RunState
import Synchronization
import Threads

/// The agent of a state folder in another process, over the folder's Unix socket.
///
/// Each request has a connection and a thread of its own, and needs no library. Requests may name secrets, and answers are
/// trusted, so only the user's own agent is asked, in a folder that nobody else can change.
package struct FolderAgent: AgentWire {
  private let folder: String
  private let identity: AgentIdentity
  private let person: String?
  package let patience: WirePatience
  /// The process that listened when it was found.
  package let process: Int

  /// Finds the agent of a folder; nil if no process listens there.
  ///
  /// - Parameters:
  ///   - identity: The program and the configuration of this client, which the agent's have to be.
  ///   - person: The person that decisions are recorded for; the account's name if nil.
  package static func find(
    _ folder: String, identity: AgentIdentity, person: String? = nil, patience: WirePatience
  ) throws(AgentError) -> FolderAgent? {
    guard let found = try open(folder) else { return nil }
    close(found.socket)
    return FolderAgent(folder: folder, identity: identity, person: person, patience: patience, process: found.process)
  }

  private init(folder: String, identity: AgentIdentity, person: String?, patience: WirePatience, process: Int) {
    self.folder = folder
    self.identity = identity
    self.person = person
    self.patience = patience
    self.process = process
  }

  package func send(_ request: ExactRequest, to reader: ExactReader) async throws {
    let exchange = UnixExchange(folder, head(of: request) + request.body, reader, patience)
    if let error = await exchange.run() { throw error }
  }

  private func head(of request: ExactRequest) -> [UInt8] {
    var fields = [
      ("Host", "errand"), ("Connection", "close"), ("Content-Type", "application/json"), ("Accept", request.accepted),
      ("Content-Length", "\(request.body.count)"), (ExactForm.program, identity.program),
      (ExactForm.configuration, PercentEncoding.encode(identity.configuration)),
    ]
    if let person { fields.append((ExactForm.person, PercentEncoding.encode(person))) }
    let lines = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
    return Array("POST \(request.path) HTTP/1.1\r\n\(lines)\r\n".utf8)
  }

  package func error(for problem: ExactReader.Problem) -> any Error {
    switch problem.kind {
    case "held": return AgentError(.held, problem.detail)
    // An agent before 0.6.0, which knows no operations by their names.
    case "noSuchPath", "method":
      let other = AgentIdentity(
        program: FolderLock.holder(of: folder)?.program.safe ?? "errand of another version",
        configuration: identity.configuration)
      let objection = ExactForm.objection(
        to: (identity.program, nil), of: other, process: process, folder: folder)
      return AgentError(
        .held, objection ?? "the agent of '\(folder)' (process \(process)) can't answer: \(problem.detail)")
    case let kind?:
      if let kind = RequestRefusedError.Kind(rawValue: kind) { return RequestRefusedError(kind, problem.detail) }
      return AgentError(.unavailable, "the agent of '\(folder)' (process \(process)) can't answer: \(problem.detail)")
    case nil:
      return AgentError(
        .unavailable,
        "process \(process), which listens in '\(folder)', isn't an agent: it answered with HTTP status \(problem.status)"
      )
    }
  }

  package func unreadable(_ fault: String) -> any Error {
    AgentError(
      .unavailable, "the answer of the agent of '\(folder)' (process \(process)) can't be read: \(fault.safeText())")
  }

  /// Connects to the process that listens in a folder; nil if none does.
  fileprivate static func open(_ folder: String) throws(AgentError) -> (socket: Int32, process: Int)? {
    guard access(folder, F_OK) == 0 else { return nil }
    if let objection = FolderLock.objection(to: folder) { throw AgentError(.unavailable, objection) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw AgentError(.unavailable, "cannot make a socket: \(systemErrorText(errno))") }
    do throws(FileError) { try SocketAddress.connect(descriptor, in: folder) } catch {
      close(descriptor)
      // A killed agent left the socket behind, and no process listens on it.
      if error.code == ENOENT || error.code == ECONNREFUSED { return nil }
      throw AgentError(.unavailable, error.description)
    }
    let peer = UnixPeer(of: descriptor)
    guard peer?.account == geteuid() else {
      close(descriptor)
      let whose = FolderLock.name(of: peer?.account ?? .max)
      throw AgentError(
        .unavailable,
        "the process \(peer?.process ?? 0) that listens in '\(folder)' is the user \(whose)'s, and this is \(FolderLock.name(of: geteuid())); end that process"
      )
    }
    return (descriptor, Int(peer?.process ?? 0))
  }
}

/// One request over a Unix socket, on a thread of its own.
private final class UnixExchange: Sendable {
  private struct State {
    var socket: Int32?
    var isCancelled = false
  }

  private let folder: String
  private let message: [UInt8]
  private let reader: ExactReader
  private let patience: WirePatience
  private let state = Mutex(State())

  init(_ folder: String, _ message: [UInt8], _ reader: ExactReader, _ patience: WirePatience) {
    self.folder = folder
    self.message = message
    self.reader = reader
    self.patience = patience
  }

  /// Passes on all that comes, and returns why nothing could.
  func run() async -> AgentError? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Ends with the answer; `cancel` ends it before that.
        let isRunning = startThread { continuation.resume(returning: self.exchange()) }
        if !isRunning {
          continuation.resume(returning: AgentError(.unavailable, "the system has no thread left"))
        }
      }
    } onCancel: {
      state.withLock { state in
        state.isCancelled = true
        if let socket = state.socket { shutdown(socket, Int32(SHUT_RDWR)) }
      }
    }
  }

  // MARK: - The thread

  private func exchange() -> AgentError? {
    let (socket, process): (Int32, Int)
    do throws(AgentError) {
      guard let opened = try FolderAgent.open(folder) else { return nil }
      (socket, process) = opened
    } catch {
      return error
    }
    let isWanted = state.withLock { state in
      state.socket = socket
      return !state.isCancelled
    }
    defer {
      // Under the lock, so that `cancel` never meets another socket of the same number.
      state.withLock { state in
        state.socket = nil
        close(socket)
      }
    }
    guard isWanted else { return nil }
    // An agent that refuses a request may answer and close the connection before it has read everything.
    send(message, over: socket)
    awaitAnswer(from: socket, of: process)
    return receive(from: socket)
  }

  /// Waits for the first bytes, and tells the user if they don't come: the agent may be stopped.
  private func awaitAnswer(from socket: Int32, of process: Int) {
    var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    if poll(&polled, 1, Int32(clamping: Int(patience.silence.inSeconds * 1000))) == 0 {
      patience.tell(
        "the agent of '\(folder)' (process \(process)) has not answered for \(patience.silence); waiting for it")
    }
  }

  private func send(_ bytes: [UInt8], over socket: Int32) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        Glibc.send(socket, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count > 0 { sent += count } else if errno != EINTR { return }
    }
  }

  private func receive(from socket: Int32) -> AgentError? {
    var answer = HTTPAnswerReader()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var isPassedOn = false
    while true {
      let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
      if count < 0, errno == EINTR { continue }
      let read = buffer.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[..<max(0, count)]) }
      let isOver: Bool
      do throws(HTTPAnswerReader.Fault) {
        isOver = count > 0 ? try answer.take(read) : answer.isWholeAtEnd
      } catch {
        return AgentError(.unavailable, "what listens in '\(folder)' isn't an agent: \(error.message)")
      }
      if let (status, headers) = answer.head, !isPassedOn {
        reader.begin(status, headers)
        isPassedOn = true
      }
      if !answer.body.isEmpty {
        // The fault is the reader's to tell.
        if answer.body.withUnsafeBytes({ reader.receive($0) }) != nil { return nil }
        answer.body.removeAll(keepingCapacity: true)
      }
      if isOver { reader.end() }
      if isOver || count <= 0 { return nil }
    }
  }
}
