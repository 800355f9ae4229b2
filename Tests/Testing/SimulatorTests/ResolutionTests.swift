import Agent
import Operations
import Basics
import RunState
import Runs
import Testing

@testable import Simulator

/// Resolving uncertain steps at the same time.
@Suite struct ResolutionTests {
  @Test(arguments: 0..<10 as Range<UInt64>)
  func `of two who resolve a step one is told that it is resolved`(seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let services = SimulatedServices(seed: seed, on: thread, at: Timestamp(seconds: 1_795_167_000) ?? .earliest)
      services.service.mood = .losing
      services.start()
      guard let program = services.program else { return ["no program"] }
      let text = "recipe: r\nsteps: [{ id: a, uses: sim.post }, { id: b, uses: sim.put }]\n"
      let told = Outbox<[String]>()
      _ = services.perform("begin") {
        try? await program.host.create(
          RunCreated(
            run: "r1", at: program.time.now(), recipe: "r", file: "r.yaml",
            texts: .inline(.object(["r.yaml": .string(text)])), inputs: .object([:]), program: "test"))
        try? await program.host.continueRun("r1")
      }
      services.settle()
      services.service.mood = .healthy
      services.audit.ask("r1")
      // Walked once more while they say it.
      Task { try? await program.host.continueRun("r1") }
      _ = services.perform("resolve") {
        async let done = resolve(
          program.host, .done(.object(["value": .int(1), "calls": .int(1), "text": .string("")])))
        async let failed = resolve(program.host, .fail("no"))
        told.put(await [done, failed].sorted())
      }
      services.settle()
      services.audit.ask("r1")
      _ = services.perform("carry on") { try? await program.host.continueRun("r1") }
      services.settle()
      let end = services.audit.ended["r1"].map { "\($0.status) \($0.steps.count)" }
      services.stop()
      return (told.value ?? []) + [end ?? "no end", services.audit.fault ?? "no fault"]
    }
    let isDone = ["resolved", "the run r1 is not uncertain, so there is nothing to resolve", "succeeded 2", "no fault"]
    let isFailed = ["resolved", "the run r1 is not uncertain, so there is nothing to resolve", "failed 1", "no fault"]
    #expect(story == isDone || story == isFailed, "\(story)")
  }
}

extension ResolutionTests {
  @Test func `a run that was uncertain keeps its place before those that queue for it, though they are older`()
    async throws
  {
    let story = await SimulatedThread.run(seed: 1) { thread -> [String] in
      let services = SimulatedServices(seed: 1, on: thread, at: Timestamp(seconds: 1_795_167_000) ?? .earliest)
      services.serve("r", "recipe: r\nconcurrencyGroup: { name: g, limit: 1 }\nsteps: [{ id: a, uses: sim.post }]\n")
      services.start()
      // The clock was set back between the two, so that ids are not in the order of the runs.
      guard let program = services.program, let second = services.newRun(of: "r", id: "r2"),
        let first = services.newRun(of: "r", id: "r1")
      else { return ["no program"] }
      services.service.mood = .losing
      for run in [second, first] {
        _ = services.perform("begin") {
          try? await program.host.create(run)
          try? await program.host.continueRun(run.run)
        }
        services.settle()
        services.service.mood = .healthy
      }
      let before = [second, first].map { program.store.run($0.run)?.status.rawValue ?? "ended" }
      services.audit.ask("r2")
      _ = services.perform("resolve") {
        _ = await resolve(program.host, .fail(nil), of: "r2")
        try? await program.host.resume("r2")
      }
      services.settle()
      let after = [second, first].map { services.audit.ended[$0.run]?.status.rawValue ?? "open" }
      services.stop()
      return before + after + [services.audit.fault ?? "no fault"]
    }
    #expect(story == ["uncertain", "queued", "failed", "succeeded", "no fault"])
  }
}

private func resolve(_ host: RunHost, _ resolution: Resolution, of run: String = "r1") async -> String {
  do throws(RunRefusedError) { try await host.resolutions.resolve(run, step: "a", as: resolution) } catch {
    return error.message
  }
  return "resolved"
}
