/// One thread that moves lines between sockets and callers, so that no socket call blocks a caller.
///
/// All sockets are non-blocking and waited for with one `poll`. Lines from callers are queued and written as the other
/// side reads; a connection whose queue is full is cut off, and a line that is too long ends its connection. Events
/// come on the loop's thread, one after another for each connection.
import Basics
import Glibc
import RunState
import Synchronization
import Threads

package final class LineLoop: Sendable {
  typealias ID = Int

  enum Event: Sendable {
    /// A client of an account has connected.
    case opened(ID, account: uid_t)
    /// A line without its line end.
    case line(ID, [UInt8])
    /// A line that is too long; nothing more is read.
    case tooLong(ID)
    /// The other side stopped sending, but may still read.
    case inputEnded(ID)
    /// Nothing can be sent any more; the last event of a connection.
    case closed(ID)
  }

  package struct Limits: Sendable {
    var line = LineReader.longest
    var output = 32 << 20
    var connections = FileLimit.connections(wanted: 128)
    /// How much may be queued before senders wait.
    var backlog = 1 << 20
    /// How long a stop waits for the other sides to read what was sent.
    var flush = TimeSpan.seconds(1)

    package init() {}
  }

  private struct Connection {
    var socket: Int32
    var input: LineReader
    var output: [UInt8] = []
    var sent = 0
    /// The size of the largest answer so far, which is accepted whatever its size.
    var largest = 0
    var reads = true
    var closesOnceSent = false
    /// The senders that wait until little is queued.
    var waiting: [CheckedContinuation<Bool, Never>] = []

    var hasOutput: Bool { sent < output.count }

    mutating func takeWaiting() -> [CheckedContinuation<Bool, Never>] {
      defer { waiting = [] }
      return waiting
    }
  }

  private struct Content {
    var connections: [ID: Connection] = [:]
    var nextID = 1
    var listener: Int32?
    /// Set while the system has no descriptor for another connection.
    var isFull = false
    var stopsBy: TimeSpan?
    var isOver = false
    /// Set once the loop no longer waits for clients.
    var isHasty = false
    var waitsForEnd: [CheckedContinuation<Void, Never>] = []
  }

  private let content: Mutex<Content>
  private let limits: Limits
  private let clock: any TimeSource
  private let handle: @Sendable (Event) -> Void
  private let wakeReader: Int32
  private let wakeWriter: Int32

  /// Starts the loop; it closes the listener and the sockets that it is given.
  init(
    limits: Limits, clock: any TimeSource, listener: Int32?, handle: @escaping @Sendable (Event) -> Void
  ) throws(AgentError) {
    var pipe: [Int32] = [-1, -1]
    guard Glibc.pipe(&pipe) == 0 else {
      throw AgentError(.unavailable, "cannot make a pipe: \(systemErrorText(errno))")
    }
    for end in pipe { makeNonBlocking(end) }
    (wakeReader, wakeWriter) = (pipe[0], pipe[1])
    self.limits = limits
    self.clock = clock
    self.handle = handle
    content = Mutex(Content(listener: listener))
    // Ends after `stop`.
    guard startThread({ self.run() }) else {
      throw AgentError(.unavailable, "the system has no thread left for the agent's socket")
    }
  }

  deinit {
    Glibc.close(wakeReader)
    Glibc.close(wakeWriter)
  }

  // MARK: - For callers

  /// Takes ownership of a connected socket.
  func add(_ socket: Int32) -> ID {
    makeNonBlocking(socket)
    return content.withLock { content in
      let id = content.nextID
      content.nextID += 1
      content.connections[id] = Connection(socket: socket, input: LineReader(limit: limits.line))
      wake()
      return id
    }
  }

  /// Queues bytes; false if the connection is gone or its client doesn't read.
  func send(_ id: ID, _ bytes: [UInt8]) -> Bool {
    content.withLock { content in
      guard var connection = content.connections[id], !connection.closesOnceSent else { return false }
      connection.largest = max(connection.largest, bytes.count)
      guard connection.output.count - connection.sent + bytes.count <= limits.output + connection.largest else {
        // Only the loop closes sockets.
        shutdown(connection.socket, Int32(SHUT_RDWR))
        return false
      }
      content.connections[id] = nil
      if connection.sent > 64 << 10 {
        connection.output.removeFirst(connection.sent)
        connection.sent = 0
      }
      connection.output += bytes
      content.connections[id] = connection
      wake()
      return true
    }
  }

  /// Whether so much is queued for a connection that senders should wait.
  func isBehind(_ id: ID) -> Bool {
    content.withLock { $0.connections[id].map { $0.output.count - $0.sent > limits.backlog } ?? false }
  }

  /// Returns once little is queued for a connection; false if it is gone, or the loop is about to end.
  func hasRoom(_ id: ID) async -> Bool {
    await withCheckedContinuation { continuation in
      let answer: Bool? = content.withLock { content in
        guard let connection = content.connections[id], !content.isHasty else { return false }
        if connection.output.count - connection.sent <= limits.backlog { return true }
        content.connections[id]?.waiting.append(continuation)
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  /// Ends all waits for room.
  func hurry() {
    let waiting = content.withLock { content in
      content.isHasty = true
      return content.connections.keys.flatMap { content.connections[$0]?.takeWaiting() ?? [] }
    }
    for continuation in waiting { continuation.resume(returning: false) }
  }

  /// Stops or continues reading.
  func setReads(_ id: ID, _ reads: Bool) {
    content.withLock { $0.connections[id]?.reads = reads }
    wake()
  }

  /// Closes a connection once everything queued is sent.
  func close(_ id: ID) {
    content.withLock { $0.connections[id]?.closesOnceSent = true }
    wake()
  }

  /// Accepts no new connection.
  func stopListening() {
    content.withLock { content in
      if let listener = content.listener { Glibc.close(listener) }
      content.listener = nil
    }
    wake()
  }

  /// Makes the thread send the queued lines, close everything, and end.
  func endSoon() {
    stopListening()
    content.withLock { content in
      content.stopsBy = content.stopsBy ?? clock.elapsed() + limits.flush
      for id in content.connections.keys { content.connections[id]?.closesOnceSent = true }
    }
    wake()
  }

  /// Ends the thread, and returns when it has closed everything.
  func stop() async {
    endSoon()
    await withCheckedContinuation { continuation in
      let isOver = content.withLock { content in
        if !content.isOver { content.waitsForEnd.append(continuation) }
        return content.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  private func wake() {
    var byte: UInt8 = 0
    // A full pipe wakes the loop too.
    _ = write(wakeWriter, &byte, 1)
  }

  // MARK: - The thread

  private func run() {
    while true {
      var ids: [ID?] = []
      var polled: [pollfd] = []
      var timeout: Int32 = -1
      let isOver = content.withLock { content in
        polled.append(pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0))
        ids.append(nil)
        if let stopsBy = content.stopsBy {
          let left = stopsBy - clock.elapsed()
          if content.connections.isEmpty || left <= .zero { return true }
          timeout = Int32(clamping: left.nanoseconds / 1_000_000 + 1)
        }
        if let listener = content.listener, content.connections.count < limits.connections {
          if content.isFull {
            timeout = 100
            content.isFull = false
          } else {
            polled.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
            ids.append(nil)
          }
        }
        for (id, connection) in content.connections {
          let reads = connection.reads && !connection.closesOnceSent
          let events = (reads ? POLLIN : 0) | (connection.hasOutput || connection.closesOnceSent ? POLLOUT : 0)
          polled.append(pollfd(fd: connection.socket, events: Int16(events), revents: 0))
          ids.append(id)
        }
        return false
      }
      if isOver { return end() }
      guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { continue }
      for (id, polled) in zip(ids, polled) where polled.revents != 0 {
        if let id {
          serve(id, polled.fd, Int32(polled.revents))
        } else if polled.fd == wakeReader {
          var bytes = [UInt8](repeating: 0, count: 256)
          while read(wakeReader, &bytes, bytes.count) > 0 {}
        } else {
          accept(polled.fd)
        }
      }
    }
  }

  private func end() {
    let (connections, waiting) = content.withLock { content in
      defer {
        content.connections = [:]
        content.waitsForEnd = []
      }
      content.isOver = true
      return (content.connections, content.waitsForEnd)
    }
    for (id, connection) in connections {
      Glibc.close(connection.socket)
      for continuation in connection.waiting { continuation.resume(returning: false) }
      handle(.closed(id))
    }
    for continuation in waiting { continuation.resume() }
  }

  private func accept(_ listener: Int32) {
    let socket = Glibc.accept(listener, nil, nil)
    if socket >= 0 {
      // A client whose account is unknown must not speak for another person.
      handle(.opened(add(socket), account: UnixPeer(of: socket)?.account ?? .max))
    } else if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM {
      content.withLock { $0.isFull = true }
    }
  }

  private func serve(_ id: ID, _ socket: Int32, _ events: Int32) {
    if events & Int32(POLLIN) != 0, !receive(id, socket) { return drop(id, socket) }
    if events & Int32(POLLOUT) != 0, !flush(id) { return drop(id, socket) }
    // Both directions are closed; anything still readable was read above.
    if events & Int32(POLLERR | POLLNVAL) != 0 || events & Int32(POLLHUP) != 0 && events & Int32(POLLIN) == 0 {
      drop(id, socket)
    }
  }

  private func drop(_ id: ID, _ socket: Int32) {
    let connection = content.withLock { $0.connections.removeValue(forKey: id) }
    Glibc.close(socket)
    for continuation in connection?.waiting ?? [] { continuation.resume(returning: false) }
    handle(.closed(id))
  }

  /// Reads once and reports whole lines; false if the connection is broken.
  private func receive(_ id: ID, _ socket: Int32) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(socket, &chunk, chunk.count, 0)
    if count < 0 { return errno == EAGAIN || errno == EINTR }
    let lines = content.withLock { content in
      let lines = content.connections[id]?.input.take(chunk[..<count]) ?? []
      if count == 0 || lines.contains(.tooLong) {
        content.connections[id]?.reads = false
        content.connections[id]?.input = LineReader(limit: limits.line)
      }
      return lines
    }
    if lines.contains(.tooLong) {
      handle(.tooLong(id))
      return true
    }
    for case .line(let line) in lines { handle(.line(id, line)) }
    if count == 0 { handle(.inputEnded(id)) }
    return true
  }

  /// Sends as much as the other side accepts; false if the connection is done or broken.
  private func flush(_ id: ID) -> Bool {
    var waiting: [CheckedContinuation<Bool, Never>] = []
    let isOpen = content.withLock { content in
      guard let connection = content.connections[id] else { return true }
      if connection.hasOutput {
        // Without the flag, writing to a closed connection would end the process.
        let count = connection.output.withUnsafeBytes { bytes in
          let rest = UnsafeRawBufferPointer(rebasing: bytes[connection.sent...])
          return Glibc.send(connection.socket, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        content.connections[id]?.sent += count
        let left = connection.output.count - connection.sent - count
        if left <= limits.backlog { waiting = content.connections[id]?.takeWaiting() ?? [] }
        if left > 0 { return true }
        content.connections[id]?.output = []
        content.connections[id]?.sent = 0
      }
      return !connection.closesOnceSent
    }
    for continuation in waiting { continuation.resume(returning: true) }
    return isOpen
  }
}

private func makeNonBlocking(_ descriptor: Int32) {
  _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}
