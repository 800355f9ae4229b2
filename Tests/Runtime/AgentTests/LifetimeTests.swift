import ActionTestKit
import Basics
import RunState
import Runs
import Testing

@testable import Agent

/// An agent keeps nothing in memory of a run that it isn't running, or of a client that was answered.
@Suite(.timeLimit(.minutes(20))) struct LifetimeTests {
  static let event = "steps: [{ wait: { event: e } }, { wait: 1h }]"

  /// Requests about a waiting run, and how the run ends.
  static let deeds: [(ask: String, news: String)] = [
    (#"{"ask":"cancel","run":"r1"}"#, "r1 cancelled"),
    (#"{"ask":"signal","name":"e"}"#, "r1 waits"),
    (#"{"ask":"pause","run":"r1"}"#, "r1 paused"),
    (#"{"ask":"decide","run":"r1","approved":true}"#, ""),
    (#"{"ask":"show","run":"r1"}"#, ""),
    (#"{"ask":"runs"}"#, ""),
    (#"{"ask":"why","run":"r1"}"#, ""),
  ]

  @Test(arguments: deeds) func `nothing is kept of a run that waits, or of who asks for something`(
    _ deed: (ask: String, news: String)
  ) async throws {
    let bench = await HostBench()
    try await bench.start("r1", LifetimeTests.event)
    await bench.until("r1 waits")
    _ = try await bench.ask(deed.ask)
    if !deed.news.isEmpty { await bench.until(deed.news) }
    #expect(await bench.census.settled() == 0)
  }

  @Test func `nothing is kept of runs that were woken, followed and retried`() async throws {
    let bench = await HostBench()
    for number in 1...20 {
      let id = "r\(number)"
      try await bench.start(id, LifetimeTests.event)
      await bench.until("\(id) waits")
      // A client that disconnects, and one that stays to the end.
      let leaving = Task { try await bench.ask(#"{"ask":"follow","run":"\#(id)"}"#) }
      async let following = bench.ask(#"{"ask":"follow","run":"\#(id)"}"#)
      while bench.census.count < 2 { await Task.yield() }
      leaving.cancel()
      _ = try? await leaving.value
      _ = try await bench.ask(#"{"ask":"signal","name":"e"}"#)
      await bench.until("\(id) waits")
      _ = try await bench.ask(#"{"ask":"cancel","run":"\#(id)"}"#)
      await bench.until("\(id) cancelled")
      _ = try await following
      let retried = try await bench.ask(#"{"ask":"retry","run":"\#(id)"}"#)
      let answer = try #require(retried.first)
      let again = try #require(try JSON.parse(answer)["accepted"]?.string)
      try await bench.host.continueRun(again)
      await bench.until("\(again) waits")
      _ = try await bench.ask(#"{"ask":"cancel","run":"\#(again)"}"#)
      await bench.until("\(again) cancelled")
    }
    #expect(await bench.census.settled() == 0)
  }
}
