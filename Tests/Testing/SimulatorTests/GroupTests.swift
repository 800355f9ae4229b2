import Agent
import Basics
import RunState
import Testing

@testable import Simulator

/// Runs that come while others of their group end.
@Suite struct GroupTests {
  @Test(arguments: ["skip", "queue", "cancelOldest"], 1..<41 as Range<UInt64>)
  func `a run that begins while another of its group ends has one fate`(onLimit: String, seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let services = SimulatedServices(seed: seed, on: thread, at: Timestamp(seconds: 1_795_167_000) ?? .earliest)
      services.serve(
        "r", "recipe: r\nconcurrencyGroup: { name: g, limit: 1, onLimit: \(onLimit) }\nsteps: [{ wait: 2s }]\n")
      services.start()
      guard let program = services.program else { return ["no program"] }
      let ids = ["r1", "r2", "r3", "r4"]
      for (index, id) in ids.enumerated() {
        guard let created = services.newRun(of: "r", id: id) else { return ["no run"] }
        // Ends when the run has begun.
        Task {
          do throws(StateError) { try await program.host.create(created) } catch { return }
          try? await program.host.continueRun(id)
        }
        // The next comes just as this one ends.
        services.go(Int(seed) * (index + 1) % 90)
        program.time.advance(by: .seconds(2))
        services.go(Int(seed) % 40)
      }
      for _ in 0..<40 where !program.store.state.openRuns.isEmpty {
        services.settle()
        program.time.advance(by: .seconds(2))
      }
      services.settle()
      let open = program.store.state.openRuns.map { "\($0.id) is \($0.status.rawValue)" }
      let ended = ids.filter { services.audit.ended[$0] != nil }.count
      let hasFailed = program.life.hasFailed
      services.stop()
      return open + [hasFailed ? "failed" : "serves", "\(ended) ended", services.audit.fault ?? "no fault"]
    }
    #expect(try #require(story) == ["serves", "4 ended", "no fault"])
  }
}
