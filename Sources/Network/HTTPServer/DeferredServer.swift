import Basics
import Glibc
import Synchronization
import Threads

/// A server that starts with its first client.
///
/// Until a client connects, one thread waits on the socket: the library that speaks HTTP isn't loaded, and nothing else
/// is made. Clients that come meanwhile wait in the socket's queue. Where the library can't be loaded, the thread answers
/// each client with the reason and closes the connection.
package final class DeferredServer: Sendable {
  private struct Content {
    var server: HTTPServer?
    var isOver = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let listener: Int32
  private let wakeReader: Int32
  private let wakeWriter: Int32
  private let content = Mutex(Content())
  private let makeServer: @Sendable (Int32) throws(HTTPServerError) -> HTTPServer
  private let unavailable: @Sendable (_ reason: String) -> HTTPServerResponse

  /// Starts to wait for clients.
  ///
  /// - Parameters:
  ///   - descriptor: A socket that listens already; it is closed in the end.
  ///   - unavailable: The answer to all clients where the library can't be loaded; its body has to be in memory.
  ///   - makeServer: Makes the server of the socket, which is the server's from then on.
  package init(
    listening descriptor: Int32, unavailable: @escaping @Sendable (_ reason: String) -> HTTPServerResponse,
    _ makeServer: @escaping @Sendable (Int32) throws(HTTPServerError) -> HTTPServer
  ) throws(HTTPServerError) {
    var pipe: [Int32] = [-1, -1]
    guard Glibc.pipe(&pipe) == 0 else {
      close(descriptor)
      throw HTTPServerError(message: "The server cannot make a pipe: \(String(cString: strerror(errno))).")
    }
    for end in pipe {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (listener, wakeReader, wakeWriter) = (descriptor, pipe[0], pipe[1])
    self.unavailable = unavailable
    self.makeServer = makeServer
    // Ends with the first client, or with `stop`.
    guard startThread({ self.wait() }) else {
      close(descriptor)
      throw HTTPServerError(message: "The system has no thread left for the server.")
    }
  }

  deinit {
    close(wakeReader)
    close(wakeWriter)
  }

  /// Accepts nothing more, and stops the server if it was started.
  package func stop() async {
    var byte: UInt8 = 0
    _ = write(wakeWriter, &byte, 1)
    await withCheckedContinuation { continuation in
      let isOver = content.withLock { content in
        if !content.isOver { content.waiters.append(continuation) }
        return content.isOver
      }
      if isOver { continuation.resume() }
    }
    await content.withLock { $0.server }?.stop()
  }

  // MARK: - The thread

  private func wait() {
    var server: HTTPServer?
    if isClientThere() {
      if let reason = ServerCore.load() {
        refuseAll(because: reason)
        close(listener)
      } else {
        // Without memory for a server, the socket is closed, and clients find no agent.
        server = try? makeServer(listener)
      }
    } else {
      close(listener)
    }
    let waiters = content.withLock { content in
      content.server = server
      content.isOver = true
      defer { content.waiters = [] }
      return content.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits for the next client; false if it is `stop` that came.
  private func isClientThere() -> Bool {
    while true {
      var polled = [
        pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0),
        pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&polled, 2, -1) > 0 else { continue }
      if polled[0].revents != 0 { return false }
      if polled[1].revents != 0 { return true }
    }
  }

  private func refuseAll(because reason: String) {
    let answer = ServerCore.bytes(of: unavailable(reason))
    repeat {
      let socket = accept(listener, nil, nil)
      if socket >= 0 {
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        Parting.send(answer, over: socket)
        close(socket)
      } else if errno != EAGAIN {
        // The system has no descriptor for another connection, for a moment.
        poll(nil, 0, 100)
      }
    } while isClientThere()
  }
}
