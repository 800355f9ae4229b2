import Dispatch
import Glibc
import HTTPServer
import Synchronization
import Testing

/// A server that starts with its first client.
@Suite(.timeLimit(.minutes(20))) struct DeferredServerTests {
  private static let request = "GET / HTTP/1.0\r\n\r\n"

  /// How many servers were made.
  private final class Count: Sendable {
    private let made = Atomic(0)

    var value: Int { made.load(ordering: .sequentiallyConsistent) }

    func add() { made.add(1, ordering: .sequentiallyConsistent) }
  }

  /// A socket that listens on a free port.
  private static func listener() throws -> (descriptor: Int32, port: Int) {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_INET, type, 0)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, SOMAXCONN) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    try #require(isListening)
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// A server that counts how often it is made.
  private static func deferred(
    _ descriptor: Int32, _ count: Count, waitingFor gate: DispatchSemaphore? = nil,
    _ entered: AsyncStream<Void>.Continuation? = nil, handler: @escaping HTTPServer.Handler = { _ in .text("ok") }
  ) throws -> DeferredServer {
    try DeferredServer(listening: descriptor, unavailable: { .text($0, status: 503) }) {
      descriptor throws(HTTPServerError) in
      count.add()
      entered?.yield()
      // The thread of the deferred server.
      gate?.wait()
      return try HTTPServer(listening: descriptor, handler: handler)
    }
  }

  /// Waits until nothing listens on a port any more.
  ///
  /// A child process that another test starts at that moment holds the
  /// socket until it begins its own program.
  private static func becomesFree(_ port: Int) async -> Bool {
    while true {
      if let server = try? HTTPServer(port: port, handler: { _ in .dropped }) {
        await server.stop()
        return true
      }
      await Task.yield()
    }
  }

  @Test func `nothing is made before a client comes, and the first client is answered`() async throws {
    let (descriptor, port) = try DeferredServerTests.listener()
    let count = Count()
    let server = try DeferredServerTests.deferred(descriptor, count)
    #expect(count.value == 0)
    #expect(await RawClient.answer(to: DeferredServerTests.request, port: port).hasSuffix("\r\n\r\nok"))
    #expect(count.value == 1)
    for _ in 0..<20 {
      #expect(await RawClient.answer(to: DeferredServerTests.request, port: port).hasSuffix("\r\n\r\nok"))
    }
    #expect(count.value == 1)
    await server.stop()
    #expect(await DeferredServerTests.becomesFree(port))
  }

  @Test func `a client that goes away at once starts the server, too`() async throws {
    let (descriptor, port) = try DeferredServerTests.listener()
    let count = Count()
    let (entries, entered) = AsyncStream<Void>.makeStream()
    let server = try DeferredServerTests.deferred(descriptor, count, entered)
    RawClient.hangUp(RawClient.unfinished(1, "", port: port))
    for await _ in entries { break }
    #expect(await RawClient.answer(to: DeferredServerTests.request, port: port).hasSuffix("\r\n\r\nok"))
    #expect(count.value == 1)
    await server.stop()
  }

  @Test func `a stop before any client makes nothing and closes the socket`() async throws {
    let (descriptor, port) = try DeferredServerTests.listener()
    let count = Count()
    let server = try DeferredServerTests.deferred(descriptor, count)
    await server.stop()
    #expect(count.value == 0)
    #expect(await RawClient.answer(to: DeferredServerTests.request, port: port) == "")
    #expect(await DeferredServerTests.becomesFree(port))
    // A second one has nothing to do.
    await server.stop()
  }

  @Test func `stops at any moment of a first connection`() async throws {
    for _ in 0..<100 {
      let (descriptor, port) = try DeferredServerTests.listener()
      let count = Count()
      let server = try DeferredServerTests.deferred(descriptor, count)
      async let first = RawClient.answer(to: DeferredServerTests.request, port: port)
      async let second = RawClient.answer(to: DeferredServerTests.request, port: port)
      await server.stop()
      for answer in [await first, await second] { #expect(answer.isEmpty || answer.hasSuffix("\r\n\r\nok")) }
      #expect(count.value <= 1)
    }
  }

  @Test func `a stop while clients are answered waits for their answers`() async throws {
    let (descriptor, port) = try DeferredServerTests.listener()
    let (starts, started) = AsyncStream<Void>.makeStream()
    let server = try DeferredServerTests.deferred(descriptor, Count()) { _ in
      started.yield()
      // Ends when the task is cancelled.
      for await _ in AsyncStream<Void>.makeStream().stream {}
      return .text("stopping")
    }
    async let waiting = RawClient.answer(to: DeferredServerTests.request, port: port)
    for await _ in starts { break }
    await server.stop()
    #expect(await waiting.hasSuffix("stopping"))
    #expect(await DeferredServerTests.becomesFree(port))
  }

  @Test func `clients that come while the server is made wait, and are answered`() async throws {
    let (descriptor, port) = try DeferredServerTests.listener()
    let count = Count()
    let (entries, entered) = AsyncStream<Void>.makeStream()
    let gate = DispatchSemaphore(value: 0)
    let server = try DeferredServerTests.deferred(descriptor, count, waitingFor: gate, entered)
    let first = RawClient.unfinished(1, DeferredServerTests.request, port: port)
    for await _ in entries { break }
    // Connected and sent, and accepted by nothing yet.
    let others = RawClient.unfinished(20, DeferredServerTests.request, port: port)
    gate.signal()
    for client in first + others { #expect(await RawClient.answer(over: client).hasSuffix("\r\n\r\nok")) }
    #expect(count.value == 1)
    await server.stop()
  }

  @Test func `a stop while the server is made waits for it, and stops it`() async throws {
    let (descriptor, port) = try DeferredServerTests.listener()
    let count = Count()
    let (entries, entered) = AsyncStream<Void>.makeStream()
    let gate = DispatchSemaphore(value: 0)
    let server = try DeferredServerTests.deferred(descriptor, count, waitingFor: gate, entered)
    RawClient.hangUp(RawClient.unfinished(1, "", port: port))
    for await _ in entries { break }
    async let stopped: Void = server.stop()
    gate.signal()
    await stopped
    #expect(count.value == 1)
    #expect(await DeferredServerTests.becomesFree(port))
  }

  @Test func `without a server, clients are told that nothing listens`() async throws {
    let (descriptor, port) = try DeferredServerTests.listener()
    let server = try DeferredServer(listening: descriptor, unavailable: { .text($0, status: 503) }) {
      descriptor throws(HTTPServerError) in
      close(descriptor)
      throw HTTPServerError(message: "There is no memory.")
    }
    #expect(await RawClient.answer(to: DeferredServerTests.request, port: port) == "")
    await server.stop()
    #expect(await DeferredServerTests.becomesFree(port))
  }
}
