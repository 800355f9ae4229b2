package import Basics
import Glibc

/// Limits on the requests and connections that a server accepts.
package struct HTTPServerLimits: Sendable {
  /// The largest head of a request, in bytes; a larger one gets 431, or 414 if its first line alone is too long.
  package var headBytes: Int
  /// The largest body of a request; a larger one gets 413, as soon as it has arrived or more than twice as
  /// much is announced.
  package var bodyBytes: Int
  /// How long a connection may be silent while the server waits for it, in whole seconds; 5 at most before its first
  /// request.
  package var idle: TimeSpan
  /// How many connections there may be; more aren't accepted meanwhile.
  ///
  /// A quarter of the files that the process may have open is the most.
  package var connections: Int
  /// How many times as long as usual a request may take to arrive: usually 15 seconds for a head and for a body, and less
  /// while there are as many connections as may be.
  package var patience = 1

  package init(
    headBytes: Int = 16 << 10, bodyBytes: Int = 8 << 20, idle: TimeSpan = .seconds(30), connections: Int = 1000
  ) {
    self.headBytes = headBytes
    self.bodyBytes = bodyBytes
    self.idle = idle
    self.connections = connections
  }
}

/// Why a server doesn't start.
package struct HTTPServerError: Error, CustomStringConvertible {
  package var message: String
  package var description: String { message }

  package init(message: String) { self.message = message }
}

/// An HTTP/1.1 server whose handler is an async function, over libmicrohttpd on one thread.
///
/// While a handler is at work its connection is suspended and costs no thread. The handler's task is cancelled when its
/// client is found to be gone, and when the server stops. TLS and the open network are left to a reverse proxy.
package final class HTTPServer: Sendable {
  package typealias Handler = @Sendable (HTTPServerRequest) async -> HTTPServerResponse
  /// Makes the answer to a request that no handler sees, from its head, the status and a sentence; must not block.
  ///
  /// The head is empty if the request can't be read.
  package typealias Refusal = @Sendable (HTTPServerRequest, Int, String) -> HTTPServerResponse

  private let core: ServerCore
  /// The address it listens on.
  package let host: String
  /// The port it listens on.
  package let port: Int

  /// Starts listening.
  ///
  /// - Parameters:
  ///   - host: An IPv4 or IPv6 address of this machine; by default only this machine can connect.
  ///   - port: 0 for any that is free.
  ///   - refusal: By default a refusal is a plain text.
  package init(
    host: String = "127.0.0.1", port: Int = 0, limits: HTTPServerLimits = HTTPServerLimits(), refusal: Refusal? = nil,
    handler: @escaping Handler
  ) throws(HTTPServerError) {
    if let fault = ServerCore.load() { throw HTTPServerError(message: fault) }
    let listener = try ListeningSocket(host: host, port: port)
    core = ServerCore(limits: limits, isLocal: false, refusal: refusal, handler: handler)
    self.host = host
    self.port = listener.port
    try core.start(on: listener.descriptor)
  }

  /// Starts to serve a socket that listens already, and closes it in the end.
  ///
  /// - Parameter descriptor: A Unix or network socket, such as one that systemd passes.
  package init(
    listening descriptor: Int32, limits: HTTPServerLimits = HTTPServerLimits(), refusal: Refusal? = nil,
    handler: @escaping Handler
  ) throws(HTTPServerError) {
    if let fault = ServerCore.load() {
      close(descriptor)
      throw HTTPServerError(message: fault)
    }
    guard let address = SocketName(of: descriptor) else {
      let reason = String(cString: strerror(errno))
      close(descriptor)
      throw HTTPServerError(message: "Descriptor \(descriptor) is no socket: \(reason).")
    }
    core = ServerCore(limits: limits, isLocal: address.isLocal, refusal: refusal, handler: handler)
    (host, port) = (address.host, address.port)
    try core.start(on: descriptor)
  }

  deinit { core.beginStop() }

  /// The server's address: `http://127.0.0.1:8080`, without a slash at its end.
  package var baseURL: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  /// Accepts no more requests, cancels the handlers at work, sends what they still answer, and closes.
  ///
  /// Takes as long as the handlers take to notice, and at most a second more for a client that doesn't read its answer.
  package func stop() async { await core.stop() }
}

