import Agent
import Operations
import Basics
import RunState
import Runs
import Testing

@testable import Simulator

/// Requests to pause and resume a run that is running.
@Suite struct PauseTests {
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `a run that is being paused is not carried on meanwhile`(seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let services = SimulatedServices(seed: seed, on: thread, at: Timestamp(seconds: 1_795_167_000) ?? .earliest)
      services.serve("r", "recipe: r\nsteps: [{ wait: 1h }, { uses: sim.post }]\n")
      services.start()
      guard let program = services.program, let created = services.newRun(of: "r", id: "r1") else {
        return ["no program"]
      }
      _ = services.perform("begin") {
        try? await program.host.create(created)
        try? await program.host.continueRun("r1")
      }
      services.settle()
      // The pause comes just as the run wakes.
      program.time.advance(by: .seconds(3600))
      services.go(Int(seed) / 2)
      _ = services.perform("pause") { try? await program.host.pause("r1", reason: "ana paused it") }
      services.settle()
      let run = program.store.run("r1")
      services.stop()
      return ["\(run?.status.rawValue ?? "ended")", services.audit.fault ?? "no fault"]
    }
    let told = try #require(story)
    #expect(["paused, no fault", "ended, no fault"].contains(told.joined(separator: ", ")))
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `a run that is resumed while it is being paused continues`(seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let services = SimulatedServices(seed: seed, on: thread, at: Timestamp(seconds: 1_795_167_000) ?? .earliest)
      services.serve("r", "recipe: r\nsteps: [{ uses: sim.post }, { uses: sim.post }, { wait: 1h }]\n")
      services.start()
      guard let program = services.program, let created = services.newRun(of: "r", id: "r1") else {
        return ["no program"]
      }
      // Requests in flight take a while.
      services.service.mood = .rough(0)
      Task {
        try? await program.host.create(created)
        try? await program.host.continueRun("r1")
      }
      services.go(20 + Int(seed))
      _ = services.perform("pause") { try? await program.host.pause("r1", reason: "ana paused it") }
      services.go(Int(seed) % 7)
      services.audit.ask("r1")
      _ = services.perform("resume") { try? await program.host.resume("r1") }
      for _ in 0..<10 {
        services.settle()
        if let span = program.time.untilNextSleeper, span < .seconds(60) { program.time.advance(by: span) }
      }
      services.settle()
      let run = program.store.run("r1")
      services.stop()
      return ["\(run?.status.rawValue ?? "ended")", services.audit.fault ?? "no fault"]
    }
    #expect(try #require(story) == ["waiting", "no fault"])
  }
}
