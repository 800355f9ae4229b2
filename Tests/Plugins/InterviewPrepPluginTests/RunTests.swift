import ActionKit
import ActionTestKit
import Basics
import FilesPlugin
import Foundation
import SandboxKit
import LocalFiles
import Recipes
import RunState
import RunTestKit
import Runs
import StorePlugin
import Synchronization
import Testing

@testable import InterviewPrepPlugin

/// Whole runs against the sandbox over real HTTP, whose days pass in milliseconds.
@Suite(.timeLimit(.minutes(20))) struct RunTests {
  private static let catalog = ActionCatalog([InterviewPrepPlugin.self, StorePlugin.self, FilesPlugin.self])

  private static func recipe(_ text: String, _ name: String = "test.yaml") throws -> Recipe {
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(Source(name: name, text: text), in: environment)
    return try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
  }

  /// A recipe of the repository.
  private static func recipe(named name: String) throws -> Recipe {
    let file = packageFolder.appending(path: "recipes/\(name).yaml")
    return try recipe(String(contentsOf: file, encoding: .utf8), file.lastPathComponent)
  }

  private static let routine = """
    steps:
      - id: week
        uses: interviewPrep.generateRoutine
        with:
          profile: { name: Jo, stage: Recent Grad, targetRole: iOS, timeBudgetHoursPerDay: 2, availableDays: [Mon] }
    outputs: { canned: "${{ steps.week.canned }}" }
    """

  /// A run against a sandbox that the test can set.
  private static func withRun(
    of recipe: Recipe, settings: KeyValuePairs<String, Value> = [:], at time: TestTime = TestTime(),
    _ test: (RunDriver, InterviewPrepSandbox) async throws -> Void
  ) async throws {
    let plugin = try #require(catalog.plugin("interviewPrep"))
    let files = try await FolderSandbox(SandboxOptions(time: time))
    let folder = Services.Connection(plugin: try #require(catalog.plugin("file")), settings: files.configuration)
    try await withBackend(time: time) { sandbox, time in
      var configuration = sandbox.configuration.map ?? ValueMap()
      for (name, value) in settings { configuration[name] = value }
      let connection = Services.Connection(plugin: plugin, settings: .map(configuration))
      let run = RunDriver(
        recipe, catalog: catalog, connections: ["interviewPrep": connection, "file": folder], time: time)
      try await test(run, sandbox)
    }
    await files.stop()
  }

  /// The delays before a run's retries.
  private static func delays(_ run: RunDriver) -> [TimeSpan?] {
    run.progress.compactMap { event -> TimeSpan?? in
      if case .attemptFailed(_, _, _, let delay) = event { .some(delay) } else { nil }
    }
  }

  // MARK: Tries

  @Test func `what failed at the backend is tried again after 200, 500 and 1000 ms, each of them on the account`()
    async throws
  {
    try await Self.withRun(of: Self.recipe(Self.routine)) { run, sandbox in
      sandbox.backend.state.withLock { state in
        state.generation = .older
        state.failures = 3
      }
      let start = run.time.now()
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(Self.delays(run) == [.milliseconds(200), .milliseconds(500), .seconds(1)])
      #expect(run.time.now() == start.advanced(by: .milliseconds(1700)))
      #expect(sandbox.server.count("/generate/routine") == 4)
      #expect(end.steps["week"]?.attempts == 4)
    }
  }

  @Test func `after four tries the run fails, and says that it may have paid`() async throws {
    try await Self.withRun(of: Self.recipe(Self.routine)) { run, sandbox in
      sandbox.server.add(ServiceFault(.lostAnswer, call: "/generate", times: 9))
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(end.error?.kind == .network)
      #expect(end.error?.message.hasSuffix(" The call may have been paid.") == true)
      #expect(sandbox.server.count("/generate/routine") == 4)
    }
  }

  struct Once: Sendable, CustomTestStringConvertible {
    var status: Int
    var kind: ErrorKind
    var testDescription: String { "\(status)" }
  }

  @Test(arguments: [
    Once(status: 400, kind: .plugin), Once(status: 401, kind: .authentication),
    Once(status: 403, kind: .authorization), Once(status: 404, kind: .notFound), Once(status: 413, kind: .plugin),
    Once(status: 429, kind: .rateLimited),
  ])
  func `what the backend refuses is not tried again`(_ once: Once) async throws {
    try await Self.withRun(of: Self.recipe(Self.routine)) { run, sandbox in
      var fault = ServiceFault(.status, call: "/generate")
      fault.status = once.status
      sandbox.server.add(fault)
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(end.error?.kind == once.kind)
      #expect(sandbox.server.count("/generate/routine") == 1)
    }
  }

  @Test(arguments: [ServiceFault.Kind.html, .wrongType, .badUTF8, .redirect])
  func `what cannot be read is not tried again`(_ kind: ServiceFault.Kind) async throws {
    try await Self.withRun(of: Self.recipe(Self.routine)) { run, sandbox in
      sandbox.server.add(ServiceFault(kind, call: "/generate"))
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(end.error?.kind == .plugin)
      #expect(sandbox.server.count("/generate/routine") == 1)
    }
  }

  @Test func `a ready-made answer is not tried again, and a backend that is not there neither`() async throws {
    try await Self.withRun(of: Self.recipe(Self.routine)) { run, sandbox in
      sandbox.backend.state.withLock { $0.failures = 1 }
      let end = try await run.drive()
      #expect(end.error?.message.hasPrefix("The backend could not make anything.") == true)
      #expect(sandbox.server.count("/generate/routine") == 1)
    }
    try await Self.withRun(
      of: Self.recipe(Self.routine), settings: ["baseURL": .string("http://127.0.0.1:9")]
    ) { run, _ in
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(end.steps["week"]?.attempts == 1)
    }
  }

  @Test func `a run pays for no more calls than its connection allows`() async throws {
    try await Self.withRun(of: Self.recipe(Self.routine), settings: ["maxPaidCalls": .int(2)]) { run, sandbox in
      sandbox.server.add(ServiceFault(.lostAnswer, call: "/generate", times: 9))
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(
        end.error?.message == "This run has made 2 calls that may have been paid, which is as many as the connection "
          + "'interviewPrep' allows; raise its 'maxPaidCalls' if there should be more.")
      #expect(sandbox.server.count("/generate/routine") == 2)
    }
  }

  @Test func `a call in which the program ended is made again`() async throws {
    try await Self.withRun(of: Self.recipe(Self.routine)) { run, sandbox in
      try await run.begin()
      let now = run.time.now()
      try await run.store.append([
        .stepBegan(StepBegan(run: run.id, at: now, step: "week", now: now, key: "key")),
        .attemptBegan(AttemptBegan(run: run.id, at: now, step: "week", number: 1)),
      ])
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(end.steps["week"]?.attempts == 2)
      #expect(sandbox.server.count("/generate/routine") == 1)
    }
  }

  // MARK: Recipes

  /// Monday the 23rd of November 2026, half past six in Berlin.
  private static let monday = Timestamp("2026-11-23T05:30:00Z") ?? .earliest

  @Test func `a week is walked through, day by day, by programs that come and go`() async throws {
    let recipe = try Self.recipe(named: "interview-week")
    try await Self.withRun(of: recipe, at: TestTime(Self.monday)) { run, sandbox in
      try await run.store.append(
        .valueSet(ValueSet(at: run.time.now(), name: "interview/streak", value: .inline(.int(4)))))
      // Every day at eight the list of the day is asked about: done on Monday, not on Tuesday, nobody says anything on
      // Wednesday, and done on Thursday and Friday.
      var prompts: [String] = []
      for (index, isDone) in [true, false, nil, true, true].enumerated() {
        let morning = try #require(Self.monday.advanced(by: .seconds(86_400 * index + 5400)))
        let waiting = try await run.drive(until: morning)
        #expect(waiting.status == .waiting)
        let step = try #require(waiting.steps["checklist[\(index)]/ask"])
        prompts.append(step.wait?.prompt ?? "")
        run.time.advance(by: .seconds(3600))
        if let isDone { try await run.decide("checklist[\(index)]/ask", approved: isDone) }
      }
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(prompts.first == "Monday 23 November: is this done?\n- Message a former colleague\n- Write five queries")
      #expect(prompts.map { $0.prefix { $0 != ":" } }.last == "Friday 27 November")
      let outputs = try await run.outputs()
      #expect(outputs["weekOf"]?.string == "2026-11-23")
      #expect(outputs["days"]?.list?.compactMap { $0["done"]?.bool } == [true, false, false, true, true])
      #expect(outputs["done"]?.int == 3)
      #expect(outputs["streak"]?.int == 2)
      // A paid call was never repeated.
      #expect(sandbox.server.count("/generate/routine") == 1)
    }
  }

  @Test func `a week without a gap goes on with the streak`() async throws {
    let recipe = try Self.recipe(named: "interview-week")
    try await Self.withRun(of: recipe, at: TestTime(Self.monday)) { run, _ in
      try await run.store.append(
        .valueSet(ValueSet(at: run.time.now(), name: "interview/streak", value: .inline(.int(4)))))
      for index in 0..<5 {
        try await run.drive(until: Self.monday.advanced(by: .seconds(86_400 * index + 5400)) ?? .latest)
        try await run.decide("checklist[\(index)]/ask", approved: true)
      }
      #expect(try await run.drive().status == .succeeded)
      #expect(try await run.outputs()["streak"]?.int == 9)
    }
  }

  @Test func `a run that begins on Thursday asks about no day that is over`() async throws {
    let recipe = try Self.recipe(named: "interview-week")
    let thursday = try #require(Timestamp("2026-11-26T20:00:00Z"))
    try await Self.withRun(of: recipe, at: TestTime(thursday)) { run, _ in
      let waiting = try await run.continueRun()
      #expect(waiting.steps["checklist[2]/ask"]?.status == .skipped)
      #expect(waiting.steps["checklist[3]/ask"]?.status == .waiting)
      #expect(try await run.drive().status == .succeeded)
      #expect(try await run.outputs()["done"]?.int == 0)
    }
  }

  @Test func `a week of a backend that is not there is not paid for`() async throws {
    try await Self.withRun(of: Self.recipe(named: "interview-week")) { run, sandbox in
      sandbox.server.add(ServiceFault(.status, call: "/health"))
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(
        end.error?.message.replacing(sandbox.baseURL, with: "URL")
          == "There is no routine for this week. Server issue. Please try again shortly. GET URL/health was answered "
          + "with HTTP status 503.")
      #expect(sandbox.server.count("/generate") == 0)
    }
  }

  @Test(arguments: [
    ("interview-week", "/generate"), ("interview-pack", "/generate"), ("interview-reroll", "/generate"),
    ("interview-reroll", "/reroll"),
  ])
  func `the recipes pay once, also when the answer is lost`(_ name: String, _ call: String) async throws {
    try await Self.withRun(of: Self.recipe(named: name)) { run, sandbox in
      sandbox.server.add(ServiceFault(.lostAnswer, call: call, times: 9))
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(sandbox.server.count(call) == 1)
    }
  }

  @Test func `a failing gateway's wishes about when to ask again are not looked at`() async throws {
    try await Self.withRun(of: Self.recipe(Self.routine)) { run, sandbox in
      var fault = ServiceFault(.status, call: "/generate")
      (fault.status, fault.retryAfter) = (503, "120")
      sandbox.server.add(fault)
      let end = try await run.drive()
      #expect(end.status == .succeeded)
      #expect(Self.delays(run) == [.milliseconds(200)])
    }
  }

  @Test func `a prep pack is written as Markdown`() async throws {
    try await Self.withRun(of: Self.recipe(named: "interview-pack")) { run, _ in
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      let outputs = try await run.outputs()
      #expect(
        try String(decoding: Files.read(#require(outputs["path"]?.string)), as: UTF8.self) == """
          # Interview prep: Backend Engineer

          ## Data structures

          - [ ] Graph search
          - [ ] Heaps
          - [ ] HTTP caching

          ## Backend Engineer

          - [ ] Read somebody's code
          - [ ] Write a small HTTP server

          ## Behavioural

          - [ ] A conflict you settled
          - [ ] A deadline missed

          ## Drills

          - **Mon**: Message a former colleague; Write five queries
          - **Tue**: Fix one broken link; Note two things to improve
          - **Wed**: Solve three problems; Explain one solution aloud
          - **Thu**: Apply to two roles; Message a former colleague
          - **Fri**: Write five queries; Fix one broken link

          ## Questions to begin with

          1. Find the first repeated word in a text
          1. When does an index make a query slower?
          1. Tell of a bug that took you days

          ## Resources

          - [PostgreSQL tutorial](https://www.postgresql.org/docs/current/tutorial.html)
          - [Graph visualiser](https://visualgo.net/en)
          - [HTTP semantics](https://www.rfc-editor.org/rfc/rfc9110)
          - A forum for careers

          """)
    }
  }

  @Test(arguments: [
    ([false, false, false], 1, 0), ([false, true, true], 3, 2), ([true, true, true], 4, 3),
    ([true, false, true], 3, 2),
    ([false, false, true], 2, 1),
  ])
  func `sections are made anew one after another`(_ wanted: [Bool], _ version: Int, _ rerolls: Int) async throws {
    try await Self.withRun(of: Self.recipe(named: "interview-reroll")) { run, sandbox in
      let names = ["newBlocks", "newTasks", "newResources"]
      try await run.begin(inputs: ValueMap(zip(names, wanted).map { ($0, .bool($1)) }))
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(try await run.outputs()["version"]?.int == version)
      #expect(sandbox.server.count("/reroll/") == rerolls)
      // Each takes the plan of the one before.
      let bodies = sandbox.backend.state.withLock(\.bodies).dropFirst()
      #expect(
        try bodies.map { try JSON.parse($0)["currentPlan"]?["version"]?.int }
          == Array(1...4).prefix(rerolls).map(Optional.some))
    }
  }
}
