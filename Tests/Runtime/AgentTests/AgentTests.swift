import Agent
import Basics
import Foundation
import Glibc
import Synchronization
import Testing

@testable import Agent

/// A folder that is removed after the test, with a path of a given length.
final class TemporaryFolder: Sendable {
  let root: String
  let path: String

  init(pathLength: Int = 0) throws {
    root = NSTemporaryDirectory() + "errand-agent-" + UUID().uuidString
    var path = root
    while path.utf8.count < pathLength { path += "/" + String(repeating: "x", count: 60) }
    self.path = path
    try Files.makeFolder(path)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }
}

@Suite(.timeLimit(.minutes(20))) struct AgentTests {
  static let identity = AgentIdentity(program: "errand 0.1", configuration: "/school/errand.yaml")

  /// Answers requests; a certain request waits to be cancelled.
  static func serve(
    _ folder: TemporaryFolder, limits: LineLoop.Limits = LineLoop.Limits(), gone: AsyncStream<Void>.Continuation? = nil
  ) throws -> AgentServer {
    let lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
    return try AgentServer.start(
      in: folder.path, lock: lock, identity: identity, clock: SystemTime(), limits: limits
    ) { request in
      _ = lock
      if request.value["wait"] != nil {
        request.reply(.object(["waits": .bool(true)]))
        // Ends when the task is cancelled.
        for await _ in AsyncStream<Void>.makeStream().stream {}
        gone?.yield()
      } else {
        for count in 0..<(request.value["times"]?.int ?? 1) {
          request.reply(.object(["echo": request.value, "count": .int(count)]))
        }
      }
    }
  }

  static func connect(_ folder: TemporaryFolder, as identity: AgentIdentity = identity) async throws -> AgentClient? {
    try await AgentClient.connect(folder.path, identity: identity, clock: SystemTime())
  }

  @Test(arguments: [0, 300])
  func `answers requests line by line, however long the folder's path is`(_ pathLength: Int) async throws {
    let folder = try TemporaryFolder(pathLength: pathLength)
    let server = try AgentTests.serve(folder)
    let client = try #require(try await AgentTests.connect(folder))
    #expect(client.pid == Int(getpid()))
    let request: Value = .object(["ask": .string("line\nbreak"), "times": .int(3)])
    try client.send(request)
    var counts: [Int] = []
    for try await reply in client.replies {
      #expect(reply["echo"] == request)
      counts.append(try #require(reply["count"]?.int))
      if counts.count == 3 { break }
    }
    #expect(counts == [0, 1, 2])
    var status = stat()
    #expect(stat("\(folder.path)/agent.sock", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    await client.close()
    await server.stop()
    #expect(stat("\(folder.path)/agent.sock", &status) != 0)
    #expect(try await AgentTests.connect(folder) == nil)
  }

  @Test(arguments: [1 << 20, 12 << 20, 40 << 20])
  func `a line of any size arrives whole, in pieces beside other answers`(_ size: Int) async throws {
    let folder = try TemporaryFolder()
    let server = try AgentTests.serve(folder)
    let client = try #require(try await AgentTests.connect(folder))
    let text = String(repeating: "+=äöü", count: size / 8)
    try client.send(.object(["text": .string(text)]))
    for number in 0..<3 { try client.send(.object(["number": .int(number)])) }
    var numbers: Set<Int> = []
    var hasText = false
    for try await reply in client.replies {
      if let number = reply["echo"]?["number"]?.int { numbers.insert(number) }
      if reply["echo"]?["text"]?.string == text { hasText = true }
      if hasText, numbers.count == 3 { break }
    }
    #expect(hasText && numbers == [0, 1, 2])
    await client.close()
    await server.stop()
  }

  @Test func `a client asks no agent in a folder that other users may write to or own`() async throws {
    let folder = try TemporaryFolder()
    let server = try AgentTests.serve(folder)
    chmod(folder.path, 0o777)
    let open = AgentError(
      .unavailable,
      "other users may write to the state folder '\(folder.path)'; forbid it with: chmod go-w '\(folder.path)'")
    await #expect(throws: open) { try await AgentTests.connect(folder) }
    chmod(folder.path, 0o700)
    // Only root can change the owner of folders.
    if chown(folder.path, 65534, 65534) == 0 {
      let error = await #expect(throws: AgentError.self) { try await AgentTests.connect(folder) }
      #expect(error?.message.contains("belongs to the user nobody") == true)
      #expect(chown(folder.path, getuid(), getgid()) == 0)
    }
    let client = try #require(try await AgentTests.connect(folder))
    await client.close()
    await server.stop()
  }

  @Test func `a dead agent's socket is ignored, and the next agent replaces it`() async throws {
    let folder = try TemporaryFolder()
    let dead = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    try SocketAddress.with(folder.path) { bind(dead, $0, $1) }
    close(dead)
    #expect(try await AgentTests.connect(folder) == nil)
    let server = try AgentTests.serve(folder)
    let client = try #require(try await AgentTests.connect(folder))
    await client.close()
    await server.stop()
  }

  @Test(arguments: [
    (
      AgentIdentity(program: "errand 0.2", configuration: "/school/errand.yaml"),
      ", which is errand 0.1 and this is errand 0.2; start that agent again with this version (kill \(getpid()), then errand serve; or systemctl restart), or use its version"
    ),
    (
      AgentIdentity(program: "errand 0.1", configuration: "/home/errand.yaml"),
      ", which uses /school/errand.yaml and this uses /home/errand.yaml; stop it, or give one of them its own state folder"
    ),
  ])
  func `serves only clients of its own version and configuration`(_ identity: AgentIdentity, _ reason: String)
    async throws
  {
    let folder = try TemporaryFolder()
    let server = try AgentTests.serve(folder)
    let message = "the state in '\(folder.path)' is held by process \(getpid())\(reason)"
    await #expect(throws: AgentError(.held, message)) { try await AgentTests.connect(folder, as: identity) }
    await server.stop()
  }

  @Test(arguments: [
    ("nonsense", "a line has to be a JSON object, column 1: "),
    ("[1]", "a line has to be a JSON object, not a list"),
    ("{}", "the first line has to say who the client is"),
  ])
  func `says what is wrong with a line`(_ line: String, _ message: String) async throws {
    let folder = try TemporaryFolder()
    let server = try AgentTests.serve(folder)
    let raw = try RawClient(folder.path)
    raw.send(line + "\n")
    let reply = try JSON.parse(try #require(await raw.line()))
    #expect(reply["error"]?["message"]?.string?.hasPrefix(message) == true)
    raw.close()
    await server.stop()
  }

  @Test func `continues after a bad line, and ends a connection whose line is too long`() async throws {
    let folder = try TemporaryFolder()
    var limits = LineLoop.Limits()
    limits.line = 1000
    let server = try AgentTests.serve(folder, limits: limits)
    let raw = try RawClient(folder.path)
    raw.send("{\"errand\":1,\"program\":\"errand 0.1\",\"configuration\":\"/school/errand.yaml\"}\n")
    #expect(await raw.line()?.hasPrefix("{\"errand\":1,") == true)
    raw.send("{\"a\":\n{\"b\":1}\n")
    #expect(await raw.line()?.hasPrefix("{\"error\":{\"kind\":\"broken\",") == true)
    #expect(await raw.line() == "{\"echo\":{\"b\":1},\"count\":0}")
    raw.send(String(repeating: "x", count: 1001))
    #expect(await raw.line() == "{\"error\":{\"kind\":\"broken\",\"message\":\"a line has more than 1000 bytes\"}}")
    #expect(await raw.line() == nil)
    raw.close()
    await server.stop()
  }

  @Test func `an answer that comes while the server stops is sent`() async throws {
    let folder = try TemporaryFolder()
    let lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
    let server = try AgentServer.start(
      in: folder.path, lock: lock, identity: AgentTests.identity, clock: SystemTime()
    ) { request in
      _ = lock
      // Until the server waits for no client.
      while await request.replyInTurn(.object(["waits": .bool(true)])) { try? await Task.sleep(for: .milliseconds(1)) }
      await PartedAnswer(to: request, id: "a", hiding: nil).end(ValueMap([("yielded", .bool(true))]))
    }
    let client = try #require(try await AgentTests.connect(folder))
    try client.send(.object(["ask": .string("yield")]))
    var stopping: Task<Void, Never>?
    var last: Value?
    // The end of the stream may be an error.
    do {
      for try await reply in client.replies {
        last = reply
        // Ends with the connection of the client.
        if stopping == nil { stopping = Task { await server.stop() } }
      }
    } catch {}
    #expect(last == .object(["yielded": .bool(true)]))
    await stopping?.value
    await client.close()
  }

  @Test func `answers a client that has closed its side`() async throws {
    let folder = try TemporaryFolder()
    let server = try AgentTests.serve(folder)
    let raw = try RawClient(folder.path)
    raw.send("{\"errand\":1,\"program\":\"errand 0.1\",\"configuration\":\"/school/errand.yaml\"}\n{\"times\":2}\n")
    raw.shutdownSending()
    #expect(await raw.line()?.hasPrefix("{\"errand\":1,") == true)
    #expect(await raw.line() == "{\"echo\":{\"times\":2},\"count\":0}")
    #expect(await raw.line() == "{\"echo\":{\"times\":2},\"count\":1}")
    #expect(await raw.line() == nil)
    raw.close()
    await server.stop()
  }

  @Test func `a client that disconnects cancels its requests and nothing else`() async throws {
    let folder = try TemporaryFolder()
    let (gone, continuation) = AsyncStream<Void>.makeStream()
    let server = try AgentTests.serve(folder, gone: continuation)
    let leaving = try #require(try await AgentTests.connect(folder))
    let staying = try #require(try await AgentTests.connect(folder))
    try leaving.send(.object(["wait": .bool(true)]))
    for try await _ in leaving.replies { break }
    await leaving.close()
    for await _ in gone { break }
    try staying.send(.object(["ask": .int(1)]))
    for try await reply in staying.replies {
      #expect(reply["echo"] == .object(["ask": .int(1)]))
      break
    }
    await staying.close()
    await server.stop()
  }

  @Test func `a client that reads nothing is cut off and harms no other`() async throws {
    let folder = try TemporaryFolder()
    var limits = LineLoop.Limits()
    limits.output = 100_000
    let server = try AgentTests.serve(folder, limits: limits)
    let raw = try RawClient(folder.path)
    raw.send(
      "{\"errand\":1,\"program\":\"errand 0.1\",\"configuration\":\"/school/errand.yaml\"}\n{\"times\":100000}\n")
    var lines = 0
    await raw.waitForHangUp()
    while await raw.line() != nil { lines += 1 }
    #expect(lines < 100_000)
    raw.close()
    let client = try #require(try await AgentTests.connect(folder))
    await client.close()
    await server.stop()
  }

  @Test func `stopping tells the clients`() async throws {
    let folder = try TemporaryFolder()
    let server = try AgentTests.serve(folder)
    let client = try #require(try await AgentTests.connect(folder))
    try client.send(.object(["wait": .bool(true)]))
    var replies = client.replies.makeAsyncIterator()
    #expect(try await replies.next()?["waits"] == .bool(true))
    await server.stop()
    #expect(try await replies.next() == nil)
    #expect(throws: AgentError(.broken, "the agent (process \(getpid())) is gone")) {
      try client.send(.object(["ask": .int(1)]))
    }
    await client.close()
  }
}

@Suite struct FolderLockTests {
  @Test func `names the holder of the folder to a second process`() throws {
    let folder = try TemporaryFolder()
    var lock: FolderLock? = try FolderLock.acquire(folder.path, program: "errand 0.1")
    #expect(FolderLock.holder(of: folder.path) == FolderLock.Holder(pid: Int(getpid()), program: "errand 0.1"))
    // Locks belong to open files, so a second lock in the same process is refused like another process's.
    let message =
      "the state in '\(folder.path)' is held by process \(getpid()) (errand 0.1); wait for it to end, or stop it, and try again"
    #expect(throws: AgentError(.held, message)) { try FolderLock.acquire(folder.path, program: "errand 0.1") }
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(FolderLock.holder(of: folder.path) == nil)
    _ = try FolderLock.acquire(folder.path, program: "errand 0.1")
  }

  @Test func `takes over the folder of a killed process`() throws {
    let folder = try TemporaryFolder()
    try Files.write(Array("{\"pid\":1,\"program\":\"errand 0.0\"}\n".utf8), to: "\(folder.path)/agent.lock")
    let lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
    #expect(FolderLock.holder(of: folder.path)?.pid == Int(getpid()))
    withExtendedLifetime(lock) {}
  }

  @Test func `names the file it cannot open`() throws {
    let folder = try TemporaryFolder()
    let message = "cannot open '\(folder.path)/no': no such file or folder (ENOENT)"
    #expect(throws: AgentError(.unavailable, message)) {
      try FolderLock.acquire("\(folder.path)/no", program: "errand 0.1")
    }
  }
}

/// A client that sends any bytes.
struct RawClient: Sendable {
  let socket: Int32

  init(_ folder: String) throws {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    socket = descriptor
    try SocketAddress.with(folder) { connect(descriptor, $0, $1) }
  }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  func shutdownSending() { shutdown(socket, Int32(SHUT_WR)) }

  func waitForHangUp() async {
    await onThread {
      var polled = pollfd(fd: socket, events: 0, revents: 0)
      poll(&polled, 1, 30_000)
    }
  }

  /// The next line, or nil at the end.
  func line() async -> String? {
    await onThread {
      var line: [UInt8] = []
      var byte: UInt8 = 0
      while recv(socket, &byte, 1, 0) == 1 {
        if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
        line.append(byte)
      }
      return nil
    }
  }

  /// Runs blocking code on a thread of its own.
  private func onThread<Outcome: Sendable>(_ body: @escaping @Sendable () -> Outcome) async -> Outcome {
    await withCheckedContinuation { continuation in Thread { continuation.resume(returning: body()) }.start() }
  }

  func close() {
    // A reader that is still there comes to the end.
    shutdown(socket, Int32(SHUT_RDWR))
    Glibc.close(socket)
  }
}
