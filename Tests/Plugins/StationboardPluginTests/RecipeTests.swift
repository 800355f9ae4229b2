import ActionKit
import ActionTestKit
import Calendars
import Foundation
import SandboxKit
import NotifyPlugin
import Recipes
import RunState
import RunTestKit
import Runs
import Testing

@testable import StationboardPlugin

/// The recipes, whose mornings pass in milliseconds.
@Suite(.timeLimit(.minutes(20))) struct RecipeTests {
  private static let catalog = ActionCatalog([StationboardPlugin.self, NotifyPlugin.self])

  private static func recipe(_ name: String) throws -> Recipe {
    let file = packageFolder.appending(path: "recipes/\(name).yaml")
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(
      Source(name: "\(name).yaml", text: try String(contentsOf: file, encoding: .utf8)), in: environment)
    return try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
  }

  /// Runs a recipe that begins at an instant, in a sandbox that was prepared.
  private static func run(
    _ name: String, at start: String, inputs: KeyValuePairs<String, Value> = [:],
    prepare: (StationboardSandbox) -> Void = { _ in },
    _ body: (_ run: RunDriver, _ sandbox: StationboardSandbox) async throws -> Void
  ) async throws {
    let time = TestTime(try #require(Timestamp(start)))
    let sandbox = try StationboardSandbox(SandboxOptions(time: time))
    prepare(sandbox)
    let telephones = try NotifyPlugin.startSandbox(SandboxOptions(time: time))
    var connections: [String: Services.Connection] = [:]
    for (name, settings) in ["stationboard": sandbox.configuration, "notify": telephones.configuration] {
      connections[name] = Services.Connection(plugin: try #require(catalog.plugin(name)), settings: settings)
    }
    let run = RunDriver(try recipe(name), catalog: catalog, connections: connections, time: time)
    do {
      var given = ValueMap()
      for (name, value) in inputs { given[name] = value }
      try await run.begin(inputs: given)
      try await body(run, sandbox)
    } catch {
      await sandbox.stop()
      await telephones.stop()
      throw error
    }
    await sandbox.stop()
    await telephones.stop()
  }

  private static let onTime = "has left, and nothing was the matter with it, or it does not run today."

  /// A week of the train of 07:34, each day begun by the schedule.
  @Test func `the watch begins on weekday mornings, and tells what becomes of the train`() async throws {
    let recipe = try Self.recipe("train-watch")
    let recurrence = try #require(recipe.triggers.first?.recurrence)
    var slots: [String] = []
    var now = try #require(Timestamp("2026-03-26T12:00:00Z"))
    for _ in 0..<5 {
      now = try #require(recurrence.next(after: now))
      slots.append(now.description)
    }
    // A Friday, then Monday; the clocks go forward on the Sunday between them.
    let expected = [
      "2026-03-27T06:00:00Z", "2026-03-30T05:00:00Z", "2026-03-31T05:00:00Z", "2026-04-01T05:00:00Z",
      "2026-04-02T05:00:00Z",
    ]
    #expect(slots == expected)

    let days: [(trouble: SandboxTrouble?, ahead: Int, message: String, polls: Int)] = [
      (nil, 120, "IC61 07:34 to Interlaken Ost \(Self.onTime)", 11),
      (
        SandboxTrouble(delay: .seconds(420), platform: "8", known: .seconds(600)), 660,
        "IC61 07:34 to Interlaken Ost is 7 min late and leaves from platform 8 instead of 5.", 5
      ),
      (SandboxTrouble(cancelled: "trip"), 1800, "IC61 07:34 to Interlaken Ost is cancelled.", 1),
      (
        SandboxTrouble(platform: "4", known: .seconds(60)), 120,
        "IC61 07:34 to Interlaken Ost leaves from platform 4 instead of 5.", 5
      ),
      // Two minutes are not late enough to be told.
      (SandboxTrouble(delay: .seconds(120)), 120, "IC61 07:34 to Interlaken Ost \(Self.onTime)", 17),
    ]
    for (slot, day) in zip(slots, days) {
      try await Self.run(
        "train-watch", at: slot, inputs: ["ahead": .duration(.seconds(day.ahead))],
        prepare: { $0.strike("IC61", day.trouble) }
      ) { run, sandbox in
        let end = try await run.drive()
        #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
        #expect(try await run.outputs()["message"]?.string == day.message)
        #expect(sandbox.server.count("GET /api/stationboard") == day.polls)
      }
    }
  }

  @Test func `a watch that is begun the evening before sleeps until it is time`() async throws {
    let trouble = SandboxTrouble(delay: .seconds(300))
    try await Self.run("train-watch", at: "2026-04-13T20:00:00Z", prepare: { $0.strike("IC61", trouble) }) {
      run, sandbox in
      try await run.drive()
      #expect(run.woke.first == Timestamp("2026-04-14T05:04:00Z"))
      #expect(sandbox.server.count("GET /api/stationboard") == 1)
      let outputs = try JSON.text(try await run.outputs())
      #expect(
        outputs == #"{"status":"late","departsAt":"2026-04-14T05:39:00Z","message":"IC61 07:34 to Interlaken Ost "#
          + #"is 5 min late."}"#)
    }
  }

  @Test func `a watch gets over minutes without the service, and boards that tell nothing`() async throws {
    try await Self.run(
      "train-watch", at: "2026-04-14T05:20:00Z",
      prepare: { sandbox in
        sandbox.strike("IC61", SandboxTrouble(cancelled: "trip", known: .seconds(300)))
        var outage = ServiceFault(.status, skip: 3, times: 12)
        outage.status = 502
        sandbox.server.add(outage)
        sandbox.server.add(ServiceFault(.refuse, skip: 20, times: 3))
      }
    ) { run, sandbox in
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(try await run.outputs()["message"]?.string == "IC61 07:34 to Interlaken Ost is cancelled.")
    }
    // The train's time passes at the third board, and until the thirtieth nobody knows whether it left.
    try await Self.run(
      "train-watch", at: "2026-04-14T05:33:30Z", prepare: { $0.mode("static_timeout_fallback", boards: 30) }
    ) { run, sandbox in
      try await run.drive()
      #expect(try await run.outputs()["message"]?.string == "IC61 07:34 to Interlaken Ost \(Self.onTime)")
      #expect(sandbox.server.count("GET /api/stationboard") == 31)
    }
  }

  @Test func `a line that is misspelt is told`() async throws {
    try await Self.run("train-watch", at: "2026-04-14T05:33:00Z", inputs: ["line": .string("IC16")]) { run, _ in
      try await run.drive()
      #expect(
        try await run.outputs()["message"]?.string
          == "IC16 07:34 to Interlaken Ost \(Self.onTime) No line 'IC16' is on the board; did you mean 'IC61'?")
    }
  }

  @Test func `the digest tells departures, delays, platforms and notices`() async throws {
    try await Self.run(
      "commute-digest", at: "2026-04-14T04:45:00Z",
      prepare: { sandbox in
        sandbox.strike("IC61", SandboxTrouble(delay: .seconds(61), platform: "8"))
        sandbox.strike("S3", SandboxTrouble(cancelled: "trip"))
      }
    ) { run, _ in
      try await run.drive()
      let message = try await run.outputs()["message"]?.string
      #expect(
        message == """
          Bern
          06:48 IR15 Luzern, platform 8
          07:05 IC5 Zürich HB, platform 7
          07:04 IC61 Interlaken Ost, +2 min, platform 8 (changed)
          07:06 S3 Belp: cancelled
          07:07 IC8 Brig, platform 6
          ! Disruptions

          Bern, Hirschengraben
          06:52 6 Worb Dorf, platform A
          06:53 10 Köniz, Schliern, platform B
          07:03 10 Köniz, Schliern, platform B
          07:07 6 Worb Dorf, platform A
          07:13 10 Köniz, Schliern, platform B
          """)
    }
  }

  @Test func `the digest says what it does not know`() async throws {
    try await Self.run(
      "commute-digest", at: "2026-04-14T04:45:00Z",
      inputs: [
        "stops": .list([.string("hinterwald"), .string("wankdorf")]), "lines": .list([.string("S3")]), "count": .int(2),
      ],
      prepare: { $0.mode("degraded_static", realtime: "skipped_budget") }
    ) { run, _ in
      try await run.drive()
      let message = try await run.outputs()["message"]?.string
      #expect(
        message == """
          Hinterwald, Alp
          Nothing leaves in the next hours.

          Bern Wankdorf
          07:01 S3 Bern, platform 1
          07:31 S3 Bern, platform 1
          (delays may be missing)
          """)
    }
    try await Self.run(
      "commute-digest", at: "2026-04-14T04:45:00Z",
      inputs: ["stops": .list([.string("wankdorf")]), "lines": .list([.string("IC1")])]
    ) { run, _ in
      try await run.drive()
      let message = try await run.outputs()["message"]?.string
      #expect(message == "Bern Wankdorf\nNo departures are known.")
    }
    try await Self.run("commute-digest", at: "2026-04-14T04:45:00Z", inputs: ["stops": .list([.string("Atlantis")])]) {
      run, _ in
      let end = try await run.drive()
      #expect(end.status == .failed && end.error?.message == "No stop is called 'Atlantis'.")
    }
  }
}
