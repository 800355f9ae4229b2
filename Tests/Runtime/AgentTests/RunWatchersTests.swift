import Basics
import RunState
import Synchronization
import Testing

@testable import Agent

/// Watchers of all runs.
@Suite(.timeLimit(.minutes(20))) struct RunWatchersTests {
  @Test func `a watcher is told that runs begin, wait and end, until the agent ends`() async throws {
    let bench = await HostBench()
    let notices = bench.host.keeper.watchers.watch()
    try await bench.start("r1", "steps: [{ wait: 1h }]")
    await bench.until("r1 waits")
    try await bench.start("r2", "steps: [{ fail: no paper }]")
    await bench.until("r2 failed")
    try await bench.host.pause("r1", reason: "later")
    await bench.until("r1 paused")
    await bench.host.stop()
    let found = await notices.reduce(into: [String]()) { list, notice in
      list.append("\(notice.kind.rawValue) \(notice.run?.id ?? "") \(notice.run?.status.rawValue ?? "")")
    }
    #expect(
      found == [
        "watching  ", "began r1 queued", "waits r1 waiting", "began r2 queued", "ended r2 failed", "parked r1 paused",
      ])
  }

  @Test func `a watcher that reads slowly is told that it missed something`() async throws {
    let watchers = RunWatchers(nil, time: SystemTime())
    let notices = watchers.watch()
    let run = RunCreated(
      run: "r1", at: .earliest, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
      program: "test")
    for _ in 0..<(RunWatchers.limit + 5) { watchers.tell(.began(RunRecord(run))) }
    watchers.finish()
    let kinds = await notices.reduce(into: [RunNotice.Kind]()) { $0.append($1.kind) }
    #expect(kinds.count == RunWatchers.limit && kinds.contains(.missed))
  }
}
