import Agent
import Basics
import RunState
import Runs
import Testing

@testable import Simulator

/// What people ask for while a run is being carried on.
@Suite struct PauseTests {
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `a run that is being paused is not carried on meanwhile`(seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let world = World(seed: seed, on: thread, at: Timestamp(seconds: 1_795_167_000) ?? .earliest)
      world.serve("r", "recipe: r\nsteps: [{ wait: 1h }, { uses: sim.post }]\n")
      world.start()
      guard let program = world.program, let created = world.newRun(of: "r", id: "r1") else { return ["no program"] }
      _ = world.perform("begin") {
        try? await program.host.create(created)
        try? await program.host.carryOn("r1")
      }
      world.settle()
      // The pause comes just as the run wakes.
      program.time.advance(by: .seconds(3600))
      world.go(Int(seed) / 2)
      _ = world.perform("pause") { try? await program.host.pause("r1", reason: "ana paused it") }
      world.settle()
      let run = program.store.run("r1")
      world.stop()
      return ["\(run?.status.rawValue ?? "ended")", world.audit.fault ?? "no fault"]
    }
    let told = try #require(story)
    #expect(["paused, no fault", "ended, no fault"].contains(told.joined(separator: ", ")))
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `a run that is resumed while it is being paused continues`(seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let world = World(seed: seed, on: thread, at: Timestamp(seconds: 1_795_167_000) ?? .earliest)
      world.serve("r", "recipe: r\nsteps: [{ uses: sim.post }, { uses: sim.post }, { wait: 1h }]\n")
      world.start()
      guard let program = world.program, let created = world.newRun(of: "r", id: "r1") else { return ["no program"] }
      // What is in flight takes a while.
      world.service.mood = .rough(0)
      Task {
        try? await program.host.create(created)
        try? await program.host.carryOn("r1")
      }
      world.go(20 + Int(seed))
      _ = world.perform("pause") { try? await program.host.pause("r1", reason: "ana paused it") }
      world.go(Int(seed) % 7)
      world.audit.ask("r1")
      _ = world.perform("resume") { try? await program.host.resume("r1") }
      for _ in 0..<10 {
        world.settle()
        if let span = program.time.untilNextSleeper, span < .seconds(60) { program.time.advance(by: span) }
      }
      world.settle()
      let run = program.store.run("r1")
      world.stop()
      return ["\(run?.status.rawValue ?? "ended")", world.audit.fault ?? "no fault"]
    }
    #expect(try #require(story) == ["waiting", "no fault"])
  }
}
