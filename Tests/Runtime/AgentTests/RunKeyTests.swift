import Basics
import RunState
import Runs
import Testing

@testable import Agent

/// The same request, sent twice with one key, starts one run.
@Suite(.timeLimit(.minutes(5))) struct RunKeyTests {
  private static let recipe = "recipe: invoices\nsteps: [{ wait: 1h }]"

  private static func submit(
    _ id: String, _ key: String?, inputs: Value = .object(["month": .string("2026-11")]), in bench: HostBench,
    text: String = recipe, recipe: String = "invoices", isDetached: Bool = true, as person: String = "ann"
  ) async throws -> String {
    let origin = RunCreated(
      run: id, at: bench.time.now(), recipe: recipe, file: "r.yaml",
      texts: .inline(.object(["r.yaml": .string(text)])), inputs: inputs, program: "test")
    var request: Value = .object([
      "ask": .string("submit"), "run": origin.encoded(), "detach": .bool(isDetached),
    ])
    if let key, var map = request.map {
      map["key"] = .string(key)
      request = .map(map)
    }
    return try await bench.ask(JSON.text(request), as: person).joined(separator: "\n")
  }

  private static let first = #"{"accepted":"r1","isServing":true}"#

  @Test func `a second run of a key is the first, while it is open and for seven days`() async throws {
    let bench = await HostBench()
    #expect(try await RunKeyTests.submit("r1", "2026-11", in: bench) == RunKeyTests.first)
    await bench.until("r1 waits")
    let known = #"{"accepted":"r1","isServing":true,"known":"waiting"}"#
    #expect(try await RunKeyTests.submit("r2", "2026-11", in: bench) == known)
    // Another key, recipe or none is another run; another person of the account is the same caller.
    #expect(try await RunKeyTests.submit("r3", "2026-12", in: bench).contains("r3"))
    #expect(try await RunKeyTests.submit("r4", "2026-11", in: bench, recipe: "other").contains("r4"))
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
      try await RunKeyTests.submit("r9", "2026-11", in: bench) == #"{"accepted":"r9","isServing":true}"#)
  }

  @Test func `a caller that follows is told the end of the run that has the key`() async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit("r1", "k", in: bench, text: "recipe: invoices\nsteps: [{ fail: no paper }]")
    await bench.until("r1 failed")
    let answer = try await RunKeyTests.submit("r2", "k", in: bench, isDetached: false)
    #expect(answer.hasPrefix(#"{"accepted":"r1","isServing":true,"known":"failed"}"#))
    #expect(answer.contains(#"{"ended":{"origin":{"run":"r1""#) && answer.contains("no paper"), "\(answer)")
    // A retry takes the key over.
    let retried = try JSON.parse(try #require(try await bench.ask(#"{"ask":"retry","run":"r1"}"#).first))
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
  func `a key of a run with other inputs is refused`(_ inputs: Value, _ message: String) async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit("r1", "k", in: bench)
    let refusal = try JSON.text(.object(["failed": .object(["kind": .string("inputs"), "message": .string(message)])]))
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
    #expect(Set(answers.compactMap { try? JSON.parse($0)["accepted"]?.string }).count == 1, "\(answers)")
    #expect(answers.count { !$0.contains("known") } == 1)
    #expect(bench.store.state.openRuns.count == 1)
  }

  @Test func `the key of a run that was deleted stays taken`() async throws {
    let bench = await HostBench()
    _ = try await RunKeyTests.submit("r1", "k", in: bench, text: "recipe: invoices\nsteps: [{ let: { x: 1 } }]")
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
    #expect(answer.contains("the key '•••' belongs to the run r1, which has other values of 'month'"), "\(answer)")
  }
}
