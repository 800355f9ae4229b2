import Basics
import CMicroHTTPD
import Glibc
import HTTPTypes
import Synchronization

/// One request and its answer, from the first line to the last byte.
///
/// libmicrohttpd's thread delivers the request piece by piece (`advance`), is suspended while the handler's task makes
/// the answer, is resumed to send it, and asks for the parts of a streamed body (`read`), suspended again while there
/// are none. The state that both threads use is in `shared`. A connection is suspended and resumed only under that
/// lock, so that neither can overtake the other; it can't vanish while it is suspended.
// `request`, `step` and `connection` belong to libmicrohttpd's thread until the task starts, which reads them only.
final class ServerExchange: @unchecked Sendable {
  private enum Step { case head, body, handler, answer }

  private struct Chunk {
    var bytes: [UInt8]
    var sent = 0
    var id: Int
    var continuation: CheckedContinuation<Void, any Error>?
  }

  private struct Shared {
    var task: Task<Void, Never>?
    var response: HTTPServerResponse?
    var chunks: [Chunk] = []
    var nextChunk = 0
    var isSuspended = false
    var isCancelled = false
    /// How the streamed body ended, if it has.
    var end: StreamEnd?
    /// Whether the client has gone, or the answer is sent.
    var isOver = false
  }

  private enum StreamEnd { case whole, broken }

  private let core: ServerCore
  private let shared = Mutex(Shared())
  private var request: HTTPServerRequest
  private var step = Step.head
  private var connection: OpaquePointer?
  private var isTooLarge = false
  private var discarded = 0
  private let socket: Int32

  init(_ core: ServerCore, target: String, socket: Int32) {
    self.core = core
    self.socket = socket
    core.arrivals.expect(.head, on: socket)
    request = HTTPServerRequest("", target)
  }

