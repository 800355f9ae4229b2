package import Basics
import Glibc
import Synchronization

/// A line from a client, with the means to answer it.
package struct RequestLine: Sendable {
  /// The client's request, a map.
  package let value: Value
  package let caller: AgentCaller
  private let send: @Sendable (Value) -> Bool
  private let room: @Sendable () async -> Bool
  private let behind: @Sendable () -> Bool

  package init(
    _ value: Value, from caller: AgentCaller, send: @escaping @Sendable (Value) -> Bool,
    room: @escaping @Sendable () async -> Bool = { true }, behind: @escaping @Sendable () -> Bool = { false }
  ) {
    self.value = value
    self.caller = caller
    self.send = send
    self.room = room
    self.behind = behind
  }

  /// Whether the client has much to read still.
  package var isBehind: Bool { behind() }

  /// Queues a line for the client; false if it is gone, in which case only the answering ends.
  @discardableResult
  package func reply(_ value: Value) -> Bool { send(value) }

  /// Queues a line once the client has read most of those before it, so that a long answer is never held whole.
  @discardableResult
  package func replyInTurn(_ value: Value) async -> Bool { await room() && send(value) }

  /// Queues the line that ends an answer, once the client has read most of the lines before it, or as soon as the server
  /// stops.
  package func replyAtEnd(_ value: Value) async {
    _ = await room()
    reply(value)
  }
}

/// Listens on `agent.sock` for the holder of a folder's lock.
///
/// Each request is handled by its own task, which is cancelled when its client disconnects or the server stops. So
/// anything that must outlive the client, above all a run, belongs to another owner than the handler.
package final class AgentServer: Sendable {
  package typealias Handler = @Sendable (RequestLine) async -> Void

  private struct Client {
    /// The account at the other end.
    let account: uid_t
    /// Set once the client has introduced itself.
    var caller: AgentCaller?
    var hasEnded = false
    var tasks: [Int: Task<Void, Never>] = [:]
    var lines = AgentProtocol.Assembler()
  }

  private struct Content {
    var clients: [LineLoop.ID: Client] = [:]
    var nextTask = 0
    var loop: LineLoop?
  }

  /// More requests of one client wait for one of these to end.
  private static let mostTasks = 16

  private let folder: String
  private let identity: AgentIdentity
  private let handler: Handler
  private let limits: LineLoop.Limits
  private let content = Mutex(Content())

  /// Starts to listen in a folder, replacing the socket of a dead agent; holding the lock proves that it is dead.
  package static func start(
    in folder: String, lock: FolderLock, identity: AgentIdentity, clock: any TimeSource,
    limits: LineLoop.Limits = LineLoop.Limits(), handler: @escaping Handler
  ) throws(AgentError) -> AgentServer {
    let server = AgentServer(folder, identity, limits, handler)
    let listener = try SocketAddress.listen(in: folder, SocketAddress.name)
    do {
      // Locked, so that no event is handled before the server knows its loop, which keeps the server alive until it is
      // stopped.
      try server.content.withLock { content throws(AgentError) in
        content.loop = try LineLoop(limits: limits, clock: clock, listener: listener) { server.receive($0) }
      }
      return server
    } catch {
      close(listener)
      throw error
    }
  }

  private init(_ folder: String, _ identity: AgentIdentity, _ limits: LineLoop.Limits, _ handler: @escaping Handler) {
    self.folder = folder
    self.identity = identity
    self.limits = limits
    self.handler = handler
  }

  /// Accepts no more requests, cancels those in flight, and returns when they have ended and their clients were
  /// answered.
  package func stop() async {
    guard let loop = content.withLock({ $0.loop }) else { return }
    loop.stopListening()
    unlink("\(folder)/\(SocketAddress.name)")
    let tasks = content.withLock { $0.clients.values.flatMap { $0.tasks.values } }
    for task in tasks { task.cancel() }
    // A client that doesn't read must not delay the end of an answer.
    loop.hurry()
    for task in tasks { await task.value }
    await loop.stop()
    // Until now the loop's thread kept the server alive.
    content.withLock { $0.loop = nil }
  }

  // MARK: - On the loop's thread

  private func receive(_ event: LineLoop.Event) {
    switch event {
    case .opened(let id, let account): content.withLock { $0.clients[id] = Client(account: account) }
    case .line(let id, let line): receive(line, of: id)
    case .tooLong(let id):
      send(id, AgentProtocol.error("broken", "a line has more than \(limits.line) bytes"))
      content.withLock { $0.loop }?.close(id)
    case .inputEnded(let id):
      content.withLock { $0.clients[id]?.hasEnded = true }
      closeIfDone(id)
    case .closed(let id):
      let client = content.withLock { $0.clients.removeValue(forKey: id) }
      for task in client?.tasks.values ?? [:].values { task.cancel() }
    }
  }

  private func receive(_ line: [UInt8], of id: LineLoop.ID) {
    guard let text = content.withLock({ $0.clients[id]?.lines.receive(line) }) ?? nil else { return }
    let value: Value
    do {
      value = try JSON.parse(text, limits: AgentProtocol.limits)
      guard value.map != nil else {
        send(id, AgentProtocol.error("broken", "a line has to be a JSON object, not \(value.kindName)"))
        return
      }
    } catch {
      let column = error.spot.map { ", column \($0.position.column)" } ?? ""
      send(id, AgentProtocol.error("broken", "a line has to be a JSON object\(column): \(error.message)"))
      return
    }
    guard let client = content.withLock({ $0.clients[id] }) else { return }
    if let caller = client.caller {
      let request = RequestLine(
        value, from: caller, send: { self.send(id, $0) },
        room: { await self.content.withLock { $0.loop }?.hasRoom(id) ?? false },
        behind: { self.content.withLock { $0.loop }?.isBehind(id) ?? false })
      return handle(request, of: id)
    }
    let pid = Int(getpid())
    if let refusal = AgentProtocol.refusal(of: value, by: identity, pid: pid, folder: folder) {
      send(id, refusal)
      content.withLock { $0.loop }?.close(id)
    } else {
      let caller = AgentCaller(account: client.account, person: value["person"]?.string)
      content.withLock { $0.clients[id]?.caller = caller }
      send(id, AgentProtocol.hello(identity, pid: pid))
    }
  }

  private func handle(_ request: RequestLine, of id: LineLoop.ID) {
    content.withLock { content in
      let number = content.nextTask
      content.nextTask += 1
      // Cancelled when the client disconnects, and by `stop`.
      content.clients[id]?.tasks[number] = Task {
        await handler(request)
        ended(number, of: id)
      }
      if content.clients[id]?.tasks.count == AgentServer.mostTasks { content.loop?.setReads(id, false) }
    }
  }

  private func ended(_ number: Int, of id: LineLoop.ID) {
    content.withLock { content in
      guard var client = content.clients[id] else { return }
      if client.tasks.count == AgentServer.mostTasks, !client.hasEnded { content.loop?.setReads(id, true) }
      client.tasks[number] = nil
      content.clients[id] = client
    }
    closeIfDone(id)
  }

  /// Closes the connection of a client that sends nothing more, once all its requests are answered.
  private func closeIfDone(_ id: LineLoop.ID) {
    content.withLock { content in
      guard let client = content.clients[id], client.hasEnded, client.tasks.isEmpty else { return }
      content.loop?.close(id)
    }
  }

  @discardableResult
  private func send(_ id: LineLoop.ID, _ value: Value) -> Bool {
    guard let loop = content.withLock({ $0.loop }) else { return false }
    return loop.send(id, AgentProtocol.answer(value))
  }
}
