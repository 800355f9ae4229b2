import Agent
import AgentClient
import Basics
import Glibc
import Operations
import ProcessTestKit
import RunState
import Testing

/// Answers about large runs are sent in pieces, as they are stored, and read whole or not at all.
@Suite(.timeLimit(.minutes(20))) struct LargeAnswersTests {
  private static let id = "0199c0de-0000-7000-8000-000000000001"
  private static let count = 6000
  private static let text = String(repeating: "äöü€🦀", count: 60_000)

  /// An agent whose state has an open run of many steps, one of them with a large output.
  private static func bench() async throws -> SocketBench {
    let bench = try await SocketBench()
    let (store, now) = (bench.store, bench.time.now())
    let output = try await store.keep(.string(text))
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
    return bench
  }

  private static var show: ShowRun { ShowRun.with { $0.run = id } }

  /// The bytes that are sent for a request: their head, and the sizes of the chunks.
  private static func sent(
    _ operation: some Operation, by bench: SocketBench
  ) async throws -> (head: String, sizes: [Int]) {
    let raw = try RawClient(bench.folder.path)
    defer { raw.close() }
    raw.send(try ExactRequest(operation).bytes)
    return RawClient.chunks(of: await raw.rest())
  }

  private static func blob(_ run: RunRecord) throws -> BlobReference {
    guard case .blob(let reference)? = run.steps["items[7]/one"]?.output else {
      throw StateError(.invalid, "the output isn't a blob")
    }
    return reference
  }

  @Test func `a large run is read as it is, open, ended and in files, and its pieces don't grow with it`() async throws
  {
    let bench = try await LargeAnswersTests.bench()
    let client = try bench.client()
    func expectTold(_ record: RunRecord, _ comment: Comment) async throws {
      #expect(try await client.answer(to: LargeAnswersTests.show)?.record() == record, comment)
      let (head, sizes) = try await LargeAnswersTests.sent(LargeAnswersTests.show, by: bench)
      #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("\r\nContent-Type: \(ExactForm.answer)\r\n"), comment)
      #expect(head.contains("\r\nErrand-Program: errand 0.1\r\n"), comment)
      #expect(head.contains("\r\nErrand-Process: \(getpid())\r\n"), comment)
      #expect(sizes.count > 5 && sizes.max() ?? .max < 1 << 20 && sizes.last == 0, comment)
      let followed = try await client.answer(to: FollowRun.with { $0.run = LargeAnswersTests.id })
      #expect(try await followed?.record() == record, comment)
    }
    try await expectTold(try #require(bench.store.run(LargeAnswersTests.id)), "open")
    // A small answer is sent whole.
    let (listed, sizes) = try await LargeAnswersTests.sent(ListRuns(), by: bench)
    #expect(listed.contains("\r\nContent-Length: ") && sizes.isEmpty, "\(listed)")
    #expect(try await client.answer(to: ListRuns())?.open.map(\.id) == [LargeAnswersTests.id])
    try await bench.store.append(
      .runEnded(
        RunEnded(run: LargeAnswersTests.id, at: bench.time.now(), status: .succeeded, outputs: .inline(.int(7)))))
    let ended = try #require(bench.store.state.ended.last)
    try await expectTold(ended, "ended, and not in files yet")
    try await bench.store.compact()
    #expect(bench.store.state.ended.isEmpty)
    try await expectTold(ended, "in files")
    try await bench.stop()
  }

  @Test(arguments: [false, true])
  func `a large run that is followed is told without its steps, and whole at its end`(_ isInFiles: Bool) async throws {
    let bench = try await LargeAnswersTests.bench()
    let client = try bench.client()
    let open = try #require(bench.store.run(LargeAnswersTests.id))
    var events: [RunEvent] = []
    // Nothing works on the run here, so that it is told as it is, and then as it is left.
    for try await event in try client.events(of: FollowRun.with { $0.run = LargeAnswersTests.id }) {
      events.append(event)
    }
    guard events.count == 2, case .run(let first) = events[0], case .ended(let last) = events[1] else {
      Issue.record("\(events.count) events")
      return
    }
    #expect(first == open.withoutSteps && last == open.withoutSteps)
    try await bench.store.append(
      .runEnded(
        RunEnded(run: LargeAnswersTests.id, at: bench.time.now(), status: .succeeded, outputs: .inline(.int(7)))))
    let ended = try #require(bench.store.state.ended.last)
    if isInFiles { try await bench.store.compact() }
    events = []
    for try await event in try client.events(of: FollowRun.with { $0.run = LargeAnswersTests.id }) {
      events.append(event)
    }
    guard events.count == 1, case .ended(let whole) = events[0] else {
      Issue.record("\(events.count) events")
      return
    }
    #expect(whole == ended && whole.steps.count == LargeAnswersTests.count)
    try await bench.stop()
  }

  @Test func `a large value is read as it is in its file`() async throws {
    let bench = try await LargeAnswersTests.bench()
    let reference = try LargeAnswersTests.blob(try #require(bench.store.run(LargeAnswersTests.id)))
    let client = try bench.client()
    let value = try await client.answer(to: ReadValue(reference))?.value()
    #expect(value?.string == LargeAnswersTests.text)
    let (_, sizes) = try await LargeAnswersTests.sent(ReadValue(reference), by: bench)
    #expect(sizes.count > 3 && sizes.max() ?? .max < 1 << 20 && sizes.last == 0, "\(sizes)")
    try await bench.stop()
  }

  /// Damage to the file of a value, and its refusal.
  enum Damage: CaseIterable, Sendable {
    case byte, quote, lineEnd, shorter, longer, missing

    func happen(to path: String) throws {
      if self == .missing { return try Files.remove(path) }
      var bytes = try Files.read(path)
      switch self {
      case .byte: bytes[bytes.count / 2] = UInt8(ascii: "?")
      // Both would end the text there.
      case .quote: bytes[bytes.count / 2] = ASCII.quote
      case .lineEnd: bytes[bytes.count / 2] = ASCII.newline
      case .shorter: bytes.removeLast()
      case .longer: bytes.append(ASCII.space)
      case .missing: break
      }
      try Files.write(bytes, to: path)
    }

    func message(_ path: String, _ hash: String) -> String {
      switch self {
      case .byte, .quote, .lineEnd: "the blob \(hash) is damaged: its content does not match its name"
      case .shorter, .longer:
        "\(path) is damaged: its content does not match its name; put it back from a backup, or the runs that need it cannot resume"
      case .missing: "\(path) is missing; put it back from a backup, or the runs that need it cannot resume"
      }
    }
  }

  @Test(arguments: Damage.allCases)
  func `a value whose file is damaged is refused with its name, and not read`(_ damage: Damage) async throws {
    let bench = try await LargeAnswersTests.bench()
    let reference = try LargeAnswersTests.blob(try #require(bench.store.run(LargeAnswersTests.id)))
    let path = "\(bench.folder.path)/blobs/\(reference.sha256.prefix(2))/\(reference.sha256)"
    try damage.happen(to: path)
    let client = try bench.client()
    await #expect(throws: RequestRefusedError(.state, damage.message(path, reference.sha256))) {
      try await client.answer(to: ReadValue(reference))
    }
    // The next request is answered.
    #expect(try await client.answer(to: ListRuns()) != nil)
    try await bench.stop()
  }

  @Test func `damage found while a run is sent ends the answer with the remedy`() async throws {
    let bench = try await LargeAnswersTests.bench()
    try await bench.store.append(
      .runEnded(RunEnded(run: LargeAnswersTests.id, at: bench.time.now(), status: .failed)))
    try await bench.store.compact()
    let history = "\(bench.folder.path)/history"
    let file = try #require(try Files.list(history).first { $0.hasSuffix(".jsonl") })
    let path = "\(history)/\(file)"
    var bytes = try Files.read(path)
    let place = try #require(bytes.indices.last { bytes[$0...].starts(with: "Grüße 5999".utf8) })
    bytes[place + 8] = UInt8(ascii: "6")
    try Files.write(bytes, to: path)
    let client = try bench.client()
    let refusal = RequestRefusedError(
      .state,
      "\(path) is damaged at byte 0, where the run \(LargeAnswersTests.id) should be; put a backup of that file in its place"
    )
    await #expect(throws: refusal) { try await client.answer(to: LargeAnswersTests.show) }
    // In a stream it is the last line.
    await #expect(throws: refusal) {
      for try await _ in try client.events(of: FollowRun.with { $0.run = LargeAnswersTests.id }) {}
    }
    try await bench.stop()
  }

  @Test func `a long answer waits for its reader, and others are answered meanwhile`() async throws {
    let bench = try await LargeAnswersTests.bench()
    let record = try #require(bench.store.run(LargeAnswersTests.id))
    let sleepers = try (0..<10).map { _ in try RawClient(bench.folder.path) }
    for sleeper in sleepers { sleeper.send(try ExactRequest(LargeAnswersTests.show).bytes) }
    for sleeper in sleepers { await sleeper.waitForAnswer() }
    let client = try bench.client()
    #expect(try await client.answer(to: LargeAnswersTests.show)?.record() == record)
    // The first reads now, and the others never do.
    let (_, sizes) = RawClient.chunks(of: await sleepers[0].rest())
    #expect(sizes.last == 0)
    for sleeper in sleepers { sleeper.close() }
    try await bench.stop()
  }
}
