import Basics
import ProcessTestKit
import RunState
import Runs
import Testing

@testable import Agent

/// The same request, sent twice with one key, starts one run.
@Suite(.timeLimit(.minutes(20))) struct RunKeyTests {
  private static let recipe = "recipe: invoices\nsteps: [{ wait: 1h }]"

  private static func submit(
    _ id: String, _ key: String?, inputs: Value = .object(["month": .string("2026-11")]),
    in bench: HostBench,
    text: String = recipe, recipe: String = "invoices", isFollowed: Bool = false,
    as person: String = "ann"
  ) async throws -> String {
    let origin = RunCreated(
      run: id, at: bench.time.now(), recipe: recipe, file: "r.yaml",
      texts: .inline(.object(["r.yaml": .string(text)])), inputs: inputs, program: "test")
    var request: Value = .object(["ask": .string("submit"), "run": origin.encoded()])
    if let key, var map = request.map {
      map["key"] = .string(key)
      request = .map(map)
    }
    return try await bench.ask(JSON.text(request), as: person, isFollowed: isFollowed).joined(separator: "\n")
  }

  private static let first = #"{"accepted":"r1","isServing":true}"#

  @Test func `a second run of a key is the first, while it is open and for seven days`()
    async throws
  {
    let bench = await HostBench()
    #expect(try await RunKeyTests.submit("r1", "2026-11", in: bench) == RunKeyTests.first)
    await bench.until("r1 waits")
    let known = #"{"accepted":"r1","isServing":true,"known":"waiting"}"#
    #expect(try await RunKeyTests.submit("r2", "2026-11", in: bench) == known)
    // Another key, recipe or none is another run; another person of the account is the same caller.
    #expect(try await RunKeyTests.submit("r3", "2026-12", in: bench).contains("r3"))
    #expect(
      try await RunKeyTests.submit("r4", "2026-11", in: bench, recipe: "other").contains("r4"))
    #expect(try await RunKeyTests.submit("r5", nil, in: bench).contains("r5"))
    #expect(try await RunKeyTests.submit("r6", "2026-11", in: bench, as: "bob") == known)
    bench.time.advance(by: .seconds(3601))
    await bench.until("r1 succeeded")
    let ended = #"{"accepted":"r1","isServing":true,"known":"succeeded"}"#
    #expect(try await RunKeyTests.submit("r7", "2026-11", in: bench) == ended)
    bench.time.advance(by: .seconds(7 * 86_400 - 3602))
    #expect(try await RunKeyTests.submit("r8", "2026-11", in: bench) == ended)
    bench.time.advance(by: .seconds(1))
    #expect(
      try await RunKeyTests.submit("r9", "2026-11", in: bench)
        == #"{"accepted":"r9","isServing":true}"#)
  }

  @Test func `a caller that follows is told the end of the run that has the key`() async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit(
      "r1", "k", in: bench, text: "recipe: invoices\nsteps: [{ fail: no paper }]")
    await bench.until("r1 failed")
    let answer = try await RunKeyTests.submit("r2", "k", in: bench, isFollowed: true)
    #expect(answer.hasPrefix(#"{"accepted":"r1","isServing":true,"known":"failed"}"#))
    #expect(
      answer.contains(#"{"ended":{"origin":{"run":"r1""#) && answer.contains("no paper"),
      "\(answer)")
    // A retry takes the key over.
    let retried = try JSON.parse(
      try #require(try await bench.ask(#"{"ask":"retry","run":"r1"}"#).first))
    let id = try #require(retried["accepted"]?.string)
    await bench.until("\(id) failed")
    #expect(try await RunKeyTests.submit("r3", "k", in: bench).contains(id))
  }

  @Test(arguments: [
    (
      Value.object(["month": .string("2026-12")]),
      "the key 'k' belongs to the run r1, which has other values of 'month'; use another key for a new run"
    ),
    (
      .object(["month": .string("2026-11"), "to": .string("ann")]),
      "the key 'k' belongs to the run r1, which has other values of 'to'; use another key for a new run"
    ),
    (
      .object([:]),
      "the key 'k' belongs to the run r1, which has other values of 'month'; use another key for a new run"
    ),
  ])
  func `a key of a run with other inputs is refused`(_ inputs: Value, _ message: String)
    async throws
  {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit("r1", "k", in: bench)
    let refusal = try JSON.text(
      .object(["failed": .object(["kind": .string("usedKey"), "message": .string(message)])]))
    #expect(try await RunKeyTests.submit("r2", "k", inputs: inputs, in: bench) == refusal)
    #expect(bench.store.run("r2") == nil)
  }

  @Test(arguments: ["", "a\nb", String(repeating: "k", count: 201)])
  func `a text that can't be a key is refused`(_ key: String) async throws {
    let bench = await HostBench()
    #expect(
      try await RunKeyTests.submit("r1", key, in: bench)
        == #"{"failed":{"kind":"request","message":"a key has 1 to 200 characters and no control characters, such as 2026-11"}}"#
    )
  }

  @Test func `twenty callers with one key at once start one run`() async throws {
    let bench = await HostBench()
    let answers = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<20 {
        group.addTask { try await RunKeyTests.submit("r\(number)", "k", in: bench) }
      }
      return try await group.reduce(into: [String]()) { $0.append($1) }
    }
    #expect(
      Set(answers.compactMap { try? JSON.parse($0)["accepted"]?.string }).count == 1, "\(answers)")
    #expect(answers.count { !$0.contains("known") } == 1)
    #expect(bench.store.state.openRuns.count == 1)
  }

  @Test func `the key of a run that was deleted stays taken`() async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit(
      "r1", "k", in: bench, text: "recipe: invoices\nsteps: [{ let: { x: 1 } }]")
    await bench.until("r1 succeeded")
    _ = try await bench.ask(#"{"ask":"delete","run":"r1"}"#)
    #expect(
      try await RunKeyTests.submit("r2", "k", in: bench)
        == #"{"failed":{"kind":"ended","message":"the key 'k' belongs to the run r1, whose data was deleted; use another key for a new run"}}"#
    )
  }

  @Test func `a refusal shows no key that is a secret`() async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit("r1", "s3cret-4711", in: bench)
    // The secret becomes known, or gets that value, later.
    bench.store.secrets.learn([("TOKEN", "s3cret-4711")])
    let answer = try await RunKeyTests.submit("r2", "s3cret-4711", inputs: .object([:]), in: bench)
    #expect(
      answer.contains("the key '•••' belongs to the run r1, which has other values of 'month'"),
      "\(answer)")
  }

  // MARK: Retries

  private static func failed(_ kind: String, _ message: String) throws -> [String] {
    [
      try JSON.text(
        .object(["failed": .object(["kind": .string(kind), "message": .string(message)])]))
    ]
  }

  @Test func `a retry that is asked for twice with a key is one run`() async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit(
      "r1", "k", in: bench, text: "recipe: invoices\nsteps: [{ fail: no paper }]")
    await bench.until("r1 failed")
    let retry = #"{"ask":"retry","run":"r1","key":"again"}"#
    let first = try await bench.ask(retry)
    let id = try #require(try JSON.parse(first.first ?? "")["accepted"]?.string)
    #expect(first == ["{\"accepted\":\"\(id)\",\"retries\":\"r1\"}"])
    await bench.until("\(id) failed")
    let known = ["{\"accepted\":\"\(id)\",\"retries\":\"r1\",\"known\":\"failed\"}"]
    #expect(try await bench.ask(retry) == known)
    let other =
      "the key 'again' belongs to the run \(id), which another request started; use another key"
    #expect(
      try await bench.ask(#"{"ask":"retry","run":"r1","step":"a","output":1,"key":"again"}"#)
        == RunKeyTests.failed("usedKey", other))
    #expect(
      try await [RunKeyTests.submit("r2", "again", in: bench)]
        == RunKeyTests.failed("usedKey", other))
    // A key of a start is not one of a retry, and each retry has its own answer.
    #expect(
      try await bench.ask("{\"ask\":\"retry\",\"run\":\"\(id)\",\"key\":\"k\"}")
        == RunKeyTests.failed(
          "usedKey",
          "the key 'k' belongs to the run r1, which another request started; use another key"))
    let next = try await bench.ask("{\"ask\":\"retry\",\"run\":\"\(id)\"}")
    let later = try #require(try JSON.parse(next.first ?? "")["accepted"]?.string)
    await bench.until("\(later) failed")
    #expect(try await bench.ask(retry) == known)
  }

  @Test func `twenty retries with one key at once are one run`() async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit(
      "r1", nil, in: bench, text: "recipe: invoices\nsteps: [{ fail: no paper }]")
    await bench.until("r1 failed")
    let answers = try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<20 {
        group.addTask { try await bench.ask(#"{"ask":"retry","run":"r1","key":"again"}"#) }
      }
      return try await group.reduce(into: [String]()) { $0 += $1 }
    }
    let runs = Set(answers.compactMap { try? JSON.parse($0)["accepted"]?.string })
    #expect(runs.count == 1, "\(answers)")
    // One that came while the first was on its way is told so.
    #expect(
      answers.allSatisfy {
        $0.contains("accepted") || $0.contains("is being retried at this moment")
      })
  }

  // MARK: Starts out of turn

  private static let tick = """
    on: [{ cron: "0 0 1 1 *", overlap: bufferAll }]
    inputs: { n: { type: int, default: 1 } }
    steps: [{ wait: 1h }]
    """

  private static func slot(_ answers: [String]) throws -> (outcome: String, run: String) {
    let slots = try JSON.parse(try #require(answers.first))["slots"]?.list
    let slot = try #require(slots?.first, "\(answers)")
    return (slot["outcome"]?.string ?? "", slot["run"]?.string ?? "")
  }

  @Test
  func `a start out of turn that is asked for twice with a key is one run, also while it waits`()
    async throws
  {
    let folder = try ScheduleHostTests.folder(["tick": RunKeyTests.tick])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    let ask = #"{"ask":"trigger","id":"tick","key":"k1"}"#
    let first = try RunKeyTests.slot(try await bench.ask(ask))
    #expect(first.outcome == "started")
    await bench.until("\(first.run) waits")
    let again = try RunKeyTests.slot(try await bench.ask(ask))
    #expect(again == first)
    #expect(
      try await bench.ask(#"{"ask":"trigger","id":"tick","inputs":{"n":2},"key":"k1"}"#)
        == RunKeyTests.failed(
          "usedKey",
          "the key 'k1' belongs to the run \(first.run), which another request started; use another key"
        ))
    // The second has to wait for the first, and its key is taken meanwhile.
    bench.time.advance(by: .seconds(1))
    let later = #"{"ask":"trigger","id":"tick","inputs":{"n":2},"key":"k2"}"#
    let waiting = try RunKeyTests.slot(try await bench.ask(later))
    #expect(waiting.outcome == "buffered" && !waiting.run.isEmpty)
    let waitingStill = try RunKeyTests.slot(try await bench.ask(later))
    #expect(waitingStill == waiting)
    #expect(
      try await bench.ask(#"{"ask":"start","recipe":"tick","key":"k2"}"#)
        == RunKeyTests.failed(
          "ended",
          "the key 'k2' belongs to the run \(waiting.run), whose data was deleted; use another key for a new run"
        ))
    #expect(bench.store.state.openRuns.count == 1)
    bench.time.advance(by: .seconds(3601))
    await bench.until("\(first.run) succeeded", "\(waiting.run) waits")
    let started = try RunKeyTests.slot(try await bench.ask(later))
    #expect(started.outcome == "started" && started.run == waiting.run)
    #expect(bench.store.state.openRuns.map(\.id) == [waiting.run])
    #expect(bench.store.state.openRuns.first?.origin.inputs == .object(["n": .int(2)]))
  }

  @Test func `twenty starts out of turn with one key at once are one run`() async throws {
    let folder = try ScheduleHostTests.folder(["tick": RunKeyTests.tick])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    let answers = try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<20 {
        group.addTask { try await bench.ask(#"{"ask":"trigger","id":"tick","key":"k"}"#) }
      }
      return try await group.reduce(into: [String]()) { $0 += $1 }
    }
    #expect(bench.store.state.openRuns.count == 1)
    #expect(
      answers.allSatisfy {
        $0.contains("\"started\"")
          || $0.contains("a request with the same key is under way; try again")
      }, "\(answers)")
  }
}
