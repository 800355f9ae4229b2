import Basics
import Foundation
import Glibc
import RunState
import Runs
import Synchronization
import Testing

@testable import Agent
@testable import Operations

/// Answers about large runs come in lines of limited size, and no faster than they are read.
@Suite(.timeLimit(.minutes(20))) struct LargeAnswersTests {
  private static let id = "0199c0de-0000-7000-8000-000000000001"
  private static let count = 6000

  /// A state with an open run of many steps, a blob and an event, behind the socket.
  private struct Bench {
    let folder: TemporaryFolder
    let store: FileStateStore
    let lock: FolderLock
    let server: AgentServer

    init() async throws {
      folder = try TemporaryFolder()
      lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
      store = try await FileStateStore.open(folder.path, program: "errand 0.1")
      let time = SystemTime()
      let status = AgentStatus(pid: 1, version: "0.1", isServing: true, since: time.now(), folder: folder.path)
      let agent = LocalAgent(status, on: store, time: time) { _ throws(RunRefusedError) in
        throw RunRefusedError("not here")
      }
      let service = agent.service
      server = try AgentServer.start(in: folder.path, lock: lock, identity: AgentTests.identity, clock: time) {
        await service.handle($0)
      }
      let now = time.now()
      let output = try await store.keep(.string(String(repeating: "äöü€🦀", count: 60_000)))
      try await store.append([
        .runCreated(
          RunCreated(
            run: id, at: now, recipe: "large", file: "large.yaml", texts: .inline(.object([:])), inputs: .object([:]),
            program: "0.1")),
        .runStatusChanged(RunStatusChanged(run: id, at: now, status: .running)),
      ])
      for first in stride(from: 0, to: count, by: 1000) {
        try await store.append(
          (first..<first + 1000).flatMap { number -> [StateEvent] in
            let step = "items[\(number)]/one"
            return [
              .stepBegan(StepBegan(run: id, at: now, step: step, now: now)),
              .stepEnded(
                StepEnded(
                  run: id, at: now, step: step, status: .succeeded,
                  output: number == 7 ? output : .inline(.string("Grüße \(number)")))),
            ]
          })
      }
    }

    func close() async throws {
      await server.stop()
      try await store.close()
      lock.release()
    }

    /// The lines of an answer, and the assembled answer.
    func ask(_ request: String) async throws -> (lines: [Int], answer: Value) {
      let raw = try RawClient(folder.path)
      defer { raw.close() }
      raw.send(
        "{\"errand\":1,\"program\":\"errand 0.1\",\"configuration\":\"/school/errand.yaml\"}\n\(request)\n")
      var (lines, assembler) = ([Int](), AnswerAssembler())
      for try await line in raw.lines().dropFirst() {
        lines.append(line.count)
        if let answer = assembler.receive(try JSON.parse(line)) { return (lines, answer) }
      }
      throw AgentError(.broken, "no answer came")
    }
  }

  @Test func `the lines of an answer do not grow with the run, open, ended and in files`() async throws {
    let bench = try await Bench()
    let id = LargeAnswersTests.id
    func expectTold(_ record: RunRecord, _ comment: Comment) async throws {
      let (lines, answer) = try await bench.ask(#"{"ask":"show","run":"\#(id)"}"#)
      #expect(lines.count > 4 && lines.max() ?? .max < 1 << 20, comment)
      #expect(try RunRecord(reading: answer["run"] ?? .null) == record, comment)
    }
    try await expectTold(try #require(bench.store.run(id)), "open")
    let (listed, _) = try await bench.ask(#"{"ask":"runs"}"#)
    #expect(listed.count == 1 && listed[0] < 4096)
    try await bench.store.append(
      .runEnded(RunEnded(run: id, at: SystemTime().now(), status: .succeeded, outputs: .inline(.int(7)))))
    let ended = try #require(bench.store.state.ended.last)
    try await expectTold(ended, "ended, and not in files yet")
    try await bench.store.compact()
    #expect(bench.store.state.ended.isEmpty)
    try await expectTold(ended, "in files")
    let (_, followed) = try await bench.ask(#"{"ask":"follow","run":"\#(id)"}"#)
    #expect(try RunRecord(reading: followed["ended"] ?? .null) == ended)
    // A large value is sent as it is in its file.
    guard case .blob(let reference)? = ended.steps["items[7]/one"]?.output else {
      Issue.record("the output isn't a blob")
      return
    }
    let blob = try JSON.text(reference.encoded())
    let (lines, answer) = try await bench.ask(#"{"ask":"value","blob":\#(blob)}"#)
    #expect(lines.count > 2 && lines.max() ?? .max < 1 << 20)
    #expect(answer["value"]?.string == String(repeating: "äöü€🦀", count: 60_000))
    try await bench.close()
  }

  @Test func `damage found while a run is sent ends the answer with the remedy`() async throws {
    let bench = try await Bench()
    let id = LargeAnswersTests.id
    try await bench.store.append(.runEnded(RunEnded(run: id, at: SystemTime().now(), status: .failed)))
    try await bench.store.compact()
    let history = "\(bench.folder.path)/history"
    let file = try #require(try Files.list(history).first { $0.hasSuffix(".jsonl") })
    let path = "\(history)/\(file)"
    var bytes = try Files.read(path)
    let place = try #require(bytes.indices.last { bytes[$0...].starts(with: "Grüße 5999".utf8) })
    bytes[place + 8] = UInt8(ascii: "6")
    try Files.write(bytes, to: path)
    let (_, answer) = try await bench.ask(#"{"ask":"show","run":"\#(id)"}"#)
    let message = "\(path) is damaged at byte 0, where the run \(id) should be; put a backup of that file in its place"
    #expect(answer["failed"]?["message"]?.string == message, "\(answer)")
    try await bench.close()
  }

  @Test func `an answer waits for its reader, and a reader that never comes keeps no server from ending`() async throws
  {
    let folder = try TemporaryFolder()
    var limits = LineLoop.Limits()
    limits.output = 2 << 20
    let (begun, sink) = AsyncStream<Void>.makeStream()
    let lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
    let server = try AgentServer.start(
      in: folder.path, lock: lock, identity: AgentTests.identity, clock: SystemTime(), limits: limits
    ) { request in
      _ = lock
      let text = String(repeating: "x", count: 256 << 10)
      for number in 0..<100 {
        guard await request.replyInTurn(.object(["number": .int(number), "text": .string(text)])) else { return }
        sink.yield()
      }
    }
    let hello = "{\"errand\":1,\"program\":\"errand 0.1\",\"configuration\":\"/school/errand.yaml\"}\n{}\n"
    let (reader, sleeper) = (try RawClient(folder.path), try RawClient(folder.path))
    sleeper.send(hello)
    for await _ in begun { break }
    reader.send(hello)
    var numbers: [Int] = []
    for try await line in reader.lines().dropFirst() {
      numbers.append(try #require(try JSON.parse(line)["number"]?.int))
      if numbers.count == 100 { break }
    }
    #expect(numbers == Array(0..<100))
    await server.stop()
    reader.close()
    sleeper.close()
  }
}

extension RawClient {
  /// The received lines, each without its end.
  func lines() -> AsyncThrowingStream<[UInt8], any Error> {
    let (lines, sink) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
    // Its own descriptor, because the client may be closed meanwhile, and its number be reused for another socket.
    // Ends when the client is closed.
    let socket = dup(self.socket)
    Thread {
      defer { Glibc.close(socket) }
      var (line, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
      while true {
        let count = recv(socket, &chunk, chunk.count, 0)
        guard count > 0 else { return sink.finish() }
        var rest = chunk[..<count]
        while let end = rest.firstIndex(of: 0x0A) {
          sink.yield(line + rest[..<end])
          line = []
          rest = rest[(end + 1)...]
        }
        line += rest
      }
    }.start()
    return lines
  }
}