/// Where a socket that listens already is reached.
package struct SocketName: Sendable {
  /// Whether it is a Unix socket, whose clients the kernel identifies.
  package let isLocal: Bool
  /// The IPv4 or IPv6 address; `localhost` for a Unix socket.
  package let host: String
  package let port: Int

  /// Nil if the descriptor isn't a socket.
  ///
  /// - Parameter isPeer: Whether the other end of a connection is meant.
  package init?(of descriptor: Int32, isPeer: Bool = false) {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        (isPeer ? getpeername(descriptor, $0, &size) : getsockname(descriptor, $0, &size)) == 0
      }
    }
    guard isKnown else { return nil }
    isLocal = Int32(address.ss_family) == AF_UNIX
    (host, port) = isLocal ? ("localhost", 0) : ListeningSocket.hostAndPort(of: &address)
  }
}

/// A listening socket, with the port it got.
private struct ListeningSocket {
  let descriptor: Int32
  let port: Int

  init(host: String, port: Int) throws(HTTPServerError) {
    func failed(_ text: String) -> HTTPServerError {
      HTTPServerError(message: "The server cannot listen on \(host) port \(port): \(text)")
    }
    guard let wanted = UInt16(exactly: port) else { throw failed("a port is a number from 0 to 65535.") }
    var address = sockaddr_storage()
    guard let size = ListeningSocket.fill(&address, host, wanted) else {
      throw failed("write the host as an IPv4 or IPv6 address, such as 127.0.0.1.")
    }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(Int32(address.ss_family), type, 0)
    guard descriptor >= 0 else { throw failed("\(String(cString: strerror(errno))).") }
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var actualSize = size
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, SOMAXCONN) == 0
          && getsockname(descriptor, address, &actualSize) == 0
      }
    }
    guard isListening else {
      let code = errno
      close(descriptor)
      let way = code == EADDRINUSE ? "; stop what uses it, or choose another port" : ""
      throw failed("\(String(cString: strerror(code)))\(way).")
    }
    self.descriptor = descriptor
    self.port = ListeningSocket.hostAndPort(of: &address).port
  }

  /// The numeric host and the port of an address of the network.
  static func hostAndPort(of address: inout sockaddr_storage) -> (host: String, port: Int) {
    // The port has the same offset for both families.
    let port = withUnsafeBytes(of: &address) { Int(UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))) }
    let family = Int32(address.ss_family)
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let isWritten = withUnsafeBytes(of: &address) { bytes in
      // The offset of the address within each family's structure.
      bytes.baseAddress.map { inet_ntop(family, $0 + (family == AF_INET ? 4 : 8), &text, socklen_t(text.count)) != nil }
    }
    return (
      isWritten == true ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "",
      port
    )
  }

  private static func fill(_ storage: inout sockaddr_storage, _ host: String, _ port: UInt16) -> socklen_t? {
    var v4 = sockaddr_in()
    if inet_pton(AF_INET, host, &v4.sin_addr) == 1 {
      v4.sin_family = sa_family_t(AF_INET)
      v4.sin_port = port.bigEndian
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
      return socklen_t(MemoryLayout<sockaddr_in>.size)
    }
    var v6 = sockaddr_in6()
    if inet_pton(AF_INET6, host, &v6.sin6_addr) == 1 {
      v6.sin6_family = sa_family_t(AF_INET6)
      v6.sin6_port = port.bigEndian
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
      return socklen_t(MemoryLayout<sockaddr_in6>.size)
    }
    return nil
  }
}
