import Basics
import CMicroHTTPD
import Glibc
import Synchronization
import Threads

/// The daemon and the exchanges whose handlers are at work.
///
/// libmicrohttpd calls in on its one thread. It insists on an order for stopping: no connection may be suspended when
/// the daemon is stopped. So the listening socket is closed first, then every handler is cancelled and its answer
/// awaited, and only then is the daemon stopped, on a thread of its own because that waits for the daemon's thread.
final class ServerCore: Sendable {
  // libmicrohttpd guards what it points to.
  private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
    /// Its listening socket, which it closes when it is stopped.
    let listener: Int32
  }

  private struct State {
    var daemon: Daemon?
    var exchanges: [ObjectIdentifier: ServerExchange] = [:]
    var isStopping = false
    /// Whether no new exchange can come, so that the daemon may be stopped once the last one is over.
    var isQuiet = false
    var isStopped = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  let limits: HTTPServerLimits
  let refusal: HTTPServer.Refusal?
  let handler: HTTPServer.Handler
  /// Whether it listens on a Unix socket, whose clients the kernel identifies.
  let isLocal: Bool
  let arrivals: Arrivals
  private let state = Mutex(State())

  init(
    limits: HTTPServerLimits, isLocal: Bool, refusal: HTTPServer.Refusal?, handler: @escaping HTTPServer.Handler
  ) {
    var limits = limits
    limits.connections = FileLimit.connections(wanted: limits.connections)
    self.limits = limits
    self.refusal = refusal
    arrivals = Arrivals(limits: limits)
    self.isLocal = isLocal
    self.handler = handler
  }

  func start(on listener: Int32) throws(HTTPServerError) {
    let context = Unmanaged.passRetained(self)
    var options = CMicroHTTPDOptions(
      listeningSocket: listener, connectionLimit: UInt32(clamping: limits.connections),
      idleSeconds: UInt32(clamping: max(1, Int(limits.idle.inSeconds.rounded(.up)))),
      // The head of the answer and the library's own records share it; the exact limit is checked on the whole head.
      memoryPerConnection: max(0, limits.headBytes) + 8 << 10,
      context: context.toOpaque(),
      began: { context, target, connection in
        guard let context else { return nil }
        let core = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
        let exchange = ServerExchange(core, target: String(cString: target), socket: cmicrohttpd_socket(connection))
        return Unmanaged.passRetained(exchange).toOpaque()
      },
      handler: { _, connection, _, method, _, bytes, count, context in
        guard let connection, let method, let count, let exchange = ServerExchange.of(context) else { return .NO }
        let part = UnsafeRawBufferPointer(start: bytes, count: count.pointee)
        count.pointee = 0
        return exchange.advance(connection, method, part) ? .YES : .NO
      },
      completed: { _, _, context, _ in
        guard let pointer = context?.pointee else { return }
        context?.pointee = nil
        Unmanaged<ServerExchange>.fromOpaque(pointer).takeRetainedValue().completed()
      },
      connected: { context, connection, own, what in
        guard let context, let connection else { return }
        // By it the connection's server is found again, as long as the daemon has a reference.
        own?.pointee = context
        let arrivals = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue().arrivals
        let socket = cmicrohttpd_socket(connection)
        if what == .CONNECTION_NOTIFY_STARTED { arrivals.open(socket) } else { arrivals.close(socket) }
      })
    guard let daemon = cmicrohttpd_start(&options) else {
      context.release()
      close(listener)
      throw HTTPServerError(message: "The server cannot start: libmicrohttpd refuses, perhaps for lack of memory.")
    }
    let started = Daemon(pointer: daemon, listener: listener)
    state.withLock { $0.daemon = started }
  }

  /// Loads the library, and has this server answer what the library refuses; the reason if that isn't possible.
  static func load() -> String? {
    cmicrohttpd_setRefusal { connection, status in
      guard let context = cmicrohttpd_context(connection) else { return }
      Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue().refuse(
        cmicrohttpd_socket(connection), Int(status))
    }
    return cmicrohttpd_load().map { String(cString: $0) }
  }

  /// Answers a request that the library can't read, which closes the connection after this.
  private func refuse(_ socket: Int32, _ status: Int) {
    let text =
      switch status {
      case 413: "The body is too large."
      case 414: "The address is too long."
      case 431: "The head is too large."
      case 505: "The request has to be HTTP/1.1 or HTTP/1.0."
      case 500...599: "The request can't be handled."
      default: "The request isn't valid HTTP/1.1."
      }
    let response = refusal?(HTTPServerRequest("", "/"), status, text) ?? .text(text, status: status)
    let bytes = ServerCore.bytes(of: response)
    if !bytes.isEmpty { Parting.send(bytes, over: socket) }
  }

  /// An answer as it is sent where the library doesn't send it, after which the connection is closed; empty if its body
  /// isn't in memory.
  static func bytes(of response: HTTPServerResponse) -> [UInt8] {
    guard case .bytes(let body) = response.body else { return [] }
    var response = response
    // The library may not be there.
    let phrase =
      response.status == 503
      ? "Service Unavailable"
      : cmicrohttpd.get_reason_phrase_for(UInt32(clamping: response.status)).map { String(cString: $0) } ?? ""
    response.headers["Date"] = HTTPDate.text(SystemTime().now())
    response.headers["Connection"] = "close"
    response.headers["Content-Length"] = "\(body.count)"
    let fields = response.headers.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    return Array("HTTP/1.1 \(response.status) \(phrase)\r\n\(fields)\r\n".utf8) + body
  }

  /// Notes that a handler is at work; false if the server stops.
  func begin(_ exchange: ServerExchange) -> Bool {
    state.withLock { state in
      guard !state.isStopping else { return false }
      state.exchanges[ObjectIdentifier(exchange)] = exchange
      return true
    }
  }

  /// Notes that an exchange is over, its answer sent or given up.
  func end(_ exchange: ServerExchange) {
    let mustStop = state.withLock { state in
      state.exchanges.removeValue(forKey: ObjectIdentifier(exchange)) != nil && state.isQuiet && state.exchanges.isEmpty
    }
    if mustStop { stopDaemon() }
  }

  func stop() async {
    beginStop()
    await withCheckedContinuation { continuation in
      let isStopped = state.withLock { state in
        if !state.isStopped { state.waiters.append(continuation) }
        return state.isStopped
      }
      if isStopped { continuation.resume() }
    }
  }

  func beginStop() {
    let daemon = state.withLock { state -> Daemon? in
      guard !state.isStopping else { return nil }
      state.isStopping = true
      return state.daemon
    }
    guard let daemon else { return }
    cmicrohttpd_stop_listening(daemon.pointer, daemon.listener)
    let exchanges = state.withLock { state in
      state.isQuiet = true
      return Array(state.exchanges.values)
    }
    for exchange in exchanges { exchange.stop() }
    // Otherwise the end of the last one stops it.
    if exchanges.isEmpty { return stopDaemon() }
    // Ends after a moment.
    Task {
      try? await SystemTime().sleep(for: ServerCore.patience)
      cutOff()
    }
  }

  /// How long a server that stops waits for clients to read their answers.
  private static let patience = TimeSpan.seconds(1)

  /// Cuts the connections of clients that don't read their answers.
  private func cutOff() {
    // Under the lock: an exchange that isn't over has its socket still.
    state.withLock { for exchange in $0.exchanges.values where exchange.isAnswered { exchange.cutOff() } }
  }

  private func stopDaemon() {
    // Without a thread to wait on, the daemon is left as it is: quiet, and gone with the process.
    if !startThread({ self.finishStop() }) { resumeWaiters() }
  }

  private func finishStop() {
    let daemon = state.withLock { state in
      defer { state.daemon = nil }
      return state.daemon
    }
    guard let daemon else { return }
    cmicrohttpd.stop_daemon(daemon.pointer)
    // The daemon's own reference to this object.
    Unmanaged.passUnretained(self).release()
    resumeWaiters()
  }

  private func resumeWaiters() {
    let waiters = state.withLock { state in
      state.isStopped = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