  static func of(_ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> ServerExchange? {
    context?.pointee.map { Unmanaged<ServerExchange>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: For libmicrohttpd's thread

  /// Handles the next piece of the request, or gives the answer; false drops the connection.
  func advance(_ connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ part: UnsafeRawBufferPointer) -> Bool {
    switch step {
    case .head:
      step = .body
      self.connection = connection
      request.method = String(cString: method)
      request.account = core.isLocal ? UnixPeer(of: cmicrohttpd_socket(connection))?.account : nil
      request.address = core.isLocal ? nil : SocketName(of: cmicrohttpd_socket(connection), isPeer: true)?.host
      return readHead(connection)
    case .body where !part.isEmpty:
      return receive(part)
    case .body:
      if isTooLarge { return refuse(413, "The body is too large.") }
      step = .handler
      return handle(connection)
    case .handler:
      step = .answer
      guard let response = shared.withLock({ $0.response }) else { return false }
      return queue(response)
    case .answer: return false
    }
  }

  private func readHead(_ connection: OpaquePointer) -> Bool {
    _ = cmicrohttpd.get_connection_values_n(
      connection, .HEADER_KIND,
      { context, _, name, nameCount, value, valueCount in
        guard let context, let name else { return .NO }
        let exchange = Unmanaged<ServerExchange>.fromOpaque(context).takeUnretainedValue()
        exchange.request.headers.fields.append(
          .init(
            String(decoding: UnsafeRawBufferPointer(start: name, count: nameCount), as: UTF8.self),
            Charset.fieldText(of: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueCount))
          ))
        return .YES
      }, Unmanaged.passUnretained(self).toOpaque())
    let size = request.headers.fields.reduce(request.method.utf8.count + request.target.utf8.count + 12) {
      $0 + $1.name.utf8.count + $1.value.utf8.count + 4
    }
    guard size <= core.limits.headBytes else { return refuse(431, "The head is too large.") }
    if let fault = request.headers.framingFault { return refuse(400, fault) }
    let lengths = request.headers.values("Content-Length")
    if let length = lengths.first {
      guard lengths.count == 1, request.headers["Transfer-Encoding"] == nil else {
        // Two statements of where the body ends allow request smuggling (RFC 9112, section 6.3).
        return refuse(400, "The head says twice where the body ends.")
      }
      // The library has refused what isn't a number; one above Int is too large for any handler.
      // A client that is still sending may lose an answer, so that one which isn't much too large is read to its end.
      let most = core.limits.bodyBytes
      guard let count = Int(length), count <= (request.headers["Expect"] == nil ? 2 * most : most) else {
        return refuse(413, "The body is too large.")
      }
      if count > most { (isTooLarge, discarded) = (true, -most) }
      request.body.reserveCapacity(min(count, 64 << 10))
    }
    core.arrivals.expect(.body, on: socket)
    return true
  }

  /// If a body is too large without announcing it, the answer has to wait for its end: as much again, and a little
  /// more, is read and discarded, then the connection is dropped.
  private func receive(_ part: UnsafeRawBufferPointer) -> Bool {
    core.arrivals.extend(socket, for: part.count)
    if isTooLarge || part.count > core.limits.bodyBytes - request.body.count {
      isTooLarge = true
      request.body = []
      discarded += part.count
      return discarded - (64 << 10) <= core.limits.bodyBytes
    }
    request.body.append(contentsOf: part)
    return true
  }

  private func handle(_ connection: OpaquePointer) -> Bool {
    core.arrivals.end(socket)
    guard core.begin(self) else { return false }
    shared.withLock { shared in
      cmicrohttpd.suspend_connection(connection)
      shared.isSuspended = true
      // `abandon` cancels it: when the client is gone, and when the server stops.
      shared.task = Task { await run() }
    }
    return true
  }

  private func refuse(_ status: Int, _ text: String) -> Bool {
    core.arrivals.end(socket)
    var response = core.refusal?(request, status, text) ?? .text(text, status: status)
    response.headers["Connection"] = "close"
    return queue(response)
  }

  private func queue(_ response: HTTPServerResponse) -> Bool {
    if case .dropped = response.body { return false }
    guard let connection else { return false }
    if (200...599).contains(response.status), let reply = makeReply(response) {
      defer { cmicrohttpd.destroy_response(reply) }
      return cmicrohttpd.queue_response(connection, UInt32(response.status), reply) == .YES
    }
    guard let reply = makeReply(.text("The answer isn't valid HTTP.")) else { return false }
    defer { cmicrohttpd.destroy_response(reply) }
    return cmicrohttpd.queue_response(connection, 500, reply) == .YES
  }

  private func makeReply(_ response: HTTPServerResponse) -> OpaquePointer? {
    let reply: OpaquePointer?
    switch response.body {
    case .bytes(let bytes):
      reply = bytes.withUnsafeBytes { bytes in
        cmicrohttpd.create_response_from_buffer(
          bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .stream: reply = makeStream(UInt64.max, block: response.block)
    case .truncated(let bytes, _): reply = makeStream(UInt64(bytes.count), block: response.block)
    case .dropped: return nil
    }
    guard let reply else { return nil }
    for field in response.headers.fields
    where !field.isNamed("Content-Length") && !field.isNamed("Transfer-Encoding") {
      guard cmicrohttpd.add_response_header(reply, field.name, field.value) == .YES else {
        cmicrohttpd.destroy_response(reply)
        return nil
      }
    }
    return reply
  }

  /// - Parameters:
  ///   - size: The size of the body, or the largest number if it is unknown.
  ///   - block: The most bytes at once.
  private func makeStream(_ size: UInt64, block: Int) -> OpaquePointer? {
    let context = Unmanaged.passRetained(self)
    let reply = cmicrohttpd.create_response_from_callback(
      size, max(1, block),
      { context, _, buffer, room in
        guard let context, let buffer else { return -2 }
        let exchange = Unmanaged<ServerExchange>.fromOpaque(context).takeUnretainedValue()
        return exchange.read(UnsafeMutableRawBufferPointer(start: buffer, count: room))
      }, context.toOpaque(),
      { context in
        if let context { Unmanaged<ServerExchange>.fromOpaque(context).release() }
      })
    if reply == nil { context.release() }
    return reply
  }

  /// Copies the next bytes of the body: how many, 0 after suspending because there are none yet, -1 at the end, -2 to
  /// break off.
  private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let (count, written) = shared.withLock { shared -> (Int, CheckedContinuation<Void, any Error>?) in
      guard !shared.isOver, let connection else { return (-2, nil) }
      guard let chunk = shared.chunks.first else {
        switch shared.end {
        case .whole: return (-1, nil)
        case .broken: return (-2, nil)
        case nil:
          cmicrohttpd.suspend_connection(connection)
          shared.isSuspended = true
          return (0, nil)
        }
      }
      let count = min(buffer.count, chunk.bytes.count - chunk.sent)
      buffer.copyBytes(from: chunk.bytes[chunk.sent..<chunk.sent + count])
      shared.chunks[0].sent += count
      guard chunk.sent + count == chunk.bytes.count else { return (count, nil) }
      shared.chunks.removeFirst()
      return (count, chunk.continuation)
    }
    written?.resume()
    return count
  }

  /// Ends the exchange; libmicrohttpd has dropped its reference.
  func completed() {
    abandon { _ in true }
    core.arrivals.expect(.next, on: socket)
    core.end(self)
  }

  // MARK: For every thread

  /// Asks the handler to finish; its answer is still sent, unless it streams.
  func stop() {
    abandon { shared in
      guard case .stream = shared.response?.body else { return false }
      resume(&shared)
      return true
    }
  }

  /// Whether the handler has given its answer, which may not have been sent yet.
  var isAnswered: Bool { shared.withLock { $0.response != nil } }

  /// Cuts the connection, which is open as long as the exchange isn't over.
  func cutOff() { shutdown(socket, Int32(SHUT_RDWR)) }

  private func abandon(_ isOver: (inout Shared) -> Bool) {
    let (task, chunks) = shared.withLock { shared in
      var dropped: [Chunk] = []
      if isOver(&shared) {
        shared.isOver = true
        swap(&dropped, &shared.chunks)
      }
      shared.isCancelled = true
      return (shared.task, dropped)
    }
    task?.cancel()
    for chunk in chunks { chunk.continuation?.resume(throwing: HTTPDisconnected()) }
  }

  private func resume(_ shared: inout Shared) {
    guard shared.isSuspended, let connection else { return }
    shared.isSuspended = false
    cmicrohttpd.resume_connection(connection)
  }

  // MARK: For the handler's task

  private func run() async {
    let response = await core.handler(request)
    shared.withLock { shared in
      shared.response = response
      if case .truncated(let bytes, let count) = response.body {
        let part = Array(bytes.prefix(max(0, count)))
        if !part.isEmpty { shared.chunks = [Chunk(bytes: part, id: 0)] }
        shared.end = .broken
      }
      // In a task of its own, because a task holds the most that it ever held, and a stream lives long.
      if case .stream(let produce) = response.body {
        shared.task = Task { await run(produce) }
        if shared.isCancelled { shared.task?.cancel() }
      }
      resume(&shared)
    }
  }

  /// Makes a streamed body.
  private func run(_ produce: @Sendable (HTTPBodyWriter) async throws -> Void) async {
    var end = StreamEnd.whole
    do { try await produce(HTTPBodyWriter(exchange: self)) } catch { end = .broken }
    shared.withLock { shared in
      shared.end = end
      resume(&shared)
    }
  }

  func write(_ bytes: [UInt8]) async throws {
    guard !bytes.isEmpty else { return }
    let id = shared.withLock { shared in
      shared.nextChunk += 1
      return shared.nextChunk
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let refusal = shared.withLock { shared -> (any Error)? in
          if shared.isOver { return HTTPDisconnected() }
          // Checked under the lock, so that a cancellation after this finds the chunk.
          if Task.isCancelled { return CancellationError() }
          shared.chunks.append(Chunk(bytes: bytes, id: id, continuation: continuation))
          resume(&shared)
          return nil
        }
        if let refusal { continuation.resume(throwing: refusal) }
      }
    } onCancel: {
      // The bytes may be sent in part, so they stay.
      let continuation = shared.withLock { shared -> CheckedContinuation<Void, any Error>? in
        guard let index = shared.chunks.firstIndex(where: { $0.id == id }) else { return nil }
        defer { shared.chunks[index].continuation = nil }
        return shared.chunks[index].continuation
      }
      continuation?.resume(throwing: CancellationError())
    }
  }
}

extension HTTPHeaders {
  /// Why another reader of the same head might find another end of the request in it (RFC 9112, sections 5.1 and 6.3);
  /// what the library itself refuses isn't here.
  fileprivate var framingFault: String? {
    if fields.contains(where: { $0.name.isEmpty || $0.name.utf8.contains { $0 <= ASCII.space } }) {
      return "The name of a field has a space or a control character."
    }
    if fields.contains(where: { $0.value.utf8.contains { $0 < ASCII.space && $0 != ASCII.tab || $0 == 0x7F } }) {
      return "The value of a field has a control character."
    }
    // Two readers may take one each.
    for name in ["Host", "Origin", "Authorization", "Content-Type", "Idempotency-Key"] where values(name).count > 1 {
      return "There is more than one field \(name)."
    }
    let encodings = values("Transfer-Encoding")
    if encodings.count > 1 || encodings.contains(where: { $0.lowercasedASCII != "chunked" }) {
      return "The only transfer encoding is 'chunked', once."
    }
    return nil
  }
}
