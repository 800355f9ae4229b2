import Basics
import Foundation
import Testing

@testable import errand

@Suite(.timeLimit(.minutes(20))) struct ScheduleTests {
  @Test func `a schedule whose inputs are computed is listed, predicted, planned and explained`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      """
      recipe: tick
      inputs: { at: timestamp, label: string, more: { type: int, default: 3 } }
      on:
        - every: 1s
          zone: UTC
          overlap: allowAll
          inputs: { at: "${{ run.slot }}", label: "${{ run.recipe }} at ${{ time.format(run.slot, '%H:%M:%S', 'UTC') }}" }
      steps:
        - uses: file.write
          with: { path: "out-${{ inputs.label }}.txt", text: "more: ${{ inputs.more }}" }
      outputs: { label: "${{ inputs.label }}", at: "${{ inputs.at }}" }
      """, to: "recipes/tick.yaml")

    // Before an agent has read it.
    let listed = try await program.call("schedule", "list", "--json").json.list?.first
    #expect(listed?["id"]?.string == "tick" && listed?["words"]?.string == "every second")
    #expect(Timestamp(listed?["next"]?.string ?? "") != nil)
    let next = try await program.call("schedule", "next", "tick", "-n", "3", "--json").json.list ?? []
    #expect(next.compactMap { Timestamp($0["slot"]?.string ?? "") }.count == 3)
    let unread = try await program.call("why", "tick")
    #expect(unread.code == 0 && unread.out.contains("It is due next on "), "\(unread.out)\(unread.error)")

    // A plan is for a run that is started by hand, with given inputs.
    let missing = try await program.call("plan", "recipes/tick.yaml")
    #expect(missing.code == 3)
    #expect(missing.error.contains("input 'label' (string) is missing; give it with -i label=…"), "\(missing.error)")
    let plan = try await program.call(
      "plan", "recipes/tick.yaml", "-i", "at=2026-11-20T08:00:00Z", "-i", "label=mine", "--json")
    #expect(plan.code == 0, "\(plan.error)")
    #expect(plan.out.contains("out-mine.txt"), "\(plan.out)")

    // The run has the slot's inputs, and its explanation shows them.
    let agent = try program.serve("serve")
    _ = await agent.line(with: " succeeded")
    let started = try await program.call("schedule", "log", "tick", "--json").json.list?.last {
      $0["outcome"]?.string == "started"
    }
    let run = try #require(started?["run"]?.string)
    let slot = try #require(started?["slot"]?.string)
    let time = try #require(slot.split(separator: "T").last?.dropLast())
    let displayed = try await program.call("runs", "show", run, "--json")
    #expect(displayed.json["outputs"]?["label"]?.string == "tick at \(time)", "\(displayed.out)")
    #expect(displayed.json["outputs"]?["at"]?.string == slot, "\(displayed.out)")
    let why = try await program.call("why", run)
    // On a full minute the seconds are left out.
    let displayedTime = time.hasSuffix(":00") ? time.dropLast(3) : time
    #expect(why.out.contains("It ran for the slot of ") && why.out.contains("\(displayedTime) UTC"), "\(why.out)")
    let served = try await program.call("schedule", "list", "--json").json.list?.first
    #expect(served?["isRead"]?.bool == true)
    let foretold = try await program.call("schedule", "next", "tick", "-n", "2")
    #expect(foretold.code == 0 && foretold.out.contains("tick"), "\(foretold.out)\(foretold.error)")
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await program.remove()
  }

  @Test func `a schedule is listed, paused, triggered and backfilled, and the ledger shows it all`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      """
      recipe: tick
      on:
        - every: 1s
          zone: UTC
          overlap: allowAll
      steps:
        - let: { one: 1 }
      """, to: "recipes/tick.yaml")
    let agent = try program.serve("serve")
    _ = await agent.line(with: " serves ")
    var started: [Value] = []
    while started.count < 2 {
      started = try await program.call("schedule", "log", "tick", "--json").json.list ?? []
      started.removeAll { $0["outcome"]?.string != "started" }
    }
    let run = try #require(started.last?["run"]?.string)
    let slot = try #require(started.last?["slot"]?.string)
    let told = try await program.call("why", run)
    let time = slot.replacing("T", with: " ").replacing("Z", with: "")
    #expect(told.out.hasPrefix("tick succeeded on "), "\(told.out)")
    #expect(
      told.out.contains(" It ran for the slot of \(Self.weekday(slot)) \(Self.short(time)) UTC of the schedule 'tick'"),
      "\(told.out)")
    let why = try await program.call("why", "tick", "--at", slot)
    #expect(
      why.out.hasPrefix("tick ran on \(Self.weekday(slot)) \(Self.short(time)) UTC"), "\(why.out)")
    #expect(why.out.contains(": run \(run) (succeeded).\n"), "\(why.out)")

    let paused = try await program.call("schedule", "pause", "tick", "--note", "Holidays.")
    #expect(
      paused.error
        == "tick is paused; its slots are recorded and start nothing. Resume it with: errand schedule resume tick\n"
    )
    let list = try await program.call("schedule")
    #expect(list.out.contains("paused: Holidays."), "\(list.out)")
    #expect(list.out.contains("every second"), "\(list.out)")
    let standing = try await program.call("why", "tick")
    #expect(standing.out.contains("because a person paused it: Holidays.\n"), "\(standing.out)")
    let resumed = try await program.call("schedule", "resume", "tick")
    #expect(
      resumed.error.hasSuffix("tick starts runs again; see when with: errand schedule next tick\n"), "\(resumed.error)")

    let triggered = try await program.call("schedule", "trigger", "tick")
    #expect(triggered.error.hasPrefix("tick: started "), "\(triggered.error)")
    let past = ["--from", "2020-01-01", "--to", "2020-01-01 00:00:03"]
    let dry = try await program.start(["schedule", "backfill", "tick", "--dry-run"] + past).outcome()
    #expect(
      dry.out == """
        Wed 2020-01-01 00:00 +00:00
        Wed 2020-01-01 00:00:01 +00:00
        Wed 2020-01-01 00:00:02 +00:00

        """)
    #expect(dry.error == "a backfill would start 3 runs\n")
    let unasked = try await program.start(["schedule", "backfill", "tick"] + past).outcome()
    #expect(unasked.code == 64)
    #expect(unasked.error == "error: nothing was started; say --yes to start them\n")
    let filled = try await program.start(["schedule", "backfill", "tick", "--yes"] + past).outcome()
    #expect(filled.error == "tick: 3 started; see 'errand schedule log tick'\n")
    let again = try await program.start(["schedule", "backfill", "tick", "--yes"] + past).outcome()
    #expect(
      again.error
        == "every slot of tick from Wed 2020-01-01 00:00 UTC until before Wed 2020-01-01 00:00:03 UTC has a run already, or there is none\n"
    )
    let log = try await program.call("schedule", "log", "tick", "--to", "2020-01-02")
    #expect(log.out.contains("backfill"), "\(log.out)")
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await program.remove()
  }

  private static func short(_ time: String) -> String { time.hasSuffix(":00") ? String(time.dropLast(3)) : time }

  private static func weekday(_ instant: String) -> String {
    let day = CivilDate(daysSinceEpoch: (Timestamp(instant)?.seconds ?? 0).flooredDivision(by: 86_400)).weekday
    return ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][day]
  }
}
